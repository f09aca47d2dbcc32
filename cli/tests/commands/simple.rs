//! `echo`, `date`, `sleep`, `exit`, `help` and `demo`, and creating databases.

use permazen::kv::Hex;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::fixture::{Fixture, pairs, run, text};

#[test]
fn small_commands() {
    let db = Fixture::reference();
    assert_eq!(db.out(&["echo", "a", "-n", "--b", "\u{9b}31m"]), "a -n --b \\u{9b}31m\n");
    assert_eq!(db.run(&["--json", "echo", "a"]).json(0), [json!({ "type": "echo", "text": "a" })]);
    let date = db.out(&["date"]);
    assert!(date.starts_with("20") && date.ends_with("Z\n"), "{date}");
    db.run(&["--json", "date"]).json(0);
    assert_eq!(db.out(&["sleep", "0.01"]), "");
    for bad in ["x", "-1", "NaN", "inf"] {
        let error = db.run(&["sleep", "--", bad]).error(2);
        assert!(error.contains("seconds"), "{error}");
    }
}

#[test]
fn a_format_is_chosen_for_what_comes_after_it() {
    let db = Fixture::reference();
    let script = "count Person;\nformat raw\ncount Person;\nformat json\ncount Person;\nformat\ncount Person;\n";
    let table = "count\n-----\n    3\n";
    let json = "{\"type\":\"row\",\"values\":{\"count\":3}}\n";
    assert_eq!(db.run_with(&["-f", "-"], script).out(0), format!("{table}3\n{json}{table}"));
    assert_eq!(db.out(&["--format", "raw", "count Person"]), "3\n");
    let error = db.run(&["-c", "format yaml"]).error(2);
    assert!(error.contains("raw"), "{error}");
}

#[test]
fn exit_ends_a_script() {
    let db = Fixture::reference();
    for (script, code, out) in [
        ("echo a\nexit\necho b", 0, "a\n"),
        ("echo a\nquit 7\necho b", 7, "a\n"),
        ("exit 255", 255, ""),
        // The answer before it counts.
        ("kv get 99\nexit", 1, "null\n"),
        ("kv get 99\nexit 0", 0, "null\n"),
    ] {
        assert_eq!(db.run_with(&["-f", "-"], script).out(code), out, "{script}");
    }
    // The changes before it are committed.
    let new = db.file("new.xml", r#"<Schema><ObjectType name="New"/></Schema>"#);
    let script = format!("schema add {new}\nexit 3\nschema gc");
    db.run_with(&["--write", "-f", "-"], script).out(3);
    assert_eq!(db.out(&["--raw", "schema", "list"]).lines().count(), 2);
    let error = db.run(&["exit", "256"]).error(2);
    assert!(error.contains("256"), "{error}");
}

#[test]
fn there_is_help_for_everything() {
    let db = Fixture::reference();
    let overview = db.out(&["help"]);
    assert!(overview.starts_with("Statements:\n  find"), "{overview}");
    let names = overview.lines().filter_map(|line| line.strip_prefix("  "));
    let names: Vec<_> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 20, "{overview}");
    for name in names {
        let help = db.out(&["help", name]);
        assert!(help.contains("Examples:") || help.contains("Usage:"), "{help}");
        // Every example can be run.
        for example in help.lines().filter_map(|line| line.strip_prefix("    ")) {
            if help.contains("Examples:") && !help.contains("Usage:") {
                let output = db.run(&["--dry-run", "--yes", example]);
                let code = output.code();
                assert!(matches!(code, 0 | 1), "{example}: {code}");
            }
        }
    }
    let help = db.out(&["help", "kv", "remove"]);
    assert!(help.contains("Usage: kv remove") && help.contains("--prefix"), "{help}");
    for word in ["where", "starts", "union"] {
        let help = db.out(&["help", word]);
        for example in help.lines().filter_map(|line| line.strip_prefix("    ")) {
            db.out(&["-c", example]);
        }
    }
    assert!(db.out(&["help", "limit"]).starts_with("find: "));
    let error = db.run(&["help", "nothing"]).error(2);
    assert!(error.contains("nothing: there is no such command; there are info, "), "{error}");
    for (wrong, right) in [("whre", "where"), ("cuont", "count"), ("limt", "limit")] {
        let error = db.run(&["help", wrong]).error(2);
        assert!(error.contains(&format!("did you mean `{right}`?")), "{error}");
        assert!(!error.contains("there are"), "{error}");
    }
    db.run(&["--json", "help", "find"]).json(0);
}

