//! The results, in each format.

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
    // Wide characters take two columns, zero-width ones no column.
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
    // Unless the first rows take long enough that they are shown earlier, which changes no width.
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
    let mut object = serde_json::from_str::<Json>(&out).unwrap();
    let schema_id = object.as_object_mut().unwrap().remove("schema_id").unwrap();
    assert!(schema_id.as_str().unwrap().starts_with("Schema_"), "{out}");
    assert_eq!(
        object,
        json!({"type": "object", "id": "2000000000000001", "object_type": "Pet", "schema": 1,
               "fields": {"name": "Rex", "born": "1970-01-01T00:00:00Z"}})
    );
    // An export is JSON unless an option says otherwise, after the schemas.
    let exported = db.run(&["export Pet"]).done();
    let (schema, objects) = exported.split_once('\n').unwrap();
    let schema: Json = serde_json::from_str(schema).unwrap();
    assert_eq!((&schema["type"], &schema["id"]), (&json!("schema"), &schema_id));
    assert_eq!(objects, out);
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

#[test]
fn columns_are_named_and_those_of_numbers_are_on_the_right() {
    let db = Fixture::new();
    let statement =
        "find Person order by age desc limit 2 columns name, age, boss.name, scores[\"a\"]";
    let ran = db.run(&[statement]);
    assert_eq!(
        ran.out,
        "name  age  boss.name  scores[\"a\"]\n\
         ----  ---  ---------  -----------\n\
         Ann    40  null                 1\n\
         Bob     0                        \n"
    );
    let out = db.run(&[statement, "--json"]).out;
    let rows: Vec<Json> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        rows[0]["values"],
        json!({"name": "Ann", "age": 40, "boss.name": null, "scores[\"a\"]": 1})
    );
    assert_eq!(rows[1]["values"], json!({"name": "Bob", "age": 0}));
    assert_eq!(
        db.run(&["find @1000000000000001 columns name, name, age", "--json"]).done(),
        "{\"type\":\"row\",\"values\":{\"name\":\"Ann\",\"age\":40}}\n"
    );
}

#[test]
fn a_scan_for_lack_of_an_index_is_said() {
    let db = Fixture::new();
    let note = "all objects of Person are read, because no index serves the condition";
    let ran = db.run(&["count Person where age > 3", "--raw"]);
    assert_eq!((ran.code, ran.out, ran.err), (0, "1\n".to_owned(), format!("permazen: {note}\n")));
    let ran = db.run(&["count Person where age > 3", "--json"]);
    assert_eq!(ran.err, format!("{{\"type\":\"note\",\"message\":\"{note}\"}}\n"));
    assert_eq!(db.run(&["count Person where name = \"Ann\"", "--raw"]).done(), "1\n");
    // Also for the parts of a set, and for edits.
    let ran = db.run(&["count (Person where age > 3) union Pet", "--raw"]);
    assert_eq!((ran.code, ran.err), (0, format!("permazen: {note}\n")));
    for edit in ["set Person where age > 3 to age += 1", "migrate Person where age > 3 to newest"] {
        let ran = db.run(&["--write", edit]);
        assert_eq!((ran.code, ran.err), (0, format!("permazen: {note}\n")), "{edit}");
    }
}

#[test]
fn the_plan_and_what_it_costs() {
    let db = Fixture::new();
    let plan = db.run(&["explain find Person where name = \"Ann\""]).done();
    assert!(plan.contains("index Person.name"), "{plan}");
    let run = db.run(&["explain run find Person where name = \"Ann\""]).done();
    let cost = run.strip_prefix(&plan).expect("the same plan");
    assert!(cost.starts_with("rows: 1, gets: 0, seeks: 2, steps: "), "{cost}");
    assert!(cost.ends_with(" ms\n"), "{cost}");
    let run = db.run(&["explain run count Person where name = \"Ann\"", "--json"]).done();
    let run: Json = serde_json::from_str(&run).unwrap();
    assert_eq!(
        (&run["type"], &run["run"]["rows"], &run["run"]["seeks"]),
        (&json!("plan"), &json!(1), &json!(1))
    );
}

#[test]
fn a_damaged_value_is_shown_with_its_bytes_and_the_rest_too() {
    use permazen::kv::{KvDatabase, TxOptions};
    let db = Fixture::new();
    let store = db.open();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    // The age of Ann.
    tx.put(&[0x10, 0, 0, 0, 0, 0, 0, 1, 18], &[0xff, 0xff]).unwrap();
    tx.commit().unwrap();
    let show = |format: &str| {
        let ran = db.run(&["find Person limit 2 columns name, age", "--format", format]);
        assert_eq!(ran.code, 1, "{format}");
        assert!(ran.err.contains("damaged values: 1"), "{}", ran.err);
        ran.out
    };
    assert_eq!(
        show("table"),
        "name               age\n----  ----------------\nAnn   damaged: x'ffff'\nBob                  0\n"
    );
    assert_eq!(show("csv"), "name,age\nAnn,x'ffff'\nBob,0\n");
    let lines = show("lines");
    assert!(lines.starts_with("name: \"Ann\"\nage: x'ffff'  -- damaged: "), "{lines}");
    let json = show("json");
    let row: Json = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(row["values"]["age"]["damaged"], "x'ffff'");
    assert!(row["values"]["age"]["reason"].is_string());
}
