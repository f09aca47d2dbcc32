//! `types` and `type`.

use permazen::schema::{ObjectType, SchemaModel, XmlForm};
use serde_json::json;

use crate::fixture::Fixture;

#[test]
fn types_are_listed_with_their_objects() {
    let db = Fixture::reference();
    let expected = "\
type    storage_id  schemas  fields  indexes  objects
------  ----------  -------  ------  -------  -------
Person          16  1             8        8        3
Pet             32  1             2        1        1
";
    assert_eq!(db.out(&["types"]), expected);
    let raw = "Person\t16\t1\t8\t8\nPet\t32\t1\t2\t1\n";
    assert_eq!(db.out(&["--raw", "types", "--no-counts"]), raw);
    let json = db.run(&["--json", "types"]).json(0);
    let pet = json!({ "type": "Pet", "storage_id": 32, "schemas": "1", "fields": 2, "indexes": 1, "objects": 1 });
    assert_eq!(json[1], json!({ "type": "row", "values": pet }));
}

const PERSON: &str = "\
type Person, storage ID 16, in schemas 1
objects: 3 (3 in schema 1)

field            storage_id  kind                                               encoding  indexed  schemas
---------------  ----------  -------------------------------------------------  --------  -------  -------
name                     17  value                                              String    yes      1
age                      18  value                                              int                1
spouse                   19  reference; on delete nullify                                 yes      1
boss                     20  reference; on delete ignore; may refer to nothing            yes      1
tags                     21  set                                                                   1
tags.element             22  value                                              String    yes      1
friends                  23  list                                                                  1
friends.element          24  reference; on delete remove                                  yes      1
scores                   25  map                                                                   1
scores.key               26  value                                              String    yes      1
scores.value             27  value                                              int       yes      1
visits                   28  counter                                                               1

index            storage_id  kind       on               schemas
---------------  ----------  ---------  ---------------  -------
boss                     20  simple     boss             1
friends.element          24  simple     friends.element  1
name                     17  simple     name             1
scores.key               26  simple     scores.key       1
scores.value             27  simple     scores.value     1
spouse                   19  simple     spouse           1
tags.element             22  simple     tags.element     1
nameAge                  31  composite  name, age        1

referred to by  field            on delete  schemas
--------------  ---------------  ---------  -------
Person          boss             ignore     1
Person          friends.element  remove     1
Person          spouse           nullify    1
";

#[test]
fn a_type_is_shown_with_all_that_concerns_it() {
    let db = Fixture::reference();
    assert_eq!(db.out(&["type", "Person"]), PERSON);
    let without = db.out(&["type", "--no-counts", "Pet"]);
    assert!(without.starts_with("type Pet, storage ID 32, in schemas 1\n\nfield"), "{without}");
    let json = &db.run(&["--json", "type", "Pet"]).json(0)[0];
    assert_eq!(json["objects"], json!([{ "schema": 1, "objects": 1 }]));
    assert_eq!(json["fields"][0]["name"], "name");
    // References without restriction can be to pets.
    assert_eq!(json["referrers"].as_array().expect("a list").len(), 3);
}

#[test]
fn what_differs_between_schemas_is_listed_apart() {
    let db = Fixture::recorded("evolution");
    let json = &db.run(&["--json", "type", "Customer"]).json(0)[0];
    let fields = json["fields"].as_array().expect("a list");
    let of = |name: &str| -> Vec<_> {
        let fields = fields.iter().filter(|field| field["name"] == name);
        fields.map(|field| (field["kind"].clone(), field["schemas"].clone())).collect()
    };
    assert_eq!(of("name"), [(json!("value"), json!([1, 2, 3]))]);
    assert_eq!(of("score"), [(json!("value"), json!([1])), (json!("counter"), json!([2, 3]))]);
    // Its index comes and goes.
    assert_eq!(of("limits.value").len(), 2);
    assert_eq!(of("status").len(), 3);
    assert_eq!(of("origin")[0].0, "reference to Customer, Legacy; on delete nullify");
}

#[test]
fn the_nearest_name_is_told() {
    let error = Fixture::reference().run(&["type", "Persn"]).error(2);
    assert!(error.contains("no object type `Persn` (did you mean `Person`?)"), "{error}");
}

/// Names can have any characters that Java allows.
#[test]
fn hostile_names_are_escaped() {
    let schema = SchemaModel::new().object_type(ObjectType::new("P\u{9b}31m"));
    let schema = schema.to_xml(XmlForm { storage_ids: false, pretty: true });
    let db = Fixture::with(|_| {});
    db.run_with(&["--write", "schema", "add", "-"], schema).out(0);
    for args in [&["types"][..], &["type", "P\u{9b}31m"], &["schema", "show"], &["--json", "types"]]
    {
        let out = db.out(args);
        assert!(!out.contains('\u{9b}') && out.contains("9b"), "{out}");
    }
    // Pipes get CSV as it is.
    assert!(db.out(&["--format", "csv", "types"]).contains('\u{9b}'));
    let error = db.run(&["type", "P\u{9b}32m"]).error(2);
    assert!(!error.contains('\u{9b}'), "{error}");
}

#[test]
fn formats_that_a_command_does_not_have_are_refused() {
    let db = Fixture::reference();
    for format in ["--format=csv", "--raw", "--format=xml"] {
        let error = db.run(&[format, "type", "Person"]).error(2);
        assert!(error.contains("a type cannot be shown so"), "{error}");
    }
    for command in [&["types"][..], &["schema", "list"], &["stats"]] {
        let error = db.run(&[&["--format", "xml"], command].concat()).error(2);
        assert!(error.contains("a list cannot be shown so"), "{error}");
    }
    for format in ["table", "lines", "json"] {
        db.run(&["--format", format, "type", "Person"]).out(0);
    }
}
