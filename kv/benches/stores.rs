//! Stores of a million pairs, with keys of 16 and values of 100 bytes: LMDB compared with the same
//! work written directly with heed, and the stores on one thread and on two.
//!
//! `cargo bench -p permazen-kv --bench stores`. Add `-- lmdb`, `-- small`, `-- memory` or
//! `-- threads` to run only that part.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod rounds;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::time::{Duration, Instant};

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn, WithoutTls};
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{
    Direction, Durability, KeySpan, KvDatabase, KvDatabaseExt as _, KvRead, KvTransaction,
    TxOptions,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rounds::{header, median, row, timed};

const PAIRS: u64 = 1_000_000;
/// The number of operations of one round.
const BATCH: u64 = 10_000;
const VALUE: [u8; 100] = [7; 100];

/// The key with number `n`. The keys have an order that looks random.
fn key(n: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&n.to_be_bytes());
    key
}

fn sorted_keys() -> Vec<[u8; 16]> {
    let mut keys: Vec<_> = (0..PAIRS).map(key).collect();
    keys.sort_unstable();
    keys
}

/// Keys that exist, in random order.
fn picks(round: u64) -> Vec<[u8; 16]> {
    let mut random = StdRng::seed_from_u64(round);
    (0..BATCH).map(|_| key(random.random_range(0..PAIRS))).collect()
}

/// Keys that do not exist.
fn new_keys(round: u64) -> Vec<[u8; 16]> {
    (0..BATCH).map(|n| key(PAIRS + round * BATCH + n)).collect()
}

/// Gives each round its own keys, the same to both sides.
struct Keys {
    round: u64,
    make: fn(u64) -> Vec<[u8; 16]>,
}

impl Keys {
    fn next(&mut self) -> Vec<[u8; 16]> {
        self.round += 1;
        (self.make)(self.round)
    }
}

fn keys(make: fn(u64) -> Vec<[u8; 16]>) -> [Keys; 2] {
    [Keys { round: 0, make }, Keys { round: 0, make }]
}

/// Times the work on the keys of a round.
fn with(keys: &mut Keys, body: impl FnOnce(&[[u8; 16]])) -> Duration {
    let keys = keys.next();
    timed(|| body(&keys))
}

/// An environment that is used directly with heed.
struct Raw {
    env: Env<WithoutTls>,
    pairs: Database<'static, Bytes, Bytes>,
    /// The bytes before each key: one zero byte, as in the file format of the store, or no byte.
    zeros: usize,
}

impl Raw {
    fn new(path: &Path, flags: EnvFlags, zeros: usize) -> Raw {
        std::fs::create_dir_all(path).unwrap();
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(1 << 40).max_dbs(1).max_readers(1022);
        // SAFETY: The directory is new, and no other code uses it.
        #[allow(unsafe_code)]
        let env = unsafe { options.flags(flags).open(path).unwrap() };
        let txn = env.write_txn().unwrap();
        let pairs = env
            .create_databases_and_commit(txn, |opener, txn| {
                opener.create_database(txn, Some("pairs")).map(CommitOrAbort::<_, ()>::Commit)
            })
            .unwrap()
            .unwrap_commit();
        Raw { env, pairs, zeros }
    }

    fn put_all(&self, txn: &mut RwTxn<'_>, keys: &[[u8; 16]]) {
        for key in keys {
            let mut stored = [0; 17];
            stored[self.zeros..][..16].copy_from_slice(key);
            self.pairs.put(txn, &stored[..16 + self.zeros], &VALUE).unwrap();
        }
    }

    fn commit_all(&self, keys: &[[u8; 16]]) {
        let mut txn = self.env.write_txn().unwrap();
        self.put_all(&mut txn, keys);
        txn.commit().unwrap();
    }

    fn get_all(&self, txn: &RoTxn<'_, WithoutTls>, keys: &[[u8; 16]]) {
        for key in keys {
            let mut stored = [0; 17];
            stored[self.zeros..][..16].copy_from_slice(key);
            black_box(self.pairs.get(txn, &stored[..16 + self.zeros]).unwrap().unwrap().len());
        }
    }

    fn seek_all(&self, txn: &RoTxn<'_, WithoutTls>, keys: &[[u8; 16]]) {
        for key in keys {
            let mut stored = [0; 17];
            stored[self.zeros..][..16].copy_from_slice(key);
            let min = &stored[..16 + self.zeros];
            let range = self.pairs.range(txn, &(Bound::Included(min), Bound::Unbounded)).unwrap();
            let pairs = range.take(10).map(|pair| pair.unwrap());
            black_box(pairs.map(|(k, v)| k.len() + v.len()).sum::<usize>());
        }
    }

    fn scan_all(&self, txn: &RoTxn<'_, WithoutTls>) {
        let pairs = self.pairs.iter(txn).unwrap().map(|pair| pair.unwrap());
        black_box(pairs.map(|(k, v)| k.len() + v.len()).sum::<usize>());
    }
}

