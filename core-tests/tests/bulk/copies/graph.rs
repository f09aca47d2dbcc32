//! Graphs of objects as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use permazen::__internal::model::GraphValue;
use permazen::kv::memory::MemoryStore;
use permazen::model::{Graph, Import};
use permazen::{Any, Counter, Error, Obj, ObjId, Permazen, PermazenEnum, PermazenObject, Ref, Tx};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{Node, node, open};

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Color {
    Red,
    Green,
}

/// A field of each kind, and of many types.
#[derive(PermazenObject, Default, Debug, PartialEq, Clone)]
struct Thing {
    #[permazen(indexed)]
    text: String,
    maybe: Option<String>,
    number: i64,
    real: f64,
    narrow: Option<f32>,
    flag: Option<bool>,
    bytes: Box<[i8]>,
    color: Option<Color>,
    count: Counter,
    next: Option<Ref<Thing>>,
    #[permazen(allow_deleted, inverse_delete = "ignore")]
    lost: Option<Ref<Any>>,
    tags: BTreeSet<String>,
    others: Vec<Ref<Thing>>,
    by_number: BTreeMap<i64, String>,
    by_thing: BTreeMap<Ref<Thing>, Option<i32>>,
}

fn things() -> Permazen {
    Permazen::builder(MemoryStore::new()).model::<Thing>().model::<Node>().build().unwrap()
}

fn read(json: &Json) -> Graph {
    serde_json::from_value(json.clone()).unwrap()
}

/// The message of a refused import. Nothing has changed.
fn refused(tx: &Tx, json: &Json, how: Import) -> String {
    let before = tx.snapshot().unwrap().to_bytes().unwrap();
    let error = tx.import_graph(&read(json), how).unwrap_err();
    assert!(matches!(error, Error::Graph(_)), "{error:?}");
    assert_eq!(tx.snapshot().unwrap().to_bytes().unwrap(), before);
    error.to_string()
}

#[test]
fn the_json_is_that_of_the_guide() {
    things()
        .write(|tx| {
            let gone = tx.create(Thing::default())?.id();
            tx.get::<Thing>(gone)?.delete()?;
            let thing = tx.create(Thing {
                text: "a \"b\"\n".into(),
                number: i64::MAX,
                real: f64::NAN,
                narrow: Some(-0.0),
                flag: Some(true),
                bytes: [0, -1].into(),
                color: Some(Color::Green),
                count: Counter(3),
                lost: Some(Ref::new(gone)),
                tags: ["x".into(), "y".into()].into(),
                by_number: [(-1, "minus".into())].into(),
                ..Thing::default()
            })?;
            thing.others()?.push(thing.to_ref())?;
            thing.by_thing()?.insert(thing.to_ref(), None)?;
            let found = serde_json::to_value(tx.export_graph([thing])?).unwrap();
            let id = thing.id().to_string();
            assert_eq!(
                found,
                json!({"objects": [{"id": id, "type": "Thing", "fields": {
                    "text": "a \"b\"\n",
                    "maybe": null,
                    "number": "9223372036854775807",
                    "real": "NaN",
                    "narrow": "-0.0",
                    "flag": true,
                    "bytes": "[ \"0\", \"-1\" ]",
                    "color": "GREEN",
                    "count": 3,
                    "next": null,
                    "lost": gone.to_string(),
                    "tags": ["x", "y"],
                    "others": [id],
                    "byNumber": [[-1, "minus"]],
                    "byThing": [[id, null]],
                }}]})
            );
            Ok(())
        })
        .unwrap();
}

/// The content of a thing, with the numbers of things in place of references.
type Plan = (
    (String, Option<String>, i64, f64, Option<f32>, Option<bool>, Vec<i8>, Option<bool>, i64),
    (Option<usize>, BTreeSet<String>, Vec<usize>, BTreeMap<i64, String>),
    BTreeMap<usize, Option<i32>>,
);

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let long = || prop_oneof![any::<i64>(), Just(i64::MAX), Just((1 << 53) + 1), -9..9_i64];
    let plan = (
        (
            any::<String>(),
            proptest::option::of(any::<String>()),
            long(),
            any::<u64>().prop_map(f64::from_bits),
            proptest::option::of(any::<u32>().prop_map(f32::from_bits)),
            any::<Option<bool>>(),
            vec(any::<i8>(), 0..9),
            any::<Option<bool>>(),
            long(),
        ),
        (
            proptest::option::of(0..4_usize),
            btree_set(".{0,3}", 0..4),
            vec(0..4_usize, 0..5),
            btree_map(long(), ".{0,3}", 0..4),
        ),
        btree_map(0..4_usize, any::<Option<i32>>(), 0..3),
    );
    vec(plan, 4)
}

