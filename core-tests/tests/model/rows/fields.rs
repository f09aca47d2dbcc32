//! Section 3: fields.

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::{JavaChar, Value};
use permazen::model::DeleteAction;
use permazen::object::{Error as ObjectError, Migrate};
use permazen::{Any, Counter, PermazenEnum, PermazenFields, PermazenObject, Ref};

use crate::rows::*;

/// The short name of the encoding of a field.
fn encoding(tx: &Tx, type_name: &str, full_name: &str) -> String {
    let field = field(tx, type_name, full_name);
    field.simple().unwrap().encoding.id().map(|id| id.alias().to_owned()).unwrap_or_default()
}

// ---- 3.2 names

#[derive(PermazenObject, Default)]
struct Named {
    last_name: i32,
    x: i32,
    #[permazen(rename = "URL")]
    url: i32,
    r#type: i32,
}

#[test]
fn m03_2_01_and_02_names_are_those_of_java_beans() {
    database::<Named>()
        .write(|tx| {
            let object = tx.create_default::<Named>()?;
            let names: Vec<_> = object.any().fields()?.into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["URL", "lastName", "type", "x"]);
            object.set_url(4)?;
            assert_eq!(object.any().get("URL")?, Value::Int(4));
            Ok(())
        })
        .unwrap();
}

// ---- 3.3 attributes of simple fields

#[derive(PermazenObject, Default)]
struct Simple {
    #[permazen(rename = "n")]
    number: i32,
    #[permazen(encoding = "urn:fdc:permazen.io:2020:Integer")]
    wrapped: Option<i32>,
    #[permazen(indexed)]
    indexed: i32,
    plain: i32,
    reference: Option<Ref<Simple>>,
    #[permazen(forward_delete)]
    owned: Option<Ref<Simple>>,
    #[permazen(allow_deleted, inverse_delete = "ignore")]
    loose: Option<Ref<Simple>>,
}

