//! The interleavings that cause the anomalies, step by step in one thread, for stores where several
//! transactions can write at a time. In each of them one transaction must be refused. On a store
//! that does not check reads, none is refused, and each leaves the trace of its anomaly.

use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::object::{Database, Result, Transaction};

use crate::isolation::careless::Careless;
use crate::isolation::{
    cell, config, findings, in_states, is_sound, is_sound_in_history, long, set_long, set_state,
    stores, until_committed, with_cells,
};

/// Transactions that no serial order explains, if all are committed.
struct Interleaving {
    name: &'static str,
    /// Performs them and returns the result of the last commit. All other operations succeed.
    perform: fn(&Database) -> Result<()>,
    /// Whether the database is in a state that no serial order leaves, once all are committed.
    shows: fn(&Database) -> bool,
}

const INTERLEAVINGS: [Interleaving; 5] = [
    Interleaving {
        name: "lost update",
        perform: |db| {
            until_committed(db, |tx| set_long(tx, cell(0), 100));
            let add = |tx: &Transaction| set_long(tx, cell(0), long(tx, cell(0))? + 1);
            overlapping(db, add, add)
        },
        shows: |db| until_committed(db, |tx| long(tx, cell(0))) == 101,
    },
    Interleaving {
        name: "write skew through an index",
        perform: |db| {
            until_committed(db, |tx| (0..2).try_for_each(|n| set_state(tx, n, 7)));
            let leave = |n: u8| {
                move |tx: &Transaction| {
                    assert_eq!(in_states(tx, 5, 9)?, 2);
                    set_state(tx, n, 50)
                }
            };
            overlapping(db, leave(0), leave(1))
        },
        shows: |db| until_committed(db, |tx| in_states(tx, 5, 9)) == 0,
    },
    Interleaving {
        name: "phantom in an index range",
        perform: |db| {
            until_committed(db, |tx| (100..102).try_for_each(|n| tx.delete(cell(n)).map(drop)));
            let enter = |n: u8| {
                move |tx: &Transaction| {
                    assert_eq!(in_states(tx, 20, 29)?, 0);
                    tx.create_with_id(cell(n))?;
                    set_state(tx, n, 25)
                }
            };
            overlapping(db, enter(100), enter(101))
        },
        shows: |db| until_committed(db, |tx| in_states(tx, 20, 29)) == 2,
    },
    Interleaving {
        name: "change of an object that another one deletes",
        perform: |db| {
            overlapping(
                db,
                |tx| {
                    assert!(tx.delete(cell(3))?);
                    Ok(())
                },
                |tx| set_long(tx, cell(3), 5),
            )
        },
        shows: |db| !findings(db).is_empty(),
    },
    // A withdrawal that makes the sum of two accounts negative costs a fee. It reads the sum before
    // the deposit, so it takes the fee. A reader sees the deposit, but not yet the withdrawal.
    Interleaving {
        name: "read-only transaction",
        perform: |db| {
            until_committed(db, |tx| (0..2).try_for_each(|n| set_long(tx, cell(n), 0)));
            let withdrawal = db.begin(&config())?;
            assert_eq!(long(&withdrawal, cell(0))? + long(&withdrawal, cell(1))?, 0);
            let deposit = db.begin(&config())?;
            set_long(&deposit, cell(1), long(&deposit, cell(1))? + 20)?;
            deposit.commit().unwrap();
            let reader = db.begin(&config().read_only())?;
            assert_eq!((long(&reader, cell(0))?, long(&reader, cell(1))?), (0, 20));
            reader.commit().unwrap();
            set_long(&withdrawal, cell(0), -11)?;
            withdrawal.commit()
        },
        shows: |db| {
            until_committed(db, |tx| Ok((long(tx, cell(0))?, long(tx, cell(1))?))) == (-11, 20)
        },
    },
];

/// Two transactions that do not see each other. Returns the result of the second one's commit.
fn overlapping(
    db: &Database,
    one: impl Fn(&Transaction) -> Result<()>,
    other: impl Fn(&Transaction) -> Result<()>,
) -> Result<()> {
    let (first, second) = (db.begin(&config())?, db.begin(&config())?);
    one(&first).unwrap();
    other(&second).unwrap();
    first.commit().unwrap();
    second.commit()
}

#[test]
fn each_interleaving_is_refused() {
    let overlap = |name: &str| name.starts_with("optimistic") || name == "a page";
    let overlapping: Vec<_> = stores().into_iter().filter(|(name, _)| overlap(name)).collect();
    assert_eq!(overlapping.len(), 3);
    for (store, open) in overlapping {
        let dir = tempfile::tempdir().unwrap();
        let (kv, page) = open(dir.path());
        let db = Database::new(kv);
        with_cells(&db);
        for Interleaving { name, perform, .. } in INTERLEAVINGS {
            let error = perform(&db).expect_err(name);
            assert!(error.is_retryable(), "{store}, {name}: {error}");
        }
        is_sound(&db, store);
        if let Some(page) = page {
            is_sound_in_history(&page);
        }
    }
}

/// Each interleaving can make the test fail.
#[test]
fn each_interleaving_shows_on_a_store_that_does_not_check_reads() {
    for Interleaving { name, perform, shows } in INTERLEAVINGS {
        let db =
            Database::new(Arc::new(Careless::new(OptimisticDatabase::new(MemoryStore::new()))));
        with_cells(&db);
        perform(&db).expect(name);
        assert!(shows(&db), "{name}");
    }
}