fn create<'t>(tx: &'t Tx, plans: &[Plan]) -> permazen::Result<Vec<Obj<'t, Thing>>> {
    let objects = plans.iter().map(|_| tx.create(Thing::default()));
    let objects: Vec<_> = objects.collect::<permazen::Result<_>>()?;
    let to = |at: usize| objects[at].to_ref();
    for (object, (plain, collections, by_thing)) in objects.iter().zip(plans) {
        let (text, maybe, number, real, narrow, flag, bytes, color, count) = plain.clone();
        let (next, tags, others, by_number) = collections.clone();
        object.store(&Thing {
            text,
            maybe,
            number,
            real,
            narrow,
            flag,
            bytes: bytes.into(),
            color: color.map(|red| if red { Color::Red } else { Color::Green }),
            count: Counter(count),
            next: next.map(to),
            lost: Some(Ref::new(objects[0].id())),
            tags,
            others: others.into_iter().map(to).collect(),
            by_number,
            by_thing: by_thing.iter().map(|(at, value)| (to(*at), *value)).collect(),
        })?;
    }
    Ok(objects)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_stored_reads_back_through_json(plans in plans()) {
        things().write(|tx| {
            let objects = create(tx, &plans)?;
            let text = serde_json::to_string(&tx.export_graph(objects.clone())?).unwrap();
            let graph: Graph = serde_json::from_str(&text).unwrap();

            // With the same IDs, everything is the same, byte by byte.
            let same = things();
            same.write(|other| {
                other.import_graph(&graph, Import::new())?;
                let bytes = |tx: &Tx| tx.snapshot()?.to_bytes();
                assert_eq!(bytes(other)?, bytes(tx)?);
                Ok(())
            })?;

            // With new IDs, exporting gives the same text, with the IDs exchanged.
            let ids = tx.import_graph(&graph, Import::new().new_ids())?;
            let copies: Vec<ObjId> = objects.iter().map(|object| ids[&object.id()]).collect();
            let mut again = serde_json::to_string(&tx.export_graph(copies)?).unwrap();
            // References in sets and maps are in another order, so compare without their order.
            for (old, new) in &ids {
                again = again.replace(&new.to_string(), &old.to_string());
            }
            let sorted = |text: &str| {
                let mut json: Json = serde_json::from_str(text).unwrap();
                for object in json["objects"].as_array_mut().unwrap() {
                    let map = object["fields"]["byThing"].as_array_mut().unwrap();
                    map.sort_by_key(ToString::to_string);
                }
                json
            };
            assert_eq!(sorted(&again), sorted(&text));
            Ok(())
        }).unwrap();
    }
}

#[test]
fn ids_stay_or_are_new_and_existing_objects_are_replaced_only_on_request() {
    open()
        .write(|tx| {
            let a = tx.create(node("a", None))?;
            let b = tx.create(Node { links: vec![a.to_ref()], ..node("b", Some(a.to_ref())) })?;
            let graph = tx.export_graph(a.cascade("tree").ids()?)?;
            let json = serde_json::to_value(&graph).unwrap();
            assert!(refused(tx, &json, Import::new()).contains("an object with this ID exists"));

            a.set_name("changed")?;
            let ids = tx.import_graph(&graph, Import::new().replacing())?;
            assert_eq!((a.name()?, ids[&b.id()]), ("a".into(), b.id()));
            assert_eq!(tx.find(Node::NAME, "changed")?, None, "indexes follow");

            // Only one of the two: its references go to the old object.
            let ids = tx.import_graph(&tx.export_graph([b])?, Import::new().new_ids())?;
            let copy = tx.get::<Node>(ids[&b.id()])?;
            assert_eq!(copy.parent()?, Some(a));
            // Both: they refer to each other.
            let ids = tx.import_graph(&graph, Import::new().new_ids())?;
            let copy = tx.get::<Node>(ids[&b.id()])?;
            assert_eq!(copy.parent()?.unwrap().id(), ids[&a.id()]);
            assert_eq!(copy.links()?.get(0)?, Some(Ref::new(ids[&a.id()])));
            assert_eq!(tx.all::<Node>()?.count()?, 5);
            Ok(())
        })
        .unwrap();
}