fn put_all(tx: &mut dyn KvTransaction, keys: &[[u8; 16]]) {
    keys.iter().for_each(|key| tx.put(key, &VALUE).unwrap());
}

fn commit_all(store: &dyn KvDatabase, keys: &[[u8; 16]]) {
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    put_all(&mut *tx, keys);
    tx.commit().unwrap();
}

fn get_all(tx: &dyn KvTransaction, keys: &[[u8; 16]]) {
    for key in keys {
        black_box(tx.get(key).unwrap().unwrap().len());
    }
}

fn visit_all(tx: &dyn KvTransaction) {
    let mut bytes = 0;
    tx.visit(KeySpan::FULL, Direction::Forward, &mut |key, value| {
        bytes += key.len() + value.len();
        ControlFlow::Continue(())
    })
    .unwrap();
    black_box(bytes);
}

fn lmdb() {
    for (zeros, title) in [
        (1, "LMDB, 1,000,000 pairs of 16 and 100 bytes, by hand with the same keys in the file"),
        (0, "the same, by hand with the keys as they are, which are shorter by a byte"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let unsynced = Durability::MayLoseEverything;
        let builder = LmdbStore::builder().create(true).durability(unsynced);
        let store = builder.open(directory.path().join("store")).unwrap();
        let raw = Raw::new(&directory.path().join("raw"), EnvFlags::NO_SYNC, zeros);
        let keys = sorted_keys();
        commit_all(&store, &keys);
        raw.commit_all(&keys);
        header(title, "store", "by hand");
        reads(&store, &raw);
        writes(&store, &raw);
        durable_commits(directory.path(), zeros);
    }
}

fn reads(store: &LmdbStore, raw: &Raw) {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let txn = raw.env.read_txn().unwrap();
    let [mut ours, mut theirs] = keys(picks);
    row(
        "get",
        BATCH,
        Some(1.15),
        || with(&mut ours, |keys| get_all(&*tx, keys)),
        || with(&mut theirs, |keys| raw.get_all(&txn, keys)),
    );
    let [mut ours, mut theirs] = keys(picks);
    let visit_ten = |min: &[u8]| {
        let (mut bytes, mut left) = (0, 10);
        tx.visit(KeySpan::new(min, None), Direction::Forward, &mut |key, value| {
            bytes += key.len() + value.len();
            left -= 1;
            if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .unwrap();
        black_box(bytes);
    };
    row(
        "seek and 10 steps, visit",
        BATCH,
        Some(1.15),
        || with(&mut ours, |keys| keys.iter().for_each(|key| visit_ten(key))),
        || with(&mut theirs, |keys| raw.seek_all(&txn, keys)),
    );
    let [mut ours, mut theirs] = keys(picks);
    let scan_ten = |min: &[u8]| {
        let scan = tx.scan(KeySpan::new(min, None), Direction::Forward).unwrap();
        let pairs = scan.take(10).map(|pair| pair.unwrap());
        black_box(pairs.map(|(k, v)| k.len() + v.len()).sum::<usize>());
    };
    row(
        "seek and 10 steps, scan",
        BATCH,
        Some(1.15),
        || with(&mut ours, |keys| keys.iter().for_each(|key| scan_ten(key))),
        || with(&mut theirs, |keys| raw.seek_all(&txn, keys)),
    );
    row(
        "full scan, visit",
        PAIRS,
        Some(1.2),
        || timed(|| visit_all(&*tx)),
        || timed(|| raw.scan_all(&txn)),
    );
    row(
        "full scan, scan",
        PAIRS,
        Some(1.2),
        || {
            timed(|| {
                let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
                let pairs = scan.map(|pair| pair.unwrap());
                black_box(pairs.map(|(k, v)| k.len() + v.len()).sum::<usize>());
            })
        },
        || timed(|| raw.scan_all(&txn)),
    );
}

fn writes(store: &LmdbStore, raw: &Raw) {
    for (name, make) in [
        ("put, 10,000 replaced and commit", picks as fn(u64) -> _),
        ("put, 10,000 new and commit", new_keys),
    ] {
        let [mut ours, mut theirs] = keys(make);
        row(
            name,
            BATCH,
            Some(1.15),
            || with(&mut ours, |keys| commit_all(store, keys)),
            || with(&mut theirs, |keys| raw.commit_all(keys)),
        );
    }
}

/// Commits of one put each that reach the disk, on small stores.
fn durable_commits(directory: &Path, zeros: usize) {
    const COMMITS: u64 = 10;
    let store = LmdbStore::builder().create(true).open(directory.join("durable")).unwrap();
    let raw = Raw::new(&directory.join("durable-raw"), EnvFlags::empty(), zeros);
    commit_all(&store, &picks(0));
    raw.commit_all(&picks(0));
    let [mut ours, mut theirs] = keys(picks);
    row(
        "one put and durable commit",
        COMMITS,
        None,
        || {
            with(&mut ours, |keys| {
                keys.chunks(1).take(COMMITS as usize).for_each(|key| commit_all(&store, key));
            })
        },
        || {
            with(&mut theirs, |keys| {
                keys.chunks(1).take(COMMITS as usize).for_each(|key| raw.commit_all(key));
            })
        },
    );
}

/// Transactions that do very little, so that their beginning and their end count.
fn small() {
    const TRANSACTIONS: usize = 200;
    let directory = tempfile::tempdir().unwrap();
    let unsynced = Durability::MayLoseEverything;
    let builder = LmdbStore::builder().create(true).durability(unsynced);
    let store = builder.open(directory.path().join("store")).unwrap();
    let raw = Raw::new(&directory.path().join("raw"), EnvFlags::NO_SYNC, 1);
    commit_all(&store, &picks(0));
    raw.commit_all(&picks(0));
    header("LMDB, 10,000 pairs, one transaction at a time, not flushed", "store", "by hand");
    let by_hand = |keys: &[[u8; 16]]| {
        keys.chunks(1).take(TRANSACTIONS).for_each(|key| raw.commit_all(key));
    };
    let [mut ours, mut theirs] = keys(picks);
    row(
        "one put, by a closure",
        TRANSACTIONS as u64,
        Some(2.0),
        || {
            with(&mut ours, |keys| {
                for key in keys.iter().take(TRANSACTIONS) {
                    store.write(|tx| tx.put(key, &VALUE)).unwrap();
                }
            })
        },
        || with(&mut theirs, by_hand),
    );
    let [mut ours, mut theirs] = keys(picks);
    row(
        "one put, in a transaction that can move",
        TRANSACTIONS as u64,
        None,
        || {
            with(&mut ours, |keys| {
                keys.chunks(1).take(TRANSACTIONS).for_each(|key| commit_all(&store, key));
            })
        },
        || with(&mut theirs, by_hand),
    );
    row(
        "begin to read, and end",
        BATCH,
        None,
        || timed(|| (0..BATCH).for_each(|_| drop(store.begin(&TxOptions::reading()).unwrap()))),
        || timed(|| (0..BATCH).for_each(|_| drop(raw.env.read_txn().unwrap()))),
    );
}

/// Gets on several threads at the same time. Returns the time of the slowest thread for all its
/// gets.
fn get_on_threads(store: &dyn KvDatabase, threads: u64) -> Duration {
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let keys = picks(thread);
                scope.spawn(move || {
                    let tx = store.begin(&TxOptions::reading()).unwrap();
                    let start = Instant::now();
                    for _ in 0..10 {
                        for key in &keys {
                            black_box(tx.get(key).unwrap().unwrap().len());
                        }
                    }
                    start.elapsed()
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).max().unwrap()
    })
}

fn memory() {
    let store = MemoryStore::new();
    let all = sorted_keys();
    commit_all(&store, &all);
    let mut map: BTreeMap<Vec<u8>, Vec<u8>> =
        all.iter().map(|key| (key.to_vec(), VALUE.to_vec())).collect();

    header("memory, 1,000,000 pairs of 16 and 100 bytes", "store", "BTreeMap");
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let [mut ours, mut theirs] = keys(picks);
    let get_from_map = |key: &[u8]| {
        black_box(map.get(key).unwrap().len());
    };
    row(
        "get",
        BATCH,
        None,
        || with(&mut ours, |keys| get_all(&*tx, keys)),
        || with(&mut theirs, |keys| keys.iter().for_each(|key| get_from_map(key))),
    );
    let scan_map = || {
        black_box(map.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>());
    };
    row("full scan, visit", PAIRS, None, || timed(|| visit_all(&*tx)), || timed(scan_map));
    drop(tx);
    let [mut ours, mut theirs] = keys(picks);
    let mut put_into_map = |keys: &[[u8; 16]]| {
        keys.iter().for_each(|key| drop(map.insert(key.to_vec(), VALUE.to_vec())));
    };
    row(
        "10,000 puts and commit",
        BATCH,
        None,
        || with(&mut ours, |keys| commit_all(&store, keys)),
        || with(&mut theirs, |keys| put_into_map(keys)),
    );
}

/// A store read by one thread and by two, on a machine with at least two cores.
fn threads() {
    let directory = tempfile::tempdir().unwrap();
    let unsynced = Durability::MayLoseEverything;
    let builder = LmdbStore::builder().create(true).durability(unsynced);
    let lmdb = builder.open(directory.path()).unwrap();
    let stores: [(&str, &dyn KvDatabase); 2] = [("memory", &MemoryStore::new()), ("LMDB", &lmdb)];
    for (name, store) in stores {
        commit_all(store, &sorted_keys());
        let (mut one, mut two) = (Vec::new(), Vec::new());
        for _ in 0..21 {
            one.push(get_on_threads(store, 1));
            two.push(get_on_threads(store, 2));
        }
        let ratio = 2.0 * median(one).as_secs_f64() / median(two).as_secs_f64();
        println!("{name}: two threads do {ratio:.2} times the gets of one in the same time");
    }
}

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let parts =
        [("lmdb", lmdb as fn()), ("small", small), ("memory", memory), ("threads", threads)];
    for (name, run) in parts {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            run();
        }
    }
}
