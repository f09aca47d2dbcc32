//! Pending changes as lines, as JSON and counted.

use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::schema::{Field, ObjectType, SchemaModel};
use permazen_query::{ChangeCounts, ChangeRow, Changes};

use super::world::*;

fn optimistic(schemas: &[SchemaModel]) -> World {
    World::with(Arc::new(OptimisticDatabase::new(MemoryStore::new())), schemas)
}

fn rows(on: &Session) -> Vec<ChangeRow> {
    let rows = on.tx.pending_changes(|changes| Changes::new(changes).collect::<Result<_, _>>());
    rows.unwrap().expect("the store keeps its writes")
}

fn lines(on: &Session) -> Vec<String> {
    rows(on).iter().map(ChangeRow::to_string).collect()
}

fn counts(on: &Session) -> ChangeCounts {
    on.tx.pending_changes(ChangeCounts::of).unwrap().unwrap()
}

#[test]
fn each_kind_of_change() {
    let world = optimistic(&[first(), second()]);
    let on = world.begin();
    assert!(lines(&on).is_empty());
    assert_eq!((counts(&on).to_string().as_str(), counts(&on).is_empty()), ("no changes", true));
    let ann = on.create_in(
        1,
        r#"Person name = "Ann", age = 30, tags = {"x"}, scores = {"a": 1, "b": 2}, visits = 5"#,
    );
    let pet = on.create("Pet name = \"Rex\"");
    on.tx.commit().unwrap();

    let on = world.begin();
    on.run(&format!(
        r#"set @{ann} to name = null, age += 1, tags = {{"y"}}, scores["a"] = 7, scores remove "b",
           scores["c"] = 3, friends = [@{ann}], visits += 2"#
    ));
    on.run("delete all Pet");
    assert_eq!(
        lines(&on),
        [
            format!("Person @{ann} age: 30 -> 31"),
            format!("Person @{ann} friends: [] -> [@{ann}]"),
            format!("Person @{ann} name: \"Ann\" -> null"),
            format!("Person @{ann} scores[\"b\"]: 2 ->"),
            format!("Person @{ann} scores[\"a\"]: 1 -> 7"),
            format!("Person @{ann} scores[\"c\"]: -> 3"),
            format!("Person @{ann} tags: remove \"x\""),
            format!("Person @{ann} tags: add \"y\""),
            format!("Person @{ann} visits: 5 -> 7 (+2)"),
            format!("Pet @{pet} deleted, was in schema 2"),
            format!("Pet @{pet} name: \"Rex\" ->"),
        ]
    );
    assert_eq!(counts(&on).to_string(), "Person: 1 changed; Pet: 1 deleted");
    assert_eq!(
        counts(&on).json(),
        r#"{"types":{"Person":{"changed":1},"Pet":{"deleted":1}},"pairs":0}"#
    );
    let json: Vec<serde_json::Value> =
        rows(&on).iter().map(|row| serde_json::from_str(&row.json()).unwrap()).collect();
    assert!(json[..9].iter().all(|row| row["id"] == ann.to_string() && row["type"] == "Person"));
    assert_eq!(
        (&json[0]["change"], &json[0]["old"], &json[0]["new"]),
        (&"set".into(), &30.into(), &31.into())
    );
    assert_eq!((&json[3]["change"], &json[3]["key"]), (&"remove".into(), &"b".into()));
    assert!(json[3].get("new").is_none() && json[5].get("old").is_none());
    assert_eq!(json[5]["change"], "put");
    assert_eq!((&json[7]["change"], &json[7]["value"]), (&"add".into(), &"y".into()));
    assert_eq!(json[8]["by"], 2);
    assert_eq!((&json[9]["change"], &json[9]["schema"]), (&"deleted".into(), &2.into()));

    // A field that is changed back does not count.
    on.run(&format!(
        r#"set @{ann} to visits -= 2, tags = {{"x"}}, friends = [], scores = {{"a": 1, "b": 2}}"#
    ));
    assert_eq!(lines(&on).len(), 4);
}

#[test]
fn new_objects_and_moved_ones() {
    let world = optimistic(&[first(), second()]);
    let on = world.begin();
    let ann = on.create_in(1, r#"Person name = "Ann", age = 30, tags = {"x"}"#);
    assert_eq!(
        lines(&on),
        [
            format!("Person @{ann} created in schema 1"),
            format!("Person @{ann} age: -> 30"),
            format!("Person @{ann} name: -> \"Ann\""),
            format!("Person @{ann} tags: add \"x\""),
        ]
    );
    on.tx.commit().unwrap();
    let on = world.begin();
    on.run("migrate Person to 2");
    on.run("set all Person to mail = \"a\"");
    // The age has another type there, and is written in the same way.
    assert_eq!(
        lines(&on),
        [
            format!("Person @{ann} moved from schema 1 to schema 2"),
            format!("Person @{ann} mail: -> \"a\""),
        ]
    );
    assert_eq!(counts(&on).to_string(), "Person: 1 moved");
}

#[test]
fn hostile_names_and_values() {
    let (type_name, field) = ("P\u{9b}31m", "f\u{202e}x");
    let schema = SchemaModel::new()
        .object_type(ObjectType::new(type_name).field(Field::new(field, of("String"))));
    let world = optimistic(&[schema]);
    let on = world.begin();
    let id = on.create("`P\\u{9b}31m` `f\\u{202e}x` = \"\\u{1b}[31m\\u{d83d}\\n\"");
    assert_eq!(
        lines(&on),
        [
            format!("P\\u{{9b}}31m @{id} created in schema 1"),
            format!("P\\u{{9b}}31m @{id} `f\\u{{202e}}x`: -> \"\\u{{1b}}[31m\\u{{d83d}}\\n\""),
        ]
    );
    let is_hidden = permazen_query::text::is_hidden;
    assert!(rows(&on).iter().all(|row| !row.json().contains(is_hidden)));
    assert!(
        !counts(&on).to_string().contains(is_hidden) && !counts(&on).json().contains(is_hidden)
    );
}

#[test]
fn pairs_of_no_object() {
    let world = optimistic(&[first()]);
    let on = world.begin();
    on.tx.add_schema(&second()).unwrap();
    let found = lines(&on);
    assert!(
        !found.is_empty() && found.iter().all(|line| line.starts_with("pair x'000")),
        "{found:?}"
    );
    assert_eq!(counts(&on).pairs, found.len() as u64);
    assert!(counts(&on).to_string().starts_with("pairs that belong to no object: "));
    let json: serde_json::Value = serde_json::from_str(&rows(&on)[0].json()).unwrap();
    assert!(json["change"] == "pair" && json.get("id").is_none() && json["new"].is_string());
}
