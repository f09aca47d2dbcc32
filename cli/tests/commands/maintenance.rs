//! `info`, `check` and `migrate` in batches.

use permazen::kv::KvDatabaseExt;
use permazen::kv::lmdb::LmdbStore;
use serde_json::json;

use crate::fixture::{Fixture, data, pairs, run};

#[test]
fn info_says_what_the_database_is() {
    let db = Fixture::reference();
    let out = db.out(&["info"]);
    let start = format!(
        "  Database: LMDB environment\n  Path: {}\n  Access: Read-Only\n  Format Version: 1\n  Schemas: 1\n  \
         Newest Schema: Schema_a74fa4308ce05a1de31520b9858a4e91\n  Object Types: 2\n  Pairs: 65\n",
        db.db
    );
    assert!(out.starts_with(&start), "{out}");
    let json = &db.run(&["--json", "--write", "info"]).json(0)[0];
    assert_eq!((&json["access"], &json["pairs"]), (&json!("Read/Write"), &json!(65)));
    // An empty store, a repository of permazen-ledger, and a damaged database.
    let out = run(&["memory:", "info"], "").out(0);
    assert!(out.contains("Format Version: none: this is no Permazen database yet"), "{out}");
    let repository = db.path("repository");
    let store = LmdbStore::open_or_create(&repository).expect("a store");
    let row = b"permazen-ledger\x00\x00\x00\x01";
    store.write(|tx| tx.put(&[0], row)).expect("a row");
    drop(store);
    let repository = repository.to_str().expect("a path");
    let out = run(&[repository, "info"], "").out(0);
    assert!(out.contains("none: this is a repository of permazen-ledger"), "{out}");
    db.out(&["--write", "kv", "put", "000101", "00"]);
    let out = db.run(&["info"]).out(1);
    assert!(out.contains("  Problem: ") && out.contains("000101"), "{out}");
    let json = &db.run(&["--json", "info"]).json(1)[0];
    assert_eq!(json["problems"].as_array().map(Vec::len), Some(1));
}

#[test]
fn info_of_a_server_is_as_the_json_schema_says() {
    let Some(server) = permazen_test_servers::Postgres::start(&["fsync=off"]) else { return };
    let url = format!("{}?table=info", server.url());
    Fixture::reference().run(&["copy", &url]).out(0);
    let info = &run(&[&url, "--json", "info"], "").json(0)[0];
    assert_eq!(info["server"], json!(url));
    let kinds: Vec<_> =
        info["warnings"].as_array().expect("a list").iter().map(|w| &w["kind"]).collect();
    assert_eq!(kinds, ["data", "speed"]);
    // The requests of the command itself.
    let counters = &info["counters"];
    assert!(counters["requests"].as_u64() > Some(0) && counters["transactions"].as_u64() > Some(0));
    assert_eq!((&counters["commits"], &counters["most_connections"]), (&json!(0), &json!(16)));
}

/// An index entry that no object calls for.
const STALE: &str = "11416e6f001000000000000001";

#[test]
fn a_database_is_checked_and_repaired() {
    let db = Fixture::reference();
    let out = db.out(&["check"]);
    assert!(out.contains("No findings: 4 objects, 65 pairs checked"), "{out}");
    let whole = db.pairs();
    db.out(&["--write", "kv", "put", STALE, ""]);
    let damaged = db.pairs();
    let out = db.run(&["check"]).out(1);
    assert!(out.contains("dangling-index-entry  Person.name  object 1000000000000001"), "{out}");
    // --json is the same before and after the command.
    for args in [["--json", "check"], ["check", "--json"]] {
        let out = db.run(&args).out(1);
        let lines: Vec<serde_json::Value> =
            out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.last().expect("a summary")["findings"], 1);
    }
    // A repair changes the database.
    let error = db.run(&["check", "--repair", "--yes"]).error(2);
    assert!(error.contains("needs --write"), "{error}");
    for args in [&["--dry-run", "check", "--repair"][..], &["check", "--repair", "--dry-run"]] {
        let out = db.run(args).out(1);
        assert!(out.contains(STALE), "{out}");
        assert_eq!(db.pairs(), damaged);
    }
    let undo = db.name("undo");
    db.run(&["--write", "--yes", "check", "--repair=derived", "--undo-file", &undo]).out(1);
    assert_eq!(db.pairs(), whole);
    db.run(&["--write", "check", "--apply-undo", &undo]).out(0);
    assert_eq!(db.pairs(), damaged);
    // In a script, too.
    let out = db.run_with(&["--write", "-f", "-"], "check --repair --yes\ncheck").out(1);
    assert!(out.contains("No findings"), "{out}");
    assert_eq!(db.pairs(), whole);
}

