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
    // A variable of a script that is empty is no wish to remove everything.
    let error = db.run(&["--write", "kv", "remove", "--prefix", ""]).error(2);
    assert!(error.contains("kv remove \"\" --to-end"), "{error}");
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
    // Pairs that are there already stay, unless they are replaced.
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
    let file = db.file("out.xml", "<old/>");
    let error = db.run(&["kv", "dump", "99", "11", &file]).error(2);
    assert!(!error.is_empty());
    assert_eq!(std::fs::read(&file).expect("read"), b"<old/>");
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
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    let db = Fixture::reference();
    let file = db.file("out.xml", "<old/>");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).expect("permissions");
    let group = || std::fs::metadata(&file).expect("metadata").gid();
    // Only the system administrator can give it to any group.
    let _ = chown(&file, None, Some(group() + 1));
    let before = group();
    symlink(&file, db.path("link.xml")).expect("a link");
    db.out(&["kv", "dump", &db.name("link.xml")]);
    assert!(db.path("link.xml").is_symlink());
    assert_eq!(pairs(&file).len(), 65);
    let mode = std::fs::metadata(&file).expect("metadata").permissions().mode();
    assert_eq!((mode & 0o777, group()), (0o640, before));
    // A link to nothing leads to the new file.
    symlink("later.xml", db.path("first.xml")).expect("a link");
    symlink(db.path("first.xml"), db.path("dangling.xml")).expect("a link");
    db.out(&["kv", "dump", &db.name("dangling.xml")]);
    assert!(db.path("dangling.xml").is_symlink() && db.path("first.xml").is_symlink());
    assert_eq!(pairs(&db.name("later.xml")).len(), 65);
    std::fs::remove_file(db.path("later.xml")).expect("removed");
    db.out(&["save", &db.name("dangling.xml")]);
    assert!(db.path("dangling.xml").is_symlink() && db.path("first.xml").is_symlink());
    assert_eq!(
        std::fs::read(db.path("later.xml")).expect("a file"),
        db.out(&["save", "-"]).as_bytes()
    );
    symlink("circle.xml", db.path("circle.xml")).expect("a link");
    let error = db.run(&["save", &db.name("circle.xml")]).error(2);
    assert!(error.contains("circle.xml"), "{error}");
    // It may lead into the database itself.
    symlink(format!("{}/lock.mdb", db.db), db.path("own.xml")).expect("a link");
    db.run(&["save", &db.name("own.xml")]).error(2);
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

/// `kv dump` writes the same bytes as the library.
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

const PERSON: &str =
    "10 : [#16] object type \"Person\" in Schema_a74fa4308ce05a1de31520b9858a4e91@1";
const REST: &str = "00000000000001 : Random/unique part of ObjId";
const P1: &str = "1000000000000001 : Object ID 1000000000000001 of type \"Person\"";
const NAME: &str = "indexed field \"name\" of type java.lang.String";

