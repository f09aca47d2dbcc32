//! Section 8: databases and transactions.

use std::sync::Mutex;

use permazen::encoding::Value;
use permazen::object::{Callback, Error as ObjectError, Migrate, Transaction};
use permazen::{Error, PermazenObject};

use crate::rows::*;

#[derive(PermazenObject, Default)]
struct Person {
    #[permazen(indexed, unique)]
    name: Option<String>,
    age: i32,
}

#[derive(PermazenObject, Default)]
#[permazen(singleton)]
struct Settings {
    theme: Option<String>,
}

fn both() -> Permazen {
    open2::<Person, Settings>(&store())
}

#[test]
fn m08_1_03_models_are_looked_up_by_name_and_storage_id() {
    both()
        .read(|tx| {
            let schema = tx.schema();
            let person = schema.object_type("Person").unwrap();
            let same = schema.type_by_storage_id(person.storage_id).unwrap();
            assert_eq!(&*same.name, "Person");
            assert!(schema.object_type("Nobody").is_none());
            let refused = tx.core().objects("Nobody").map(drop);
            let Err(ObjectError::UnknownType { name, .. }) = refused else { panic!("{refused:?}") };
            assert_eq!(name, "\"Nobody\"");
            Ok(())
        })
        .unwrap();
}

#[test]
fn m08_2_04_objects_by_id_and_type() {
    both()
        .write(|tx| {
            let ann = tx.create_default::<Person>()?;
            assert_eq!(tx.get::<Person>(ann.id())?, ann);
            let wrong = tx.get::<Settings>(ann.id());
            let Err(Error::WrongType { id, expected, .. }) = wrong else { panic!("{wrong:?}") };
            assert_eq!((id, expected), (ann.id(), "Settings"));
            let settings = tx.singleton::<Settings>()?;
            assert_eq!(tx.singleton::<Settings>()?, settings);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m08_2_05_fields_by_name() {
    both()
        .write(|tx| {
            let ann = tx.create(Person { name: Some("Ann".into()), age: 3 })?;
            assert_eq!(tx.core().get(ann.id(), "age", Migrate::Yes)?, Value::Int(3));
            tx.core().set(ann.id(), "age", &Value::Int(4), Migrate::Yes)?;
            assert_eq!(ann.any().get("age")?, Value::Int(4));
            let unknown = ann.any().get("nick");
            let Err(Error::Object(ObjectError::UnknownField { field, .. })) = unknown else {
                panic!("{unknown:?}")
            };
            assert_eq!(field, "\"nick\"");
            let wrong = ann.any().set("age", &Value::from("old"));
            assert!(
                matches!(wrong, Err(Error::Object(ObjectError::InvalidValue { .. }))),
                "{wrong:?}"
            );
            Ok(())
        })
        .unwrap();
}

#[test]
fn m08_2_03_and_13_commit_checks_the_rules_first_and_gives_the_transaction_back() {
    let db = both();
    let tx = db.begin().unwrap();
    let ann = Person { name: Some("Ann".into()), age: 3 };
    tx.create(&ann).unwrap();
    let second = tx.create(&ann).unwrap().to_ref();
    let refused = tx.commit().unwrap_err();
    assert!(matches!(refused.error(), Error::Invalid(violations) if violations.len() == 2));
    let tx = refused.into_transaction().unwrap();
    assert_eq!(db.read(|tx| tx.all::<Person>()?.count()).unwrap(), 0, "nothing is committed");
    tx.get(second).unwrap().set_name("Bob").unwrap();
    tx.commit().unwrap();
    assert_eq!(db.read(|tx| tx.all::<Person>()?.count()).unwrap(), 2);
    // A transaction that is dropped or rolled back leaves nothing.
    let tx = db.begin().unwrap();
    tx.create_default::<Person>().unwrap();
    tx.rollback().unwrap();
    let tx = db.begin().unwrap();
    tx.create_default::<Person>().unwrap();
    drop(tx);
    assert_eq!(db.read(|tx| tx.all::<Person>()?.count()).unwrap(), 2);
}

#[derive(Default)]
struct Steps(Mutex<Vec<&'static str>>);

impl Steps {
    fn note(&self, step: &'static str) {
        self.0.lock().unwrap().push(step);
    }
}

impl Callback for Steps {
    fn before_commit(&self, _: &Transaction, _: bool) -> permazen::object::Result<()> {
        self.note("before commit");
        Ok(())
    }

    fn before_completion(&self, _: &Transaction) -> permazen::object::Result<()> {
        self.note("before completion");
        Ok(())
    }

    fn after_commit(&self) -> permazen::object::Result<()> {
        self.note("after commit");
        Ok(())
    }

    fn after_completion(&self, committed: bool) -> permazen::object::Result<()> {
        self.note(if committed { "committed" } else { "rolled back" });
        Ok(())
    }
}

#[test]
fn m08_2_12_callbacks() {
    let db = both();
    let steps = Arc::new(Steps::default());
    db.write(|tx| Ok(tx.core().add_callback(steps.clone())?)).unwrap();
    let expected = ["before commit", "before completion", "after commit", "committed"];
    assert_eq!(*steps.0.lock().unwrap(), expected);
    steps.0.lock().unwrap().clear();
    let tx = db.begin().unwrap();
    tx.core().add_callback(steps.clone()).unwrap();
    tx.rollback().unwrap();
    assert_eq!(*steps.0.lock().unwrap(), ["before completion", "rolled back"]);
}