/// A node as JSON.
fn one(id: ObjId, fields: &Json) -> Json {
    json!({"objects": [{"id": id, "type": "Thing", "fields": fields}]})
}

#[test]
fn what_is_wrong_is_named_and_nothing_changes() {
    things()
        .write(|tx| {
            let id = tx.create(Thing::default())?.id();
            let node = tx.create(Node::default())?.id();
            let gone = tx.create(Thing::default())?.id();
            tx.get::<Thing>(gone)?.delete()?;
            let (of_id, of_node, of_gone) = (id.to_string(), node.to_string(), gone.to_string());
            let cases = [
                (json!({"nope": 1}), "field \"nope\": the type has no such field"),
                (json!({"number": "x"}), "field \"number\", value \"x\": "),
                (json!({"number": 1.5}), "field \"number\", value 1.5: "),
                (json!({"number": null}), "field \"number\", value null: "),
                (json!({"text": 3}), "field \"text\", value 3: "),
                (json!({"narrow": 0.123456789012}), "field \"narrow\", value 0.123456789012: "),
                (json!({"narrow": 16777217}), "does not have exactly this number"),
                (json!({"real": 9007199254740993_i64}), "does not have exactly this number"),
                (json!({"flag": "maybe"}), "field \"flag\", value \"maybe\": "),
                (json!({"color": "Blue"}), "field \"color\", value \"Blue\": "),
                (json!({"count": "many"}), "field \"count\", value \"many\": a counter is"),
                (json!({"tags": "x"}), "field \"tags\", value \"x\": the field is a collection"),
                (json!({"tags": ["x", "y", "x"]}), "field \"tags[2]\", value \"x\": a set has each"),
                (json!({"tags": [["x"]]}), "field \"tags[0]\", value a list of 1: "),
                (json!({"byNumber": [1]}), "field \"byNumber[0]\", value 1: an entry"),
                (json!({"byNumber": [[1]]}), "field \"byNumber[0]\", value a list of 1: an entry"),
                (json!({"byNumber": [[1, "a"], [1, "b"]]}), "field \"byNumber[1].key\", value 1: a map"),
                (json!({"byNumber": [[1, 2]]}), "field \"byNumber[0].value\", value 2: "),
                (json!({"next": "zz"}), "field \"next\", value \"zz\": "),
                (json!({"next": of_node}), "the field may not refer to objects of this type"),
                (json!({"next": of_gone}), "is neither in the graph nor in the database"),
                (json!({"others": [of_id, of_gone]}), "is neither in the graph nor in the database"),
                (json!({"text": {"encoded": "6"}}), "these are no pairs of hex digits"),
                (json!({"text": {"encoded": "61"}}), "field \"text\", value {\"encoded\": \"61\"}: "),
            ];
            for (fields, expected) in cases {
                let message = refused(tx, &one(id, &fields), Import::new().replacing());
                assert!(message.contains(expected), "{fields}: {message}");
                assert!(message.starts_with(&format!("object {id} of type \"Thing\"")), "{message}");
            }
            let type_of = |name: &str, id: ObjId| json!({"objects": [{"id": id, "type": name, "fields": {}}]});
            let message = refused(tx, &type_of("Nothing", id), Import::new());
            assert!(message.contains("no such object type; there are \"Node\", \"Thing\""), "{message}");
            let message = refused(tx, &type_of("Thing", node), Import::new());
            assert!(message.contains("those of its type in this database with"), "{message}");
            assert!(message.contains("`Builder::schemas_of`"), "{message}");
            let twice = json!({"objects": [one(id, &json!({}))["objects"][0], one(id, &json!({}))["objects"][0]]});
            let message = refused(tx, &twice, Import::new().new_ids());
            assert!(message.contains("two objects with this ID"), "{message}");
            Ok(())
        })
        .unwrap();
}