/// The rows of tools.md §3.6.4.
#[test]
fn keys_are_decoded_as_java_means_to() {
    let db = Fixture::reference();
    let meta = "00 : Meta-data key prefix";
    let name_index = format!("11 : [#17] Simple index on {NAME}");
    let rows: Vec<(&str, Vec<&str>)> = vec![
        (
            "00005065726d617a656e00",
            vec![meta, "00 : Format version prefix", "5065726d617a656e00 : Format version key"],
        ),
        ("000101", vec![meta, "01 : Schema table prefix", "01 : Schema index #1"]),
        ("000211", vec![meta, "02 : Storage ID table prefix", "11 : Storage ID #17"]),
        (
            "0080011000000000000001",
            vec![meta, "80 : Object schema index", "01 : Schema index #1", P1],
        ),
        ("00ff0102", vec![meta, "ff : User meta-data range", "0102 : User meta-data key"]),
        ("0055", vec![meta, "55 : Unknown meta-data prefix"]),
        ("1000000000000001", vec![PERSON, REST]),
        (
            "100000000000000111",
            vec![PERSON, REST, "11 : [#17] indexed field \"name\" of type java.lang.String"],
        ),
        (
            "1000000000000001157800",
            vec![PERSON, REST, "15 : [#21] set field \"tags\"", "7800 : Set element x"],
        ),
        (
            "10000000000000011702",
            vec![
                PERSON,
                REST,
                "17 : [#23] list field \"friends\" containing reference field \"friends.element\"",
                "02 : List index 2",
            ],
        ),
        (
            "1000000000000001196100",
            vec![
                PERSON,
                REST,
                "19 : [#25] map field \"scores\" containing key encoding \"String\" <java.lang.String> and value \
             encoding \"int\" <int>",
                "6100 : Map key  a",
            ],
        ),
        ("10000000000000017a", vec![PERSON, REST, "7a : Invalid storage ID 122"]),
        ("11416e6e001000000000000001", vec![&name_index, "416e6e00 : Value Ann", P1]),
        (
            "1310000000000000021000000000000001",
            vec![
                "13 : [#19] Simple index on reference field \"spouse\"",
                "1000000000000002 : Value Object ID 1000000000000002 of type \"Person\"",
                P1,
            ],
        ),
        (
            "181000000000000002100000000000000102",
            vec![
                "18 : [#24] Simple index on reference field \"friends.element\"",
                "1000000000000002 : Value Object ID 1000000000000002 of type \"Person\"",
                P1,
                "02 : List index 2",
            ],
        ),
        (
            "1b8010000000000000016100",
            vec![
                "1b : [#27] Simple index on indexed field \"scores.value\" of type int",
                "80 : Value 1",
                P1,
                "6100 : Map key a",
            ],
        ),
        (
            "1f416e6e00a71000000000000001",
            vec![
                "1f : [#31] Composite index \"nameAge\" on indexed field \"name\" of type java.lang.String, field \"age\" \
             of type int",
                "416e6e00 : Value Ann",
                "a7 : Value 40",
                P1,
            ],
        ),
        ("15aa", vec!["15 : Unknown storage ID 21", "aa : Trailing garbage"]),
        (
            "11416e6e003000000000000001",
            vec![
                &name_index,
                "416e6e00 : Value Ann",
                "3000000000000001 : Object ID 3000000000000001 (invalid type #48)",
            ],
        ),
        // CD8: Java calls a null reference garbage.
        (
            "13ff1000000000000001",
            vec!["13 : [#19] Simple index on reference field \"spouse\"", "ff : Value null", P1],
        ),
        ("11416e6e0010", vec![&name_index, "416e6e00 : Value Ann", "10 : Trailing garbage"]),
        ("", vec!["Empty byte array"]),
    ];
    for (key, expected) in rows {
        let out = db.out(&["kv", "decode", key]);
        let lines: Vec<_> = out.lines().map(str::trim_start).collect();
        assert_eq!(lines, expected, "{key}");
    }
}

