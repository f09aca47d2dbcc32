//! Commands that are killed at any time: their changes are there as a whole or not at all.
//!
//! `PERMAZEN_CLI_KILLS=5000 cargo test -p permazen-cli --test commands kills` kills more often,
//! and with `PERMAZEN_ALL` the databases are larger.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::fixture::Fixture;

fn kills() -> u32 {
    let number = std::env::var("PERMAZEN_CLI_KILLS").ok();
    number.map_or(5, |number| number.parse().expect("a number"))
}

/// How many persons the larger databases have.
fn persons() -> u32 {
    if std::env::var_os("PERMAZEN_ALL").is_some() { 1500 } else { 600 }
}

/// Runs a command again and again, and kills it after longer and longer times, of which the longest
/// are longer than a whole run has taken, since a command commits at its end. `check` looks at the
/// database each time, and `prepare` brings the database back to where it was.
fn kill(db: &Fixture, args: &[&str], mut prepare: impl FnMut(&Fixture), check: impl Fn(&Fixture)) {
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_permazen"));
        command.arg(&db.db).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("run")
    };
    let begun = Instant::now();
    run().wait().expect("wait");
    let whole = begun.elapsed();
    check(db);
    let kills = kills();
    for n in 0..kills {
        prepare(db);
        let mut child = run();
        std::thread::sleep(whole * (n + 1) * 6 / (5 * kills));
        // It may have ended by itself.
        let _ = child.kill();
        child.wait().expect("wait");
        check(db);
    }
}

/// A document of the reference schema with this many persons.
fn document(db: &Fixture, persons: u32) -> String {
    let schemas = db.out(&["save", "--storage-ids", "--no-objects", "-"]);
    let schemas = schemas.split_once("<objects").expect("objects").0;
    let mut objects = String::new();
    for n in 0..persons {
        let id = format!("10{:014x}", 0xa000 + n);
        objects.push_str(&format!(
            "<Person id=\"{id}\"><name>Person {n}</name><tags><element>t{n}</element></tags></Person>"
        ));
    }
    let id = "Schema_a74fa4308ce05a1de31520b9858a4e91";
    format!("{schemas}<objects schema=\"{id}\">{objects}</objects></database>")
}

#[test]
fn what_is_loaded_is_there_whole_or_not_at_all() {
    let db = Fixture::reference();
    let old = db.pairs();
    let file = db.file("new.xml", document(&db, persons()));
    let dump = db.name("old.xml");
    db.out(&["kv", "dump", &dump]);
    let other = Fixture::reference();
    other.out(&["--write", "load", "-R", &file]);
    let new = other.pairs();
    let restore = |db: &Fixture| _ = db.out(&["--write", "kv", "load", "-R", &dump]);
    restore(&db);
    kill(&db, &["--write", "load", "-R", &file], restore, |db| {
        let found = db.pairs();
        assert!(found == old || found == new, "{} pairs are neither state", found.len());
    });
    // Pairs as XML, in the same way.
    let dump_of_new = other.name("pairs.xml");
    other.out(&["kv", "dump", &dump_of_new]);
    kill(&db, &["--write", "kv", "load", "-R", &dump_of_new], restore, |db| {
        let found = db.pairs();
        assert!(found == old || found == new, "{} pairs are neither state", found.len());
    });
}

#[test]
fn a_file_is_the_old_or_the_new_one() {
    let db = Fixture::reference();
    let many = db.file("new.xml", document(&db, persons()));
    db.out(&["--write", "load", "-R", &many]);
    let target = db.name("out.xml");
    let new = db.out(&["save", "-"]);
    let restore = |db: &Fixture| _ = db.file("out.xml", "<old/>");
    restore(&db);
    kill(&db, &["save", &target], restore, |_| {
        let found = std::fs::read_to_string(&target).expect("read");
        assert!(found == "<old/>" || found == new, "{} bytes are neither file", found.len());
    });
}

#[test]
fn a_migration_that_is_killed_moves_whole_objects_and_goes_on() {
    let db = Fixture::recorded("evolution");
    let dump = db.name("old.xml");
    db.out(&["kv", "dump", &dump]);
    let count = db.out(&["--raw", "count Customer"]);
    let statement = ["--write", "migrate Customer to 3"];
    let restore = |db: &Fixture| _ = db.out(&["--write", "kv", "load", "-R", &dump]);
    kill(&db, &statement, restore, |db| {
        db.out(&["check"]);
        assert_eq!(db.out(&["--raw", "count Customer"]), count);
    });
    // A run of the rest ends in the same state as a run without kills.
    let code = db.run(&statement).code();
    let left = db.pairs();
    let other = Fixture::recorded("evolution");
    assert_eq!(other.run(&statement).code(), code);
    assert!(other.pairs() == left, "the states differ");
}

#[test]
fn a_copy_is_there_whole_or_not_at_all() {
    let db = Fixture::reference();
    let many = db.file("new.xml", document(&db, persons()));
    db.out(&["--write", "load", "-R", &many]);
    let all = db.pairs();
    for kind in ["lmdb", "sqlite", "xml"] {
        let target = db.path(kind);
        let url = format!("{kind}:{}", db.name(kind));
        let remove = |_: &Fixture| match kind {
            "lmdb" => _ = std::fs::remove_dir_all(&target),
            _ => _ = std::fs::remove_file(&target),
        };
        kill(&db, &["copy", &url], remove, |_| {
            // The directory of an LMDB environment can be there without it.
            if target.is_file() || target.join("data.mdb").exists() {
                assert!(crate::fixture::pairs(&url) == all, "{kind}: a part of the copy is there");
            } else {
                // The remains of a killed copy are not in the way of a new one.
                db.out(&["copy", &url]);
                assert!(crate::fixture::pairs(&url) == all, "{kind}: the second copy differs");
                assert!(!target.join("data.mdb.part").exists());
            }
        });
    }
}
