//! `save` and `load`.

use serde_json::json;

use crate::fixture::{Fixture, data, pairs, run};

const RECORDED: [&str; 4] = ["music", "encodings", "evolution", "storage-ids"];

/// The options with which Java has written the recorded documents, seen from their beginning.
fn options_of(document: &str, db: &Fixture) -> Vec<String> {
    let mut options = Vec::new();
    let schemas = db.out(&["--raw", "schema", "list", "--no-counts"]);
    let newest = schemas.lines().last().and_then(|line| line.split('\t').next());
    let newest = newest.expect("a schema").to_owned();
    options.extend(["--default-schema".to_owned(), newest]);
    if !document.contains("?>\n") {
        options.push("--compact".to_owned());
    }
    let objects = document.split_once("<objects").expect("objects").1;
    if objects.split('<').nth(1).is_some_and(|first| first.starts_with("object ")) {
        options.push("--plain".to_owned());
    }
    options
}

#[test]
fn documents_are_those_of_java() {
    for name in RECORDED {
        let db = Fixture::recorded(name);
        let java = data(&format!("databases/{name}/objects-ids.xml"));
        let java = String::from_utf8(java).expect("UTF-8");
        let file = db.name("out.xml");
        let mut args = vec!["save".to_owned(), "--storage-ids".to_owned(), file.clone()];
        args.extend(options_of(&java, &db));
        let out = db.out(&args);
        assert!(out.starts_with("Wrote ") && out.ends_with(&format!(" objects to \"{file}\"\n")));
        let written = std::fs::read_to_string(&file).expect("read");
        assert!(written == java, "{name}: {args:?}: the documents differ");
        args[2] = "-".to_owned();
        assert!(db.out(&args) == java, "{name}: standard output differs");
    }
}

/// Without storage IDs, our references can be loaded (XD4); apart from them, the documents are
/// those of Java.
#[test]
fn portable_documents_are_those_of_java_but_for_references() {
    for name in RECORDED {
        let db = Fixture::recorded(name);
        let java = data(&format!("databases/{name}/objects.xml"));
        let java = String::from_utf8(java).expect("UTF-8");
        let mut args = vec!["save".to_owned(), "-".to_owned()];
        args.extend(options_of(&java, &db));
        let ours = db.out(&args);
        // Java writes raw IDs where values are references.
        let mut raw = String::new();
        let mut rest = ours.as_str();
        while let Some((before, after)) = rest.split_once(">generated:") {
            let (reference, after) = after.split_once('<').expect("an end");
            let (_, id) = reference.rsplit_once(':').expect("an ID");
            raw.push_str(&format!("{before}>{id}<"));
            rest = after;
        }
        raw.push_str(rest);
        assert!(raw == java, "{name}: {args:?}: the documents differ");
    }
}

/// As Java writes it without model classes: each object names its schema.
#[test]
fn the_small_database_is_saved_as_java_saves_it() {
    let db = Fixture::reference();
    let out = db.out(&["save", "--storage-ids", "-"]);
    assert!(
        out.contains(
            "\n    <objects>\n        <Person id=\"1000000000000001\" schema=\"Schema_a74f"
        )
    );
    assert!(out.contains("<!-- \"Schema_a74fa4308ce05a1de31520b9858a4e91\" -->"), "{out}");
    let plain = db.out(&["save", "--plain", "--storage-ids", "-"]);
    let object = "<object type=\"Person\" id=\"1000000000000001\" schema=\"Schema_a74f";
    assert!(plain.contains(object) && plain.contains("<field name=\"age\">40</field>"), "{plain}");
    let none = db.out(&["save", "--no-objects", "--no-schemas", "-"]);
    let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<database>\n    <schemas></schemas>\n    \
                    <objects></objects>\n</database>";
    assert_eq!(none, expected);
    let defaults = db.out(&["save", "--with-defaults", "-"]);
    assert!(defaults.contains("<visits>0</visits>") && !out.contains("<visits>0</visits>"));
    let truncated = db.out(&["save", "--truncate", "1", "-"]);
    assert!(truncated.contains("<name>A...[truncated]</name>"), "{truncated}");
    let json = db.run(&["--json", "save", &db.name("x.xml")]).json(0);
    assert_eq!(json, [json!({ "type": "written", "file": db.name("x.xml"), "objects": 4 })]);
}

