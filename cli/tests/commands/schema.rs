//! `schema`.

use serde_json::json;

use crate::fixture::{Fixture, data};

/// The schema of the small reference database.
const R: &str = "Schema_a74fa4308ce05a1de31520b9858a4e91";

#[test]
fn schemas_are_listed_with_their_objects() {
    let db = Fixture::reference();
    let expected = format!(
        "schema  id                                       types  objects\n\
         ------  ---------------------------------------  -----  -------\n\
         \x20    1  {R}      2        4\n"
    );
    assert_eq!(db.out(&["schema", "list"]), expected);
    assert_eq!(db.out(&["--raw", "schema", "list", "--no-counts"]), format!("1\t{R}\t2\n"));
    let json = db.run(&["--json", "schema", "list"]).json(0);
    let values = json!({ "schema": 1, "id": R, "types": 2, "objects": 4 });
    assert_eq!(json, [json!({ "type": "row", "values": values })]);
    let numbers = Fixture::recorded("evolution").run(&["--raw", "schema", "list"]).out(0);
    let numbers: Vec<_> = numbers.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(numbers, ["1", "2", "3"]);
}

/// Java has written the files.
#[test]
fn schemas_are_shown_as_java_shows_them() {
    let db = Fixture::recorded("evolution");
    for number in ["1", "2", "3"] {
        let java = data(&format!("databases/evolution/schema-{number}.xml"));
        let java = String::from_utf8(java).expect("UTF-8");
        let shown = db.out(&["schema", "show", "--no-storage-ids", number]);
        assert!(shown.trim() == java.trim(), "schema {number} is shown as\n{shown}");
    }
    let all = db.out(&["schema", "show"]);
    assert_eq!(all.matches("=== Schema ").count(), 3);
    let with = db.out(&["schema", "show", "1"]);
    assert!(with.contains("<ObjectType storageId=\"1\" name=\"Customer\"><!-- "), "{with}");
    let json = db.run(&["--json", "schema", "show", "2"]).json(0);
    assert_eq!(json[0]["schema"], 2);
    assert_eq!(json[0]["xml"].as_str(), Some(db.out(&["schema", "show", "2"]).trim()));
}

#[test]
fn a_schema_is_named_by_number_id_or_its_first_digits() {
    let db = Fixture::reference();
    let shown = db.out(&["schema", "show", "1"]);
    for name in [R, "Schema_a74f", "a74f"] {
        assert_eq!(db.out(&["schema", "show", name]), shown);
    }
    let error = db.run(&["schema", "show", "2"]).error(2);
    assert!(error.contains("no schema 2: the database has the schemas 1"), "{error}");
    let error = Fixture::with(|_| {}).run(&["schema", "rust"]).error(2);
    assert!(error.contains("the database has no schema"), "{error}");
}

#[test]
fn differences_are_listed() {
    let db = Fixture::recorded("evolution");
    let same = db.out(&["schema", "compare", "1", "1"]);
    assert!(same.starts_with("No differences found between schema \"Schema_"), "{same}");
    let out = db.run(&["schema", "compare", "1", "3"]).out(1);
    assert!(out.starts_with("Found differences between schema \"Schema_"), "{out}");
    assert!(out.contains("\n-> ") && out.contains("\n  -> "), "{out}");
    let effects = db.run(&["schema", "compare", "--effects", "1", "3"]).out(1);
    assert!(effects.starts_with(&out) && effects.contains("\nobject type \""), "{effects}");
    let json = db.run(&["--json", "schema", "compare", "1", "3"]).json(1);
    assert_eq!(json[0]["old"]["schema"], 1);
    let lines = json[0]["differences"].as_array().expect("a list").len();
    assert_eq!(lines, out.lines().filter(|line| line.starts_with("->")).count());
}

/// A file need not say the storage IDs.
#[test]
fn storage_ids_that_a_file_leaves_out_are_no_differences() {
    let db = Fixture::reference();
    let xml = db.out(&["schema", "show", "--no-storage-ids", "1"]);
    let file = db.file("s.xml", &xml);
    db.run(&["schema", "compare", "1", &file]).out(0);
    db.run(&["schema", "compare", &file, "1"]).out(0);
    let other = xml.replace("name=\"age\"", "name=\"age\" storageId=\"77\"");
    let out = db.run(&["schema", "compare", "1", &db.file("other.xml", other)]).out(1);
    assert!(out.contains("changed storage ID from 18 to 77"), "{out}");
    assert_eq!(out.matches("storage ID").count(), 1, "{out}");
    let more = xml.replace("<SimpleField name=\"born\"", "<SimpleField name=\"dead\"");
    let out = db.run(&["schema", "compare", "1", &db.file("more.xml", more)]).out(1);
    assert!(!out.contains("storage ID") && out.contains("\"dead\""), "{out}");
}