/// The shell sets `--dry-run` after the options of `check` were compared with each other.
#[test]
fn an_undo_file_is_not_applied_in_a_dry_run() {
    let db = Fixture::reference();
    db.out(&["--write", "kv", "put", STALE, ""]);
    let dump = db.name("all.xml");
    db.out(&["kv", "dump", &dump]);
    let (undo, undo_of_dump) = (db.name("undo"), db.name("undo-of-dump"));
    db.run(&["--write", "--yes", "check", "--repair", "--undo-file", &undo]).out(1);
    let repair = ["--write", "--yes", "check", "--repair", "--undo-file", &undo_of_dump];
    run(&[&[&*dump], &repair[..]].concat(), "").out(1);
    for (name, undo) in [(&db.db, &undo), (&dump, &undo_of_dump)] {
        let before = pairs(name);
        let in_script = format!("check --apply-undo '{undo}'");
        for args in [&["check", "--apply-undo", undo][..], &["-c", &in_script]] {
            for options in [&["--dry-run"][..], &["--dry-run", "--write"]] {
                let error = run(&[&[&**name], options, args].concat(), "").error(2);
                assert!(error.contains("leave out --dry-run"), "{error}");
                assert_eq!(pairs(name), before, "{options:?} {args:?}");
            }
        }
        run(&[name, "--write", "check", "--apply-undo", undo], "").out(0);
        assert_ne!(pairs(name), before);
    }
}

#[test]
fn what_cannot_be_checked_exits_with_2() {
    let db = Fixture::reference();
    let error = run(&[&db.name("missing"), "check"], "").error(2);
    assert!(error.starts_with("permazen: ") && error.contains("missing"), "{error}");
    let error = run(&["x://user:secret@host", "check"], "").error(2);
    assert!(!error.contains("secret"), "{error}");
    let out = run(&["--kind", "xml", &db.file("R.xml", data("reference/R.kv.xml")), "check"], "");
    assert!(out.out(0).contains("XML dump, 65 pairs"));
}

/// As `migrate` says: exactly or not at all, and objects that were moved stay so.
#[test]
fn objects_are_migrated_in_batches() {
    let db = Fixture::recorded("evolution");
    let before = db.pairs();
    let in_schema = |number: &str| -> u64 {
        let out = db.out(&["--raw", "schema", "list"]);
        let line = out.lines().find(|line| line.starts_with(number)).expect("the schema");
        line.rsplit('\t').next().and_then(|count| count.parse().ok()).expect("a number")
    };
    let statement = "migrate Customer where schema = 2 to 3";
    let error = db.run(&[statement]).error(2);
    assert!(error.contains("needs --write"), "{error}");
    let tried = db.run(&["--dry-run", "--json", statement]);
    let code = tried.code();
    let tried = &tried.json(code)[0];
    assert_eq!(db.pairs(), before);
    let (second, third) = (in_schema("2"), in_schema("3"));
    let done = &db.run(&["--write", "--json", statement]).json(code)[0];
    assert_eq!((&done["moved"], &done["refused"]), (&tried["moved"], &tried["refused"]));
    let moved = done["moved"].as_u64().expect("a number");
    assert_eq!((in_schema("2"), in_schema("3")), (second - moved, third + moved));
    assert!(moved + done["refused"].as_u64().expect("a number") > 0);
    let reasons = done["refusals"].as_array().expect("a list");
    assert_eq!(reasons.is_empty(), code == 0);
    // Once more, only the refused objects are left.
    let again = db.run(&["--write", statement]).out(code);
    assert!(again.starts_with("Moved 0 object(s)\n"), "{again}");
    db.run(&["check"]).out(0);
    let error = db.run(&["--write", "migrate Customer to 9"]).error(2);
    assert!(error.contains("line 1, column 21"), "{error}");
}