#[test]
fn parts_are_saved() {
    let db = Fixture::reference();
    let out = db.out(&["save", "--no-schemas", "--storage-ids", "-", "find Pet"]);
    assert!(out.contains("<Pet ") && !out.contains("<Person "), "{out}");
    let file = db.name("x.xml");
    let out = db.out(&["save", &file, "find Person limit 2"]);
    assert_eq!(out, format!("Wrote 2 objects to \"{file}\"\n"));
    for (bad, why) in [
        ("find Pets", "Pets"),
        ("find Pet columns name", "without columns"),
        ("count Pet", "without columns"),
        ("find", "expected"),
    ] {
        let error = db.run(&["save", &db.name("y.xml"), bad]).error(2);
        assert!(error.contains(why), "{bad}: {error}");
        assert!(!db.path("y.xml").exists());
    }
}

/// As tools.md §4.6 says.
#[test]
fn a_document_with_storage_ids_gives_the_same_pairs_again() {
    for name in RECORDED {
        let db = Fixture::recorded(name);
        let file = db.name("all.xml");
        db.out(&["save", "--storage-ids", &file]);
        let empty = Fixture::with(|_| {});
        let out = empty.out(&["--write", "load", &file]);
        assert!(
            out.starts_with("Read ") && out.ends_with(&format!(" object(s) from \"{file}\"\n"))
        );
        assert!(without_schemas(empty.pairs()) == without_schemas(db.pairs()), "{name} differs");
        // In the same database, nothing changes.
        let before = db.pairs();
        db.out(&["--write", "load", &file]);
        assert!(db.pairs() == before, "{name} differs");
    }
}

