//! Section 7: objects.

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::Value;
use permazen::model::Copy;
use permazen::object::{Error as ObjectError, Migrate};
use permazen::{Obj, PermazenObject, Ref};

use crate::rows::*;

#[derive(PermazenObject, Default, Debug, PartialEq)]
#[permazen(hooks)]
struct Person {
    name: Option<String>,
    age: i32,
    friend: Option<Ref<Person>>,
}

#[permazen::hooks]
impl Person {
    #[on_create]
    fn made(this: Obj<'_, Self>) -> Result<()> {
        log(format!("made {:?} {}", this.name()?, this.age()?));
        Ok(())
    }
}

#[test]
fn m07_0_01_to_05_id_transaction_schema_existence_and_deletion() {
    database::<Person>()
        .write(|tx| {
            let ann = tx.create_default::<Person>()?;
            assert!(std::ptr::eq(ann.tx(), tx));
            assert_eq!(ann.schema_id()?, tx.schema().id);
            assert!(ann.exists()? && ann.delete()?);
            assert!(!ann.exists()? && !ann.delete()?);
            assert_eq!(tx.get::<Person>(ann.id())?.id(), ann.id());
            assert_deleted(ann.schema_id(), ann.id());
            let unknown: ObjId = "7700000000000001".parse().unwrap();
            assert!(!tx.any(unknown).exists()? && !tx.any(unknown).delete()?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m07_0_06_recreate() {
    database::<Person>()
        .write(|tx| {
            let ann = tx.create(Person { name: Some("Ann".into()), age: 3, friend: None })?;
            assert!(!ann.recreate()?, "it is there");
            assert_eq!(ann.age()?, 3);
            ann.delete()?;
            assert_log(["made None 0"]);
            assert!(ann.recreate()?);
            assert_log(["made None 0"]);
            assert_eq!(ann.load()?, Person::default());
            Ok(())
        })
        .unwrap();
}

#[test]
fn m07_0_08_an_absent_object_cannot_be_revalidated() {
    let db = database::<Person>();
    db.write(|tx| {
        let ann = tx.create_default::<Person>()?;
        ann.revalidate()?;
        ann.delete()?;
        assert_deleted(ann.revalidate(), ann.id());
        tx.set_validation(permazen::Validation::Off)?;
        assert_deleted(ann.revalidate(), ann.id());
        Ok(())
    })
    .unwrap();
}

mod before {
    #[derive(permazen::PermazenObject, Default)]
    pub struct Person {
        pub age: i64,
    }

    #[derive(permazen::PermazenObject, Default)]
    pub struct Vanished {
        pub n: i32,
    }
}

#[test]
fn m07_0_09_migrate_says_whether_the_object_has_moved() {
    let store = store();
    let [id, vanished] = open2::<before::Person, before::Vanished>(&store)
        .write(|tx| {
            let vanished = tx.create_default::<before::Vanished>()?;
            Ok([tx.create(before::Person { age: 5 })?.id(), vanished.id()])
        })
        .unwrap();
    open::<Person>(&store)
        .write(|tx| {
            let ann = tx.get::<Person>(id)?;
            assert!(ann.migrate()?);
            assert!(!ann.migrate()?);
            assert_eq!(ann.age()?, 5);
            let refused = tx.core().migrate(vanished);
            let Err(ObjectError::TypeNotInSchema { id, type_name, .. }) = refused else {
                panic!("{refused:?}")
            };
            assert_eq!((id, &*type_name), (vanished, "Vanished"));
            Ok(())
        })
        .unwrap();
}

#[test]
fn m07_0_10_and_13_cascades_and_copies_begin_at_the_object() {
    database::<Person>()
        .write(|tx| {
            let ann = tx.create_default::<Person>()?;
            assert_eq!(ann.cascade("none").ids()?, [ann.id()]);
            let memory = tx.detached()?;
            let copy = ann.copy_to(&memory, Copy::new().limit(0))?;
            assert_eq!(copy.id(), ann.id());
            assert!(std::ptr::eq(copy.tx(), &raw const *memory));
            Ok(())
        })
        .unwrap();
}

#[test]
fn m07_0_15_and_16_the_type_of_an_object() {
    let store = store();
    let vanished = open2::<before::Person, before::Vanished>(&store)
        .write(|tx| Ok(tx.create_default::<before::Vanished>()?.id()))
        .unwrap();
    open::<Person>(&store)
        .write(|tx| {
            let ann = tx.create_default::<Person>()?;
            assert_eq!(ann.any().type_name()?, "Person");
            assert_eq!(ann.any().downcast::<Person>(), Some(ann));
            assert_eq!(tx.any(vanished).type_name()?, "Vanished");
            assert_eq!(tx.any(vanished).downcast::<Person>(), None);
            Ok(())
        })
        .unwrap();
}

// ---- 7.1 what moves an object

#[test]
fn m07_1_01_and_02_what_moves_an_object_and_what_does_not() {
    let store = store();
    let id = open::<before::Person>(&store)
        .write(|tx| Ok(tx.create(before::Person { age: 5 })?.id()))
        .unwrap();
    let db = open::<Person>(&store);
    // These do not move it.
    db.write(|tx| {
        let ann = tx.get::<Person>(id)?;
        let before = ann.schema_id()?;
        assert!(ann.exists()?);
        assert_eq!(tx.all::<Person>()?.count()?, 1);
        assert_eq!(ann.any().get("age")?, Value::Long(5));
        ann.any().set("age", &Value::Long(6))?;
        assert_eq!(tx.core().get(id, "age", Migrate::No)?, Value::Long(6));
        assert_eq!(ann.friend()?, None);
        assert_eq!(ann.schema_id()?, before);
        assert_ne!(before, tx.schema().id);
        Ok(())
    })
    .unwrap();
    // These do: a field that is defined differently, setting one that is new, and `migrate`.
    let moves = |what: &dyn Fn(Obj<'_, Person>) -> Result<()>| {
        let tx = db.begin().unwrap();
        let ann = tx.get::<Person>(id).unwrap();
        what(ann).unwrap();
        ann.schema_id().unwrap() == tx.schema().id
    };
    assert!(moves(&|ann| ann.age().map(drop)));
    assert!(moves(&|ann| ann.set_age(6)));
    assert!(moves(&|ann| ann.set_name("Ann")));
    assert!(moves(&|ann| ann.migrate().map(drop)));
    assert!(moves(&|ann| ann.set_friend(ann)));
}

#[derive(PermazenObject, Default)]
struct Linked {
    next: Option<Ref<Linked>>,
    other: Option<Ref<Linked>>,
}

mod unlinked {
    use permazen::Ref;
    #[derive(permazen::PermazenObject, Default)]
    pub struct Linked {
        pub next: Option<Ref<Linked>>,
    }
}

#[test]
fn m07_1_06_a_path_goes_through_a_field_that_the_stored_schema_lacks() {
    use permazen::model::Path;
    let store = store();
    let id = open::<unlinked::Linked>(&store)
        .write(|tx| Ok(tx.create_default::<unlinked::Linked>()?.id()))
        .unwrap();
    open::<Linked>(&store)
        .write(|tx| {
            let it = tx.get::<Linked>(id)?;
            let before = it.schema_id()?;
            assert_eq!(it.follow(&Path::of::<Linked>().to(Linked::OTHER))?, None);
            assert_eq!(it.schema_id()?, before);
            Ok(())
        })
        .unwrap();
}

// ---- 7.2 deletion

#[derive(PermazenObject, Default)]
struct Target {
    n: i32,
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Holder {
    #[permazen(inverse_delete = "nullify", storage_id = 21)]
    simple: Option<Ref<Target>>,
    #[permazen(element(inverse_delete = "nullify"), storage_id = 22)]
    labels: BTreeSet<Option<Ref<Target>>>,
    #[permazen(element(inverse_delete = "nullify"), storage_id = 23)]
    list: Vec<Option<Ref<Target>>>,
    #[permazen(key(inverse_delete = "nullify"), storage_id = 24)]
    keys: BTreeMap<Option<Ref<Target>>, i32>,
    #[permazen(value(inverse_delete = "nullify"), storage_id = 25)]
    values: BTreeMap<i32, Option<Ref<Target>>>,
    #[permazen(element(inverse_delete = "remove"), storage_id = 26)]
    less: Vec<Ref<Target>>,
}

#[permazen::hooks]
impl Holder {
    #[on_change]
    fn changed(_: Obj<'_, Self>, change: &permazen::model::Change<'_, Self>) -> Result<()> {
        use permazen::object::ChangeKind;
        let what = match change.kind()? {
            ChangeKind::Simple { .. } => "simple",
            ChangeKind::SetAdd { .. } => "set add",
            ChangeKind::SetRemove { .. } => "set remove",
            ChangeKind::ListAdd { .. } => "list add",
            ChangeKind::ListReplace { .. } => "list replace",
            ChangeKind::ListRemove { .. } | ChangeKind::ListClear => "list remove",
            ChangeKind::MapAdd { .. } => "map add",
            ChangeKind::MapRemove { .. } | ChangeKind::MapClear => "map remove",
            ChangeKind::MapReplace { .. } => "map replace",
            other => panic!("{other:?}"),
        };
        log(format!("{} {what}", change.field()));
        Ok(())
    }

    #[on_delete]
    fn going(this: Obj<'_, Self>) -> Result<()> {
        log(format!("{} {}", this.exists()?, this.delete()?));
        Ok(())
    }
}

#[test]
fn m07_2_05_what_a_deletion_changes_in_other_objects_is_told() {
    open2::<Holder, Target>(&store())
        .write(|tx| {
            let target = tx.create_default::<Target>()?;
            let other = tx.create_default::<Target>()?.to_ref();
            let to = Some(target.to_ref());
            tx.create(Holder {
                simple: to,
                labels: [to].into(),
                list: vec![to],
                keys: [(to, 1)].into(),
                values: [(1, to)].into(),
                less: vec![target.to_ref(), other],
            })?;
            LOG.take();
            assert!(target.delete()?);
            // Of each field in the order of its changes.
            LOG.with_borrow_mut(|log| {
                log.sort_by_key(|line| line.split(' ').next().map(str::to_owned));
            });
            assert_log([
                "keys map remove",
                "keys map add",
                "labels set remove",
                "labels set add",
                "less list remove",
                "list list replace",
                "simple simple",
                "values map replace",
            ]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m07_2_02_and_07_a_deleted_object_can_be_read_by_its_hook_and_is_deleted_once() {
    open2::<Holder, Target>(&store())
        .write(|tx| {
            let holder = tx.create_default::<Holder>()?;
            assert!(holder.delete()?);
            assert_log(["true false"]);
            assert!(!holder.exists()?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m07_2_09_and_10_own_fields_are_not_told_and_a_deleted_object_breaks_no_rule() {
    #[derive(PermazenObject)]
    struct Unique {
        #[permazen(indexed, unique)]
        n: i32,
    }
    builder()
        .model::<Unique>()
        .model::<Holder>()
        .model::<Target>()
        .build()
        .unwrap()
        .write(|tx| {
            let holder = tx.create(Holder { list: vec![None], ..Holder::default() })?;
            LOG.take();
            holder.delete()?;
            assert_log(["true false"]);
            tx.create(Unique { n: 1 })?;
            let second = tx.create(Unique { n: 1 })?;
            assert_eq!(broken(tx.validate()).len(), 2);
            second.delete()?;
            tx.validate()
        })
        .unwrap();
}