#[test]
fn m03_3_01_the_name_of_a_field() {
    database::<Simple>()
        .write(|tx| {
            let object = tx.create(Simple { number: 7, ..Simple::default() })?;
            assert_eq!(object.any().get("n")?, Value::Int(7));
            assert!(object.any().get("number").is_err());
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_3_02_an_encoding_is_given_by_its_urn_and_must_be_known() {
    database::<Simple>()
        .read(|tx| {
            assert_eq!(encoding(tx, "Simple", "wrapped"), "Integer");
            assert_eq!(encoding(tx, "Simple", "plain"), "int");
            Ok(())
        })
        .unwrap();
    #[derive(PermazenObject)]
    struct Unknown {
        #[permazen(encoding = "nonsense:")]
        text: String,
    }
    let errors = problems(builder().model::<Unknown>());
    assert_eq!(errors.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["Unknown.text"]);
}

#[test]
fn m03_3_04_references_are_always_indexed_and_others_if_asked() {
    database::<Simple>()
        .read(|tx| {
            let is_indexed = |name: &str| field(tx, "Simple", name).is_indexed();
            assert!(is_indexed("indexed") && is_indexed("reference") && is_indexed("loose"));
            assert!(!is_indexed("plain") && !is_indexed("n"));
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_3_09_to_11_delete_actions_and_their_defaults() {
    let db = database::<Simple>();
    db.read(|tx| {
        let info = |name: &str| {
            let field = field(tx, "Simple", name);
            let reference = field.simple().unwrap().reference.as_ref().unwrap();
            (reference.inverse_delete, reference.forward_delete, reference.allow_deleted)
        };
        assert_eq!(info("reference"), (DeleteAction::Exception, false, false));
        assert_eq!(info("owned"), (DeleteAction::Exception, true, false));
        assert_eq!(info("loose"), (DeleteAction::Ignore, false, true));
        Ok(())
    })
    .unwrap();
    db.write(|tx| {
        let target = tx.create_default::<Simple>()?;
        let owner = tx.create(Simple { owned: Some(target.to_ref()), ..Simple::default() })?;
        assert!(owner.delete()?);
        assert!(!target.exists()?, "it goes with the object that refers to it");
        Ok(())
    })
    .unwrap();
}

// ---- 3.4 collections

#[derive(PermazenObject, Default)]
struct Bag {
    labels: BTreeSet<String>,
    #[permazen(element(indexed, storage_id = 33))]
    list: Vec<i32>,
    #[permazen(storage_id = 44)]
    map: BTreeMap<String, Option<i32>>,
    #[permazen(value(inverse_delete = "remove", cascade(forward = ["all"])))]
    pals: BTreeMap<i32, Ref<Bag>>,
}

#[test]
fn m03_4_01_to_04_sub_fields_have_the_name_of_their_field_before_theirs() {
    database::<Bag>()
        .read(|tx| {
            let names = |name: &str| {
                let field = field(tx, "Bag", name);
                field.sub_fields().map(|sub| sub.full_name.to_string()).collect::<Vec<_>>()
            };
            assert_eq!(names("labels"), ["labels.element"]);
            assert_eq!(names("list"), ["list.element"]);
            assert_eq!(names("map"), ["map.key", "map.value"]);
            assert_eq!(field_id(tx, "Bag", "list.element"), 33);
            assert_eq!(field_id(tx, "Bag", "map"), 44);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_4_05_sub_fields_have_attributes_of_their_own() {
    database::<Bag>()
        .write(|tx| {
            assert!(field(tx, "Bag", "list.element").is_indexed());
            assert!(!field(tx, "Bag", "labels.element").is_indexed());
            let target = tx.create_default::<Bag>()?;
            let bag = tx.create(Bag { pals: [(1, target.to_ref())].into(), ..Bag::default() })?;
            let mut both = [bag.id(), target.id()];
            both.sort();
            let mut found = bag.cascade("all").ids()?;
            found.sort();
            assert_eq!(found, both);
            target.delete()?;
            assert!(bag.pals()?.is_empty()?);
            Ok(())
        })
        .unwrap();
}

// ---- 3.5 shared fields

#[derive(PermazenFields, Default)]
struct Entry {
    #[permazen(indexed)]
    label: Option<String>,
    pals: BTreeSet<Ref<Any>>,
}

#[derive(PermazenObject, Default)]
struct Dog {
    #[permazen(flatten)]
    entry: Entry,
}

#[derive(PermazenObject, Default)]
struct Cat {
    #[permazen(flatten)]
    entry: Entry,
    lives: i32,
}

#[test]
fn m03_5_01_shared_fields_are_fields_of_each_model_with_one_storage_id() {
    builder()
        .model::<Dog>()
        .model::<Cat>()
        .build()
        .unwrap()
        .write(|tx| {
            for name in ["label", "pals", "pals.element"] {
                assert_eq!(field(tx, "Dog", name).schema_id, field(tx, "Cat", name).schema_id);
                assert_eq!(field_id(tx, "Dog", name), field_id(tx, "Cat", name));
            }
            let dog = tx.create_default::<Dog>()?;
            let cat = tx.create_default::<Cat>()?;
            dog.set_label("Rex")?;
            assert_eq!((dog.label()?.as_deref(), cat.label()?), (Some("Rex"), None));
            assert_eq!(cat.lives()?, 0);
            Ok(())
        })
        .unwrap();
}

// ---- 3.7 types

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
enum Level {
    Low,
    VeryHigh,
}

#[derive(PermazenObject, Default, Debug, PartialEq)]
struct Types {
    #[permazen(indexed)]
    a: bool,
    #[permazen(indexed)]
    b: i8,
    #[permazen(indexed)]
    c: JavaChar,
    #[permazen(indexed)]
    d: i16,
    #[permazen(indexed)]
    e: i32,
    #[permazen(indexed)]
    f: i64,
    #[permazen(indexed)]
    g: f32,
    #[permazen(indexed)]
    h: f64,
    #[permazen(indexed)]
    i: Option<i32>,
    #[permazen(indexed)]
    j: Option<String>,
    k: Option<Box<[i32]>>,
    l: Option<Box<[Option<String>]>>,
    #[permazen(indexed)]
    m: Option<Level>,
    n: Option<Box<[Option<Level>]>>,
    o: Option<Ref<Types>>,
    p: Counter,
    q: BTreeSet<String>,
    r: Vec<i32>,
    s: BTreeMap<String, Option<i64>>,
    t: Option<bool>,
    u: Option<f64>,
}

#[test]
fn m03_7_01_to_05_primitives_wrappers_strings_and_arrays() {
    database::<Types>()
        .write(|tx| {
            let expected = [
                ("a", "boolean"),
                ("b", "byte"),
                ("c", "char"),
                ("d", "short"),
                ("e", "int"),
                ("f", "long"),
                ("g", "float"),
                ("h", "double"),
                ("i", "Integer"),
                ("t", "Boolean"),
                ("u", "Double"),
                ("j", "String"),
                ("k", "int[]"),
                ("l", "String[]"),
            ];
            let object = tx.create_default::<Types>()?.any();
            for (name, alias) in expected {
                assert_eq!(encoding(tx, "Types", name), alias, "{name}");
                let may_be_null = name >= "i";
                assert_eq!(object.get(name)?.is_null(), may_be_null, "{name}");
                assert_eq!(object.set(name, &Value::Null).is_ok(), may_be_null, "{name}");
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_7_12_to_17_what_new_objects_have() {
    database::<Types>()
        .write(|tx| {
            let object = tx.create_default::<Types>()?;
            assert_eq!(object.load()?, Types::default());
            assert_eq!((object.m()?, object.n()?, object.o()?), (None, None, None));
            assert_eq!(object.p().get()?, 0);
            assert!(object.q()?.is_empty()? && object.r()?.is_empty()? && object.s()?.is_empty()?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_7_18_default_values_are_not_stored_but_in_their_indexes() {
    let store = store();
    let id = open::<Types>(&store).write(|tx| Ok(tx.create_default::<Types>()?.id())).unwrap();
    open::<Types>(&store)
        .read(|tx| {
            let all = pairs(&store);
            let own: Vec<_> =
                all.iter().filter(|(key, _)| key.starts_with(&id.to_string())).collect();
            // The object itself, and its counter.
            assert_eq!(own.len(), 2, "{own:?}");
            let expected = [
                ("a", "00"),
                ("b", "7f"),
                ("d", "7f"),
                ("e", "7f"),
                ("f", "7f"),
                ("c", "0000"),
                ("g", "80000000"),
                ("h", "8000000000000000"),
                ("i", "ff"),
                ("j", "ff"),
                ("m", "ff"),
                ("o", "ff"),
            ];
            for (name, bytes) in expected {
                let key = format!("{:02x}{bytes}{id}", field_id(tx, "Types", name));
                assert!(all.contains(&(key, String::new())), "{name}");
            }
            Ok(())
        })
        .unwrap();
}

// ---- 3.8 enums

#[test]
fn m03_8_01_and_02_identifiers_in_order_and_ordinals_as_bytes() {
    let store = store();
    let db = open::<Types>(&store);
    let id = db
        .write(|tx| {
            let identifiers =
                field(tx, "Types", "m").simple().unwrap().identifiers.clone().unwrap();
            assert_eq!(*identifiers, ["LOW".to_owned(), "VERY_HIGH".to_owned()]);
            let object = tx.create_default::<Types>()?;
            object.set_m(Level::VeryHigh)?;
            Ok(object.id())
        })
        .unwrap();
    let key = db.read(|tx| Ok(format!("{id}{:02x}", field_id(tx, "Types", "m")))).unwrap();
    assert!(pairs(&store).contains(&(key, "01".to_owned())));
}

#[test]
fn m03_8_04_another_list_of_constants_is_another_type_of_field_and_values_go_by_name() {
    mod before {
        use permazen::{PermazenEnum, PermazenObject};
        #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
        pub enum Color {
            A,
            B,
            C,
        }
        #[derive(PermazenObject, Default)]
        pub struct Item {
            pub color: Option<Color>,
        }
    }
    mod now {
        use permazen::{PermazenEnum, PermazenObject};
        #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
        pub enum Color {
            C,
            B,
            X,
        }
        #[derive(PermazenObject, Default)]
        pub struct Item {
            pub color: Option<Color>,
        }
    }
    let store = store();
    let (id, old) = open::<before::Item>(&store)
        .write(|tx| {
            let item = tx.create(before::Item { color: Some(before::Color::C) })?;
            Ok((item.id(), field(tx, "Item", "color").schema_id))
        })
        .unwrap();
    open::<now::Item>(&store)
        .write(|tx| {
            assert_ne!(field(tx, "Item", "color").schema_id, old);
            assert_eq!(tx.get::<now::Item>(id)?.color()?, Some(now::Color::C));
            Ok(())
        })
        .unwrap();
}

// ---- 3.10 counters

#[derive(PermazenObject, Default)]
struct Page {
    hits: Counter,
}

#[test]
fn m03_10_01_counters_have_64_bits() {
    database::<Page>()
        .write(|tx| {
            let hits = tx.create_default::<Page>()?.hits();
            hits.set(i64::MAX - 1)?;
            hits.add(1)?;
            assert_eq!(hits.get()?, i64::MAX);
            hits.add(1)?;
            assert_eq!(hits.get()?, i64::MIN);
            hits.add(-1)?;
            assert_eq!(hits.get()?, i64::MAX);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_10_02_adding_nothing_does_nothing() {
    mod before {
        #[derive(permazen::PermazenObject, Default)]
        pub struct Page {
            pub hits: i32,
        }
    }
    let store = store();
    let id = open::<before::Page>(&store)
        .write(|tx| Ok(tx.create(before::Page { hits: 7 })?.id()))
        .unwrap();
    let db = open::<Page>(&store);
    db.write(|tx| {
        let page = tx.get::<Page>(id)?;
        let before = page.schema_id()?;
        page.hits().add(0)?;
        assert_eq!(page.schema_id()?, before, "it has not moved");
        page.hits().add(1)?;
        assert_eq!(page.schema_id()?, tx.schema().id);
        assert_eq!(page.hits().get()?, 8);
        Ok(())
    })
    .unwrap();
}

// ---- 3.11 collections as values

#[derive(PermazenObject, Default)]
struct Collections {
    numbers: BTreeSet<Option<i32>>,
    list: Vec<i32>,
    map: BTreeMap<Option<String>, i32>,
}

#[test]
fn m03_11_01_collections_are_live_and_sorted_with_null_last() {
    database::<Collections>()
        .write(|tx| {
            let object = tx.create_default::<Collections>()?;
            let (set, map) =
                (object.set_of(Collections::NUMBERS)?, object.map_of(Collections::MAP)?);
            set.extend([None, Some(5), Some(-5)])?;
            assert_eq!(set.load::<Vec<_>>()?, [Some(-5), Some(5), None]);
            assert_eq!((set.first()?, set.last()?), (Some(Some(-5)), Some(None)));
            map.extend([(None, 1), (Some("b".to_owned()), 2), (Some("a".to_owned()), 3)])?;
            let keys = map.keys().collect::<Result<Vec<_>>>()?;
            assert_eq!(keys, [Some("a".to_owned()), Some("b".to_owned()), None]);
            let list = object.list()?;
            object.list()?.push(1)?;
            assert_eq!(list.get(0)?, Some(1), "another view has the same elements");
            Ok(())
        })
        .unwrap();
}

#[test]
fn m03_11_02_null_is_no_element_of_a_primitive_type() {
    database::<Collections>()
        .write(|tx| {
            let object = tx.create_default::<Collections>()?;
            let list = tx.core().list_view(object.id(), "list", Migrate::No)?;
            let refused = list.push(&Value::Null);
            assert!(matches!(refused, Err(ObjectError::InvalidValue { .. })), "{refused:?}");
            assert!(object.list()?.is_empty()?);
            Ok(())
        })
        .unwrap();
}
