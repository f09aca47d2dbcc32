//! Section 18: which schemas are recorded.

use permazen::Error;
use permazen::schema::SchemaRemoval;

use crate::rows::*;

mod a {
    #[derive(permazen::PermazenObject, Default)]
    pub struct A {
        pub one: i32,
    }
}

mod b {
    #[derive(permazen::PermazenObject, Default)]
    pub struct B {
        pub two: i64,
    }
}

/// The keys of the schema table and of the table of storage IDs, as numbers.
fn tables(store: &Store) -> (Vec<u8>, Vec<u8>) {
    let all = pairs(store);
    let numbers = |prefix: &str| -> Vec<u8> {
        let keys = all.iter().filter_map(|(key, _)| key.strip_prefix(prefix));
        keys.map(|number| u8::from_str_radix(number, 16).unwrap()).collect()
    };
    (numbers("0001"), numbers("0002"))
}

fn with_removal<M: Model>(store: &Store, removal: SchemaRemoval) -> Permazen {
    let builder = Permazen::builder_shared(store.clone()).model::<M>();
    builder.schema_removal(removal).build().unwrap()
}

#[test]
fn m18_0_03_and_08_a_schema_without_objects_is_removed_and_its_numbers_are_used_again() {
    let store = store();
    drop(open::<a::A>(&store));
    assert_eq!(tables(&store), (vec![1], vec![1, 2]));
    let db = open::<b::B>(&store);
    assert_eq!(tables(&store), (vec![1], vec![1, 2]));
    db.read(|tx| {
        assert_eq!(tx.core().bundle().schemas().len(), 1);
        assert_eq!(tx.schema().index.get(), 1);
        assert_eq!((tx.core().type_storage_id("B")?.get(), field_id(tx, "B", "two")), (1, 2));
        Ok(())
    })
    .unwrap();
}

#[test]
fn m18_0_09_a_schema_with_objects_stays() {
    let store = store();
    open::<a::A>(&store).write(|tx| tx.create_default::<a::A>().map(drop)).unwrap();
    let db = open::<b::B>(&store);
    assert_eq!(tables(&store), (vec![1, 2], vec![1, 2, 3, 4]));
    db.write(|tx| {
        assert_eq!((tx.core().type_storage_id("B")?.get(), field_id(tx, "B", "two")), (3, 4));
        tx.create_default::<b::B>().map(drop)
    })
    .unwrap();
}

#[test]
fn m18_0_04_never_removes_nothing() {
    let store = store();
    drop(open::<a::A>(&store));
    let db = with_removal::<b::B>(&store, SchemaRemoval::Never);
    db.write(|tx| tx.create_default::<b::B>().map(drop)).unwrap();
    assert_eq!(tables(&store), (vec![1, 2], vec![1, 2, 3, 4]));
}

#[test]
fn m18_0_07_always_removes_at_each_opening() {
    let store = store();
    let db = with_removal::<b::B>(&store, SchemaRemoval::Always);
    db.write(|tx| tx.create_default::<b::B>().map(drop)).unwrap();
    drop(with_removal::<a::A>(&store, SchemaRemoval::Never));
    assert_eq!(tables(&store).0, [1, 2]);
    db.write(|_| Ok(())).unwrap();
    assert_eq!(tables(&store).0, [1]);
}

#[test]
fn m18_0_02_a_schema_is_recorded_only_if_that_is_allowed() {
    let store = store();
    open::<a::A>(&store).write(|tx| tx.create_default::<a::A>().map(drop)).unwrap();
    let before = pairs(&store);
    let refused =
        Permazen::builder_shared(store.clone()).model::<b::B>().allow_new_schema(false).build();
    let Err(Error::SchemaDiffers { differences }) = &refused else { panic!("{refused:?}") };
    assert!(differences.contains("\"B\"") && differences.contains("\"A\""), "{differences}");
    assert_eq!(pairs(&store), before);
    let recorded =
        Permazen::builder_shared(store.clone()).model::<a::A>().allow_new_schema(false).build();
    assert!(recorded.is_ok(), "{recorded:?}");
}
