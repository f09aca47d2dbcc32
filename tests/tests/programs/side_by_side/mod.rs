//! Two versions of a program work on one database at the same time: for each kind of change, both
//! write and query the same objects, as threads on every store and as two processes. In the end,
//! nothing that either has committed is lost, each reads what it knows, and the checker finds
//! nothing. `cases` is the table of the changes.

mod cases;
mod judge;
mod processes;
mod program;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use cases::cases;
use judge::{check_end, check_snapshot};
use permazen::kv::KvDatabase;
use permazen::kv::lmdb::{Durability, LmdbStore};
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::sqlite::SqliteStore;
use permazen::{ObjId, Permazen, Result};
use program::{Case, Entry, Program, Turn, Wrote};

/// How often each program changes each of the first objects.
const ROUNDS: i64 = 12;

/// How many of these rounds the programs take in turn before they work at the same time.
const IN_TURN: i64 = 3;

/// How many objects each program has created before both start.
const OBJECTS: i64 = 3;

/// A store of a kind, in a directory.
fn open_store(kind: &str, path: &Path) -> Arc<dyn KvDatabase> {
    let lmdb = || {
        let builder = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
        builder.open(path).unwrap()
    };
    match kind {
        "memory" => Arc::new(MemoryStore::new()),
        "LMDB" => Arc::new(lmdb()),
        "SQLite" => {
            let builder = SqliteStore::builder().create(true);
            Arc::new(
                builder.durability(Durability::MayLoseEverything).open(path.join("db")).unwrap(),
            )
        }
        "optimistic" => Arc::new(OptimisticDatabase::new(MemoryStore::new())),
        "optimistic over LMDB" => Arc::new(OptimisticDatabase::new(lmdb())),
        other => panic!("{other}"),
    }
}

fn open(program: &Program, store: &Arc<dyn KvDatabase>) -> Permazen {
    (program.models)(Permazen::builder_shared(store.clone())).build().unwrap()
}

/// Runs a transaction until it is committed.
fn write<T>(db: &Permazen, body: impl Fn(&permazen::Tx) -> Result<T>) -> Result<T> {
    loop {
        match db.write(&body) {
            // It was beaten too often by the other program.
            Err(error) if error.is_retryable() => thread::yield_now(),
            result => return result,
        }
    }
}

/// Creates an object, and notes the written values.
fn create(program: &Program, db: &Permazen, number: i64, journal: &mut Vec<Entry>) -> ObjId {
    let (id, wrote) = write(db, |tx| (program.create)(tx, number)).unwrap();
    journal.push(Entry { id: id.to_string(), wrote });
    id
}

/// The objects that are there when both programs start: each has created half of them, and both
/// have changed them in turn.
fn begin(case: &Case, dbs: [&Permazen; 2], journal: &mut Vec<Entry>) -> Vec<ObjId> {
    let mut ids = Vec::new();
    for (program, db) in case.programs().into_iter().zip(dbs) {
        ids.extend((0..OBJECTS).map(|number| create(program, db, number, journal)));
    }
    for (program, db) in case.programs().into_iter().zip(dbs) {
        let partial = db.read(|tx| Ok(check_snapshot(program, tx))).unwrap();
        assert_eq!(partial, program.may_be_partial, "{}", case.name);
    }
    for round in 1..=IN_TURN {
        for (writer, db) in dbs.into_iter().enumerate() {
            journal.extend(work(case, writer, db, &ids, round).unwrap());
            for (program, db) in case.programs().into_iter().zip(dbs) {
                db.read(|tx| Ok(check_snapshot(program, tx))).unwrap();
            }
        }
    }
    let refused: BTreeSet<&str> = journal
        .iter()
        .flat_map(|entry| &entry.wrote)
        .filter_map(|wrote| match wrote {
            Wrote::Refused(what) => Some(&**what),
            _ => None,
        })
        .collect();
    assert_eq!(refused, case.refused.iter().copied().collect(), "{}", case.name);
    ids
}

/// All that a program writes in a round. Returns the values that it has committed.
fn work(
    case: &Case,
    writer: usize,
    db: &Permazen,
    ids: &[ObjId],
    round: i64,
) -> Result<Vec<Entry>> {
    let program = case.programs()[writer];
    let mut journal = Vec::new();
    for (number, id) in ids.iter().enumerate() {
        let turn = Turn { id: *id, number, round, writer, is_mine: number % 2 == writer };
        let wrote = write(db, |tx| program.take_turn(tx, &turn))?;
        journal.push(Entry { id: id.to_string(), wrote });
    }
    if round % 4 == 0 {
        create(program, db, 100 * round, &mut journal);
    }
    Ok(journal)
}

/// All that a program writes while the other one writes. Returns the values that it has committed.
fn work_on(
    case: &Case,
    writer: usize,
    db: &Permazen,
    ids: &[ObjId],
    before_round: impl Fn(i64),
) -> Result<Vec<Entry>> {
    let mut journal = Vec::new();
    for round in IN_TURN + 1..=ROUNDS {
        before_round(round);
        journal.extend(work(case, writer, db, ids, round)?);
    }
    Ok(journal)
}

/// Has a value when dropped, also by a panic, so that no other thread waits for ever.
struct Finally<'a>(&'a AtomicI64, i64);

impl Drop for Finally<'_> {
    fn drop(&mut self) {
        self.0.store(self.1, Ordering::Relaxed);
    }
}

fn in_one_process(kind: &str) {
    for case in cases() {
        println!("{} on {kind}", case.name);
        let dir = tempfile::tempdir().unwrap();
        let store = open_store(kind, dir.path());
        let dbs = case.programs().map(|program| open(program, &store));
        let mut journal = Vec::new();
        let ids = begin(&case, [&dbs[0], &dbs[1]], &mut journal);
        // How often each program has queried, and whether it has written everything.
        let (queried, written) =
            ([const { AtomicI64::new(0) }; 2], [const { AtomicI64::new(0) }; 2]);
        thread::scope(|scope| {
            for n in 0..2 {
                let (program, db, queried, written) =
                    (case.programs()[n], &dbs[n], &queried[n], &written);
                scope.spawn(move || {
                    let _ended = Finally(queried, i64::MAX);
                    while written.iter().any(|written| written.load(Ordering::Relaxed) == 0) {
                        db.read(|tx| Ok(check_snapshot(program, tx))).unwrap();
                        queried.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let writers: Vec<_> = (0..2)
                .map(|n| {
                    let (case, db, ids) = (&case, &dbs[n], &ids);
                    let (queried, written) = (&queried, &written[n]);
                    scope.spawn(move || {
                        let _ended = Finally(written, 1);
                        // In each round, both programs query at least once.
                        let wait = |round: i64| {
                            let rounds = round - IN_TURN;
                            while queried.iter().any(|n| n.load(Ordering::Relaxed) < rounds) {
                                thread::yield_now();
                            }
                        };
                        work_on(case, n, db, ids, wait).unwrap()
                    })
                })
                .collect();
            journal.extend(writers.into_iter().flat_map(|writer| writer.join().unwrap()));
        });
        check_end(&case, [&dbs[0], &dbs[1]], &store, &journal);
    }
}

#[test]
fn two_programs_at_the_same_time_in_memory() {
    in_one_process("memory");
}

#[test]
fn two_programs_at_the_same_time_on_lmdb() {
    in_one_process("LMDB");
}

#[test]
fn two_programs_at_the_same_time_on_sqlite() {
    in_one_process("SQLite");
}

#[test]
fn two_programs_at_the_same_time_on_the_optimistic_store() {
    in_one_process("optimistic");
    in_one_process("optimistic over LMDB");
}