/// A user that accepts a loss saw the message before, and sees it again.
#[test]
fn losses_are_refused_unless_they_are_accepted() {
    let db = Fixture::reference();
    let xml = db.out(&["schema", "show", "1"]);
    let without: String = xml.lines().filter(|line| !line.contains("\"visits\"")).collect();
    let file = db.file("without.xml", without);
    db.out(&["--write", "schema", "add", &file]);
    let ann = "1000000000000001";
    let statement = "migrate Person to 2";
    let out = db.run(&["--write", statement]);
    let (told, out) = (out.error(1), out.out(1));
    let (program, lossy) =
        ("its `upgrade_all` moves", "`lossy` at the end of `migrate` accepts that");
    assert!(
        told.find(program).expect("the program") < told.find(lossy).expect("`lossy`"),
        "{told}"
    );
    let help = db.out(&["help", "migrate"]);
    assert!(help.contains("to SCHEMA [lossy]") && help.contains("`upgrade_all`"), "{help}");
    assert!(out.starts_with("Moved 2 object(s)\n1 object(s) stay where they are:\n"), "{out}");
    assert!(out.contains("would lose the value 7 of field \"visits\""), "{out}");
    let script = format!("{statement}; count Person");
    let error = db.run(&["--write", "-c", &script]).error(2);
    assert!(error.contains("`lossy`") && error.contains("nothing is changed"), "{error}");
    let lossy = format!("{statement} lossy");
    let tried = db.run(&["--dry-run", "--json", &lossy]).json(0);
    assert_eq!((&tried[0]["moved"], &tried[0]["lossy"]), (&1.into(), &1.into()));
    let out = db.run(&["--dry-run", "-c", &format!("{lossy}; count Person")]).out(0);
    assert!(
        out.contains(&format!("object {ann} has lost the value 7 of field \"visits\"")),
        "{out}"
    );
    let out = db.out(&["--write", &lossy]);
    assert!(out.contains("1 object(s) of these have lost something:"), "{out}");
    assert!(out.contains(&format!("object {ann} has lost the value 7")), "{out}");
    assert_eq!(db.out(&["--raw", "count Person where schema = 2"]), "3\n");
    db.run(&["check"]).out(0);
}

