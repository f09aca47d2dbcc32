//! `kv`.

use permazen::kv::xml::{self, Style};
use permazen::kv::{KeySpan, KvDatabase, TxOptions};
use serde_json::json;

use crate::fixture::{Fixture, data, pairs, run};

/// As in tools.md §3.6.1.
#[test]
fn a_value_is_shown_in_hex_or_as_text() {
    let db = Fixture::reference();
    assert_eq!(db.out(&["kv", "get", "100000000000000111"]), "416e6e00\n");
    assert_eq!(db.out(&["kv", "get", "-s", "100000000000000111"]), "\"Ann\\x00\"\n");
    assert_eq!(db.out(&["kv", "get", r#""\x10\x00\x00\x00\x00\x00\x00\x01\x11""#]), "416e6e00\n");
    assert_eq!(db.out(&["--raw", "kv", "get", "100000000000000111"]), "Ann\0");
    assert_eq!(db.run(&["kv", "get", "99"]).out(1), "null\n");
    let json = db.run(&["--json", "kv", "get", "100000000000000111"]).json(0);
    assert_eq!(json, [json!({ "type": "pair", "key": "100000000000000111", "value": "416e6e00" })]);
    assert_eq!(db.run(&["--json", "kv", "get", "99"]).json(1)[0]["value"], json!(null));
    // An empty value is shown, too.
    assert_eq!(db.out(&["kv", "get", "1000000000000001157800"]), "\n");
    let error = db.run(&["kv", "get", "abc"]).error(2);
    assert!(error.contains("invalid bytes"), "{error}");
}

const TAGS: &str = "\
K 10000000 00000001 157800                                                   .........x.
K 10000000 00000001 157900                                                   .........y.
Displayed 2 key/value pairs
";

#[test]
fn ranges_are_listed() {
    let db = Fixture::reference();
    assert_eq!(db.out(&["kv", "scan", "--prefix", "100000000000000115"]), TAGS);
    assert_eq!(db.out(&["kv", "scan", "100000000000000115", "100000000000000116"]), TAGS);
    let text = db.out(&["kv", "scan", "-s", "--limit", "1", "100000000000000115"]);
    let expected = "K \"\\x10\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x15x\\x00\"\nV \"\"\n\
                    Displayed 1 key/value pairs\n";
    assert_eq!(text, expected);
    let reverse = db.out(&["kv", "scan", "--reverse", "-n", "-s", "-l", "1", "--prefix", "20"]);
    let expected = "K \" \\x00\\x00\\x00\\x00\\x00\\x00\\x01!\"\nDisplayed 1 key/value pairs\n";
    assert_eq!(reverse, expected);
    let all = db.out(&["kv", "scan"]);
    assert!(all.ends_with("Displayed 65 key/value pairs\n"), "{all}");
    assert!(db.out(&["kv", "scan", "20"]).ends_with("Displayed 3 key/value pairs\n"));
    let lines = db.run(&["--json", "kv", "scan", "--prefix", "20"]).json(0);
    let first = json!({ "type": "pair", "key": "2000000000000001", "value": "01" });
    assert_eq!((lines.len(), &lines[0]), (3, &first));
    let keys = db.run(&["--json", "kv", "scan", "-n", "--prefix", "20"]).json(0);
    assert_eq!(keys[0], json!({ "type": "pair", "key": "2000000000000001" }));
    let error = db.run(&["kv", "scan", "20", "10"]).error(2);
    assert!(error.contains("the range ends (10) before it begins (20)"), "{error}");
}

#[test]
fn pairs_are_put_and_removed() {
    let db = Fixture::with(|_| {});
    assert_eq!(db.out(&["--write", "kv", "put", "99", "aa"]), "");
    assert_eq!(db.out(&["--write", "kv", "put", "\"key\"", ""]), "");
    assert_eq!(db.pairs(), [(b"key".to_vec(), Vec::new()), (vec![0x99], vec![0xaa])]);
    let json = db.run(&["--json", "--write", "kv", "put", "99", "ab"]).json(0);
    assert_eq!(json, [json!({ "type": "pair", "key": "99", "value": "ab" })]);
    assert_eq!(db.out(&["--write", "kv", "remove", "99"]), "");
    assert_eq!(db.out(&["--write", "kv", "remove", "99"]), "", "no such key is no error");
    assert_eq!(db.run(&["--json", "--write", "kv", "remove", "99"]).json(0)[0]["pairs"], 0);
    assert_eq!(db.pairs().len(), 1);
}

#[test]
fn a_range_is_removed_if_its_end_is_given() {
    let db = Fixture::reference();
    let before = db.pairs();
    let rest: Vec<_> =
        before.iter().filter(|(key, _)| !key.starts_with(b"\x11")).cloned().collect();
    let out = db.out(&["--write", "kv", "remove", "--prefix", "11"]);
    assert_eq!(out, "Removed 4 key/value pairs\n");
    assert_eq!(db.pairs(), rest);

    let db = Fixture::reference();
    let out = db.out(&["--write", "kv", "remove", "11", "12"]);
    assert_eq!(out, "Removed 4 key/value pairs\n");
    assert_eq!(db.pairs(), rest);
    // With one bound only, it is a key.
    db.out(&["--write", "kv", "remove", "20"]);
    assert_eq!(db.pairs().len(), before.len() - 4);
    let out = db.out(&["--write", "kv", "remove", "20", "--to-end"]);
    assert_eq!(out, "Removed 3 key/value pairs\n");
    let error = db.run(&["--write", "kv", "remove"]).error(2);
    assert!(error.contains("required"), "{error}");
    let error = db.run(&["--write", "kv", "remove", "12", "11"]).error(2);
    assert!(error.contains("before it begins"), "{error}");
}

#[test]
fn nothing_is_changed_without_write_or_in_a_dry_run() {
    let db = Fixture::reference();
    let before = db.pairs();
    let dump = db.file("dump.xml", "<entries/>");
    let changes: [&[&str]; 3] = [
        &["kv", "put", "99", "aa"],
        &["kv", "remove", "11", "--to-end"],
        &["kv", "load", "-R", &dump],
    ];
    for change in changes {
        let error = db.run(change).error(2);
        assert!(error.contains("needs --write"), "{error}");
        db.run(&[&["--write", "--dry-run"], change].concat()).out(0);
        assert_eq!(db.pairs(), before);
    }
}

/// `kvsave` of Java writes these bytes.
#[test]
fn dumps_are_those_of_java() {
    for name in ["music", "encodings", "evolution", "storage-ids"] {
        let db = Fixture::recorded(name);
        let (file, java) = (db.name("out.xml"), data(&format!("databases/{name}/kv.xml")));
        let out = db.out(&["kv", "dump", &file]);
        let count = db.pairs().len();
        assert_eq!(out, format!("Wrote {count} key/value pairs to \"{file}\"\n"));
        assert!(std::fs::read(&file).expect("read") == java, "{name} differs");
        assert!(db.run(&["kv", "dump", "-"]).bytes(0) == java, "{name} differs");
        // The indented dump has the same pairs.
        db.out(&["kv", "dump", "-i", &file]);
        let indented = std::fs::read_to_string(&file).expect("read");
        assert!(indented.contains("\n        <key>00005065726d617a656e00</key>\n"), "{name}");
        assert!(pairs(&file) == db.pairs(), "{name} differs");
    }
}

#[test]
fn a_range_is_dumped() {
    let db = Fixture::reference();
    let out = db.out(&["kv", "dump", "-", "--prefix", "20"]);
    assert_eq!(out.matches("<entry>").count(), 3, "{out}");
    assert_eq!(db.out(&["kv", "dump", "-", "20", "21"]), out);
    let json = db.run(&["--json", "kv", "dump", &db.name("x.xml")]).json(0);
    assert_eq!(json[0]["pairs"], 65);
}

/// CD4: Java does not count pairs without a value.
#[test]
fn loading_counts_every_pair() {
    let db = Fixture::with(|_| {});
    let file = db.file("R.xml", data("reference/R.kv.xml"));
    let out = db.out(&["--write", "kv", "load", &file]);
    assert_eq!(out, format!("Read 65 key/value pairs from \"{file}\"\n"));
    assert_eq!(db.pairs(), Fixture::reference().pairs());
    // What is there already stays, unless it is replaced.
    let one = "<entries><entry><key>99</key></entry></entries>";
    let out = db.run_with(&["--write", "kv", "load", "-"], one).out(0);
    assert_eq!((out.as_str(), db.pairs().len()), ("Read 1 key/value pairs from \"-\"\n", 66));
    db.run_with(&["--write", "kv", "load", "--replace-all", "-"], one).out(0);
    assert_eq!(db.pairs(), [(vec![0x99], Vec::new())]);
    let json = db.run_with(&["--json", "--write", "kv", "load", "-"], one).json(0);
    assert_eq!(json, [json!({ "type": "read", "file": "-", "pairs": 1 })]);
}

#[test]
fn a_document_with_an_error_changes_nothing() {
    let db = Fixture::reference();
    let before = db.pairs();
    let bad = "<entries><entry><key>99</key></entry>\n<entry><key>9</key></entry></entries>";
    let error = db.run_with(&["--write", "kv", "load", "-R", "-"], bad).error(2);
    assert!(error.contains("XML line 2, column"), "{error}");
    assert_eq!(db.pairs(), before);
    let error = db.run(&["--write", "kv", "load", &db.name("missing.xml")]).error(2);
    assert!(error.contains("missing.xml"), "{error}");
}

#[test]
fn a_file_appears_whole_or_not_at_all() {
    let db = Fixture::reference();
    // The old file stays until the new one is complete.
    let file = db.file("out.xml", "old");
    let error = db.run(&["kv", "dump", "99", "11", &file]).error(2);
    assert!(!error.is_empty());
    assert_eq!(std::fs::read(&file).expect("read"), b"old");
    db.out(&["kv", "dump", &file]);
    assert_eq!(pairs(&file).len(), 65);
    let left: Vec<_> = std::fs::read_dir(db.dir.path()).expect("read").collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let error = db.run(&["kv", "dump", &db.name("no/out.xml")]).error(2);
    assert!(error.contains("there is no directory"), "{error}");
}

#[cfg(unix)]
#[test]
fn links_permissions_and_devices_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let db = Fixture::reference();
    let file = db.file("out.xml", "old");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).expect("permissions");
    symlink(&file, db.path("link.xml")).expect("a link");
    db.out(&["kv", "dump", &db.name("link.xml")]);
    assert!(db.path("link.xml").is_symlink());
    assert_eq!(pairs(&file).len(), 65);
    let mode = std::fs::metadata(&file).expect("metadata").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(db.out(&["kv", "dump", "/dev/null"]).contains("Wrote 65"));
}

#[test]
fn damaged_databases_and_other_stores_can_be_read_and_changed() {
    // No Permazen database at all: the object layer would refuse it.
    let db = Fixture::with(|kv| kv.put(&[0x00, 0x01, 0x01], b"garbage").expect("put"));
    assert!(db.out(&["kv", "scan", "-s"]).contains("V \"garbage\""));
    db.out(&["--write", "kv", "remove", "000101"]);
    assert_eq!(db.pairs().len(), 0);
    // A dump is a store that can only be read.
    let dump = db.file("R.xml", data("reference/R.kv.xml"));
    assert_eq!(run(&[&dump, "kv", "get", "100000000000000111"], "").out(0), "416e6e00\n");
    let error = run(&[&dump, "--write", "kv", "put", "99", "00"], "").error(2);
    assert!(error.contains("an XML dump can only be read"), "{error}");
}

/// What `kv dump` writes is what the library writes.
#[test]
fn a_dump_of_sqlite_is_the_same() {
    let db = Fixture::reference();
    let dump = db.out(&["kv", "dump", "-"]);
    let sqlite = db.name("db.sqlite");
    let store = permazen::open::Opening::new()
        .create(true)
        .open(format!("sqlite:{sqlite}"))
        .expect("create");
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    xml::load(&mut *kv, dump.as_bytes()).expect("load");
    let mut again = Vec::new();
    xml::dump(&*kv, KeySpan::FULL, Style::Plain, &mut again).expect("dump");
    assert_eq!(again, dump.as_bytes());
    kv.commit().expect("commit");
    drop(store);
    assert_eq!(run(&[&sqlite, "kv", "dump", "-"], "").out(0), dump);
}
