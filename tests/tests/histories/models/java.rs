//! Typed models and Permazen for Java on the same database. Java's model layer is not published
//! apart, so its object layer does what its model layer would: it opens the database with the same
//! schema, reads all fields and indexes, and changes objects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use permazen::encoding::Value;
use permazen::kv::KvDatabase;
use permazen::kv::lmdb::LmdbStore;
use permazen::model::Rule;
use permazen::object::FieldValue;
use permazen::{
    Counter, Error, Obj, ObjId, Permazen, PermazenEnum, PermazenFields, PermazenKind,
    PermazenObject, Ref,
};
use permazen_tests::outcome::Stop;
use serde_json::{Value as Json, json};

use crate::models::driver::Driver;

/// The schema that a Java program with classes of this shape would record.
const SCHEMA: &str = include_str!("java.xml");

#[derive(PermazenFields, Debug, Default, Clone, PartialEq)]
#[permazen(composite(name = "codeLabel", fields(code, label), unique, exclude(label(nulls))))]
struct Coded {
    #[permazen(indexed, unique, exclude(0, 100..200))]
    code: i32,
    label: Option<String>,
}

#[derive(PermazenEnum, Debug, Default, Clone, Copy, PartialEq)]
enum Color {
    #[default]
    Red,
    Green,
}

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
struct Gadget {
    #[permazen(flatten)]
    coded: Coded,
    #[permazen(indexed, unique, exclude(nulls, "none"))]
    serial: Option<String>,
    #[permazen(indexed)]
    color: Color,
    hits: Counter,
    #[permazen(element(indexed))]
    labels: BTreeSet<String>,
    #[permazen(element(inverse_delete = "remove"))]
    parts: Vec<Ref<ThingKind>>,
    #[permazen(value(indexed))]
    scores: BTreeMap<String, i32>,
}

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
struct Manual {
    #[permazen(flatten)]
    coded: Coded,
    #[permazen(inverse_delete = "nullify")]
    about: Option<Ref<ThingKind>>,
}

#[derive(PermazenKind)]
#[permazen(fields = Coded)]
enum Thing<'t> {
    Gadget(Obj<'t, Gadget>),
    Manual(Obj<'t, Manual>),
}

fn open(path: &Path) -> (Permazen, Arc<dyn KvDatabase>) {
    let store: Arc<dyn KvDatabase> = Arc::new(LmdbStore::open_or_create(path).unwrap());
    let db = Permazen::builder_shared(Arc::clone(&store)).kind::<ThingKind>().build().unwrap();
    (db, store)
}

/// The driver; `None` if Java is not here and need not be.
fn java() -> Option<Driver> {
    match Driver::start() {
        Ok(java) => Some(java),
        Err(Stop::Skip(reason)) if std::env::var("PERMAZEN_JAVA").is_ok_and(|it| it != "0") => {
            panic!("{reason}")
        }
        Err(Stop::Skip(reason)) => {
            println!("skipped: {reason}");
            None
        }
        Err(Stop::Fail(text)) => panic!("{text}"),
    }
}

/// Lets Java perform one step, which must succeed.
fn must(java: &mut Driver, step: Json) -> Json {
    java.must(step).unwrap_or_else(|stop| panic!("{stop:?}"))
}

fn coded(code: i32, label: Option<&str>) -> Coded {
    Coded { code, label: label.map(str::to_owned) }
}

/// Three gadgets and two manuals.
fn fill(db: &Permazen) -> [ObjId; 5] {
    let ids = db.write(|tx| {
        let gadget = |code, label, serial: Option<&str>, color| Gadget {
            coded: coded(code, label),
            serial: serial.map(str::to_owned),
            color,
            ..Gadget::default()
        };
        let first = tx.create(gadget(0, Some("a"), None, Color::Red))?;
        let second = tx.create(gadget(0, None, Some("none"), Color::Green))?;
        let third = tx.create(Gadget {
            hits: Counter(7),
            labels: ["x", "y"].map(str::to_owned).into(),
            parts: vec![first.into(), second.into(), first.into()],
            scores: [("k".to_owned(), 5), ("l".to_owned(), 5)].into(),
            ..gadget(3, Some("a"), Some("s1"), Color::Green)
        })?;
        let manual = tx.create(Manual { coded: coded(150, None), about: Some(third.into()) })?;
        let other = tx.create(Manual { coded: coded(150, None), about: Some(manual.into()) })?;
        tx.create(gadget(4, None, Some("none"), Color::Red))?.delete()?;
        Ok([first.id(), second.id(), third.id(), manual.id(), other.id()])
    });
    ids.unwrap()
}

fn text(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::String(text) => json!(text),
        Value::Int(number) => json!(number.to_string()),
        Value::Ref(id) => json!(id.to_string()),
        Value::Enum(it) => json!(it.name()),
        other => panic!("{other:?}"),
    }
}

fn texts(values: &[Value]) -> Json {
    values.iter().map(text).collect()
}

