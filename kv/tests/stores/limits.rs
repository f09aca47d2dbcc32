//! Stores at their limits: the longest waits, keys and bounds.
#![cfg(all(feature = "lmdb", feature = "sqlite"))]

use std::ops::ControlFlow;
use std::time::Duration;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{Direction, Durability, KeySpan, KvDatabase, KvRead, Result, TxOptions};
use proptest::prelude::*;

use crate::support::{Pairs, dump, reading, writing};

#[test]
fn a_wait_without_end_is_possible() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let lmdb = LmdbStore::open_or_create(dir.path().join("lmdb")).unwrap();
    let sqlite = SqliteStore::open_or_create(&file).unwrap();
    let late = SqliteStore::builder().late_lock(true).open(&file).unwrap();
    let memory = MemoryStore::new();
    let optimistic = OptimisticDatabase::new(MemoryStore::new());
    let stores: [&dyn KvDatabase; 5] = [&memory, &optimistic, &lmdb, &sqlite, &late];
    for store in stores {
        // Each of the last ones is longer than SQLite can wait.
        for time in [1, 1 << 22, 1 << 40, u64::MAX].map(Duration::from_secs) {
            let options = TxOptions::writing().with_wait(time).with_timeout(time);
            let mut tx = store.begin(&options).unwrap();
            tx.put(b"key", b"value").unwrap();
            tx.set_timeout(Some(time)).unwrap();
            tx.commit().unwrap();
            let tx = store.begin(&TxOptions::reading().with_wait(time).with_timeout(time)).unwrap();
            assert!(tx.get(b"key").unwrap().is_some());
        }
    }
}

/// Keys of a few bytes, and some keys about as long as the longest that LMDB takes.
fn any_key() -> impl Strategy<Value = Vec<u8>> {
    let byte = || prop_oneof![Just(0), Just(7), Just(0xff)];
    let len = prop_oneof![0..4_usize, 505..516_usize];
    let tail = prop::collection::vec(byte(), 0..3);
    (byte(), len, tail).prop_map(|(byte, len, tail)| [vec![byte; len], tail].concat())
}

fn any_bounds() -> impl Strategy<Value = (Vec<u8>, Option<Vec<u8>>)> {
    (any_key(), prop::option::weighted(0.8, any_key()))
}

/// The result of each way of reading `span`.
fn answers(store: &dyn KvRead, span: KeySpan<'_>) -> Vec<Option<Pairs>> {
    let own = |pair: permazen_kv::Pair<'_>| (pair.0.into_owned(), pair.1.into_owned());
    let mut answers = vec![
        Some(store.get(span.min).unwrap().map(|v| (vec![], v.into_owned())).into_iter().collect()),
        Some(store.at_least(span.min, span.max).unwrap().map(own).into_iter().collect()),
        Some(store.at_most(span.min, span.max).unwrap().map(own).into_iter().collect()),
    ];
    for direction in [Direction::Forward, Direction::Reverse] {
        let scan = store.scan(span, direction);
        answers.push(scan.map(|scan| scan.map(|pair| own(pair.unwrap())).collect()).ok());
        let mut seen = Vec::new();
        let visited: Result<()> = store.visit(span, direction, &mut |key, value| {
            seen.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        });
        answers.push(visited.map(|()| seen).ok());
    }
    answers
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    /// A key that LMDB cannot hold is absent, and works as a bound like any other.
    #[test]
    fn long_keys_and_bounds_mean_the_same_to_lmdb_as_in_memory(
        keys in prop::collection::vec(any_key(), 1..12),
        bounds in prop::collection::vec(any_bounds(), 1..8),
        removed in any_bounds(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let builder = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
        let lmdb = builder.open(dir.path()).unwrap();
        let model = MemoryStore::new();
        let (mut ours, mut expected) = (writing(&lmdb), writing(&model));
        for key in &keys {
            let put = ours.put(key, &[0; 8]);
            prop_assert_eq!(put.is_ok(), key.len() <= 510);
            if put.is_ok() {
                expected.put(key, &[0; 8]).unwrap();
            }
        }
        for (min, max) in &bounds {
            let span = KeySpan::new(min, max.as_deref());
            prop_assert_eq!(answers(&ours, span), answers(&expected, span));
        }
        ours.commit().unwrap();
        expected.commit().unwrap();
        let (ours, expected) = (reading(&lmdb), reading(&model));
        for (min, max) in &bounds {
            let span = KeySpan::new(min, max.as_deref());
            prop_assert_eq!(answers(&ours, span), answers(&expected, span));
        }
        drop((ours, expected));
        let (engine, span) = (OptimisticDatabase::new(lmdb), KeySpan::new(&removed.0, removed.1.as_deref()));
        let stores: [&dyn KvDatabase; 2] = [&engine, &model];
        for store in stores {
            let mut tx = writing(store);
            prop_assert_eq!(tx.remove_span(span).is_ok(), span.check().is_ok());
            tx.adjust_counter(&bounds[0].0, 1).unwrap();
            tx.remove(&removed.0).unwrap();
            tx.remove(&[&removed.0[..], &[0]].concat()).unwrap();
            tx.commit().unwrap();
        }
        prop_assert_eq!(dump(&*reading(&engine)), dump(&*reading(&model)));
    }
}
