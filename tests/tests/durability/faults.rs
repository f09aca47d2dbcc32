//! The operations of the store fail in turn, during a whole story: a new database, two versions
//! of a schema, and objects that are created, changed, migrated, copied and deleted, in many
//! transactions. After a failure the database is as before the transaction. If only the answer of
//! the commit was lost, it is as after the transaction.
//!
//! Without `PERMAZEN_FAULTS=full`, these are some of the operations, spread evenly.

use std::sync::Arc;

use permazen::ObjId;
use permazen::kv::fault::FaultStore;
use permazen::kv::lmdb::{Durability, LmdbStore};
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvError, TxOptions};
use permazen::object::{CopyOptions, Database, Error, IdMap, MissingTargets, Result, Transaction};

use crate::processes::inspect;
use crate::workload::{Kind, Workload, config};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

const WORKLOAD: Workload = Workload { seed: 40, partition: 0, large: false };
/// The number of transactions in the story. In these, the schema changes three times.
const STAGES: u64 = 24;

/// One in how many operations fails. The number shares no divisor with that of the kinds of
/// failures, so that each kind occurs.
fn one_in(few: u64) -> u64 {
    if std::env::var("PERMAZEN_FAULTS").is_ok_and(|faults| faults == "full") { 1 } else { few }
}

fn all(kv: &dyn KvDatabase) -> Pairs {
    let tx = kv.begin(&TxOptions::reading()).unwrap();
    let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
    scan.map(|pair| pair.unwrap()).map(|(k, v)| (k.into_owned(), v.into_owned())).collect()
}

fn load(kv: &dyn KvDatabase, pairs: &Pairs) {
    let mut tx = kv.begin(&TxOptions::writing()).unwrap();
    tx.remove_span(KeySpan::FULL).unwrap();
    pairs.iter().for_each(|(key, value)| tx.put(key, value).unwrap());
    tx.commit().unwrap();
}

/// One transaction of the story.
fn stage(db: &Database, number: u64) -> Result<()> {
    let tx = db.begin(&config(WORKLOAD.version(number)))?;
    WORKLOAD.perform(&tx, number)?;
    copies(&tx, number)?;
    tx.commit()
}

/// Copies all objects, with the references between them, to objects with other IDs.
fn copies(tx: &Transaction, number: u64) -> Result<()> {
    if !number.is_multiple_of(3) {
        return Ok(());
    }
    let ids = tx.all_objects()?.to_vec()?;
    let copied = |id: ObjId| {
        let mut bytes = id.to_bytes();
        bytes[2] = number as u8;
        (bytes[1..3] == [0, number as u8]).then(|| ObjId::from_bytes(bytes).unwrap())
    };
    let originals = ids.into_iter().filter(|id| id.to_bytes()[2] == 0);
    let mut map: IdMap = originals.map(|id| (id, copied(id))).collect();
    let originals: Vec<ObjId> = map.keys().copied().collect();
    // Objects that are copied later are missing at first.
    let mut missing = MissingTargets::new();
    for id in originals {
        let options = CopyOptions::new().noting_missing(&mut missing);
        tx.copy_to(id, tx, &mut options.mapping_ids(&mut map))?;
    }
    let first = copied(WORKLOAD.id(Kind::Person, 0)).unwrap();
    tx.delete(first).map(drop).or_else(|error| match error {
        Error::ReferencedObject { .. } => Ok(()),
        error => Err(error),
    })
}

/// The expected content of the store after each stage, and how many operations of the store each
/// stage takes if nothing is known of the recorded schemas.
fn story() -> (Vec<Pairs>, Vec<u64>) {
    let store = FaultStore::new(MemoryStore::new());
    let faults = store.faults();
    let store = Arc::new(store);
    let (mut states, mut operations) = (vec![all(store.inner())], Vec::new());
    for number in 1..=STAGES {
        faults.stop();
        stage(&Database::new(store.clone()), number).unwrap();
        operations.push(faults.operations());
        states.push(all(store.inner()));
    }
    (states, operations)
}