/// Each field of each object is read by Java as it is read here.
fn compare_fields(java: &mut Driver, db: &Permazen) {
    let all = db.read(|tx| {
        let all = tx.everything()?.iter();
        all.map(|it| it.and_then(|it| Ok((it.id(), it.fields()?)))).collect::<Result<Vec<_>, _>>()
    });
    let all = all.unwrap();
    let ids: Vec<_> = all.iter().map(|(id, _)| id.to_string()).collect();
    assert_eq!(must(java, json!({ "op": "all" })), json!(ids));
    for (id, fields) in all {
        for (name, value) in fields {
            let (op, expected) = match &value {
                FieldValue::Simple(value) => ("get", text(value)),
                FieldValue::Counter(count) => ("counter.get", json!(count.to_string())),
                FieldValue::Set(values) => ("set.list", texts(values)),
                FieldValue::List(values) => ("list.list", texts(values)),
                FieldValue::Map(entries) => {
                    let row = |(key, value): &(Value, Value)| json!([text(key), text(value)]);
                    ("map.list", entries.iter().map(row).collect())
                }
                other => panic!("{other:?}"),
            };
            let read = must(java, json!({ "op": op, "id": id.to_string(), "field": name }));
            assert_eq!(read, expected, "{id}.{name}");
        }
    }
}

/// The entries of an index, as Java sees them.
fn entries(java: &mut Driver, db: &Permazen, kind: &str, of_type: &str, name: &str) -> Vec<Json> {
    let storage_id = db.read(|tx| {
        let schema = tx.schema();
        let of_type = schema.object_type(of_type).unwrap();
        let field = of_type.field_or_sub_field(name).map(|it| it.storage_id);
        Ok(field.or_else(|| of_type.index(name).map(|it| it.storage_id)).unwrap())
    });
    let sid = storage_id.unwrap().get();
    match must(java, json!({ "op": "index", "kind": kind, "sid": sid, "view": "entries" })) {
        Json::Array(entries) => entries,
        other => panic!("{other}"),
    }
}

/// The entries that typed queries see.
fn typed(rows: impl IntoIterator<Item = (Vec<Json>, ObjId)>) -> Vec<Json> {
    let row = |(mut columns, id): (Vec<Json>, ObjId)| {
        columns.push(json!(id.to_string()));
        Json::from(columns)
    };
    rows.into_iter().map(row).collect()
}

