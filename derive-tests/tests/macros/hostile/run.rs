//! The models that compile also work.

use permazen::kv::memory::MemoryStore;
use permazen::{Counter, Permazen, Result};

use crate::hostile::library_names;
use crate::hostile::locals::{Enum, Object};

#[test]
fn fields_named_like_generated_locals_keep_their_values() -> Result<()> {
    let db = Permazen::builder(MemoryStore::new()).model::<Object>().build()?;
    db.write(|tx| {
        let object = tx.create_default::<Object>()?;
        object.set_the_tx(1)?;
        object.set_the_id(2)?;
        object.set_value("three")?;
        object.set_handle(4)?;
        object.set_reader("five")?;
        object.set_obj(object)?;
        object.set_the_any(object)?;
        object.set_disk(6)?;
        object.set_to(Box::<[i32]>::from([10]))?;
        object.writer()?.push("seven")?;
        object.model()?.insert("eight", Enum::B)?;
        object.from().set(9)?;
        let loaded = object.load()?;
        assert_eq!((loaded.tx, loaded.id, loaded.value.as_str()), (1, 2, "three"));
        assert_eq!((loaded.handle, loaded.reader.as_deref()), (Some(4), Some("five")));
        assert_eq!((loaded.obj, loaded.any), (Some(object.to_ref()), object.to_ref().any()));
        assert_eq!((loaded.disk, &loaded.writer[..]), (6, &["seven".to_owned()][..]));
        assert_eq!(loaded.model.get("eight"), Some(&Some(Enum::B)));
        assert_eq!(loaded.from, Counter(9));
        assert_eq!(object.obj()?, Some(object));
        Ok(())
    })
}

#[test]
fn enums_named_like_types_of_the_library_are_values() -> Result<()> {
    use library_names::{Cell, Mutex, Names};
    // Other fields stay null.
    let db = Permazen::builder(MemoryStore::new()).validation(permazen::Validation::Off);
    let db = db.model::<Names>().build()?;
    db.write(|tx| {
        let names = tx.create_default::<Names>()?;
        names.set_cell(Cell::Other)?;
        names.set_the_counter(library_names::Counter::Other)?;
        names.set_optional_counter(library_names::Counter::Counter)?;
        names.mutexes()?.push(Mutex::Other)?;
        names.counted().add(3)?;
        assert_eq!(names.cell()?, Cell::Other);
        assert_eq!(names.the_counter()?, library_names::Counter::Other);
        assert_eq!(names.optional_counter()?, Some(library_names::Counter::Counter));
        assert_eq!(names.counted().get()?, 3);
        assert_eq!(tx.index(Names::COUNTER)?.get(library_names::Counter::Other)?.count()?, 1);
        Ok(())
    })
}
