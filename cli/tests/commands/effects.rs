//! `migrate` does the changes that `schema compare --effects` predicts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::fixture::Fixture;

/// How many pairs of schemas are tried.
fn rounds() -> u64 {
    if std::env::var_os("PERMAZEN_ALL").is_some() { 12 } else { 6 }
}

struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) as usize % below
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }
}

/// Kinds of fields: the element of the schema, and values of it in statements.
const KINDS: [(&str, &[&str]); 11] = [
    (r#"<SimpleField name="N" encoding="urn:fdc:permazen.io:2020:int"/>"#, &["0", "7", "70000"]),
    (
        r#"<SimpleField name="N" encoding="urn:fdc:permazen.io:2020:long" indexed="true"/>"#,
        &["0", "7", "5000000000"],
    ),
    (
        r#"<SimpleField name="N" encoding="urn:fdc:permazen.io:2020:String"/>"#,
        &["null", "\"7\"", "\"x\""],
    ),
    (r#"<CounterField name="N"/>"#, &["0", "7"]),
    (r#"<ReferenceField name="N"/>"#, &["null", "@T", "@U"]),
    (
        r#"<ReferenceField name="N"><ObjectTypes><ObjectType name="T"/></ObjectTypes></ReferenceField>"#,
        &["null", "@T"],
    ),
    (
        r#"<SetField name="N"><SimpleField encoding="urn:fdc:permazen.io:2020:int"/></SetField>"#,
        &["{}", "{7}", "{1, 70000}"],
    ),
    (
        r#"<ListField name="N"><SimpleField encoding="urn:fdc:permazen.io:2020:long"/></ListField>"#,
        &["[]", "[7]", "[7, 1]", "[5000000000]"],
    ),
    (r#"<ListField name="N"><ReferenceField/></ListField>"#, &["[]", "[@U, @T]", "[@T]"]),
    (
        r#"<ListField name="N"><ReferenceField><ObjectTypes><ObjectType name="T"/></ObjectTypes></ReferenceField></ListField>"#,
        &["[]", "[@T]"],
    ),
    (
        r#"<MapField name="N"><SimpleField encoding="urn:fdc:permazen.io:2020:String"/><SimpleField encoding="urn:fdc:permazen.io:2020:int"/></MapField>"#,
        &["{}", "{\"a\": 1}"],
    ),
];

/// The fields of type T in a schema: which of the kinds each has, if it is there.
type Fields = BTreeMap<&'static str, usize>;

fn schema(fields: &Fields) -> String {
    let fields: String = fields
        .iter()
        .map(|(name, kind)| KINDS[*kind].0.replace("\"N\"", &format!("\"{name}\"")))
        .collect();
    format!("<Schema><ObjectType name=\"T\">{fields}</ObjectType><ObjectType name=\"U\"/></Schema>")
}

/// The objects of type T, by ID, with their fields.
fn objects(db: &Fixture) -> BTreeMap<String, BTreeMap<String, Value>> {
    let shown = db.run(&["--json", "show T"]).json(0);
    let fields = |object: &Value| {
        let fields = object["fields"].as_object().expect("fields").clone();
        fields.into_iter().collect()
    };
    let id = |object: &Value| object["id"].as_str().expect("an ID").to_owned();
    shown.iter().map(|object| (id(object), fields(object))).collect()
}

/// The effect on each field: the word after its name, and the whole line.
fn effects(db: &Fixture) -> BTreeMap<String, String> {
    let run = db.run(&["--json", "schema", "compare", "--effects", "1", "2"]);
    let json = run.json(run.code());
    let lines = json[0]["effects"].as_array().expect("effects").iter().filter_map(Value::as_str);
    let of_field = |line: &str| {
        let (name, what) = line.strip_prefix("  field \"")?.split_once("\": ")?;
        Some((name.to_owned(), what.split([';', ',']).next()?.to_owned()))
    };
    lines.filter_map(of_field).collect()
}

#[test]
fn effects_are_what_migrate_does() {
    let mut random = Random(7);
    let mut seen = BTreeSet::new();
    for round in 0..rounds() {
        let (mut old, mut new) = (Fields::new(), Fields::new());
        for name in ["a", "b", "c", "d", "e", "f"] {
            let kind = random.below(KINDS.len());
            // Kinds that differ only in the types of references are wanted often.
            let other = match (random.below(3), kind) {
                (0, _) => kind,
                (1, 4 | 8) => kind + 1,
                (1, 5 | 9) => kind - 1,
                _ => random.below(KINDS.len()),
            };
            old.extend((random.below(6) > 0).then_some((name, kind)));
            new.extend((random.below(6) > 0).then_some((name, other)));
        }
        let db = Fixture::with(|_| {});
        let (first, second) = (db.file("1.xml", schema(&old)), db.file("2.xml", schema(&new)));
        let added = db.run(&["--write", "schema", "add", &first, &second]).out(0);
        if added.contains("was recorded before") {
            continue;
        }
        let create = |db: &Fixture, what: &str| {
            let out = db.out(&["--write", "--raw", "--schema", "1", &format!("create {what}")]);
            out.trim().to_owned()
        };
        let (plain, u) = (create(&db, "T"), create(&db, "U"));
        for _ in 0..6 {
            let values: Vec<String> = old
                .iter()
                .map(|(name, kind)| {
                    let value = random.one(KINDS[*kind].1);
                    let value = value.replace("@T", &format!("@{plain}"));
                    format!("{name} = {}", value.replace("@U", &format!("@{u}")))
                })
                .collect();
            create(&db, &format!("T {}", values.join(", ")));
        }
        let (effects, before) = (effects(&db), objects(&db));
        let effect = |name: &str| effects.get(name).map(String::as_str);
        seen.extend(effects.values().cloned());
        let defaults = before[&plain].clone();
        let leads_to_u = |value: &Value| value.to_string().contains(&u);
        let run = db.run(&["--write", "--json", "migrate T to 2"]);
        let report = &run.json(run.code())[0];
        let refusals: BTreeMap<&str, &str> = report["refusals"]
            .as_array()
            .expect("refusals")
            .iter()
            .map(|refusal| {
                (refusal["id"].as_str().expect("an ID"), refusal["reason"].as_str().expect("why"))
            })
            .collect();
        for (id, fields) in &before {
            let reason = refusals.get(&**id).copied().unwrap_or_default();
            for (name, value) in fields {
                let is_named = reason.contains(&format!("of field \"{name}"));
                let what = format!("{round}: {name} of {id} is {value}: {effects:?}: {reason}");
                match effect(name) {
                    Some("lost" | "reset") => {
                        assert_eq!(is_named, *value != defaults[name], "{what}")
                    }
                    Some("kept") => assert_eq!(is_named, leads_to_u(value), "{what}"),
                    Some("converted") => {}
                    None => assert!(!is_named, "{what}"),
                    Some(other) => panic!("{other}: {what}"),
                }
            }
        }
        let moved = objects(&db);
        for id in before.keys() {
            let is_refused = refusals.contains_key(&**id);
            assert_eq!(is_refused, moved[id] == before[id] && is_refused, "{round}: {id}");
        }
        db.run(&["--write", "migrate T to 2 lossy"]).out(0);
        let after = objects(&db);
        let fresh = db.out(&["--write", "--raw", "--schema", "2", "create T"]).trim().to_owned();
        let fresh = &objects(&db)[&fresh];
        for (id, fields) in &after {
            let names =
                |fields: &BTreeMap<String, Value>| fields.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(fields), names(fresh));
            for (name, value) in fields {
                let what = format!("{round}: {name} of {id}: {effects:?}");
                match effect(name) {
                    Some("new" | "reset") => assert_eq!(*value, fresh[name], "{what}"),
                    Some("kept") => assert!(!leads_to_u(value), "{what}"),
                    Some("converted") => {}
                    None => assert_eq!(*value, before[id][name], "{what}"),
                    Some(other) => panic!("{other}: {what}"),
                }
                if effect(name) == Some("kept") && !leads_to_u(&before[id][name]) {
                    assert_eq!(*value, before[id][name], "{what}");
                }
            }
        }
        db.run(&["check"]).out(0);
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}
