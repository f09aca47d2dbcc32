//! Databases with a recorded schema that cannot be read.

use permazen::kv::xml;
use serde_json::json;

use crate::fixture::{Fixture, data};

/// The database `evolution` with rubbish instead of its schema 2. Only that has the type Invoice.
fn damaged() -> Fixture {
    Fixture::with(|kv| {
        xml::load(kv, &data("databases/evolution/kv.xml")[..]).expect("pairs");
        kv.put(&[0x00, 0x01, 0x02], b"rubbish").expect("put");
    })
}

#[test]
fn only_objects_of_a_damaged_schema_cannot_be_read() {
    let (whole, db) = (Fixture::recorded("evolution"), damaged());
    for one in ["1", "3"] {
        let find = format!("find Customer where schema = {one} columns id, name, age");
        assert_eq!(db.run(&[&find]).out(1), whole.out(&[&find]));
        assert!(db.run(&[&find]).error(1).contains("recorded schema 2: not a zlib stream"));
    }
    let ids = |db: &Fixture, code| {
        let out = db.run(&["--raw", "find Customer"]).out(code);
        out.lines().map(|line| line[..16].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&db, 1), ids(&whole, 0));
    let shown = db.run(&["--json", "show Customer where schema = 1 "]).json(1);
    assert_eq!(shown, whole.run(&["--json", "show Customer where schema = 1 "]).json(0));
    db.run(&["explain run find Customer"]).out(0);
}

#[test]
fn what_is_damaged_is_named() {
    let db = damaged();
    let list = db.run(&["--json", "schema", "list"]).json(1);
    assert_eq!(list[1]["values"], json!({ "schema": 2, "id": "damaged", "objects": 139 }));
    let verify = db.run(&["schema", "verify", "--actual", &db.name("actual.xml")]).error(1);
    for error in [verify, db.run(&["types"]).error(1), db.run(&["count Customer"]).error(1)] {
        assert!(error.contains("recorded schema 2") && error.contains("`check`"), "{error}");
    }
    let check = db.run(&["check"]).out(1);
    assert!(check.contains("schema 2: not a zlib stream"), "{check}");
    let decoded = db.out(&["kv", "decode", "000102"]);
    assert!(decoded.contains("Schema index #2"), "{decoded}");
    let error = db.run(&["find Invoices"]).error(2);
    assert!(error.contains("names of damaged schemas are not known (2)"), "{error}");
}

/// The type Book is in no other schema, so that no error tells of its objects.
#[test]
fn what_lacks_the_objects_of_a_damaged_schema_is_not_said_to_be_whole() {
    let db = Fixture::reference();
    let books = db.file("books.xml", "<Schema><ObjectType name=\"Book\"/></Schema>");
    db.out(&["--write", "schema", "add", &books]);
    db.out(&["--write", "create Book"]);
    let (file, other) = (db.name("all.xml"), db.name("other.xml"));
    db.out(&["save", &file]);
    let whole = std::fs::read_to_string(&file).expect("a file");
    assert!(whole.contains("<Book "), "{whole}");
    db.out(&["--write", "kv", "put", "000102", "72756262697368"]);
    for target in [&file, &other] {
        let error = db.run(&["save", target]).error(2);
        assert!(error.contains("nothing is written; `save -`"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), whole);
    assert!(!db.path("other.xml").exists());
    let saved = db.run(&["save", "-"]).out(1);
    assert!(saved.contains("Ann") && !saved.contains("Book"), "{saved}");
    for command in [&["schema", "show"][..], &["schema", "rust"]] {
        let error = db.run(command).error(1);
        assert!(error.contains("recorded schema 2"), "{command:?}: {error}");
        // Of a schema that is named, nothing is missing.
        db.run(&[command, &["1"]].concat()).out(0);
    }
    db.run(&["schema", "compare", "1", "1"]).out(0);
}

#[test]
fn a_damaged_database_is_not_changed() {
    let db = damaged();
    let before = db.pairs();
    let schema = db.file("s.xml", "<Schema><ObjectType name=\"New\"/></Schema>");
    let edits: [&[&str]; 4] = [
        &["create Tag"],
        &["set all Tag to name = \"x\""],
        &["schema", "gc"],
        &["schema", "add", &schema],
    ];
    for edit in edits {
        let error = db.run(&[&["--write"], edit].concat()).error(2);
        assert!(error.contains("nothing can be changed until this is repaired"), "{error}");
        db.run(&[&["--dry-run"], edit].concat()).error(2);
    }
    assert_eq!(db.pairs(), before);
}
