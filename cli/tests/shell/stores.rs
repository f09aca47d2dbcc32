//! The prompt on each kind of store, and its behaviour when a store is full or was replaced.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{KvDatabase, TxOptions};

use crate::prompt::Person;
use crate::support::{Fixture, Ran, program};
use crate::terminal::Terminal;

/// A copy of the database in another kind of store.
fn copy(db: &Fixture, kind: &str) -> String {
    let url = format!("{kind}:{}", db.file(kind).display());
    assert_eq!(db.run(&["copy", &url]).code, 0);
    url
}

fn run(store: &str, arguments: &[&str]) -> Ran {
    Ran::of(&mut program(Path::new(store), arguments))
}

#[test]
fn a_prompt_on_an_sqlite_file() {
    let db = Fixture::new();
    let url = copy(&db, "sqlite");
    let mut person = Person::on(Path::new(&url), &["--write", "--yes", "--raw"]);
    person.types("create Pet name = \"Tom\"");
    assert!(person.types("diff").contains("name: -> \"Tom\""));
    person.types("set @1000000000000002 to age += 1");
    // Other programs write meanwhile: the transaction does not block them.
    run(&url, &["--write", "set @1000000000000002 to age = 70"]).done();
    let shown = person.types("count Pet");
    assert!(shown.contains("]> count Pet\n2\n"), "{shown}");
    assert!(!person.types("commit").contains("committed"));
    person.types("replay");
    assert!(person.types("commit").contains("committed: Person: 1 changed; Pet: 1 created"));
    assert_eq!(person.leaves().code, 0);
    assert_eq!(run(&url, &["--raw", "find @1000000000000002 columns age"]).done(), "71\n");
    assert_eq!(run(&url, &["check"]).code, 0);
}

/// To close a file gives up the locks of SQLite and LMDB.
#[test]
#[cfg(unix)]
fn files_of_the_open_database_are_not_read_under_any_name() {
    let db = Fixture::new();
    let url = copy(&db, "sqlite");
    let link = db.file("link");
    std::fs::hard_link(db.file("sqlite"), &link).unwrap();
    let (link, lock) = (link.display().to_string(), db.path().join("lock.mdb"));
    for command in ["load", "kv load", "schema add", "save"] {
        let words = |file: &str| -> Vec<String> {
            let words = ["--write"].into_iter().chain(command.split(' ')).chain([file]);
            words.map(str::to_owned).collect()
        };
        let refused = |store: &str, file: &str| {
            let words = words(file);
            run(store, &words.iter().map(String::as_str).collect::<Vec<_>>()).failed(2)
        };
        let error = refused(&url, &link);
        assert!(error.contains("this process has it open as an SQLite file"), "{error}");
        let error = refused(db.path().to_str().unwrap(), lock.to_str().unwrap());
        assert!(error.contains("this is a file of the open database"), "{error}");
    }
    assert_eq!(run(&url, &["check"]).code, 0);
}

#[test]
fn a_prompt_on_a_store_in_memory() {
    let mut person = Person::on(Path::new("memory:"), &["--write", "--yes", "--raw"]);
    person.types("demo");
    person.types("commit");
    let all = person.types("count Planet");
    assert!(all.contains("> count Planet\n9\n"), "{all}");
    person.types("delete Planet limit 1");
    assert!(person.types("diff").contains("deleted"));
    person.types("rollback");
    assert!(person.types("count Planet").contains("\n9\n"));
    assert_eq!(person.leaves().code, 0);
}

#[test]
fn a_prompt_on_a_dump_can_try_and_not_commit() {
    let db = Fixture::new();
    let url = copy(&db, "xml");
    let before = std::fs::read(db.file("xml")).unwrap();
    let mut person = Person::on(Path::new(&url), &["--yes", "--raw"]);
    person.types("create Pet name = \"Tom\"");
    assert!(person.types("count Pet").contains("\n2\n"));
    assert!(person.types("diff").contains("name: -> \"Tom\""));
    assert!(!person.types("commit").contains("committed"));
    person.types("rollback");
    let ran = person.leaves();
    assert!(ran.err.contains("--write"), "{}", ran.err);
    assert!(std::fs::read(db.file("xml")).unwrap() == before);
}

