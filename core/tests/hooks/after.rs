//! What happens after the end of a transaction.

use permazen::kv::KvError;
use permazen::{PermazenObject, Result, Tx};

use crate::{assert_log, builder, log};

#[derive(PermazenObject, Default)]
struct Person {
    age: i32,
}

fn add(tx: &Tx, name: &'static str) -> Result<()> {
    tx.on_commit(move || log(format!("{name} committed")))?;
    tx.on_complete(move |committed| log(format!("{name} ended, committed: {committed}")))
}

#[test]
fn closures_are_called_once_after_the_end() {
    let db = builder().model::<Person>().build().unwrap();
    db.write(|tx| {
        add(tx, "one")?;
        add(tx, "two")?;
        assert_log([]);
        tx.create_default::<Person>().map(drop)
    })
    .unwrap();
    assert_log([
        "one committed",
        "one ended, committed: true",
        "two committed",
        "two ended, committed: true",
    ]);
    let tx = db.begin().unwrap();
    add(&tx, "rolled back").unwrap();
    tx.rollback().unwrap();
    assert_log(["rolled back ended, committed: false"]);
    let tx = db.begin().unwrap();
    add(&tx, "dropped").unwrap();
    drop(tx);
    assert_log(["dropped ended, committed: false"]);
}

#[test]
fn an_attempt_that_failed_and_the_next_one_are_told_apart() {
    let db = builder().model::<Person>().build().unwrap();
    let mut attempt = 0;
    db.write(|tx| {
        attempt += 1;
        add(tx, if attempt == 1 { "first" } else { "second" })?;
        if attempt == 1 { Err(KvError::Retry("on purpose".into()).into()) } else { Ok(()) }
    })
    .unwrap();
    assert_log([
        "first ended, committed: false",
        "second committed",
        "second ended, committed: true",
    ]);
}

#[test]
fn a_closure_may_use_the_database() {
    let db = builder().model::<Person>().build().unwrap();
    let shared = db.clone();
    db.write(|tx| {
        let db = shared.clone();
        tx.on_commit(move || {
            let count = db.read(|tx| tx.all::<Person>()?.count()).unwrap();
            log(format!("{count} people"));
        })?;
        tx.create_default::<Person>().map(drop)
    })
    .unwrap();
    assert_log(["1 people"]);
}
