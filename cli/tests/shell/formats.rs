//! What is found, in each format.

use serde_json::{Value as Json, json};

use crate::support::Fixture;

#[test]
fn a_table_is_aligned() {
    let db = Fixture::new();
    assert_eq!(
        db.run(&["find Pet"]).done(),
        "id                name  born\n\
         ----------------  ----  --------------------\n\
         2000000000000001  Rex   1970-01-01T00:00:00Z\n"
    );
    // Numbers are aligned on the right.
    assert_eq!(db.run(&["count Person"]).done(), "count\n-----\n    3\n");
    // Wide characters take two columns, others that can be seen none.
    db.load(r#"<Pet id="2000000000000002"><name>漢字</name></Pet><Pet id="2000000000000003"><name>a&#x301;bc</name></Pet>"#);
    assert_eq!(
        db.run(&["find Pet"]).done(),
        "id                name  born\n\
         ----------------  ----  --------------------\n\
         2000000000000001  Rex   1970-01-01T00:00:00Z\n\
         2000000000000002  漢字  null\n\
         2000000000000003  a\u{301}bc   null\n"
    );
}

#[test]
fn a_table_without_rows_has_its_header() {
    let db = Fixture::with_schema(crate::support::SCHEMA);
    assert_eq!(db.run(&["find Pet"]).done(), "id  name  born\n--  ----  ----\n");
}

#[test]
fn widths_are_those_of_the_first_thousand_rows() {
    let db = Fixture::with_schema(crate::support::SCHEMA);
    let pet = |n: usize, name: &str| format!(r#"<Pet id="20{n:014x}"><name>{name}</name></Pet>"#);
    let mut pets: String = (1..=1000).map(|n| pet(n, "Rex")).collect();
    pets += &pet(1001, "Bucephalus");
    pets += &pet(1002, "Rex");
    db.load(&pets);
    let table = db.run(&["find Pet"]).done();
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 1004);
    // Unless the first rows take so long that they are shown earlier, which changes no width.
    assert_eq!(lines[1], "----------------  ----  ----");
    assert_eq!(lines[1002], "20000000000003e9  Bucephalus  null");
    assert_eq!(lines[1003], "20000000000003ea  Rex   null");
}

#[test]
fn lines_show_values_as_they_are_typed() {
    let db = Fixture::new();
    assert_eq!(
        db.run(&["show @1000000000000001"]).done(),
        "@1000000000000001  Person, schema 1\n  \
           name: \"Ann\"\n  \
           age: 40\n  \
           spouse: @1000000000000002\n  \
           boss: @1000000000000003\n  \
           tags: {\"x\", \"y\"}\n  \
           friends: [@1000000000000002, @1000000000000003, @1000000000000002]\n  \
           scores: {\"a\": 1, \"b\": -1}\n  \
           visits: 7\n"
    );
    db.load(r#"<Pet id="2000000000000002"/>"#);
    assert_eq!(
        db.run(&["find Pet", "--format", "lines"]).done(),
        "id: @2000000000000001\nname: \"Rex\"\nborn: \"1970-01-01T00:00:00Z\"\n\
         \n\
         id: @2000000000000002\nname: null\nborn: null\n"
    );
}

#[test]
fn json_is_one_object_a_line() {
    let db = Fixture::new();
    let out = db.run(&["find Person", "--json"]).done();
    let rows: Vec<Json> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(
        rows[0],
        json!({"type": "row", "values": {
            "id": "1000000000000001", "name": "Ann", "age": 40,
            "spouse": "1000000000000002", "boss": "1000000000000003", "tags": ["x", "y"],
            "friends": ["1000000000000002", "1000000000000003", "1000000000000002"],
            "scores": [{"key": "a", "value": 1}, {"key": "b", "value": -1}], "visits": 7,
        }})
    );
    assert_eq!(rows[2]["values"]["name"], Json::Null);
    let out = db.run(&["show Pet", "--json"]).done();
    assert_eq!(
        serde_json::from_str::<Json>(&out).unwrap(),
        json!({"type": "object", "id": "2000000000000001", "object_type": "Pet", "schema": 1,
               "fields": {"name": "Rex", "born": "1970-01-01T00:00:00Z"}})
    );
    assert_eq!(out, db.run(&["export Pet"]).done(), "what is exported is JSON unless it is said");
    let plan = db.run(&["explain find Pet", "--json"]).done();
    let plan: Json = serde_json::from_str(&plan).unwrap();
    assert_eq!(plan["type"], "plan");
}

#[test]
fn csv_and_raw_values() {
    let db = Fixture::new();
    db.load(
        "<Pet id=\"2000000000000002\"><name>a,\"b\"\nc</name></Pet>\
         <Pet id=\"2000000000000003\"><name></name></Pet><Pet id=\"2000000000000004\"/>",
    );
    assert_eq!(
        db.run(&["find Pet", "--format", "csv"]).done(),
        "id,name,born\n\
         2000000000000001,Rex,1970-01-01T00:00:00Z\n\
         2000000000000002,\"a,\"\"b\"\"\nc\",\n\
         2000000000000003,\"\",\n\
         2000000000000004,,\n"
    );
    assert_eq!(
        db.run(&["find Pet", "--raw"]).done(),
        "2000000000000001\tRex\t1970-01-01T00:00:00Z\n\
         2000000000000002\ta,\"b\"\nc\t\n\
         2000000000000003\t\t\n\
         2000000000000004\t\t\n"
    );
}

#[test]
fn xml_has_whole_objects() {
    let db = Fixture::new();
    let pet = r#"        <Pet id="2000000000000001" schema="Schema_a74fa4308ce05a1de31520b9858a4e91">
            <born>1970-01-01T00:00:00Z</born>
            <name>Rex</name>
        </Pet>
"#;
    for statement in ["find Pet", "show Pet"] {
        let xml = db.run(&[statement, "--format", "xml"]).done();
        let header = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<database>\n    <schemas></schemas>\n    <objects>\n";
        assert_eq!(xml, format!("{header}{pet}    </objects>\n</database>\n"));
    }
    let export = db.run(&["export Pet", "--format", "xml"]).done();
    assert!(export.contains("<Schema>") && export.contains(pet), "{export}");
}

#[test]
fn formats_that_do_not_fit_are_refused() {
    let db = Fixture::new();
    for (statement, format) in [
        ("show Pet", "csv"),
        ("export Pet", "csv"),
        ("count Pet", "xml"),
        ("find Pet columns name", "xml"),
    ] {
        let message = db.run(&[statement, "--format", format]).failed(2);
        assert!(message.starts_with(&format!("permazen: --format {format}: ")), "{message}");
    }
    db.run(&["show Pet", "--raw"]).failed(2);
    db.run(&["count Pet", "--raw", "--json"]).failed(2);
    db.run(&["count Pet", "--format", "yaml"]).failed(2);
}

#[test]
fn no_such_object_is_an_answer() {
    let db = Fixture::new();
    for (format, note) in [
        ("lines", "permazen: there is no such object\n"),
        ("json", "{\"type\":\"note\",\"message\":\"there is no such object\"}\n"),
    ] {
        let ran = db.run(&["show @1000000000000009", "--format", format]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (1, "", note));
    }
    assert_eq!(db.run(&["count @1000000000000009", "--raw"]).done(), "0\n");
}