#[test]
fn on_a_terminal_with_each_kind_of_store() {
    let db = Fixture::new();
    for kind in ["sqlite", "xml"] {
        let url = copy(&db, kind);
        let Some(mut terminal) = Terminal::on(&db, Path::new(&url), "--raw", "cat") else { return };
        terminal.waits_for("permazen> ");
        terminal.types("create Pet\r");
        terminal.waits_for("permazen [open 0m]> ");
        terminal.types("count Pet\r");
        terminal.waits_for("\n2\r\n");
        terminal.types("rollback\r");
        terminal.waits_for("permazen> ");
        terminal.types("\x04");
        assert_eq!(terminal.ends(), Some(0), "{kind}");
    }
}

#[test]
fn a_dump_that_was_changed_meanwhile() {
    let db = Fixture::new();
    let url = copy(&db, "xml");
    let mut person = Person::on(Path::new(&url), &["--raw"]);
    assert!(person.types("count Pet").contains("\n1\n"));
    let dump = std::fs::read_to_string(db.file("xml")).unwrap();
    std::fs::write(db.file("xml"), dump.replace("</entries>", "\n</entries>")).unwrap();
    // Each further line fails, as nothing can be read any more.
    let ran = person.types_last("count Pet");
    assert!(!ran.out.contains("\n1\n"), "{}", ran.out);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.contains("it was changed since it was read; open it again"), "{}", ran.err);
}

/// A transaction that waits for a person is given up although nothing is typed, so that the store
/// can use its space again.
#[test]
fn what_is_too_old_is_given_up_while_nothing_is_typed() {
    let db = Fixture::new();
    // The file of the locks keeps its size; no program has the database open, so it can be removed.
    std::fs::remove_file(db.path().join("lock.mdb")).unwrap();
    let store = LmdbStore::builder().max_readers(2).open(db.path()).unwrap();
    let both_are_free = || {
        let readers: Vec<_> = (0..2).map(|_| store.begin(&TxOptions::reading())).collect();
        let are_free = readers.iter().all(Result::is_ok);
        for reader in readers.into_iter().flatten() {
            reader.rollback();
        }
        are_free
    };
    assert!(both_are_free());
    for (age, is_given_up) in [("10m", false), ("300ms", true)] {
        let mut person = Person::at(&db, &["--max-age", age]);
        person.types("create Pet");
        let begun = Instant::now();
        let limit = if is_given_up { Duration::from_secs(60) } else { Duration::from_secs(1) };
        while begun.elapsed() < limit && !both_are_free() {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(both_are_free(), is_given_up, "{age}");
        person.types("rollback");
        person.leaves();
    }
}

/// The program, with files that may not grow beyond this many blocks of 512 bytes.
#[cfg(unix)]
fn with_small_files(blocks: u32, store: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f $0; exec \"$@\"", &blocks.to_string()]);
    command.arg(assert_cmd::cargo::cargo_bin!("permazen")).arg(store).args(arguments);
    Ran::of(command.stdin(Stdio::null()))
}

#[cfg(unix)]
#[test]
fn a_store_that_is_full() {
    let db = Fixture::new();
    let many: String = (0..3000).map(|n| format!("create Pet name = \"pet {n}\";\n")).collect();
    let script = db.file("script");
    std::fs::write(&script, many).unwrap();
    let script = script.to_str().unwrap();
    for store in [db.path().display().to_string(), copy(&db, "sqlite")] {
        let ran = with_small_files(128, &store, &["--write", "--raw", "-f", script]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(ran.err.contains("is full"), "{}", ran.err);
        assert!(ran.err.ends_with("; nothing is changed\n"), "{}", ran.err);
        assert_eq!(ran.out, "");
        assert_eq!(run(&store, &["count Pet", "--raw"]).done(), "1\n");
        assert_eq!(run(&store, &["check"]).code, 0);
    }
    // A copy, and a file: there as a whole or not at all.
    db.run(&["--write", "--raw", "-f", script]);
    for kind in ["lmdb", "sqlite", "xml"] {
        let url = format!("{kind}:{}", db.file("new").display());
        let ran = with_small_files(64, &db.path().display().to_string(), &["copy", &url]);
        assert_eq!((ran.code, ran.err.lines().count()), (2, 1), "{kind}: {}", ran.err);
        assert!(!db.file("new").join("data.mdb").exists() && !db.file("new").is_file(), "{kind}");
        db.run(&["copy", &url]);
        assert_eq!(run(&url, &["count Pet", "--raw"]).done(), "3001\n");
        let _ = std::fs::remove_dir_all(db.file("new"));
        let _ = std::fs::remove_file(db.file("new"));
    }
}