#[test]
fn hand_written_numbers_and_missing_fields_are_understood() {
    things()
        .write(|tx| {
            let id = tx.create(Thing::default())?.id();
            let fields = json!({"number": "-7", "real": 1, "narrow": 0.1, "count": "12", "text": "", "bytes": "[]"});
            tx.import_graph(&read(&one(id, &fields)), Import::new().replacing())?;
            let thing = tx.any(id);
            let found = ["number", "real", "narrow", "maybe"].map(|name| thing.get(name).unwrap());
            let null = permazen::encoding::Value::Null;
            assert_eq!(found, [(-7_i64).into(), 1.0_f64.into(), 0.1_f32.into(), null]);
            assert_eq!(tx.get::<Thing>(id)?.count().get()?, 12);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_graph_made_by_a_program_can_have_numbers_that_are_none() {
    things()
        .write(|tx| {
            let thing = tx.create(Thing::default())?;
            let mut graph = tx.export_graph([thing])?;
            let fields = &mut graph.objects[0].fields;
            for name in ["real", "narrow"] {
                fields.insert(name.to_owned(), GraphValue::Float(f64::NAN));
            }
            tx.import_graph(&graph, Import::new().replacing())?;
            assert!(thing.real()?.is_nan() && thing.narrow()?.is_some_and(f32::is_nan));
            Ok(())
        })
        .unwrap();
}

#[test]
fn hostile_documents_are_refused() {
    let id = "0b00000000000001";
    let object = |fields: &str| {
        format!("{{\"objects\":[{{\"id\":\"{id}\",\"type\":\"Node\",\"fields\":{fields}}}]}}")
    };
    let deep = "[".repeat(1_000_000);
    let nested = format!("{}1{}", "[".repeat(4), "]".repeat(4));
    for (text, expected) in [
        (object("{\"name\":1,\"name\":2}"), "field \"name\" is there twice"),
        (object(&format!("{{\"name\":{nested}}}")), "lists are not nested so deep"),
        (object(&format!("{{\"name\":{deep}")), "invalid type: sequence"),
        (object("{\"name\":{\"other\":1}}"), "invalid type: map"),
        (object("{\"name\":{\"encoded\":\"61\",\"encoded\":\"62\"}}"), "invalid type: map"),
        (object("{\"name\":18446744073709551615}"), "write larger ones as text"),
        (object("{\"name\":1e999}"), "number out of range"),
        (object("[]"), "the fields of an object"),
        (deep.clone(), "invalid"),
        ("{\"objects\":[],\"objects\":[]}".into(), "duplicate field `objects`"),
        ("{\"objects\":[],\"more\":1}".into(), "unknown field `more`"),
        ("{\"objects\":[{\"id\":\"xx\",\"type\":\"Node\"}]}".into(), "invalid object id"),
        (format!("{{\"objects\":[{{\"id\":\"{id}\",\"id\":\"{id}\"}}]}}"), "duplicate field `id`"),
        (format!("{{\"objects\":[{{\"id\":\"{id}\",\"type\":\"N\",\"schema\":\"x\"}}]}}"), "x"),
    ] {
        let error = serde_json::from_str::<Graph>(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
        assert!(error.len() < 400, "{error}");
    }
}

#[test]
fn listeners_hear_of_imports_unless_they_are_silent() {
    let db = open();
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    db.write(|tx| {
        let a = tx.create(node("a", None))?;
        let graph = tx.export_graph([a])?;
        let count = Arc::clone(&count);
        tx.observe(permazen::model::creations::<Node>(), move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })?;
        tx.import_graph(&graph, Import::new().new_ids().silent())?;
        assert_eq!(told.load(Ordering::Relaxed), 0);
        tx.import_graph(&graph, Import::new().new_ids())?;
        assert_eq!(told.load(Ordering::Relaxed), 1);
        Ok(())
    })
    .unwrap();
}