fn compare_indexes(java: &mut Driver, db: &Permazen) {
    let optional = |it: Option<String>| it.map_or(Json::Null, Json::from);
    let codes = db.read(|tx| {
        let rows = tx.index(ThingKind::CODED.code)?.iter();
        let row = |(code, it): (i32, Thing<'_>)| (vec![json!(code.to_string())], it.id());
        rows.map(|it| it.map(row)).collect::<Result<Vec<_>, _>>()
    });
    assert_eq!(entries(java, db, "simple", "Gadget", "code"), typed(codes.unwrap()));
    let pairs = db.read(|tx| {
        let rows = tx.index(Coded::CODE_LABEL)?.iter();
        rows.map(|it| {
            let ((code, label), it) = it?;
            Ok((vec![json!(code.to_string()), optional(label)], it.id()))
        })
        .collect::<Result<Vec<_>, Error>>()
    });
    assert_eq!(entries(java, db, "composite2", "Manual", "codeLabel"), typed(pairs.unwrap()));
    let serials = db.read(|tx| {
        let rows = tx.index(Gadget::SERIAL)?.iter();
        let rows = rows.map(|it| it.map(|(serial, it)| (vec![optional(serial)], it.id())));
        rows.collect::<Result<Vec<_>, _>>()
    });
    assert_eq!(entries(java, db, "simple", "Gadget", "serial"), typed(serials.unwrap()));
    let colors = db.read(|tx| {
        let rows = tx.index(Gadget::COLOR)?.iter();
        let rows = rows.map(|it| {
            it.map(|(color, it)| (vec![json!(format!("{color:?}").to_uppercase())], it.id()))
        });
        rows.collect::<Result<Vec<_>, _>>()
    });
    assert_eq!(entries(java, db, "simple", "Gadget", "color"), typed(colors.unwrap()));
    let labels = db.read(|tx| {
        let rows = tx.index(Gadget::LABELS)?.iter();
        let rows = rows.map(|it| it.map(|(label, it)| (vec![json!(label)], it.id())));
        rows.collect::<Result<Vec<_>, _>>()
    });
    assert_eq!(entries(java, db, "simple", "Gadget", "labels.element"), typed(labels.unwrap()));
    let about = db.read(|tx| {
        let rows = tx.index(Manual::ABOUT)?.iter();
        rows.map(|it| {
            let (about, it) = it?;
            Ok((vec![about.map_or(Json::Null, |it| json!(it.id().to_string()))], it.id()))
        })
        .collect::<Result<Vec<_>, Error>>()
    });
    assert_eq!(entries(java, db, "simple", "Manual", "about"), typed(about.unwrap()));
}

/// Lets Java read a file that is closed here, and opens it again.
fn load(java: &mut Driver, path: &Path) -> (Permazen, Arc<dyn KvDatabase>) {
    must(java, json!({ "op": "load", "kind": "lmdb", "path": path }));
    let (db, store) = open(path);
    let id = must(java, json!({ "op": "schema", "name": "hand", "xml": SCHEMA }));
    assert_eq!(id, json!(db.schema().schema_id().to_string()), "the schema IDs are equal");
    must(java, json!({ "op": "database" }));
    let begin = json!({ "op": "open", "schema": "hand", "allowNew": false, "removal": "NEVER" });
    must(java, begin);
    (db, store)
}

fn is_clean(store: &dyn KvDatabase) {
    let mut found = Vec::new();
    let options = permazen_jsck::Options::default();
    let mut sink = |finding: &permazen_jsck::Finding| found.push(finding.to_string());
    permazen_jsck::check_database(store, &options, &mut sink, &mut |_| {}).unwrap();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn java_reads_and_changes_what_typed_models_have_written() {
    let Some(mut java) = java() else { return };
    let java = &mut java;
    let scratch = tempfile::tempdir().unwrap();
    let (ours, theirs) = (scratch.path().join("ours"), scratch.path().join("theirs"));
    std::fs::create_dir(&theirs).unwrap();
    let [first, second, third, manual, other] = fill(&open(&ours).0);
    let (db, _) = load(java, &ours);
    assert_eq!(must(java, json!({ "op": "schemaOf", "id": third.to_string() })), json!("hand"));
    compare_fields(java, &db);
    compare_indexes(java, &db);
    // Exempt values are in the index several times.
    let codes = entries(java, &db, "simple", "Gadget", "code");
    let count = |code: &str| codes.iter().filter(|row| row[0] == code).count();
    assert_eq!([count("0"), count("3"), count("150")], [2, 1, 2]);

    let mut on = |id: ObjId, field: &str, op: &str, mut with: Json| {
        with["op"] = json!(op);
        with["id"] = json!(id.to_string());
        with["field"] = json!(field);
        must(java, with)
    };
    on(first, "serial", "set", json!({ "value": "s2" }));
    on(second, "color", "set", json!({ "value": "RED" }));
    on(third, "hits", "counter.adjust", json!({ "value": "5" }));
    on(third, "labels", "set.add", json!({ "value": "z" }));
    on(third, "labels", "set.remove", json!({ "value": "x" }));
    on(third, "scores", "map.put", json!({ "key": "m", "value": "-9" }));
    on(third, "parts", "list.append", json!({ "value": manual.to_string() }));
    on(other, "about", "set", json!({ "value": null }));
    // Java's object layer knows no rules.
    on(manual, "code", "set", json!({ "value": "3" }));
    on(manual, "label", "set", json!({ "value": "a" }));
    must(java, json!({ "op": "commit" }));
    assert_eq!(must(java, json!({ "op": "check" })), json!([]));
    must(java, json!({ "op": "save", "kind": "lmdb", "path": theirs }));

    let (db, store) = open(&theirs);
    is_clean(&*store);
    db.read(|tx| {
        assert_eq!(tx.get::<Gadget>(first)?.serial()?.as_deref(), Some("s2"));
        assert_eq!(tx.get::<Gadget>(second)?.color()?, Color::Red);
        let third = tx.get::<Gadget>(third)?.load()?;
        assert_eq!(third.hits, Counter(12));
        assert_eq!(third.labels, ["y", "z"].map(str::to_owned).into());
        assert_eq!(third.scores["m"], -9);
        assert_eq!(third.parts.last(), Some(&Ref::new(manual)));
        assert_eq!(tx.get::<Manual>(other)?.about()?.map(|it| it.id()), None);
        assert_eq!(tx.find(Gadget::SERIAL, "s2")?.map(|it| it.id()), Some(first));
        Ok(())
    })
    .unwrap();
    // The gadget and the manual have the same code and label now, and nothing else is wrong. A
    // group with the same value is said once.
    let mut found = Vec::new();
    db.check_rules_with(|it| {
        found.push((it.path, it.rule, it.object, it.others));
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let wrong = |path: &str| (path.to_owned(), Rule::Unique, third, vec![manual]);
    assert_eq!(found, [wrong("Gadget#codeLabel"), wrong("Gadget.code")]);
    let refused = db.write(|tx| tx.get::<Manual>(manual)?.revalidate());
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    db.write(|tx| tx.get::<Manual>(manual)?.set_code(160)).unwrap();
    assert!(db.check_rules().unwrap().is_clean());
    is_clean(&*store);

    drop((db, store));
    let (db, _) = load(java, &theirs);
    compare_fields(java, &db);
    compare_indexes(java, &db);
}
