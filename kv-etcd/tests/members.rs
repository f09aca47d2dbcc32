//! Members of a cluster are killed and paused under load, and what was said of each commit is compared with what is there.
//!
//! `PERMAZEN_FAULTS=full` does it 50 times instead of 5, or as often as it says.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use permazen_kv::{
    Direction, KeySpan, KvDatabase, KvError, KvRead, KvTransaction, KvWrite, TxOptions,
};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

const WORKERS: usize = 4;

/// What a worker was told of its commits.
#[derive(Debug, Default)]
struct Told {
    committed: BTreeSet<Vec<u8>>,
    refused: BTreeSet<Vec<u8>>,
    unknown: BTreeSet<Vec<u8>>,
}

/// Adds one to a counter that all share, under a key of its own.
fn step(store: &EtcdStore, key: &[u8]) -> Result<(), KvError> {
    let mut tx = store.begin(&TxOptions::writing())?;
    let count = match tx.get(b"count")? {
        Some(count) => tx.decode_counter(&count)?,
        None => 0,
    };
    let count = tx.encode_counter(count + 1);
    tx.put(b"count", &count)?;
    tx.put(key, b"")?;
    // What was removed must not come back either.
    tx.remove(&[b"gone ", key].concat())?;
    tx.commit()
}

fn work(url: &str, worker: usize, is_over: &AtomicBool, done: &AtomicUsize) -> Told {
    let store = EtcdStore::open(url).unwrap();
    let mut told = Told::default();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let key = format!("key {worker} {number}").into_bytes();
        match step(&store, &key) {
            Ok(()) => {
                done.fetch_add(1, Ordering::Relaxed);
                told.committed.insert(key)
            }
            Err(error) if error.is_outcome_unknown() => told.unknown.insert(key),
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                told.refused.insert(key)
            }
        };
    }
    told
}

fn keys(tx: &dyn KvTransaction) -> BTreeSet<Vec<u8>> {
    let scan = tx.scan(KeySpan::new(b"key", Some(b"kez")), Direction::Forward).unwrap();
    scan.map(|pair| pair.unwrap().0.into_owned()).collect()
}

/// How often.
fn times() -> usize {
    match std::env::var("PERMAZEN_FAULTS") {
        Ok(text) if text == "full" => 50,
        Ok(text) => text.parse().unwrap(),
        Err(_) => 5,
    }
}

/// Works while `disturb` does something to the leader, again and again. Each time the work goes on.
fn under_load(disturb: impl Fn(&Etcd, usize, &dyn Fn())) {
    let Some(cluster) = Etcd::start(3, &[]) else { return };
    let url = cluster.new_prefix();
    let (is_over, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let told: Vec<Told> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let (url, is_over, done) = (&url, &is_over, &done);
                scope.spawn(move || work(url, worker, is_over, done))
            })
            .collect();
        // Some commits take place.
        let advance = || {
            let before = done.load(Ordering::Relaxed);
            let until = Instant::now() + Duration::from_secs(60);
            while done.load(Ordering::Relaxed) < before + 20 {
                assert!(Instant::now() < until, "nothing is committed any more");
                thread::sleep(Duration::from_millis(5));
            }
        };
        for _ in 0..times() {
            advance();
            disturb(&cluster, cluster.leader(), &advance);
        }
        advance();
        is_over.store(true, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let store = EtcdStore::open(&url).unwrap();
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let there = keys(&*tx);
    let count = tx.get(b"count").unwrap().unwrap();
    let mut unknown = 0;
    for told in &told {
        assert!(told.committed.is_subset(&there), "lost: {:?}", told.committed.difference(&there));
        assert!(
            told.refused.is_disjoint(&there),
            "not refused: {:?}",
            told.refused.intersection(&there)
        );
        unknown += told.unknown.len();
    }
    assert_eq!(tx.decode_counter(&count).unwrap(), there.len() as i64);
    eprintln!("{} committed, {unknown} unknown", there.len());
}

#[test]
fn the_leader_is_killed() {
    under_load(|cluster, leader, advance| {
        cluster.kill(leader);
        advance();
        cluster.restart(leader);
    });
}

#[test]
fn the_leader_is_paused() {
    under_load(|cluster, leader, advance| {
        cluster.pause(leader);
        advance();
        cluster.resume(leader);
    });
}
