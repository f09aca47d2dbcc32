//! Hooks and observers after the end of a transaction.

use std::panic::{AssertUnwindSafe, catch_unwind};

use permazen::kv::KvError;
use permazen::{Error, Obj, PermazenObject, Result, Tx};

use crate::hooks::{assert_log, builder, log};

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

/// The rules are checked by a hook that adds closures.
#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Order {
    total: i32,
}

#[permazen::hooks]
impl Order {
    #[on_validate]
    fn check(this: Obj<'_, Self>) -> Result<(), String> {
        add(this.tx(), "check").unwrap();
        match this.total().unwrap() {
            0 => Ok(()),
            13 => panic!("on purpose"),
            _ => Err("not zero".into()),
        }
    }
}

#[test]
fn a_hook_that_checks_objects_may_add_closures() {
    let db = builder().model::<Order>().build().unwrap();
    db.write(|tx| tx.create_default::<Order>().map(drop)).unwrap();
    assert_log(["check committed", "check ended, committed: true"]);

    let tx = db.begin().unwrap();
    let order = tx.create(Order { total: 1 }).unwrap().to_ref();
    let tx = tx.commit().unwrap_err().into_transaction().unwrap();
    assert_log([]);
    tx.get(order).unwrap().set_total(0).unwrap();
    tx.commit().unwrap();
    // The first check was undone.
    assert_log([
        "check committed",
        "check ended, committed: true",
        "check ended, committed: false",
    ]);
}

#[test]
fn closures_are_told_of_the_end_by_a_panic_in_the_commit() {
    let db = builder().model::<Order>().build().unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        db.write(|tx| {
            add(tx, "one")?;
            tx.create(Order { total: 13 }).map(drop)
        })
    }));
    assert!(panicked.is_err());
    assert_log(["one ended, committed: false", "check ended, committed: false"]);
    assert_eq!(db.read(|tx| tx.all::<Order>()?.count()).unwrap(), 0);
}

#[test]
fn what_an_undone_operation_has_added_is_told_of_no_commit() {
    let db = builder().model::<Person>().build().unwrap();
    db.write(|tx| {
        add(tx, "before")?;
        let undone: Result<()> = tx.core().atomic(|_| {
            add(tx, "undone")?;
            tx.observe(Person::AGE, |_, _| {
                log("observer");
                Ok(())
            })?;
            tx.create_default::<Person>()?.set_age(1)?;
            Err(Error::other("on purpose"))
        });
        assert!(undone.is_err());
        assert_log(["observer"]);
        add(tx, "after")?;
        tx.create_default::<Person>()?.set_age(1)
    })
    .unwrap();
    assert_log([
        "before committed",
        "before ended, committed: true",
        "after committed",
        "after ended, committed: true",
        "undone ended, committed: false",
    ]);
}