/// Pairs but for the schemas, whose compressed bytes can differ.
fn without_schemas(pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<(Vec<u8>, Vec<u8>)> {
    pairs.into_iter().filter(|(key, _)| !key.starts_with(&[0, 1])).collect()
}

#[test]
fn a_document_without_storage_ids_makes_new_objects() {
    let db = Fixture::reference();
    let file = db.name("all.xml");
    db.out(&["save", &file]);
    assert_eq!(db.out(&["--write", "load", &file]), format!("Read 4 object(s) from \"{file}\"\n"));
    assert_eq!(db.out(&["--raw", "count Person"]), "6\n");
    let other = Fixture::with(|_| {});
    other.out(&["--write", "load", &file]);
    assert_eq!(other.out(&["--raw", "count Person"]), "3\n");
}

/// CD6: no delete action applies, for any references.
#[test]
fn all_objects_are_replaced() {
    let schema = r#"<Schema><ObjectType name="P" storageId="16">
        <ReferenceField name="r" storageId="17"/></ObjectType></Schema>"#;
    let db = Fixture::with(|_| {});
    let schema_file = db.file("schema.xml", schema);
    let out = db.out(&["--write", "schema", "add", &schema_file]);
    let id = out.split_whitespace().nth(1).expect("an ID").to_owned();
    let of = |objects: &str| {
        format!(
            "<database><schemas>{schema}</schemas><objects schema=\"{id}\">{objects}</objects></database>"
        )
    };
    // Java cannot delete 1 first: 2 refers to it.
    let two =
        of("<P id=\"1000000000000001\"/><P id=\"1000000000000002\"><r>1000000000000001</r></P>");
    db.run_with(&["--write", "load", "-"], two).out(0);
    let error =
        db.run_with(&["--write", "load", "-"], of("<P id=\"1000000000000009\"><s/></P>")).error(2);
    assert!(error.contains("unknown field \"s\""), "{error}");
    // User meta-data stays.
    db.out(&["--write", "kv", "put", "00ff01", "aa"]);
    let three = of("<P id=\"1000000000000003\"/>");
    let out = db.run_with(&["--write", "load", "--replace-all", "-"], three.clone()).out(0);
    assert_eq!(out, "Deleted 2 object(s)\nRead 1 object(s) from \"-\"\n");
    let keys: Vec<_> =
        db.pairs().into_iter().map(|(key, _)| key).filter(|key| key[0] != 0).collect();
    let null: &[u8] = b"\x11\xff\x10\0\0\0\0\0\0\x03";
    assert_eq!(keys, [b"\x10\0\0\0\0\0\0\x03".as_slice(), null]);
    assert_eq!(db.out(&["kv", "get", "00ff01"]), "aa\n");
    let json = db.run_with(&["--json", "--write", "load", "-R", "-"], three).json(0);
    assert_eq!(json, [json!({ "type": "read", "file": "-", "objects": 1, "removed": 1 })]);
    // A mistake changes nothing, and nothing is removed.
    let before = db.pairs();
    db.run_with(&["--write", "load", "-R", "-"], of("<P id=\"1000000000000003\">")).error(2);
    db.run_with(&["--write", "--dry-run", "load", "-R", "-"], of("")).out(0);
    assert_eq!(db.pairs(), before);
}

#[test]
fn mistakes_have_a_place_and_change_nothing() {
    let db = Fixture::reference();
    let before = db.pairs();
    for (document, why) in [
        ("<database>", "the document ends too early"),
        ("<foo/>", "expected opening <database> tag"),
        ("<database>\n<schemas/><objects><Zap/></objects></database>", "line 2, column 20"),
        (
            "<database><schemas/><objects schema=\"Schema_a74fa4308ce05a1de31520b9858a4e91\"><Person><age>x</age></Person></objects></database>",
            "invalid value \"x\" for field \"age\"",
        ),
        (
            "<database><schemas/><objects schema=\"Schema_a74fa4308ce05a1de31520b9858a4e91\"><Person><spouse>1000000000000099</spouse></Person></objects></database>",
            "unresolved reference",
        ),
    ] {
        let error = db.run_with(&["--write", "load", "-"], document).error(2);
        assert!(error.contains(why), "{document}: {error}");
        assert_eq!(db.pairs(), before);
    }
    let error = db.run(&["load", "x.xml"]).error(2);
    assert!(!error.is_empty());
}

/// `load` gives the objects that `export` has written.
#[test]
fn json_gives_equal_objects() {
    for name in ["music", "encodings", "evolution", "storage-ids", "reference"] {
        let db = match name {
            "reference" => Fixture::reference(),
            name => Fixture::recorded(name),
        };
        // A database with the same schemas, and no objects.
        let other = Fixture::of(db.out(&["kv", "dump", "-", "00", "0080"]).as_bytes());
        let mut all = String::new();
        for object_type in type_names(&db) {
            all.push_str(&db.out(&["--json", &format!("show `{object_type}`")]));
        }
        let file = db.file("all.jsonl", &all);
        let count = all.lines().count();
        let json = other.run(&["--json", "--write", "load", &file]).json(0);
        assert_eq!(json, [json!({ "type": "read", "file": file, "objects": count })], "{name}");
        assert!(other.pairs() == db.pairs(), "{name} differs");
    }
}

#[test]
fn json_finds_its_schema_by_its_id() {
    let schema = |fields: &str| {
        format!(
            "<Schema><ObjectType name=\"P\" storageId=\"1\"><SimpleField name=\"n\" storageId=\"2\" \
             encoding=\"urn:fdc:permazen.io:2020:int\"/>{fields}</ObjectType></Schema>"
        )
    };
    let schemas = [schema(""), schema("<CounterField name=\"c\" storageId=\"3\"/>")];
    let empty = || Fixture::with(|_| ());
    let (from, to) = (empty(), empty());
    for (db, order) in [(&from, [0, 1]), (&to, [1, 0])] {
        for at in order {
            let file = db.file("schema.xml", &schemas[at]);
            db.out(&["--write", "schema", "add", &file]);
        }
    }
    from.out(&["--write", "--schema", "1", "create P n = 7"]);
    let line = from.out(&["--json", "show P"]);
    assert!(line.contains("\"schema\":1,\"schema_id\":\"Schema_"), "{line}");
    let file = to.file("p.jsonl", &line);
    to.run(&["--json", "--write", "load", &file]).json(0);
    let loaded = to.out(&["--json", "show P"]);
    assert!(loaded.contains("\"schema\":2,"), "{loaded}");
    let file =
        to.file("q.jsonl", line.replace("\"schema_id\":\"Schema_", "\"schema_id\":\"Schema_0000"));
    let error = to.run(&["--write", "load", &file]).error(2);
    assert!(error.contains("is no ID of a schema"), "{error}");
}

/// The output of `export` without objects, and the forms of JSON lines that other programs write.
#[test]
fn json_of_other_programs_is_read() {
    let db = Fixture::reference();
    for nothing in ["", "\n \n", "\u{feff}", "[]", "\u{feff}[\n]\n"] {
        let out = db.run_with(&["--write", "load", "-"], nothing).out(0);
        assert_eq!(out, "Read 0 object(s) from \"-\"\n", "{nothing:?}");
    }
    let (before, objects) = (db.pairs(), db.out(&["--json", "show Person"]));
    let lines: Vec<&str> = objects.lines().collect();
    let array = format!("[{}]", lines.join(",\n "));
    let pretty = array.replace("\"fields\":{", "\n\"fields\" :\n{").replace(',', ",\r\n");
    for form in [&objects, &array, &pretty] {
        for mark in ["", "\u{feff}"] {
            db.out(&["--write", "delete all Person"]);
            let json = db.run_with(&["--write", "load", "-"], format!("{mark}{form}"));
            assert_eq!(json.out(0), "Read 3 object(s) from \"-\"\n");
            assert_eq!(db.pairs(), before);
        }
    }
    // A mistake has its place.
    let wrong = array.replace("\"age\":40", "\"age\":\"x\"");
    let error = db.run_with(&["--write", "load", "-"], wrong).error(2);
    assert!(error.contains("-: JSON line 1: object 1000000000000001: field age"), "{error}");
    let error = db.run_with(&["--write", "load", "-"], array.replace("}]", "}")).error(2);
    assert!(error.contains("JSON line 3: column ") && error.contains("does not end"), "{error}");
    let error = db.run_with(&["--write", "load", "-"], array.replacen("{", "{,", 1)).error(2);
    assert!(error.contains("JSON line 1: column 3: "), "{error}");
    // XML with a mark.
    let xml = db.out(&["save", "--storage-ids", "-"]);
    db.run_with(&["--write", "load", "-"], format!("\u{feff}{xml}")).out(0);
    assert_eq!(db.pairs(), before);
    // To replace everything by nothing is asked for twice.
    let error = db.run_with(&["--write", "load", "-R", "-"], "\n").error(2);
    assert!(error.contains("all objects would be removed") && error.contains("--json"), "{error}");
    assert_eq!(db.pairs(), before);
    db.run_with(&["--write", "--json", "load", "-R", "-"], "").out(0);
    assert_eq!(db.out(&["--raw", "count Person"]), "0\n");
    // An export of a type without objects is read too.
    let nothing = db.out(&["export Person"]);
    assert!(!nothing.contains("\"object_type\""), "{nothing}");
    let out = db.run_with(&["--write", "load", "-"], nothing).out(0);
    assert_eq!(out, "Read 0 object(s) from \"-\"\n");
}

#[test]
fn numbers_and_ids_in_json() {
    let db = Fixture::reference();
    let object = |fields: &str| {
        format!(r#"{{"type":"object","object_type":"Person","schema":1,"fields":{{{fields}}}}}"#)
    };
    // Without an ID, each is a new object.
    let two = format!("{}\n{}\n", object(r#""name":"Eve","age":5.0,"visits":1e3"#), object(""));
    db.run_with(&["--write", "load", "-"], two.as_str()).out(0);
    assert_eq!(db.out(&["--raw", "count Person"]), "5\n");
    let shown = db.out(&["--raw", "find Person where name = \"Eve\" columns age, visits"]);
    assert_eq!(shown, "5\t1000\n");
    db.run_with(&["--write", "load", "-"], two).out(0);
    assert_eq!(db.out(&["--raw", "count Person where name = \"Eve\""]), "2\n");
    // An ID as it is shown elsewhere.
    let with_id = object("\"age\":-1.20e1").replacen('{', "{\"id\":\"@1000000000000002\",", 1);
    db.run_with(&["--write", "load", "-"], with_id).out(0);
    assert_eq!(db.out(&["--raw", "find @1000000000000002 columns age"]), "-12\n");
    for (fields, why) in [
        (r#""age":5.5"#, "5.5 is no whole number"),
        (r#""age":1e10"#, "1e10"),
        (r#""visits":1e-1"#, "field visits"),
        (r#""visits":1e19"#, "field visits"),
    ] {
        let error = db.run_with(&["--write", "load", "-"], object(fields)).error(2);
        assert!(error.contains(why), "{fields}: {error}");
    }
    let no_text = object("").replacen('{', "{\"id\":7,", 1);
    let error = db.run_with(&["--write", "load", "-"], no_text).error(2);
    assert!(error.contains("the \"id\" is no text"), "{error}");
    // Statements take the same numbers.
    db.out(&["--write", "set Person where name = \"Eve\" to age = 7.0, visits = 2e0"]);
    let shown = db.out(&["--raw", "find Person where age = 7e0 columns visits"]);
    assert_eq!(shown, "2\n2\n");
}

#[test]
fn a_part_is_loaded_although_references_lead_out_of_it() {
    let db = Fixture::reference();
    let other = Fixture::with(|_| ());
    let part = db.out(&["save", "-", "find Person where name = \"Ann\""]);
    let error = other.run_with(&["--write", "load", "-"], part.as_str()).error(2);
    assert!(error.contains("unresolved reference(s) remain, one to object "), "{error}");
    assert!(error.contains("add the objects, or use --allow-unresolved"), "{error}");
    assert!(other.pairs().is_empty());
    let loaded = other.run_with(&["--write", "load", "--allow-unresolved", "-"], part);
    assert_eq!(loaded.out(0), "Read 1 object(s) from \"-\"\n");
    let said = String::from_utf8(loaded.output.stderr.clone()).expect("UTF-8");
    assert!(said.contains("unresolved reference(s) remain, one to object "), "{said}");
    assert_eq!(other.out(&["--raw", "find Person columns name, age"]), "Ann\t40\n");
    // JSON lines the same, where IDs begin as there.
    let other = Fixture::of(db.out(&["kv", "dump", "-", "00", "0080"]).as_bytes());
    let json = db.out(&["--json", "export Person where name = \"Ann\""]);
    let error = other.run_with(&["--write", "load", "-"], json.as_str()).error(2);
    assert!(error.contains("use --allow-unresolved"), "{error}");
    other.run_with(&["--write", "load", "--allow-unresolved", "-"], json).out(0);
    assert_eq!(other.out(&["--raw", "count Person"]), "1\n");
}

/// The names of all object types.
fn type_names(db: &Fixture) -> Vec<String> {
    let types = db.out(&["--raw", "types", "--no-counts"]);
    types.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
}

#[test]
fn mistakes_in_json_have_a_place_and_change_nothing() {
    let db = Fixture::reference();
    let before = db.pairs();
    let object = |fields: &str| {
        format!(
            "\n{{\"type\":\"object\",\"id\":\"1000000000000001\",\"object_type\":\"Person\",\"schema\":1,\"fields\":{{{fields}}}}}\n"
        )
    };
    for (json, why) in [
        ("{".to_owned(), "JSON line 1: column 2"),
        ("{\"object".to_owned(), "JSON line 1: column 9"),
        (r#"{"objects":[]}"#.to_owned(), "a graph, which a program has made with `export_graph`"),
        ("{\n  \"schemas\": [\n".to_owned(), "`import_graph` in a program reads it; `load` reads"),
        ("{\"type\":\"row\",\"values\":{}}".to_owned(), "it is no whole object"),
        (
            object("\"zap\":1"),
            "JSON line 2: object 1000000000000001: field zap: type Person has no such",
        ),
        (object("\"age\":\"x\""), "field age"),
        (object("\"age\":null"), "field age"),
        (object("\"age\":1,\"age\":2"), "field age: it is there twice"),
        (object("\"age\":300000000000"), "field age"),
        (object("\"tags\":1"), "field tags: a number where a list is expected"),
        (object("\"tags\":[\"a\",\"b\",\"a\"]"), "field tags: elements 1 and 3 are the same"),
        (
            object("").replace("\"fields\"", "\"fields\":{},\"fields\""),
            "JSON line 2: \"fields\" is there twice",
        ),
        (object("\"scores\":[1]"), "an entry of a map is"),
        (
            object(
                r#""scores":[{"key":"a","value":1},{"key":"b","value":1},{"key":"a","value":2}]"#,
            ),
            "field scores: entries 1 and 3 have the same key",
        ),
        (object("\"visits\":1.5"), "field visits: 1.5 where a whole number of 64 bits"),
        (object("\"name\":{\"damaged\":\"x'00'\",\"reason\":\"\"}"), "its value was damaged"),
        (object("\"spouse\":\"1000000000000099\""), "unresolved reference"),
        (object("").replace(":1,", ":7,"), "no schema 7 is recorded"),
        (object("").replace("Person", "Persons"), "schema 1 has no type Persons"),
        (
            object("").replace("1000000000000001", "2000000000000001"),
            "IDs of Person begin with storage ID 16, and not 32",
        ),
        (object("").replace("1000000000000001", "zz"), "zz is no ID"),
    ] {
        let error = db.run_with(&["--write", "load", "-"], json.as_str()).error(2);
        assert!(error.contains(why), "{json}: {error}");
        assert_eq!(db.pairs(), before);
    }
    let error = db.run_with(&["--write", "load", "-"], b"{\"a\":\"\xff\"}".to_vec()).error(2);
    assert!(error.contains("it is not UTF-8"), "{error}");
    // Fields that are left out have their default values, and the others stay as they are.
    db.run_with(&["--write", "load", "-"], object("\"name\":\"Eve\"")).out(0);
    let shown = db.run(&["--json", "show @1000000000000001"]).json(0);
    assert_eq!(shown[0]["fields"]["name"], "Eve");
    assert_eq!(shown[0]["fields"]["age"], 0);
    assert_eq!(db.out(&["--raw", "count Person"]), "3\n");
}

#[test]
fn nothing_is_loaded_without_write() {
    let db = Fixture::reference();
    let file = db.file("all.xml", db.out(&["save", "-"]));
    for options in [&["load"][..], &["load", "-R"]] {
        let error = db.run(&[options, &[&file]].concat()).error(2);
        assert!(error.contains("needs --write"), "{error}");
    }
    // A dump can be saved, but not loaded into.
    let dump = db.file("R.xml", data("reference/R.kv.xml"));
    assert!(run(&[&dump, "save", "-"], "").out(0).contains("<Pet "));
    let error = run(&[&dump, "--write", "load", &file], "").error(2);
    assert!(error.contains("an XML dump can only be read"), "{error}");
    assert_eq!(pairs(&dump).len(), 65);
}
