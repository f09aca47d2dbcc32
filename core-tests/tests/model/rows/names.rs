//! Sections 1 and 2: how a model is built, types and their names.

use permazen::kv::memory::MemoryStore;
use permazen::model::ModelSet;
use permazen::{Permazen, PermazenObject, Ref};

use crate::rows::*;

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
struct Person {
    name: Option<String>,
    age: i32,
    #[permazen(skip)]
    scratch: u32,
}

mod others {
    #[derive(permazen::PermazenObject, Default)]
    #[permazen(name = "Person")]
    pub struct User {
        pub email: Option<String>,
    }
}

#[test]
fn m01_1_01_a_live_object_is_a_transaction_and_an_id_and_holds_no_data() {
    let db = database::<Person>();
    let tx = db.begin().unwrap();
    let ann = tx.create_default::<Person>().unwrap();
    let again = tx.get(ann.to_ref()).unwrap();
    assert_eq!(ann, again);
    again.set_age(3).unwrap();
    assert_eq!(ann.age().unwrap(), 3);
    let ann = ann.to_ref();
    tx.commit().unwrap();
    let (one, two) = (db.begin_read().unwrap(), db.begin_read().unwrap());
    assert_ne!(one.get(ann).unwrap(), two.get(ann).unwrap());
}

#[test]
fn m01_1_02_a_handle_needs_no_object() {
    database::<Person>()
        .write(|tx| {
            let ann = tx.create_default::<Person>()?;
            assert!(ann.delete()?);
            let ann = tx.get(ann.to_ref())?;
            assert!(!ann.exists()?);
            assert_deleted(ann.age(), ann.id());
            Ok(())
        })
        .unwrap();
}

#[test]
fn m01_2_02_models_are_needed() {
    for builder in [builder(), builder().models(ModelSet::new())] {
        let errors = problems(builder);
        assert_eq!(errors.iter().next().unwrap().path, "models");
        assert_eq!(errors.iter().count(), 1);
    }
}

#[test]
fn m01_3_02_two_types_have_different_names() {
    let errors = problems(builder().model::<Person>().model::<others::User>());
    let error = errors.iter().next().unwrap();
    assert_eq!(error.path, "Person");
    assert!(error.problem.contains("under this name"), "{error}");
    // The same one twice is the same one.
    let db = builder().model::<Person>().model::<Person>().build().unwrap();
    assert_eq!(db.schema().object_types().len(), 1);
}

#[test]
fn m01_3_06_building_records_the_schema_and_may_be_repeated() {
    let store = store();
    let db = open::<Person>(&store);
    let recorded = pairs(&store);
    assert!(recorded.iter().any(|(key, _)| key == "000101"), "{recorded:?}");
    assert_eq!(open::<Person>(&store).schema(), db.schema());
    assert_eq!(pairs(&store), recorded);
}

#[test]
fn m01_3_07_all_mistakes_are_found_before_the_store_is_used() {
    #[derive(PermazenObject)]
    struct Lonely {
        friend: Option<Ref<Person>>,
    }
    let store = store();
    let errors = problems(Permazen::builder_shared(store.clone()).model::<Lonely>());
    assert_eq!(errors.iter().next().unwrap().path, "Lonely.friend");
    assert_eq!(pairs(&store), []);
}

#[test]
fn m02_1_01_a_type_has_the_name_that_is_given_or_that_of_the_struct() {
    mod inner {
        #[derive(permazen::PermazenObject, Default)]
        pub struct Nested {
            pub n: i32,
        }
    }
    let db = builder().model::<inner::Nested>().model::<others::User>().build().unwrap();
    let types = db.schema().object_types();
    let mut names: Vec<_> = types.iter().map(|it| it.name()).collect();
    names.sort_unstable();
    assert_eq!(names, ["Nested", "Person"]);
}

#[test]
fn m02_1_02_storage_ids_are_given_or_assigned() {
    #[derive(PermazenObject, Default)]
    #[permazen(storage_id = 20)]
    struct Given {
        #[permazen(storage_id = 30)]
        a: i32,
        b: i32,
    }
    database::<Given>()
        .write(|tx| {
            let given = tx.create_default::<Given>()?;
            assert_eq!(given.id().storage_id().get(), 20);
            assert_eq!((field_id(tx, "Given", "a"), field_id(tx, "Given", "b")), (30, 1));
            Ok(())
        })
        .unwrap();
}