/// The example of tools.md §3.6.7.
#[test]
fn the_list_of_differences_is_that_of_java() {
    let db = Fixture::reference();
    let old = r#"<Schema><ObjectType name="Person">
        <SimpleField name="age" encoding="urn:fdc:permazen.io:2020:int"/></ObjectType></Schema>"#;
    let new = r#"<Schema><ObjectType name="Person" storageId="16">
        <SimpleField name="age" encoding="urn:fdc:permazen.io:2020:int" storageId="18"/></ObjectType>
        <ObjectType name="Pet"/></Schema>"#;
    let (old, new) = (db.file("old.xml", old), db.file("new.xml", new));
    let out = db.run(&["schema", "compare", &old, &new]).out(1);
    let expected = format!(
        "Found differences between the schema of {old} and the schema of {new}
-> changed object type \"Person\"
  -> changed storage ID from 0 to 16
  -> changed field \"age\" type int
    -> changed storage ID from 0 to 18
-> added object type \"Pet\"
"
    );
    assert_eq!(out, expected);
    let error = db.run(&["schema", "compare", "1", "missing.xml"]).error(2);
    assert!(error.contains("no schema missing.xml") && error.contains("no such file"), "{error}");
}

#[test]
fn the_expected_schema_is_verified() {
    let db = Fixture::reference();
    let (actual, expected) = (db.name("actual.xml"), db.name("expected.xml"));
    let error = db.run(&["schema", "verify", "--expected", &expected]).error(2);
    assert!(error.contains(&format!("write it with --actual {expected}")), "{error}");
    db.out(&["schema", "verify", "--actual", &expected]);
    let xml = std::fs::read_to_string(&expected).expect("read");
    assert!(xml.contains("<!-- \"Schema_a74f") && !xml.contains("storageId"), "{xml}");
    let out = db.out(&["schema", "verify", "--actual", &actual, "--expected", &expected]);
    assert!(out.starts_with("No differences found between the expected schema of "), "{out}");
    assert_eq!(std::fs::read_to_string(&actual).expect("read"), xml);
    // Storage IDs do not count, and if they shall, then only those that are there.
    let with = |from: &str, to: &str| {
        let xml = db.out(&["schema", "show", "1"]).replace(from, to);
        let file = db.file("with.xml", xml);
        [db.run(&["schema", "verify", "--expected", &file]), {
            db.run(&["schema", "verify", "--storage-ids", "--expected", &file])
        }]
    };
    let [without_ids, with_ids] = with("storageId=\"18\"", "storageId=\"50\"");
    without_ids.out(0);
    let out = with_ids.out(1);
    assert!(out.contains("-> changed storage ID from 50 to 18"), "{out}");
    let [without_ids, with_ids] = with("storageId=\"18\"", "");
    without_ids.out(0);
    with_ids.out(0);
    let [without_ids, _] = with("name=\"age\"", "name=\"years\"");
    let out = without_ids.out(1);
    assert!(
        out.contains("removed field \"years\"") && out.contains("added field \"age\""),
        "{out}"
    );
    let file = db.file("bad.xml", "<Schema><X/></Schema>");
    let error = db.run(&["schema", "verify", "--expected", &file]).error(2);
    assert!(error.contains("bad.xml"), "{error}");
}