#[test]
fn pieces_are_aligned_and_arguments_joined() {
    let db = Fixture::reference();
    let expected =
        "              11 : [#17] Simple index on indexed field \"name\" of type java.lang.String
        416e6e00 : Value Ann
1000000000000001 : Object ID 1000000000000001 of type \"Person\"
";
    assert_eq!(db.out(&["kv", "decode", "11", r#""Ann\x00""#, "1000000000000001"]), expected);
    let json = &db.run(&["--json", "kv", "decode", "11416e6e001000000000000001"]).json(0)[0];
    assert_eq!(json["words"], "index Person.name: \"Ann\", object 1000000000000001");
    assert_eq!(json["pieces"][1], json!({ "bytes": "416e6e00", "words": "Value Ann" }));
}

#[test]
fn keys_of_damaged_databases_are_decoded() {
    let db = Fixture::reference();
    // A part of its meta-data is missing.
    db.out(&["--write", "kv", "remove", "000212"]);
    let error = db.run(&["--write", "create Pet"]).error(2);
    assert!(error.contains("inconsistent"), "{error}");
    let out = db.out(&["kv", "decode", "11416e6e001000000000000001"]);
    assert!(out.contains("416e6e00 : "), "{out}");
    let out = Fixture::with(|_| {}).out(&["kv", "decode", "11416e6e00"]);
    assert!(out.contains("Unknown storage ID 17"), "{out}");
}

#[test]
fn a_listing_can_say_what_keys_mean() {
    let db = Fixture::reference();
    let out = db.out(&["kv", "scan", "-s", "-n", "-w", "-l", "1", "100000000000000111"]);
    let expected = "K \"\\x10\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x11\"\n= Person 1000000000000001 name\n\
                    Displayed 1 key/value pairs\n";
    assert_eq!(out, expected);
    let json = db.run(&["--json", "kv", "scan", "--words", "--prefix", "00ff"]).json(0);
    assert_eq!(json.len(), 0);
    let json = db.run(&["--json", "kv", "scan", "--words", "-l", "1"]).json(0);
    assert_eq!(json[0]["words"], "format version");
}

/// All pairs in which the object occurs as their object.
#[test]
fn the_pairs_of_an_object_are_its_own_and_its_index_entries() {
    let all_of_them = std::env::var_os("PERMAZEN_ALL").is_some();
    let names = ["evolution", "storage-ids", "encodings", "music"];
    // The last one is large.
    for name in &names[..if all_of_them { 4 } else { 3 }] {
        let db = Fixture::recorded(name);
        let all = db.out(&["--json", "kv", "scan", "--words"]);
        let all: Vec<serde_json::Value> =
            all.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let types = db.out(&["--raw", "types", "--no-counts"]);
        for object_type in types.lines().filter_map(|line| line.split('\t').next()) {
            let ids = db.out(&["--raw", &format!("find `{object_type}` limit 2")]);
            for id in ids.lines().filter_map(|line| line.split('\t').next()) {
                let out = db.out(&["--raw", "kv", "pairs", id]);
                let mut listed: Vec<_> =
                    out.lines().filter_map(|line| line.split('\t').next()).collect();
                listed.sort_unstable();
                let words = format!("object {id}");
                let text =
                    |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
                let mut expected: Vec<_> = all
                    .iter()
                    .filter(|pair| {
                        text(&pair["key"]).starts_with(id) || {
                            let line = text(&pair["words"]);
                            let is_entry =
                                line.starts_with("index ") || line.starts_with("object schema");
                            is_entry
                                && line
                                    .rfind("object ")
                                    .is_some_and(|at| line[at..].starts_with(&words))
                        }
                    })
                    .map(|pair| text(&pair["key"]))
                    .collect();
                expected.sort_unstable();
                assert_eq!(listed, expected, "{name}: {id}");
            }
        }
    }
}

#[test]
fn missing_pairs_of_an_object_are_told() {
    let db = Fixture::reference();
    db.out(&["kv", "pairs", "@1000000000000002"]);
    db.out(&["--write", "kv", "remove", "11426f62001000000000000002"]);
    let out = db.run(&["kv", "pairs", "1000000000000002"]).out(1);
    let line = out.lines().find(|line| line.starts_with("11426f62001000000000000002")).expect("it");
    assert_eq!(line.split_whitespace().nth(1), Some("missing"), "{out}");
    let json = db.run(&["--json", "kv", "pairs", "1000000000000002"]).json(1);
    let pair = json.iter().find(|line| line["values"]["key"] == "11426f62001000000000000002");
    assert!(pair.expect("the entry")["values"].get("value").is_none());
    let out = db.run(&["--raw", "kv", "pairs", "1000000000000099"]).out(1);
    assert_eq!(out, "");
    let error = db.run(&["kv", "pairs", "10"]).error(2);
    assert!(error.contains("16 hex digits"), "{error}");
}