/// Runs the story; in each stage one operation after the other fails. `first` decides which ones,
/// if not all do.
fn countdown(inner: impl KvDatabase + 'static, first: u64) {
    let every = one_in(5);
    let (states, _) = story();
    let store = FaultStore::new(inner);
    let faults = store.faults();
    let store = Arc::new(store);
    let lasting = Database::new(store.clone());
    let mut failures = 0;
    for (number, state) in states.windows(2).enumerate() {
        let number = number as u64 + 1;
        for n in (1 + (number + first) % every..).step_by(every as usize) {
            // The remembered schemas of a database must not be harmed either.
            let fresh = Database::new(store.clone());
            let db = if n % 2 == 0 { &lasting } else { &fresh };
            let when = format!("stage {number}, operation {n}");
            match n % 3 {
                0 => faults.fail_nth(n, || KvError::Retry("planned".to_owned())),
                1 => faults.fail_from(n, || KvError::Timeout("planned".to_owned())),
                _ => faults.fail_nth(n, || KvError::InvalidArgument("planned".to_owned())),
            }
            let ended = stage(db, number);
            let hit = faults.hits() > 0;
            faults.stop();
            let Err(error) = ended else {
                if !hit {
                    break;
                }
                // Beginning runs again after a failure that allows it; then the stage is complete.
                assert!(n % 3 == 0, "{when}: the failure was passed over");
                assert!(all(store.inner()) == state[1], "{when}: something is missing");
                load(store.inner(), &state[0]);
                continue;
            };
            assert!(hit && error.to_string().contains("planned"), "{when}: {error}");
            assert!(matches!(error, Error::Kv { .. } | Error::Schema(_)), "{when}: {error:?}");
            assert!(all(store.inner()) == state[0], "{when}: something is left");
            failures += 1;
        }
        assert!(all(store.inner()) == state[1], "stage {number}");
        inspect(store.clone(), WORKLOAD, &format!("stage {number}"));
    }
    assert!(failures > 2000 / every, "{failures} failures");
    println!("{failures} failures");
}

#[test]
fn a_failure_anywhere_leaves_the_state_before_in_memory() {
    countdown(MemoryStore::new(), 0);
}

#[test]
fn a_failure_anywhere_leaves_the_state_before_on_lmdb() {
    let dir = tempfile::tempdir().unwrap();
    let builder = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
    countdown(builder.open(dir.path().join("store")).unwrap(), 2);
}

#[test]
fn a_commit_whose_word_was_lost_is_there() {
    let (states, operations) = story();
    let store = FaultStore::new(MemoryStore::new());
    let faults = store.faults();
    let store = Arc::new(store);
    for (number, count) in operations.into_iter().enumerate() {
        // The last operation is the commit.
        faults.fail_nth(count, || KvError::OutcomeUnknown("planned".to_owned()));
        let error = stage(&Database::new(store.clone()), number as u64 + 1).unwrap_err();
        faults.stop();
        assert!(
            matches!(&error, Error::Kv { source, .. } if source.is_outcome_unknown()),
            "{error:?}"
        );
        assert!(!error.is_retryable());
        assert!(all(store.inner()) == states[number + 1], "stage {}", number + 1);
    }
}

/// One operation on objects fails. The application continues with the others and commits.
#[test]
fn what_goes_on_after_a_failed_operation_commits_a_sound_database() {
    let (states, operations) = story();
    let store = FaultStore::new(MemoryStore::new());
    let faults = store.faults();
    let store = Arc::new(store);
    let db = Database::new(store.clone());
    let every = one_in(7);
    let mut refused = 0;
    for number in 1..=STAGES {
        let operations = operations[number as usize - 1];
        for n in (1 + number % every..operations).step_by(every as usize) {
            load(store.inner(), &states[number as usize - 1]);
            faults.fail_nth(n, || KvError::InvalidArgument("planned".to_owned()));
            let Ok(tx) = db.begin(&config(WORKLOAD.version(number))) else { continue };
            for step in WORKLOAD.steps(number) {
                refused += u64::from(WORKLOAD.apply(&tx, &step).is_err());
            }
            let committed = tx.commit();
            faults.stop();
            let when = format!("stage {number}, operation {n}");
            if committed.is_ok() {
                inspect(store.clone(), WORKLOAD, &when);
            } else {
                assert!(all(store.inner()) == states[number as usize - 1], "{when}");
            }
        }
    }
    assert!(refused > 350 / every, "{refused}");
}