#[test]
fn m02_1_03_every_field_of_the_struct_is_a_field_unless_it_is_skipped() {
    database::<Person>()
        .write(|tx| {
            let ann = Person { name: Some("Ann".into()), age: 3, scratch: 7 };
            let object = tx.create(&ann)?;
            let names: Vec<_> = object.any().fields()?.into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["age", "name"]);
            assert_eq!(object.load()?, Person { scratch: 0, ..ann });
            Ok(())
        })
        .unwrap();
}

#[test]
fn m02_1_05_references_may_dangle_by_default_unless_a_sub_field_has_own_attributes() {
    #[derive(PermazenObject, Default)]
    #[permazen(default_allow_deleted)]
    struct Loose {
        one: Option<Ref<Loose>>,
        many: Vec<Ref<Loose>>,
        #[permazen(element(inverse_delete = "remove"))]
        own: Vec<Ref<Loose>>,
    }
    database::<Loose>()
        .read(|tx| {
            let allows = |name: &str| {
                let field = field(tx, "Loose", name);
                field.simple().unwrap().reference.as_ref().unwrap().allow_deleted
            };
            assert!(allows("one") && allows("many.element"));
            assert!(!allows("own.element"));
            Ok(())
        })
        .unwrap();
}

#[test]
fn m02_1_06_fields_without_a_policy_have_that_of_the_type() {
    mod before {
        #[derive(permazen::PermazenObject, Default)]
        pub struct Item {
            pub a: i32,
            pub b: i32,
        }
    }
    mod now {
        #[derive(permazen::PermazenObject, Default)]
        #[permazen(default_upgrade = "reset")]
        pub struct Item {
            pub a: i64,
            #[permazen(upgrade = "exact")]
            pub b: i64,
        }
    }
    let store = store();
    let id = open::<before::Item>(&store)
        .write(|tx| Ok(tx.create(before::Item { a: 3, b: 4 })?.id()))
        .unwrap();
    open::<now::Item>(&store)
        .write(|tx| {
            let item = tx.get::<now::Item>(id)?;
            assert_eq!((item.a()?, item.b()?), (0, 4));
            Ok(())
        })
        .unwrap();
}

#[test]
fn m02_1_07_a_singleton_has_one_object() {
    #[derive(PermazenObject, Default)]
    #[permazen(singleton)]
    struct Settings {
        theme: Option<String>,
    }
    let db = database::<Settings>();
    let id = db.write(|tx| Ok(tx.create_default::<Settings>()?.id())).unwrap();
    let mut second = None;
    let refused = db.write(|tx| {
        second = Some(tx.create_default::<Settings>()?.id());
        Ok(())
    });
    let refused = violations(refused);
    let violation = refused.iter().next().unwrap();
    assert_eq!(refused.len(), 1);
    assert_eq!((Some(violation.object), &violation.others[..]), (second, &[id][..]));
    assert_eq!((violation.rule, &*violation.path), (Rule::Singleton, "Settings"));
}

#[test]
fn m02_2_01_names_are_java_identifiers() {
    #[derive(PermazenObject, Default)]
    #[permazen(name = "$A_1")]
    struct Odd {
        #[permazen(rename = "_größe$")]
        size: i32,
    }
    let db = database::<Odd>();
    db.read(|tx| {
        assert_eq!(&*field(tx, "$A_1", "_größe$").name, "_größe$");
        Ok(())
    })
    .unwrap();
}

#[test]
fn m02_5_01_nothing_is_cached_in_a_handle() {
    let db = Permazen::builder(MemoryStore::new()).model::<Person>().build().unwrap();
    db.write(|tx| {
        let ann = tx.create_default::<Person>()?;
        assert_eq!(ann.age()?, 0);
        ann.any().set("age", &permazen::encoding::Value::Int(9))?;
        assert_eq!(ann.age()?, 9);
        Ok(())
    })
    .unwrap();
}
