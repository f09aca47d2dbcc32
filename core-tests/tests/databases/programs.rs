//! Programs and a database as a whole: sharing it, its models, and errors.

use std::thread;

use permazen::kv::KvError;
use permazen::kv::memory::MemoryStore;
use permazen::schema::SchemaId;
use permazen::{Error, ModelSet, ObjId, Permazen, PermazenObject, Ref, Result};

#[derive(PermazenObject, Debug, Default)]
struct Person {
    #[permazen(indexed)]
    name: String,
}

#[derive(PermazenObject, Debug, Default)]
struct Dog {
    owner: Option<Ref<Person>>,
}

mod other {
    /// Has the name of another type.
    #[derive(permazen::PermazenObject, Debug, Default)]
    pub(super) struct Dog {
        name: String,
    }
}

#[derive(PermazenObject, Debug, Default)]
struct Unregistered {}

#[derive(PermazenObject, Debug, Default)]
struct Lost {
    #[permazen(encoding = "no encoding")]
    name: String,
    other: Option<Ref<Unregistered>>,
}

fn models() -> ModelSet {
    ModelSet::new().model::<Person>().model::<Dog>()
}

#[test]
fn a_database_is_used_from_many_threads() {
    fn is_shared<T: Send + Sync + Clone + 'static>(_: &T) {}

    let db = Permazen::builder(MemoryStore::new()).models(models()).build().unwrap();
    is_shared(&db);
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let db = db.clone();
            thread::spawn(move || {
                let person = Person { name: format!("Person {number}") };
                db.write(|tx| Ok(tx.create(&person)?.to_ref()))
            })
        })
        .collect();
    for created in threads {
        let person = created.join().unwrap().unwrap();
        db.read(|tx| {
            assert!(tx.get(person)?.exists()?);
            Ok(())
        })
        .unwrap();
    }
    assert_eq!(db.read(|tx| tx.all::<Person>()?.count()).unwrap(), 4);
}

#[test]
fn a_set_of_models_is_the_models_one_by_one() -> Result<()> {
    let one_by_one = Permazen::builder(MemoryStore::new()).model::<Person>().model::<Dog>();
    let twice = Permazen::builder(MemoryStore::new())
        .model::<Dog>()
        .models(ModelSet::new().models(models()).model::<Person>());
    assert_eq!(one_by_one.schema()?.schema_id(), twice.schema()?.schema_id());
    assert_eq!(twice.schema()?.object_types().len(), 2);
    Ok(())
}

#[test]
fn all_mistakes_of_all_models_are_one_error() {
    let builder = Permazen::builder(MemoryStore::new()).models(models()).model::<other::Dog>();
    let Err(Error::Models(errors)) = builder.model::<Lost>().build() else {
        panic!("it was built");
    };
    let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["Dog", "Lost.name", "Lost.other"], "{errors}");
}

#[test]
fn the_errors_of_all_parts_are_errors_of_the_typed_layer() {
    fn parsed(text: &str) -> Result<(ObjId, Ref<Person>, SchemaId)> {
        Ok((text.parse()?, text.parse()?, text.parse()?))
    }
    fn of_the_store() -> Result<()> {
        Err(KvError::Unsupported("this"))?;
        Ok(())
    }
    fn of_the_object_layer() -> Result<()> {
        Err(permazen::object::Error::from(KvError::Unsupported("this")))?;
        Ok(())
    }
    assert!(matches!(parsed("no id"), Err(Error::Encoding(_))));
    assert!(matches!(parsed("0a00000000000001"), Err(Error::Other(_))));
    assert!(matches!(of_the_store(), Err(Error::Object(_))));
    assert!(matches!(of_the_object_layer(), Err(Error::Object(_))));
}

