//! Section 6: schemas, their IDs and storage IDs.

use std::collections::{BTreeMap, BTreeSet};

use permazen::object::Error as ObjectError;
use permazen::schema::{SchemaError, SchemaId};
use permazen::{Any, Counter, Error, PermazenEnum, PermazenObject, Ref};

use crate::rows::*;

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
enum Level {
    Low,
    High,
}

#[derive(PermazenObject, Default)]
#[permazen(composite(name = "nameAge", fields(name, age)))]
struct Person {
    #[permazen(indexed)]
    name: Option<String>,
    age: i32,
    friend: Option<Ref<Person>>,
    level: Option<Level>,
    hits: Counter,
    #[permazen(element(indexed))]
    tags: Vec<String>,
    pals: BTreeSet<Ref<Person>>,
    scores: BTreeMap<String, Option<i32>>,
}

#[test]
fn m06_1_01_and_02_types_and_fields_are_ordered_by_name_and_rules_are_no_part() {
    #[derive(PermazenObject, Default)]
    struct Plain {
        #[permazen(indexed)]
        b: i32,
        a: Option<Ref<Plain>>,
    }
    mod with_rules {
        use permazen::Ref;
        #[derive(permazen::PermazenObject, Default)]
        #[permazen(singleton, default_upgrade = "lossy")]
        pub struct Plain {
            #[permazen(cascade(forward = ["x"]))]
            pub a: Option<Ref<Plain>>,
            #[permazen(indexed, unique, exclude(5))]
            pub b: i32,
        }
    }
    let one = database::<Plain>();
    let other = database::<with_rules::Plain>();
    assert_eq!(one.schema().schema_id(), other.schema().schema_id());
    one.read(|tx| {
        let schema = tx.schema();
        let plain = schema.object_type("Plain").unwrap();
        let names: Vec<_> = plain.fields.iter().map(|field| &*field.name).collect();
        assert_eq!(names, ["a", "b"]);
        Ok(())
    })
    .unwrap();
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
enum Color {
    Red,
    Green,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
enum Ab {
    A,
    B,
}

#[derive(PermazenObject, Default)]
#[permazen(name = "Person")]
#[allow(clippy::type_complexity)]
struct Items {
    name: Option<String>,
    friend: Option<Ref<Any>>,
    hits: Counter,
    color: Option<Color>,
    ea: Option<Box<[Option<Box<[Option<Ab>]>>]>>,
    friends: BTreeSet<Ref<Any>>,
    scores: BTreeMap<String, Option<Ref<Any>>>,
}

#[test]
fn m06_2_01_to_08_ids_of_items_are_those_of_java() {
    database::<Items>()
        .read(|tx| {
            let schema = tx.schema();
            let person = schema.object_type("Person").unwrap();
            assert_eq!(person.schema_id.to_string(), "ObjectType_827ad83627ebc2642f3a3d1547912d05");
            let expected = [
                ("name", "SimpleField_a060d57c7daaae2d0c97663b64f16395"),
                ("friend", "ReferenceField_7bef4bf2be38ea45c1ec4fd89769ced3"),
                ("hits", "CounterField_cff2684653ea064b2b5abbc944469f3b"),
                ("color", "EnumField_43a7ec7215872eb3ac417d4bee1216d2"),
                ("ea", "EnumArrayField_43e43fd4fc3513806da770ab35cd6175"),
                ("friends", "SetField_bdc36e1666b163d99f7106f8097d1d2a"),
                ("friends.element", "ReferenceField_ee1ed1200bd6c0a22bece1881c9e3b25"),
                ("scores", "MapField_77167eef4162c68cc6d9068d6351e4c8"),
            ];
            for (name, id) in expected {
                assert_eq!(field(tx, "Person", name).schema_id.to_string(), id, "{name}");
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn m06_2_09_what_is_no_part_of_the_id_of_a_field() {
    #[derive(PermazenObject, Default)]
    struct One {
        #[permazen(indexed)]
        name: Option<String>,
        friend: Option<Ref<One>>,
    }
    #[derive(PermazenObject, Default)]
    struct Two {
        name: Option<String>,
        #[permazen(inverse_delete = "nullify", allow_deleted)]
        friend: Option<Ref<Any>>,
        #[permazen(rename = "other")]
        same_type: Option<String>,
    }
    open2::<One, Two>(&store())
        .write(|tx| {
            for name in ["name", "friend"] {
                assert_eq!(field_id(tx, "One", name), field_id(tx, "Two", name), "{name}");
            }
            assert_ne!(field_id(tx, "Two", "name"), field_id(tx, "Two", "other"));
            // One index, which only one of them has.
            let one = tx.create(One { name: Some("a".into()), ..One::default() })?;
            tx.create(Two { name: Some("a".into()), ..Two::default() })?;
            assert_eq!(tx.index(One::NAME)?.of_all_types()?.get("a")?.to_vec()?, [one.any()]);
            Ok(())
        })
        .unwrap();
}

#[derive(PermazenObject, Default)]
struct Elephant {
    enemies: BTreeSet<Ref<Any>>,
    friend: Option<Ref<Elephant>>,
    parent: Option<Ref<Any>>,
}

#[derive(PermazenObject, Default)]
struct Giraffe {
    enemies: BTreeSet<Ref<Any>>,
    friend: Option<Ref<Giraffe>>,
    parent: Option<Ref<Any>>,
    m: BTreeMap<Ref<Elephant>, Ref<Giraffe>>,
}

#[test]
fn m06_3_03_storage_ids_of_the_example() {
    open2::<Giraffe, Elephant>(&store())
        .read(|tx| {
            let type_id = |name: &str| tx.schema().object_type(name).unwrap().storage_id.get();
            assert_eq!((type_id("Elephant"), type_id("Giraffe")), (1, 6));
            let fields = [("enemies", 2), ("enemies.element", 3), ("friend", 4), ("parent", 5)];
            for (name, id) in fields {
                assert_eq!(field_id(tx, "Elephant", name), id, "{name}");
                assert_eq!(field_id(tx, "Giraffe", name), id, "{name}");
            }
            for (name, id) in [("m", 7), ("m.key", 8), ("m.value", 9)] {
                assert_eq!(field_id(tx, "Giraffe", name), id, "{name}");
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn m06_3_01_and_02_given_ids_come_first_and_the_others_fill_the_gaps() {
    #[derive(PermazenObject, Default)]
    struct Given {
        a: i32,
        #[permazen(storage_id = 2)]
        b: i32,
        c: i32,
    }
    let store = store();
    open::<Given>(&store)
        .write(|tx| {
            let ids = ["a", "b", "c"].map(|name| field_id(tx, "Given", name));
            assert_eq!(
                (tx.schema().object_type("Given").unwrap().storage_id.get(), ids),
                (1, [3, 2, 4])
            );
            tx.create_default::<Given>().map(drop)
        })
        .unwrap();
    // An item that the database knows keeps its ID, whichever program asks.
    #[derive(PermazenObject, Default)]
    struct Another {
        c: i32,
        d: i32,
    }
    open::<Another>(&store)
        .read(|tx| {
            assert_eq!((field_id(tx, "Another", "c"), field_id(tx, "Another", "d")), (4, 6));
            Ok(())
        })
        .unwrap();
}

fn refused_text<T: Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn m06_4_05_and_06_storage_ids_that_contradict_each_other() {
    #[derive(PermazenObject, Default)]
    struct Conflict {
        #[permazen(storage_id = 9)]
        a: i32,
        #[permazen(storage_id = 9)]
        b: i32,
    }
    let text = refused_text(builder().model::<Conflict>().build());
    assert!(text.contains('9'), "{text}");

    #[derive(PermazenObject, Default)]
    struct One {
        #[permazen(storage_id = 9)]
        a: i32,
    }
    #[derive(PermazenObject, Default)]
    struct Two {
        #[permazen(storage_id = 10)]
        a: i32,
    }
    let text = refused_text(builder().model::<One>().model::<Two>().build());
    assert!(text.contains("10") && text.contains('9'), "{text}");
}

#[test]
fn m06_4_07_storage_ids_that_contradict_the_database() {
    mod now {
        #[derive(permazen::PermazenObject, Default)]
        pub struct Item {
            #[permazen(storage_id = 77)]
            pub a: i32,
        }
    }
    mod taken {
        #[derive(permazen::PermazenObject, Default)]
        pub struct Item {
            pub a: i32,
            #[permazen(storage_id = 1)]
            pub b: i32,
        }
    }
    #[derive(PermazenObject, Default)]
    struct Item {
        a: i32,
    }
    let store = store();
    open::<Item>(&store).write(|tx| tx.create_default::<Item>().map(drop)).unwrap();
    let before = pairs(&store);
    for builder in [
        Permazen::builder_shared(store.clone()).model::<now::Item>(),
        Permazen::builder_shared(store.clone()).model::<taken::Item>(),
    ] {
        let refused = builder.build();
        assert!(
            matches!(
                &refused,
                Err(Error::Object(ObjectError::Schema(SchemaError::StorageIdConflict { .. })))
            ),
            "{refused:?}"
        );
    }
    assert_eq!(pairs(&store), before);
}

#[test]
fn m06_6_01_the_golden_example() {
    let store = store();
    let db = open::<Person>(&store);
    let golden: SchemaId = "Schema_f0f81ef24a7b31c623ef3326bfb88c2f".parse().unwrap();
    assert_eq!(db.schema().schema_id(), golden);
    let [ann, other]: [ObjId; 2] =
        ["0111111111111111", "0122222222222222"].map(|id| id.parse().unwrap());
    db.write(|tx| {
        let ids = [
            ("age", 2),
            ("friend", 3),
            ("hits", 4),
            ("level", 5),
            ("name", 6),
            ("pals", 7),
            ("pals.element", 8),
            ("scores", 9),
            ("scores.key", 10),
            ("scores.value", 11),
            ("tags", 12),
            ("tags.element", 13),
        ];
        for (name, id) in ids {
            assert_eq!(field_id(tx, "Person", name), id, "{name}");
        }
        let schema = tx.schema();
        let index = schema.object_type("Person").unwrap().index("nameAge").unwrap();
        assert_eq!(index.storage_id.get(), 14);
        assert_eq!(index.schema_id.to_string(), "CompositeIndex_efdf0f33d2d654f700d0faea32a97f3c");
        let other = tx.create_with_id(other, Person::default())?.unwrap();
        tx.create_with_id(
            ann,
            Person {
                name: Some("Ann".into()),
                age: 30,
                friend: Some(other.to_ref()),
                level: Some(Level::High),
                hits: Counter(7),
                tags: vec!["x".into(), "y".into()],
                pals: [other.to_ref()].into(),
                scores: [("k".into(), Some(5))].into(),
            },
        )?;
        Ok(())
    })
    .unwrap();
    let expected = [
        ("0080010111111111111111", ""),
        ("0080010122222222222222", ""),
        ("0111111111111111", "01"),
        ("011111111111111102", "9d"),
        ("011111111111111103", "0122222222222222"),
        ("011111111111111104", "0000000000000007"),
        ("011111111111111105", "01"),
        ("011111111111111106", "416e6e00"),
        ("0111111111111111070122222222222222", ""),
        ("0111111111111111096b00", "84"),
        ("01111111111111110c00", "7800"),
        ("01111111111111110c01", "7900"),
        ("0122222222222222", "01"),
        ("012222222222222204", "0000000000000000"),
        ("0301222222222222220111111111111111", ""),
        ("03ff0122222222222222", ""),
        ("06416e6e000111111111111111", ""),
        ("06ff0122222222222222", ""),
        ("0801222222222222220111111111111111", ""),
        ("0d7800011111111111111100", ""),
        ("0d7900011111111111111101", ""),
        ("0e416e6e009d0111111111111111", ""),
        ("0eff7f0122222222222222", ""),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()));
    let all = pairs(&store);
    let (tables, content): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(key, _)| key.starts_with("00") && !key.starts_with("0080"));
    assert_eq!(content, expected);
    let keys: Vec<_> = tables.iter().map(|(key, _)| key.as_str()).collect();
    let mut expected = vec!["00005065726d617a656e00".to_owned(), "000101".to_owned()];
    expected.extend((1..=14).map(|id| format!("0002{id:02x}")));
    assert_eq!(keys, expected);
    assert_eq!(tables[0].1, "01");
    let id = "CompositeIndex_efdf0f33d2d654f700d0faea32a97f3c\0";
    let hex: String = id.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(tables[15].1, hex);
}