#[test]
fn older_schemas_must_fit() {
    let db = Fixture::reference();
    let before = db.pairs();
    std::fs::create_dir_all(db.path("old/more")).expect("directories");
    let type_with =
        |id: u32| format!(r#"<Schema><ObjectType name="Old" storageId="{id}"/></Schema>"#);
    db.file("old/1.xml", type_with(60));
    db.file("old/more/2.xml", type_with(61));
    db.file("old/ignored.txt", "no schema");
    let old = db.name("old");
    assert_eq!(db.out(&["schema", "verify", "--old", &old]), "");
    db.file("old/more/3.xml", type_with(17));
    db.file("old/4.xml", "no schema");
    let out = db.run(&["schema", "verify", "--old", &old]).out(1);
    let lines: Vec<_> = out.lines().collect();
    assert!(lines[0].starts_with(&format!("Schema conflict found with {old}/4.xml: ")), "{out}");
    assert!(
        lines[1].starts_with(&format!("Schema conflict found with {old}/more/3.xml: ")),
        "{out}"
    );
    assert!(lines[1].contains("storage ID 17"), "{out}");
    let json = db.run(&["--json", "schema", "verify", "--old", &old]).json(1);
    assert_eq!(json.iter().filter(|line| line["conflict"].is_null()).count(), 2);
    assert_eq!(db.pairs(), before);
    let error = db.run(&["schema", "verify", "--old", &db.name("missing")]).error(2);
    assert!(error.contains("missing"), "{error}");
}

#[test]
fn schemas_are_added_and_removed() {
    let db = Fixture::reference();
    let file = db.file("new.xml", r#"<Schema><ObjectType name="New"/></Schema>"#);
    let error = db.run(&["schema", "add", &file]).error(2);
    assert!(error.contains("--write"), "{error}");
    let out = db.out(&["--write", "schema", "add", &file]);
    let id = out.split_whitespace().nth(1).expect("an ID").to_owned();
    assert_eq!(out, format!("Schema {id} recorded as number 2\n"));
    let out = db.out(&["--write", "schema", "add", &file]);
    assert_eq!(out, format!("Schema {id} was recorded before as number 2\n"));
    let json = db.run(&["--json", "--write", "schema", "add", &file]).json(0);
    assert_eq!(json, [json!({ "type": "schema_added", "schema": 2, "id": id, "new": false })]);

    let error = db.run(&["--write", "schema", "remove", "1"]).error(2);
    assert!(error.contains("is in use: objects of it exist"), "{error}");
    let out = db.out(&["--write", "schema", "remove", "2"]);
    assert_eq!(out, format!("Schema version {id} removed\n"));
    assert_eq!(db.pairs(), Fixture::reference().pairs(), "the storage IDs are gone, too");
    let error = db.run(&["--write", "schema", "remove", "2"]).error(1);
    assert_eq!(error, "permazen: Schema version 2 not found\n");
    let conflict = db.file("x.xml", r#"<Schema><ObjectType name="X" storageId="17"/></Schema>"#);
    let error = db.run(&["--write", "schema", "add", &conflict]).error(2);
    assert!(error.contains("asks for storage ID 17"), "{error}");
}

#[test]
fn unused_schemas_are_collected() {
    let db = Fixture::reference();
    let file = db.file("new.xml", r#"<Schema><ObjectType name="New"/></Schema>"#);
    db.out(&["--write", "schema", "add", &file]);
    let with_two = db.pairs();
    let dry = db.out(&["--write", "--dry-run", "schema", "gc"]);
    assert!(dry.starts_with("Schema version Schema_") && dry.ends_with(" removed\n"), "{dry}");
    assert_eq!(db.pairs(), with_two);
    assert_eq!(db.out(&["--write", "schema", "gc"]), dry);
    assert_eq!(db.pairs(), Fixture::reference().pairs());
    assert_eq!(db.out(&["--write", "schema", "gc"]), "Every recorded schema has objects\n");
}

/// The values could not be read.
#[test]
fn an_unknown_encoding_is_refused() {
    let db = Fixture::reference();
    let schema = |encoding: &str| {
        let field = format!("<SimpleField name=\"n\" encoding=\"{encoding}\"/>");
        let xml = format!("<Schema><ObjectType name=\"N\">{field}</ObjectType></Schema>");
        db.file("s.xml", xml)
    };
    let before = db.pairs();
    let rows = [
        ("urn:fdc:permazen.io:2020:Strnig", "did you mean urn:fdc:permazen.io:2020:String?"),
        ("urn:fdc:permazen.io:2020:uuid", "did you mean urn:fdc:permazen.io:2020:UUID?"),
        ("urn:fdc:permazen.io:2020:Strin[]", "did you mean urn:fdc:permazen.io:2020:String[]?"),
        ("urn:example:money", "the encoding urn:example:money; if"),
    ];
    for (encoding, expected) in rows {
        let error = db.run(&["--write", "schema", "add", &schema(encoding)]).error(2);
        assert!(error.contains(expected) && error.contains("--custom-encodings"), "{error}");
        assert!(error.contains("\"n\""), "{error}");
    }
    assert_eq!(db.pairs(), before);
    let file = schema("urn:example:money");
    db.out(&["--write", "schema", "add", "--custom-encodings", &file]);
    for encoding in ["urn:fdc:permazen.io:2020:String[]", "urn:fdc:permazen.io:2020:BigDecimal"] {
        db.out(&["--write", "schema", "add", &schema(encoding)]);
    }
}