#[test]
fn an_error_prints_its_text_and_its_causes() {
    #[derive(Debug)]
    struct Outer(std::num::ParseIntError);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the age is wrong")
        }
    }
    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    let error = Error::other(Outer("x".parse::<i32>().unwrap_err()));
    let causes = "the age is wrong\n\nCaused by:\n    invalid digit found in string";
    assert_eq!(format!("{error:?}"), causes);
    let id: ObjId = "0a00000000000001".parse().unwrap();
    let error = Error::WrongType { id, found: None, expected: "Person" };
    assert_eq!(format!("{error:?}"), error.to_string());
    assert_eq!(
        format!("{error:#?}"),
        "WrongType {\n    id: ObjId(0a00000000000001),\n    found: None,\n    expected: \"Person\",\n}"
    );
}

#[test]
fn errors_about_an_object_name_its_type() -> Result<()> {
    let db = Permazen::builder(MemoryStore::new()).models(models()).build()?;
    db.write(|tx| {
        let ann = tx.create_default::<Person>()?;
        let dog = tx.create(Dog { owner: Some(ann.to_ref()) })?;
        let (person, dog_id) = (ann.id(), dog.id());
        let text = |result: Result<bool>| result.unwrap_err().to_string();
        assert_eq!(
            text(ann.delete()),
            format!(
                "Person {person} cannot be deleted: Dog {dog_id} refers to it through \"owner\", which forbids it; \
                 delete that object or change the reference first"
            )
        );
        let wrong = tx.get::<Dog>(person).unwrap_err().to_string();
        assert!(wrong.starts_with(&format!("Person {person} is not of type Dog")), "{wrong}");
        dog.delete()?;
        let gone = dog.owner().unwrap_err().to_string();
        assert_eq!(gone, format!("Dog {dog_id} does not exist"));
        let other = tx.create_default::<Dog>()?;
        ann.delete()?;
        let missing = other.set_owner(ann).unwrap_err().to_string();
        let other = other.id();
        assert_eq!(
            missing,
            format!(
                "field owner of Dog {other} may not be set to a missing object: Person {person} does not exist"
            )
        );
        Ok(())
    })
}

/// An error that may pass is found below the context that `anyhow` adds.
#[test]
fn transactions_fail_with_anyhow_and_run_again() {
    use anyhow::Context;

    let db = Permazen::builder(MemoryStore::new()).models(models()).build().unwrap();
    let mut runs = 0;
    let done = db.try_write(|tx| -> anyhow::Result<_> {
        runs += 1;
        if runs == 1 {
            let passing = KvError::Retry("another one writes".into());
            return Err(Error::from(passing)).context("the first time");
        }
        Ok(tx.create(Person::default())?.to_ref())
    });
    assert!(done.is_ok() && runs == 2, "{done:?} after {runs} runs");
    let refused = db.try_read(|_| -> anyhow::Result<()> { anyhow::bail!("refused") });
    assert_eq!(refused.unwrap_err().to_string(), "refused");
}

/// An object that goes with another one may forbid its deletion. The error names both.
#[test]
fn a_refused_deletion_names_the_object_that_was_to_be_deleted() -> Result<()> {
    #[derive(permazen::PermazenObject, Default)]
    struct Customer {
        name: String,
    }
    #[derive(permazen::PermazenObject)]
    struct Device {
        #[permazen(inverse_delete = "delete")]
        owner: Ref<Customer>,
    }
    #[derive(permazen::PermazenObject)]
    struct RepairOrder {
        device: Ref<Device>,
    }
    let builder = Permazen::builder(MemoryStore::new()).model::<Customer>();
    let db = builder.model::<Device>().model::<RepairOrder>().build()?;
    db.write(|tx| {
        let customer = tx.create(Customer::default())?;
        let device = tx.create(Device { owner: customer.to_ref() })?;
        let order = tx.create(RepairOrder { device: device.to_ref() })?;
        let [customer_id, device_id, order_id] = [customer.id(), device.id(), order.id()];
        let rest = format!(
            "Device {device_id} cannot be deleted: RepairOrder {order_id} refers to it through \"device\", which \
             forbids it; delete that object or change the reference first"
        );
        assert_eq!(
            customer.delete().unwrap_err().to_string(),
            format!(
                "Customer {customer_id} cannot be deleted, because what has to go with it cannot: {rest}"
            )
        );
        assert_eq!(device.delete().unwrap_err().to_string(), rest);
        Ok(())
    })
}