/// CD2: Java removes unused schemas when it opens a database.
#[test]
fn reading_changes_no_pair() {
    let db = Fixture::reference();
    let unused = db.file("unused.xml", r#"<Schema><ObjectType name="Unused"/></Schema>"#);
    db.out(&["--write", "schema", "add", &unused]);
    let before = db.pairs();
    let file = db.name("out");
    let commands: &[&[&str]] = &[
        &["info"],
        &["check"],
        &["types"],
        &["type", "Person"],
        &["schema", "list"],
        &["schema", "show"],
        &["schema", "compare", "1", "1"],
        &["schema", "verify", "--expected", &unused],
        &["schema", "rust"],
        &["save", &file],
        &["kv", "get", "100000000000000111"],
        &["kv", "scan"],
        &["kv", "dump", &file],
        &["kv", "decode", "10"],
        &["kv", "pairs", "1000000000000001"],
        &["find Person"],
        &["show Pet"],
        &["export Person"],
        &["count Person where age > 1"],
        &["index Person.name"],
        &["explain find Person"],
        &["help"],
    ];
    for command in commands {
        db.run(command).out(0);
        // Not even if it could.
        db.run(&[&["--write"], *command].concat()).out(0);
        assert_eq!(db.pairs(), before, "{command:?}");
    }
}

#[test]
fn sizes_are_those_of_all_pairs() {
    for name in ["music", "evolution", "storage-ids"] {
        let db = Fixture::recorded(name);
        let pairs = db.pairs();
        let sum = |of: fn(&(Vec<u8>, Vec<u8>)) -> usize| pairs.iter().map(of).sum::<usize>() as u64;
        let (keys, values) = (sum(|(key, _)| key.len()), sum(|(_, value)| value.len()));
        let rows = db.run(&["--json", "stats"]).json(0);
        let total = |part: &str, what: &str| -> u64 {
            let rows = rows.iter().map(|row| &row["values"]).filter(|row| row["part"] == part);
            rows.map(|row| row[what].as_u64().expect("a number")).sum()
        };
        let all = |what: &str| total("all", what);
        assert_eq!(all("pairs"), pairs.len() as u64);
        assert_eq!((all("key_bytes"), all("value_bytes")), (keys, values));
        for what in ["pairs", "key_bytes", "value_bytes"] {
            let parts = ["meta-data", "type", "index", "unknown"].map(|part| total(part, what));
            assert_eq!(parts.iter().sum::<u64>(), all(what), "{name}: {what}");
            let types = total("objects", what) + total("field", what);
            assert_eq!(types, total("type", what), "{name}: {what}");
        }
        let types = db.out(&["--raw", "types"]);
        let count =
            |line: &str| line.rsplit('\t').next().and_then(|count| count.parse::<u64>().ok());
        assert_eq!(types.lines().filter_map(count).sum::<u64>(), total("objects", "pairs"));
    }
}

/// `--pages` adds the size of the pages of each part.
#[test]
fn pages_are_counted_with_their_fill() {
    let db = Fixture::recorded("music");
    let rows = db.run(&["--json", "stats", "--pages"]).json(0);
    let plain = db.run(&["--json", "stats"]).json(0);
    let number = |row: &serde_json::Value, what: &str| row["values"][what].as_u64();
    let (mut types, mut all) = (0, 0);
    assert_eq!(rows.len(), plain.len());
    for (row, plain) in rows.iter().zip(&plain) {
        assert_eq!(row["values"]["pairs"], plain["values"]["pairs"]);
        let part = row["values"]["part"].as_str().unwrap();
        let has_pages = matches!(part, "all" | "type" | "index")
            || row["values"]["name"] == "object schema index";
        let bytes = number(row, "page_bytes");
        assert_eq!(bytes.is_some(), has_pages, "{row}");
        let Some(bytes) = bytes else { continue };
        let pairs = number(row, "key_bytes").unwrap() + number(row, "value_bytes").unwrap();
        assert!(bytes > pairs && number(row, "fill").unwrap() <= 100, "{row}");
        if part == "all" { all = bytes } else { types += bytes }
    }
    assert!(types < all && types > all / 3, "{types} {all}");
    let error = run(&["memory:", "stats", "--pages"], "").error(2);
    assert!(error.contains("only stores on LMDB"), "{error}");
}

#[test]
fn the_largest_objects_come_first() {
    let db = Fixture::reference();
    let out = db.out(&["--raw", "stats", "--largest", "2"]);
    assert_eq!(out, "1000000000000001\t13\t183\n1000000000000002\t3\t39\n");
    // Pairs that belong to nothing are counted, too.
    db.out(&["--write", "kv", "put", "99", "aabb"]);
    let out = db.out(&["--raw", "stats"]);
    assert!(
        out.contains("unknown\t\t1\t1\t2\t3\t3\n")
            || out.contains("unknown\t\"\"\t1\t1\t2\t3\t3\n"),
        "{out}"
    );
    // Also without any schema.
    let out = run(&["memory:", "--raw", "stats"], "").out(0);
    assert!(out.starts_with("all\t") && out.lines().count() == 1, "{out}");
}
