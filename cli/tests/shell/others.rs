//! Other programs that use the database at the same time.

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::open::Opening;

use crate::support::{Fixture, Ran, program};

#[test]
fn a_busy_database_is_waited_for() {
    let db = Fixture::new();
    let store = db.open();
    let held = store.begin(&TxOptions::writing()).unwrap();
    assert_eq!(
        db.run(&["create Pet", "--write", "--wait", "100ms"]).failed(3),
        "permazen: another program is changing the database, and was waited for 100ms; try again, or \
         wait longer with --wait; nothing is changed\n"
    );
    // Readers do not wait.
    assert_eq!(db.run(&["count Pet", "--raw", "--wait", "0s"]).done(), "1\n");
    let error = db.run(&["create Pet", "--write", "--wait", "0s", "--json"]).failed(3);
    let error: serde_json::Value = serde_json::from_str(&error).unwrap();
    assert_eq!(error["exit"], 3);
    drop(held);
}

#[test]
fn a_busy_sqlite_file_is_waited_for() {
    let db = Fixture::new();
    let url = format!("sqlite:{}", db.file("db.sqlite").display());
    let store = Opening::new().create(true).open(&url).unwrap();
    let held = store.begin(&TxOptions::writing()).unwrap();
    let arguments = ["create Pet", "--write", "--wait", "100ms"];
    let message = Ran::of(&mut program(url.as_ref(), &arguments)).failed(3);
    assert!(message.contains("another program is changing the database"), "{message}");
    drop(held);
}

#[test]
fn readers_in_every_slot() {
    let db = Fixture::new();
    // The file of the locks keeps its size; no program has the database open, so it can be removed.
    std::fs::remove_file(db.path().join("lock.mdb")).unwrap();
    let store = LmdbStore::builder().max_readers(1).open(db.path()).unwrap();
    let _reader = store.begin(&TxOptions::reading()).unwrap();
    let message = db.run(&["count Pet"]).failed(3);
    assert!(
        message.ends_with(
            "all 1 reader slots are in use by other programs; end one of them, and try again\n"
        ),
        "{message}"
    );
}

#[test]
fn a_dump_cannot_be_changed() {
    let db = Fixture::new();
    std::fs::write(db.file("dump.xml"), "<entries/>").unwrap();
    let message = Ran::of(&mut program(&db.file("dump.xml"), &["create Pet", "--write"])).failed(2);
    assert!(
        message.contains("an XML dump can only be read; copy it to another store"),
        "{message}"
    );
}
