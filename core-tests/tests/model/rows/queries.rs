//! Sections 9 and 10: queries by type and of indexes.

use std::collections::BTreeMap;

use permazen::encoding::Value;
use permazen::object::Error as ObjectError;
use permazen::{Error, Obj, PermazenKind, PermazenObject, Ref};

use crate::rows::*;

#[derive(PermazenObject, Default)]
#[permazen(storage_id = 20)]
struct Foo {
    #[permazen(indexed)]
    name: Option<String>,
}

#[derive(PermazenObject, Default)]
#[permazen(storage_id = 10)]
struct Bar {
    #[permazen(indexed)]
    name: Option<String>,
    n: i32,
}

#[derive(PermazenKind)]
enum Either<'t> {
    Foo(Obj<'t, Foo>),
    Bar(Obj<'t, Bar>),
}

#[derive(PermazenObject, Default)]
struct Stranger {
    n: i32,
}

mod before {
    #[derive(permazen::PermazenObject, Default)]
    #[permazen(storage_id = 20)]
    pub struct Foo {
        pub old: i32,
    }
}

fn foo(name: &str) -> Foo {
    Foo { name: Some(name.to_owned()) }
}

#[test]
fn m09_0_01_and_02_objects_of_a_type_in_the_order_of_their_ids_in_any_schema() {
    let store = store();
    let old = open::<before::Foo>(&store)
        .write(|tx| Ok(tx.create_default::<before::Foo>()?.id()))
        .unwrap();
    open2::<Foo, Bar>(&store)
        .write(|tx| {
            let all = tx.all::<Foo>()?;
            let new = tx.create(foo("a"))?;
            tx.create_default::<Bar>()?;
            let mut expected = [old, new.id()];
            expected.sort();
            // The set is live.
            let ids: Vec<_> = all.to_vec()?.into_iter().map(|it| it.id()).collect();
            assert_eq!(ids, expected);
            assert_ne!(tx.any(old).schema_id()?, new.schema_id()?);
            new.delete()?;
            assert_eq!(all.count()?, 1);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m09_0_05_a_kind_has_the_objects_of_its_models_by_storage_id_of_the_type() {
    builder()
        .kind::<EitherKind>()
        .model::<Stranger>()
        .build()
        .unwrap()
        .write(|tx| {
            let (foo, bar) = (tx.create(foo("a"))?, tx.create_default::<Bar>()?);
            tx.create_default::<Stranger>()?;
            let ids: Vec<_> =
                tx.all::<EitherKind>()?.to_vec()?.into_iter().map(|it| it.id()).collect();
            assert_eq!(ids, [bar.id(), foo.id()]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m09_0_06_and_08_everything_and_what_no_model_knows() {
    let store = store();
    let unknown =
        open::<Stranger>(&store).write(|tx| Ok(tx.create_default::<Stranger>()?.id())).unwrap();
    open2::<Foo, Bar>(&store)
        .write(|tx| {
            tx.create(foo("a"))?;
            tx.create_default::<Bar>()?;
            assert_eq!(tx.everything()?.count()?, 3);
            assert_eq!(tx.untyped()?.to_vec()?, [tx.any(unknown)]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m09_0_09_a_model_that_is_not_registered_has_no_objects_to_ask_for() {
    database::<Foo>()
        .read(|tx| {
            let refused = tx.all::<Stranger>().map(drop);
            let Err(Error::NotRegistered { type_name }) = refused else { panic!("{refused:?}") };
            assert_eq!(type_name, "Stranger");
            Ok(())
        })
        .unwrap();
}

#[test]
fn m09_0_11_objects_by_schema() {
    let store = store();
    let old = open::<before::Foo>(&store)
        .write(|tx| Ok(tx.create_default::<before::Foo>()?.id()))
        .unwrap();
    open::<Foo>(&store)
        .write(|tx| {
            let new = tx.create(foo("a"))?;
            let old_schema = tx.any(old).object_type()?.schema;
            let ids = |schema| -> Result<Vec<ObjId>> {
                Ok(tx.core().objects_in_schema(schema)?.to_vec()?)
            };
            assert_eq!(ids(old_schema)?, [old]);
            assert_eq!(ids(tx.schema().index)?, [new.id()]);
            Ok(())
        })
        .unwrap();
}

// ---- 10 indexes

#[derive(PermazenObject, Default)]
#[permazen(composite(name = "abc", fields(a, b, c)))]
struct Bag {
    #[permazen(indexed)]
    name: Option<String>,
    #[permazen(element(indexed))]
    list: Vec<String>,
    #[permazen(key(indexed), value(indexed))]
    map: BTreeMap<i32, String>,
    a: i32,
    b: i32,
    c: i32,
    friend: Option<Ref<EitherKind>>,
    plain: i32,
}

fn bags() -> Permazen {
    builder().model::<Bag>().kind::<EitherKind>().build().unwrap()
}

#[test]
fn m10_0_01_simple_indexes() {
    bags()
        .write(|tx| {
            let names = tx.index(Bag::NAME)?;
            let mut with_a = [tx.create_default::<Bag>()?, tx.create_default::<Bag>()?];
            with_a.sort();
            for bag in with_a {
                bag.set_name("a")?;
            }
            let without = tx.create_default::<Bag>()?;
            assert_eq!(names.get("a")?.to_vec()?, with_a);
            assert_eq!(names.get(None::<String>)?.to_vec()?, [without]);
            let values = names.values().collect::<Result<Vec<_>>>()?;
            assert_eq!(values, [Some("a".to_owned()), None]);
            assert!(names.get("absent")?.is_empty()?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m10_0_02_and_07_elements_of_lists_with_their_positions() {
    bags()
        .write(|tx| {
            let list = ["a", "b", "a"].map(str::to_owned).into();
            let bag = tx.create(Bag { list, ..Bag::default() })?;
            let plain = tx.index(Bag::LIST)?.iter().collect::<Result<Vec<_>>>()?;
            assert_eq!(plain, [("a".to_owned(), bag), ("b".to_owned(), bag)]);
            let places = tx.index(Bag::LIST.positions())?.iter().collect::<Result<Vec<_>>>()?;
            let [a, b] = ["a", "b"].map(str::to_owned);
            assert_eq!(places, [(a.clone(), bag, 0), (a, bag, 2), (b, bag, 1)]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m10_0_03_values_of_maps_with_their_keys() {
    bags()
        .write(|tx| {
            let map = [(1, "x".to_owned()), (2, "y".to_owned()), (3, "x".to_owned())].into();
            let bag = tx.create(Bag { map, ..Bag::default() })?;
            let keyed = tx.index(Bag::MAP.value().with_keys())?;
            let found = keyed.iter().collect::<Result<Vec<_>>>()?;
            let [x, y] = ["x", "y"].map(str::to_owned);
            assert_eq!(found, [(x.clone(), bag, 1), (x, bag, 3), (y, bag, 2)]);
            assert_eq!(tx.index(Bag::MAP.key())?.get(2)?.to_vec()?, [bag]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m10_0_04_and_06_composite_indexes_and_their_prefixes() {
    bags()
        .write(|tx| {
            let mut made = Vec::new();
            for (a, b, c) in [(1, 1, 2), (1, 1, 1), (1, 2, 0), (2, 0, 0)] {
                made.push(tx.create(Bag { a, b, c, ..Bag::default() })?);
            }
            let index = tx.index(Bag::ABC)?;
            let tuples = index.iter().map(|it| it.map(|it| it.0)).collect::<Result<Vec<_>>>()?;
            assert_eq!(tuples, [(1, 1, 1), (1, 1, 2), (1, 2, 0), (2, 0, 0)]);
            assert_eq!(index.get((1, 1, 2))?.to_vec()?, [made[0]]);
            let one = index.prefix(1)?;
            assert_eq!(one.count()?, 3);
            assert_eq!(one.prefix(1)?.range(2..)?.count()?, 1);
            assert_eq!(index.range(2..)?.count()?, 1);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m10_1_01_and_02_indexes_by_name() {
    bags()
        .write(|tx| {
            for (name, is_there) in [
                ("name", true),
                ("list.element", true),
                ("map.key", true),
                ("map.value", true),
                ("abc", true),
                ("plain", false),
                ("map", false),
                ("list.key", false),
                ("absent", false),
                ("a.b.c", false),
            ] {
                let found = tx.index_by_name("Bag", name).map(drop);
                match found {
                    Ok(()) => assert!(is_there, "{name}"),
                    Err(Error::Object(
                        ObjectError::UnknownIndex { .. } | ObjectError::UnknownField { .. },
                    )) => assert!(!is_there, "{name}"),
                    other => panic!("{name}: {other:?}"),
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn m10_2_03_an_index_of_all_types_has_untyped_objects_too() {
    let store = store();
    let unknown = open::<Bar>(&store)
        .write(|tx| Ok(tx.create(Bar { name: Some("a".into()), n: 1 })?.id()))
        .unwrap();
    open::<Foo>(&store)
        .write(|tx| {
            let foo = tx.create(foo("a"))?;
            let names = tx.index(Foo::NAME)?;
            assert_eq!(names.get("a")?.to_vec()?, [foo]);
            let all = names.of_all_types()?.get("a")?.to_vec()?;
            assert_eq!(all, [tx.any(unknown), foo.any()]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m10_2_04_references_are_found_by_what_they_refer_to() {
    bags()
        .write(|tx| {
            let (foo, bar) = (tx.create(foo("a"))?, tx.create_default::<Bar>()?);
            let to_foo = tx.create(Bag { friend: Some(foo.into()), ..Bag::default() })?;
            let to_bar = tx.create(Bag { friend: Some(bar.into()), ..Bag::default() })?;
            let to_none = tx.create_default::<Bag>()?;
            let friends = tx.index(Bag::FRIEND)?;
            assert_eq!(friends.get(foo)?.to_vec()?, [to_foo]);
            assert_eq!(friends.get(None::<Ref<EitherKind>>)?.to_vec()?, [to_none]);
            // Those that refer to objects of one type, and to nothing.
            let number = bar.id().storage_id();
            let bars = friends.as_view().with_references_to(0, [number], true)?;
            assert_eq!(bars.count()?, 2);
            assert_eq!(bars.with_value(0, &Value::Ref(bar.id()))?.count()?, 1);
            assert_eq!(to_bar.friend()?.map(|it| it.id()), Some(bar.id()));
            Ok(())
        })
        .unwrap();
}

#[test]
fn m10_2_06_types_share_an_index_and_queries_show_their_own_type() {
    builder()
        .kind::<EitherKind>()
        .build()
        .unwrap()
        .write(|tx| {
            let a = || Some("a".to_owned());
            let (foo, bar) = (tx.create(foo("a"))?, tx.create(Bar { name: a(), n: 0 })?);
            assert_eq!(field_id(tx, "Foo", "name"), field_id(tx, "Bar", "name"));
            assert_eq!(tx.index(Foo::NAME)?.get("a")?.to_vec()?, [foo]);
            assert_eq!(tx.index(Bar::NAME)?.get("a")?.to_vec()?, [bar]);
            Ok(())
        })
        .unwrap();
}

mod one_indexed {
    #[derive(permazen::PermazenObject, Default)]
    pub struct First {
        #[permazen(indexed)]
        pub name: Option<String>,
    }
    #[derive(permazen::PermazenObject, Default)]
    pub struct Last {
        pub name: Option<String>,
    }
}

mod last_indexed {
    #[derive(permazen::PermazenObject, Default)]
    pub struct First {
        pub name: Option<String>,
    }
    #[derive(permazen::PermazenObject, Default)]
    pub struct Last {
        #[permazen(indexed)]
        pub name: Option<String>,
    }
}

#[test]
fn m10_4_01_an_index_is_found_whichever_of_the_types_has_it() {
    open2::<one_indexed::First, one_indexed::Last>(&store())
        .write(|tx| {
            let first = tx.create(one_indexed::First { name: Some("a".into()) })?;
            tx.create(one_indexed::Last { name: Some("a".into()) })?;
            assert_eq!(tx.index(one_indexed::First::NAME)?.get("a")?.to_vec()?, [first]);
            Ok(())
        })
        .unwrap();
    open2::<last_indexed::First, last_indexed::Last>(&store())
        .write(|tx| {
            tx.create(last_indexed::First { name: Some("a".into()) })?;
            let last = tx.create(last_indexed::Last { name: Some("a".into()) })?;
            assert_eq!(tx.index(last_indexed::Last::NAME)?.get("a")?.to_vec()?, [last]);
            Ok(())
        })
        .unwrap();
}
