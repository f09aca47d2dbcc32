//! Statements that change objects, alone and in scripts.

use std::io::Read;
use std::process::Stdio;

use permazen::kv::{KeySpan, KvDatabase, TxOptions, xml};

use crate::support::{Fixture, Ran, on_terminal};

/// All pairs of a database.
fn pairs(db: &Fixture) -> Vec<u8> {
    let store = db.open();
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let mut pairs = Vec::new();
    xml::dump(&*tx, KeySpan::FULL, xml::Style::Indented, &mut pairs).unwrap();
    pairs
}

#[test]
fn objects_are_created_changed_and_deleted() {
    let db = Fixture::new();
    let created = db.run(&["create Pet name = \"Tom\"", "--write"]).done();
    assert!(created.starts_with('@') && created.ends_with(" created\n"), "{created}");
    let id = db.run(&["find Pet where name = \"Tom\" columns id", "--raw"]).done();
    assert_eq!(created, format!("@{} created\n", id.trim()));
    // In formats that have only values, the ID alone.
    let raw = db.run(&["create Pet name = \"Kit\"", "--write", "--raw"]).done();
    assert_eq!(raw, db.run(&["find Pet where name = \"Kit\" columns id", "--raw"]).done());
    let set = db.run(&["set Pet where name = \"Kit\" to name = \"Cat\"", "--write"]);
    assert_eq!(set.done(), "1 object set\n");
    assert_eq!(db.run(&["count Pet where name = \"Cat\"", "--raw"]).done(), "1\n");
    let deleted = db.run(&["delete Pet where name = \"Cat\"", "--write", "--json"]).done();
    assert_eq!(deleted, "{\"type\":\"edited\",\"edited\":{\"deleted\":1}}\n");
    assert_eq!(db.run(&["count Pet", "--raw"]).done(), "2\n");
}

#[test]
fn reading_changes_no_pair() {
    let db = Fixture::new();
    let before = pairs(&db);
    for statement in ["find Person", "show Pet", "index Person.name", "explain delete all Person"] {
        for format in ["lines", "json"] {
            assert_eq!(db.run(&[statement, "--format", format]).code, 0, "{statement}");
            assert_eq!(db.run(&["--write", statement, "--format", format]).code, 0, "{statement}");
        }
    }
    assert_eq!(db.run(&["explain run delete all Person"]).code, 0);
    assert_eq!(pairs(&db), before);
}

#[test]
fn a_script_is_one_transaction() {
    let db = Fixture::new();
    let before = pairs(&db);
    let script = b"create Pet name = \"A\";\ncount Pet;\nset Prson where age = 1 to age = 2;";
    let ran = db.script(&["--write", "--raw"], script);
    // Its changes before its first error are undone, so they are not shown.
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (
            2,
            "",
            "permazen: standard input, line 3, column 5: there is no object type `Prson` (did you \
             mean `Person`?)\n  set Prson where age = 1 to age = 2;\n      ^^^^^\n\
             nothing is changed\n"
        )
    );
    assert_eq!(pairs(&db), before);
    let good = db.script(&["--write", "--raw"], b"create Pet name = \"A\"; create Pet; count Pet");
    assert!(good.done().ends_with("\n3\n"));
    assert_eq!(db.run(&["count Pet", "--raw"]).done(), "3\n");
}

#[test]
fn with_each_every_statement_is_committed() {
    let db = Fixture::new();
    let script = b"create Pet name = \"A\"; create Pet; delete all Prson; create Pet";
    let ran = db.script(&["--write", "--each", "--json"], script);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("what was changed before it is committed: 2 statements or commands"),
        "{}",
        ran.err
    );
    assert_eq!(db.run(&["count Pet", "--raw"]).done(), "3\n");
}

#[test]
fn a_script_has_one_part_with_its_own_transactions_that_changes_something() {
    let db = Fixture::new();
    let before = pairs(&db);
    let args = ["--write", "-c", "kv put 99 01", "-c", "kv load /no/such"];
    let message = db.run(&args).failed(2);
    assert!(message.contains("use --each"), "{message}");
    assert!(pairs(&db) == before);
    // If something fails after it, that is said.
    let message = db.run(&["--write", "-c", "kv put 99 01", "-c", "find Prson"]).failed(2);
    assert!(message.contains("what was changed before it is committed"), "{message}");
    assert_eq!(db.run(&["kv", "get", "99"]).done(), "01\n");
    let args = ["--write", "--each", "-c", "kv put 99 02", "-c", "kv load /no/such"];
    let message = db.run(&args).failed(2);
    assert!(message.contains("is committed: 1 statements or commands"), "{message}");
}

