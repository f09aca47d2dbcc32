//! Section 19: errors.

use permazen::encoding::{EncodingError, Value};
use permazen::kv::{KvDatabase, KvError, KvWrite};
use permazen::object::{Error as ObjectError, Migrate};
use permazen::{Error, PermazenObject, Ref};

use crate::rows::*;

#[derive(PermazenObject, Default)]
struct Person {
    #[permazen(indexed, unique)]
    name: Option<String>,
    age: i32,
    friend: Option<Ref<Person>>,
}

#[derive(PermazenObject, Default)]
struct Other {
    n: i32,
}

fn people() -> Permazen {
    open2::<Person, Other>(&store())
}

#[test]
fn m19_0_03_a_transaction_that_is_marked_is_rolled_back() {
    let db = people();
    let refused = db.write(|tx| {
        tx.create_default::<Person>()?;
        tx.core().set_rollback_only();
        Ok(())
    });
    assert!(matches!(refused, Err(Error::Object(ObjectError::RollbackOnly))), "{refused:?}");
    assert_eq!(db.read(|tx| tx.all::<Person>()?.count()).unwrap(), 0);
}

#[test]
fn m19_0_04_and_05_deleted_and_referenced_objects() {
    people()
        .write(|tx| {
            let a = tx.create_default::<Person>()?;
            let b = tx.create(Person { friend: Some(a.to_ref()), ..Person::default() })?;
            b.set_name("b")?;
            match a.delete() {
                Err(Error::Object(ObjectError::ReferencedObject {
                    id,
                    referrer,
                    full_name,
                    ..
                })) => assert_eq!((id, referrer, &*full_name), (a.id(), b.id(), "friend")),
                other => panic!("{other:?}"),
            }
            b.delete()?;
            for refused in [b.set_age(1), b.age().map(drop), a.set_friend(b)] {
                assert_deleted(refused, b.id());
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn m19_0_06_and_07_unknown_types_fields_and_indexes() {
    people()
        .write(|tx| {
            let refused = tx.core().create("Nobody").map(drop);
            assert!(matches!(refused, Err(ObjectError::UnknownType { .. })), "{refused:?}");
            let a = tx.create_default::<Person>()?.any();
            for refused in [a.get("nick").map(drop), a.set("nick", &Value::Int(1))] {
                let Err(Error::Object(ObjectError::UnknownField { field, .. })) = refused else {
                    panic!("{refused:?}")
                };
                assert_eq!(field, "\"nick\"");
            }
            let refused = tx.index_by_name("Person", "age").map(drop);
            assert!(
                matches!(refused, Err(Error::Object(ObjectError::UnknownIndex { .. }))),
                "{refused:?}"
            );
            Ok(())
        })
        .unwrap();
}

#[test]
fn m19_0_08_models_that_are_wrong_or_contradict_the_database() {
    #[derive(PermazenObject, Default)]
    struct Lonely {
        friend: Option<Ref<Person>>,
    }
    assert_eq!(problems(builder().model::<Lonely>()).iter().count(), 1);
    let store = store();
    drop(open::<Other>(&store));
    let before = pairs(&store);
    let strict = Permazen::builder_shared(store.clone()).model::<Person>().allow_new_schema(false);
    assert!(matches!(strict.build(), Err(Error::SchemaDiffers { .. })));
    assert_eq!(pairs(&store), before);
}

#[test]
fn m19_0_09_damage_is_named() {
    let store = store();
    let db = open::<Other>(&store);
    let id = db.write(|tx| Ok(tx.create(Other { n: 5 })?.id())).unwrap();
    let number = db.read(|tx| Ok(field_id(tx, "Other", "n"))).unwrap();
    let mut raw = store.begin(&TxOptions::writing()).unwrap();
    let key = [&id.as_bytes()[..], &[u8::try_from(number).unwrap()]].concat();
    raw.put(&key, &[0x82, 0x00]).unwrap();
    raw.commit().unwrap();
    let refused = db.read(|tx| tx.get::<Other>(id)?.n());
    let Err(Error::Decode { field, id: of, .. }) = &refused else { panic!("{refused:?}") };
    assert_eq!((field.as_str(), *of), ("Other.n", id));
    // A schema that is not recorded.
    let mut raw = store.begin(&TxOptions::writing()).unwrap();
    raw.put(id.as_bytes(), &[0x09]).unwrap();
    raw.commit().unwrap();
    let refused = db.read(|tx| tx.get::<Other>(id)?.n());
    match refused {
        Err(Error::Object(ObjectError::InvalidObjectVersion { id: of, index })) => {
            assert_eq!((of, index), (id, 9));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn m19_0_10_a_reference_to_a_type_that_is_not_allowed() {
    people()
        .write(|tx| {
            let (a, other) = (tx.create_default::<Person>()?, tx.create_default::<Other>()?);
            let refused = a.any().set("friend", &Value::Ref(other.id()));
            let Err(Error::Object(ObjectError::InvalidValue { field, source })) = refused else {
                panic!("{refused:?}")
            };
            assert!(field.contains("friend"), "{field}");
            assert!(matches!(source, EncodingError::InvalidReference { .. }), "{source:?}");
            Ok(())
        })
        .unwrap();
}

#[test]
fn m19_0_11_broken_rules() {
    let refused = people().write(|tx| {
        tx.create_default::<Person>()?;
        tx.create_default::<Person>().map(drop)
    });
    assert_eq!(violations(refused).len(), 2);
}

#[test]
fn m19_0_14_values_that_do_not_fit() {
    people()
        .write(|tx| {
            let a = tx.create_default::<Person>()?;
            let refused = tx.core().set(a.id(), "age", &Value::from("old"), Migrate::No);
            assert!(matches!(refused, Err(ObjectError::InvalidValue { .. })), "{refused:?}");
            assert_eq!(a.age()?, 0);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m19_0_15_errors_of_the_store_pass_through() {
    let db = people();
    let refused = db.read(|_| Err::<(), _>(Error::from(KvError::Retry("busy".into()))));
    let refused = refused.unwrap_err();
    assert!(refused.is_retryable(), "{refused}");
    let Error::Object(ObjectError::Kv { source, .. }) = &refused else { panic!("{refused:?}") };
    assert!(matches!(source, KvError::Retry(_)));
}
