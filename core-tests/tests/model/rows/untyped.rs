//! Section 17: objects of types that no model knows.

use permazen::encoding::Value;
use permazen::model::Copy;
use permazen::object::{Error as ObjectError, Migrate};
use permazen::{Any, Error, PermazenObject, Ref};

use crate::rows::*;

#[derive(PermazenObject, Default)]
struct Vanished {
    #[permazen(indexed)]
    name: Option<String>,
    friend: Option<Ref<Any>>,
}

#[derive(PermazenObject, Default)]
struct Known {
    #[permazen(indexed)]
    name: Option<String>,
    friend: Option<Ref<Any>>,
}

/// A database with an object of a type that it does not know any more.
fn vanished() -> (Permazen, ObjId) {
    let store = store();
    let id = open::<Vanished>(&store)
        .write(|tx| Ok(tx.create(Vanished { name: Some("a".into()), friend: None })?.id()))
        .unwrap();
    (open::<Known>(&store), id)
}

#[test]
fn m17_0_01_and_02_existence_schema_values_and_deletion_work() {
    let (db, id) = vanished();
    db.write(|tx| {
        let any = tx.any(id);
        assert!(any.exists()?);
        assert_eq!((any.id(), &*any.type_name()?), (id, "Vanished"));
        assert_ne!(any.schema_id()?, tx.schema().id);
        assert_eq!(tx.core().get(id, "name", Migrate::No)?, Value::from("a"));
        // It may be referred to.
        let known = tx.create(Known { name: None, friend: Some(Ref::new(id)) })?;
        assert_eq!(known.friend()?, Some(any));
        let refused = any.delete();
        assert!(
            matches!(refused, Err(Error::Object(ObjectError::ReferencedObject { .. }))),
            "{refused:?}"
        );
        known.set_friend(None)?;
        assert!(any.delete()? && !any.exists()?);
        Ok(())
    })
    .unwrap();
}

#[test]
fn m17_0_03_fields_are_read_and_set_by_name() {
    let (db, id) = vanished();
    db.write(|tx| {
        let any = tx.any(id);
        any.set("name", &Value::from("b"))?;
        assert_eq!(any.get("name")?, Value::from("b"));
        assert_eq!(any.fields()?.len(), 2);
        Ok(())
    })
    .unwrap();
}

#[test]
fn m17_0_04_such_an_object_cannot_move() {
    let (db, id) = vanished();
    db.write(|tx| {
        let assert_unknown = |refused: permazen::object::Result<()>| match refused {
            Err(ObjectError::TypeNotInSchema { id: of, type_name, .. }) => {
                assert_eq!((of, &*type_name), (id, "Vanished"));
            }
            other => panic!("{other:?}"),
        };
        assert_unknown(tx.core().migrate(id).map(drop));
        assert_unknown(tx.core().get(id, "name", Migrate::Yes).map(drop));
        // A cascade and a copy need no move.
        assert_eq!(tx.any(id).cascade("any").ids()?, [id]);
        let memory = tx.detached()?;
        assert_eq!(tx.any(id).copy_to(&memory, Copy::new())?.get("name")?, Value::from("a"));
        Ok(())
    })
    .unwrap();
}

#[test]
fn m17_0_05_an_object_of_such_a_type_cannot_be_made() {
    let (db, id) = vanished();
    db.write(|tx| {
        let refused = tx.core().create("Vanished");
        let Err(ObjectError::UnknownType { name, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(name, "\"Vanished\"");
        assert!(tx.any(id).exists()?);
        Ok(())
    })
    .unwrap();
}

#[test]
fn m17_0_06_such_an_object_is_none_of_a_model() {
    let (db, id) = vanished();
    db.write(|tx| {
        let refused = tx.get::<Known>(id).map(drop);
        let Err(Error::WrongType { id: of, expected, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!((of, expected), (id, "Known"));
        assert_eq!(tx.any(id).downcast::<Known>(), None);
        Ok(())
    })
    .unwrap();
}

#[test]
fn m17_0_07_and_08_they_are_listed_and_stand_in_indexes() {
    let (db, id) = vanished();
    db.write(|tx| {
        let known = tx.create(Known { name: Some("a".into()), friend: None })?;
        assert_eq!(tx.untyped()?.to_vec()?, [tx.any(id)]);
        let mut expected = [tx.any(id), known.any()];
        expected.sort_by_key(|any| any.id());
        let all = tx.index(Known::NAME)?.of_all_types()?.get("a")?;
        assert_eq!(all.to_vec()?, expected);
        Ok(())
    })
    .unwrap();
}