#[test]
fn a_script_writes_no_file_of_changes_that_are_not_committed() {
    let db = Fixture::new();
    let before = pairs(&db);
    let file = db.file("all.xml");
    let name = file.to_str().unwrap();
    assert_eq!(db.run(&["save", name]).code, 0);
    let saved = std::fs::read_to_string(&file).unwrap();
    let set = ["--write", "-c", "set all Person to age = 0", "-c"];
    let save = format!("save '{name}'");
    for command in [&save, &format!("schema verify --actual '{name}'")] {
        let message = db.run(&[&set[..], &[command, "-c", "find Nosuch"]].concat()).failed(2);
        assert!(message.contains("-c 2, line 1") && message.contains("use --each"), "{message}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), saved);
    }
    assert!(pairs(&db) == before);
    // Before the changes, it is of the committed state, and right whatever becomes of them.
    for (rest, code) in [(&["-c", "find Nosuch"][..], 2), (&[][..], 0)] {
        std::fs::remove_file(&file).unwrap();
        let first = ["--write", "-c", &save, "-c", "set all Person to age = 0"];
        assert_eq!(db.run(&[&first[..], rest].concat()).code, code);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), saved);
        assert_eq!(pairs(&db) == before, code == 2);
    }
    // Standard output holds it back until the changes are committed.
    let before = pairs(&db);
    let set = ["--write", "-c", "set all Person to age = 1", "-c"];
    let printed = db.run(&[&set[..], &["save -"]].concat());
    assert_eq!(printed.code, 0);
    assert!(printed.out.contains("<Person ") && pairs(&db) != before);
    assert_eq!(db.run(&[&set[..], &[&save, "--each"]].concat()).code, 0);
    assert_ne!(std::fs::read_to_string(&file).unwrap(), saved);
}

#[test]
fn a_dry_run_changes_nothing() {
    let db = Fixture::new();
    let before = pairs(&db);
    for arguments in [&["--dry-run", "--raw"][..], &["--dry-run", "--write", "--raw"]] {
        let ran = db.script(arguments, b"delete all Pet; count Pet");
        assert_eq!(
            (ran.code, ran.out.as_str(), ran.err.as_str()),
            (0, "0\n", "permazen: this was only tried: nothing is changed\n")
        );
    }
    assert_eq!(pairs(&db), before);
}

#[test]
fn a_script_with_edits_is_rolled_back_if_its_output_is_not_read() {
    let db = Fixture::new();
    let before = pairs(&db);
    let many = "show Person;\n".repeat(8000);
    let mut command = db.command(&["--write", "-f", "script"]);
    std::fs::write(db.file("script"), format!("delete all Pet; {many}")).unwrap();
    command.current_dir(db.file("")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It has begun to print, and finds the pipe closed.
    child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert!(err.contains("this is not run again"), "{err}");
    let last = "\npermazen: the output is not read any more; nothing is changed\n";
    assert!(err.ends_with(last), "{err}");
    assert_eq!(pairs(&db), before);
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_what_only_reads() {
    let db = Fixture::new();
    let commands = [
        "find Person",
        "show Person",
        "export Person",
        "index Person.name",
        "count Person",
        "explain run find Person",
        "types",
        "type Person",
        "info",
        "stats",
        "schema list",
        "schema show",
        "schema rust",
        "save -",
        "kv dump -",
        "kv scan",
        "kv decode 00",
        "help",
        "check",
    ];
    for command in commands {
        let has_objects = ["find", "show", "export"].iter().any(|word| command.starts_with(word));
        let formats = [&[][..], &["--json"], &["--format", "xml"]];
        for format in &formats[..if has_objects { 3 } else { 2 }] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let arguments = [*format, &["-c", command]].concat();
            let ran = Ran::of(db.command(&arguments).stdout(writer));
            assert_eq!(ran.done(), "", "{command} {format:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_leaves_no_change_out_in_silence() {
    let db = Fixture::new();
    let unread = |arguments: &[&str], lines: &str| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        std::fs::write(db.file("lines"), lines).unwrap();
        let input = std::fs::File::open(db.file("lines")).unwrap();
        Ran::of(db.command(arguments).stdin(input).stdout(writer))
    };
    let pets = || db.run(&["count Pet", "--raw"]).done();
    let each = ["--write", "--each", "-c", "create Pet", "-c"];
    let message = unread(&[&each[..], &["create Pet"]].concat(), "").failed(2);
    let last = "the output is not read any more, so changes or files that come after it were not \
                made; what was changed before it is committed: 1 statements or commands\n";
    assert!(message.ends_with(last), "{message}");
    assert_eq!(pets(), "2\n");
    // What comes after it changes nothing.
    assert_eq!(unread(&[&each[..], &["find Pet"]].concat(), "").done(), "");
    assert_eq!(pets(), "3\n");

    let before = pairs(&db);
    for each in [&[][..], &["--each"]] {
        let arguments =
            [each, &["--write", "-c", "find Person", "-c", "kv put 00ff01 02"]].concat();
        let message = unread(&arguments, "").failed(2);
        assert!(message.ends_with("were not made; nothing is changed\n"), "{message}");
        assert_eq!(pairs(&db), before);
        let target = db.file("target");
        let name = target.to_str().unwrap();
        for command in ["save", "schema verify --actual", "kv dump", "copy", "backup"] {
            let kind = if command == "copy" { "xml:" } else { "" };
            let command = format!("{command} '{kind}{name}'");
            let message = unread(&[each, &["-c", "find Person", "-c", &command]].concat(), "");
            let message = message.failed(2);
            assert!(message.ends_with("were not made; nothing is changed\n"), "{message}");
            assert!(!target.exists(), "{command}");
        }
        for command in ["save -", "kv dump -"] {
            let arguments = [each, &["-c", "find Person", "-c", command]].concat();
            assert_eq!(unread(&arguments, "").done(), "");
        }
    }
    let save = format!("save '{}'", db.file("target").to_str().unwrap());
    let put = ["--write", "-c", "kv put 00ff01 02", "-c", "find Person", "-c", &save];
    let message = unread(&put, "").failed(2);
    assert!(message.ends_with(last) && message.matches("committed").count() == 1, "{message}");
    assert!(pairs(&db) != before && !db.file("target").exists());

    let prompt = ["--prompt", "--write", "--yes"];
    let message = unread(&prompt, "create Pet; commit; create Pet\ncommit\n").failed(2);
    assert!(message.ends_with("the changes that were not committed are lost\n"), "{message}");
    assert_eq!(pets(), "4\n");
    assert_eq!(unread(&prompt, "create Pet; commit\n").done(), "");
    assert_eq!(pets(), "5\n");
}

/// Its output is printed after the commit, unless it is much.
#[test]
fn a_script_with_edits_whose_output_cannot_be_written_says_what_is_committed() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full");
        return;
    };
    let db = Fixture::new();
    let before = pairs(&db);
    let many = "show Person;".repeat(8000);
    std::fs::write(db.file("script"), format!("delete all Pet; {many}")).unwrap();
    let script = db.file("script").display().to_string();
    let mut command = db.command(&["-f", &script, "--write"]);
    let message = Ran::of(command.stdout(full.try_clone().unwrap())).failed(2);
    assert!(message.contains("the output is not complete\n"), "{message}");
    assert!(message.ends_with("\nnothing is changed\n"), "{message}");
    assert_eq!(pairs(&db), before);
    for each in [&[][..], &["--each"]] {
        let mut command = db.command(&[&["create Pet", "--write"], each].concat());
        let message = Ran::of(command.stdout(full.try_clone().unwrap())).failed(2);
        let said = message.contains("is not complete; what ") && message.contains(" is committed");
        assert!(said, "{message}");
    }
    assert_eq!(db.run(&["count Pet", "--raw"]).done(), "3\n");
}

#[test]
fn what_a_deletion_would_do() {
    let db = Fixture::new();
    let preview = db.run(&["explain delete @1000000000000002"]).done();
    assert!(preview.contains("would delete 1 object\n  Person @1000000000000002\n"), "{preview}");
    assert!(preview.contains("would make 1 reference null"), "{preview}");
    let json = db.run(&["explain delete @1000000000000002", "--json"]).done();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["preview"]["deleted"]["count"], 1);
    assert_eq!(json["preview"]["nullified"]["first"][0]["field"], "spouse");
}