/// As in tools.md §5.
#[test]
fn the_demonstration_is_that_of_java() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let db = format!("lmdb:{}", text(&dir.path().join("db")));
    let out = run(&[&db, "--create", "demo"], "").out(0);
    assert_eq!(out, "Read 36 object(s) of the demonstration\n");
    let all = pairs(&db);
    assert_eq!(all.len(), 301);
    let mut hash = Sha256::new();
    for (key, value) in all.iter().filter(|(key, _)| !key.starts_with(&[0, 1])) {
        hash.update(format!("{}={}\n", Hex(key), Hex(value)));
    }
    let expected = "e2ce3e12fe11e1b1030444b06e4ff863ca0f5ce3f0f2371e45602ec450473d0e";
    assert_eq!(Hex(&hash.finalize()).to_string(), expected);
    let schema = run(&[&db, "--raw", "schema", "list"], "").out(0);
    assert_eq!(schema, "1\tSchema_00609dd62d7d786b71e6168121b17052\t3\t36\n");
    let mut document =
        run(&[&db, "save", "--storage-ids", "--default-schema", "1", "-"], "").out(0);
    // Java before version 19 prints more digits of some numbers than are needed.
    for (new, old) in [
        ("5.6E18", "5.6000002E18"),
        ("2.0E17", "1.99999997E17"),
        ("4.0E17", "3.99999994E17"),
        ("2.0E18", "1.99999997E18"),
        ("4.0E18", "3.99999994E18"),
    ] {
        document = document.replace(&format!(">{new}<"), &format!(">{old}<"));
    }
    assert_eq!(document.len(), 9123);
    let expected = "2f8411270ead208b48f9f14ce60e606aaca1e3af3897ee146fa8ecef4cc11e98";
    assert_eq!(Hex(&Sha256::digest(document)).to_string(), expected);
    // Once more, it changes nothing.
    run(&[&db, "--write", "demo"], "").out(0);
    assert_eq!(pairs(&db), all);
    // It does not fit where its storage IDs are taken.
    let other = Fixture::recorded("music");
    let before = other.pairs();
    let error = other.run(&["--write", "demo"]).error(2);
    assert!(error.contains("storage ID"), "{error}");
    assert_eq!(other.pairs(), before);
}

#[test]
fn databases_are_created_if_asked_for() {
    let dir = tempfile::TempDir::new().expect("a directory");
    for kind in ["lmdb", "sqlite"] {
        let path = text(&dir.path().join(kind));
        let url = format!("{kind}:{path}");
        run(&[&url, "--write", "demo"], "").error(2);
        assert!(!dir.path().join(kind).exists());
        let error = run(&[&path, "--create", "demo"], "").error(2);
        assert!(error.contains("say of which kind"), "{error}");
        run(&[&url, "--create", "demo"], "").out(0);
        // A database that exists is opened.
        let out = run(&[&path, "--create", "--raw", "count Moon"], "").out(0);
        assert_eq!(out, "26\n");
        let other = text(&dir.path().join("other"));
        run(&[&format!("{kind}:{other}"), "--create", "--dry-run", "demo"], "").error(2);
        assert!(!dir.path().join("other").exists());
    }
}

#[test]
fn help_needs_no_database() {
    let db = Fixture::reference();
    for words in [&["help"][..], &["help", "find"], &["help", "kv", "get"]] {
        assert_eq!(run(words, "").out(0), db.out(words));
    }
    run(&["--json", "help", "find"], "").json(0);
    run(&["help", "find", "--json"], "").json(0);
    // A command where the database is expected.
    for words in [&["demo", "types"][..], &["info"], &["--json", "kv", "get", "00"]] {
        let error = run(words, "").error(2);
        let word = words.iter().find(|word| **word != "--json").expect("a word");
        assert!(error.contains(&format!("write ./{word} for a database")), "{error}");
    }
}

#[test]
fn errors_say_what_reads_another_file() {
    let db = Fixture::reference();
    let (objects, dump, schema) = (db.name("o.xml"), db.name("d.xml"), db.name("s.xml"));
    db.out(&["save", &objects]);
    db.out(&["kv", "dump", &dump]);
    db.file("s.xml", r#"<Schema><ObjectType name="New"/></Schema>"#);
    let error = run(&[&objects, "types"], "").error(2);
    assert!(error.contains("this is object XML: `load` reads it"), "{error}");
    for options in [&["load"][..], &["load", "-R"]] {
        let error = db.run(&[&["--write"], options, &[&*dump]].concat()).error(2);
        assert!(error.contains("`kv load` reads them"), "{error}");
        let error = db.run(&[&["--write"], options, &[&*schema]].concat()).error(2);
        assert!(error.contains("`schema add` reads it"), "{error}");
    }
    for kind in ["lmdb", "sqlite"] {
        let error = run(&[&format!("{kind}:{}", db.name("none")), "types"], "").error(2);
        assert!(error.contains("--create creates it"), "{error}");
    }
}