#[test]
fn an_edit_on_a_terminal_shows_what_it_changed() {
    let db = Fixture::new();
    let Some(ran) = on_terminal(&db.command(&["delete all Pet", "--write"])) else { return };
    assert_eq!((ran.code, ran.out.as_str()), (0, "1 object deleted\n"));
}

#[test]
fn opening_and_editing_record_no_schema_and_remove_none() {
    use std::sync::Arc;

    use permazen::object::{Database, TransactionConfig};
    use permazen::schema::{Field, ObjectType, SchemaModel, SchemaRemoval};

    let db = Fixture::new();
    let database = Database::new(Arc::new(db.open()));
    let unused = ObjectType::new("Unused").field(Field::counter("n"));
    let config = TransactionConfig::new(SchemaModel::new().object_type(unused)).unwrap();
    let config = config.schema_removal(SchemaRemoval::Never);
    database.begin(&config).unwrap().commit().unwrap();
    drop(database);
    let recorded = || {
        let database = Database::new(Arc::new(db.open()));
        let config = TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never);
        let tx = database.begin(&config).unwrap();
        tx.bundle().schemas().iter().map(|schema| schema.id.to_string()).collect::<Vec<_>>()
    };
    let before = recorded();
    assert_eq!(before.len(), 2);
    assert_eq!(db.run(&["count Unused", "--raw", "--write"]).done(), "0\n");
    assert_eq!(db.run(&["create Unused", "--write"]).code, 0);
    assert_eq!(db.run(&["delete all Unused", "--write"]).done(), "1 object deleted\n");
    assert_eq!(recorded(), before);
}

#[test]
fn the_schema_of_new_objects_can_be_said() {
    let db = Fixture::new();
    let create = |schema: &str| db.run(&["create Pet", "--write", "--raw", "--schema", schema]);
    assert_eq!(create("1").code, 0);
    assert_eq!(create("Schema_a74fa4308ce05a1de31520b9858a4e91").code, 0);
    for schema in ["2", "x", "Schema_00000000000000000000000000000000"] {
        let message = create(schema).failed(2);
        let start = format!("permazen: --schema {schema}: no such schema is recorded");
        assert!(message.starts_with(&start), "{message}");
    }
    assert_eq!(db.run(&["count Pet", "--raw"]).done(), "3\n");
}
