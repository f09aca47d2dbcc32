//! Stores of a million pairs, keys of 16 and values of 100 bytes; LMDB beside the same work done by
//! hand on heed. Prints the ratios of the medians at the end.
//!
//! `cargo bench -p permazen-kv --bench stores`, with `-- lmdb` for LMDB alone.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::hint::black_box;
use std::ops::Bound;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, WithoutTls};
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{
    Direction, Durability, KeySpan, KvDatabase, KvRead, KvTransaction, KvWrite, TxOptions,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const PAIRS: u64 = 1_000_000;
const BATCH: u64 = 10_000;

/// The key with number `n`: the numbers in an order that looks random.
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

/// Keys that are there, in random order, without end.
struct Picks(StdRng);

impl Picks {
    fn new() -> Self {
        Picks(StdRng::seed_from_u64(7))
    }

    fn next(&mut self) -> [u8; 16] {
        key(self.0.random_range(0..PAIRS))
    }
}

type Raw = (Env<WithoutTls>, Database<'static, Bytes, Bytes>);

fn raw(path: &Path) -> Raw {
    std::fs::create_dir_all(path).unwrap();
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(1 << 40).max_dbs(1).max_readers(1022);
    // SAFETY: The directory is new and nobody else's.
    #[allow(unsafe_code)]
    let env = unsafe { options.flags(EnvFlags::NO_SYNC).open(path).unwrap() };
    let txn = env.write_txn().unwrap();
    let pairs = env
        .create_databases_and_commit(txn, |opener, txn| {
            opener.create_database(txn, Some("pairs")).map(CommitOrAbort::<_, ()>::Commit)
        })
        .unwrap()
        .unwrap_commit();
    (env, pairs)
}

fn lmdb(c: &mut Criterion) {
    let directory = tempfile::tempdir().unwrap();
    let store = LmdbStore::builder()
        .create(true)
        .durability(Durability::MayLoseEverything)
        .open(directory.path().join("store"))
        .unwrap();
    let (env, pairs) = raw(&directory.path().join("raw"));
    let value = [7; 100];
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    let mut txn = env.write_txn().unwrap();
    for key in sorted_keys() {
        tx.put(&key, &value).unwrap();
        pairs.put(&mut txn, &key, &value).unwrap();
    }
    tx.commit().unwrap();
    txn.commit().unwrap();

    let tx: Box<dyn KvTransaction + Send> = store.begin(&TxOptions::reading()).unwrap();
    let txn = env.read_txn().unwrap();

    let mut group = c.benchmark_group("lmdb get");
    let mut picks = Picks::new();
    group.bench_function("store", |b| {
        b.iter(|| black_box(tx.get(&picks.next()).unwrap().unwrap().len()));
    });
    let mut picks = Picks::new();
    group.bench_function("by hand", |b| {
        b.iter(|| black_box(pairs.get(&txn, &picks.next()).unwrap().unwrap().len()));
    });
    group.finish();

    let mut group = c.benchmark_group("lmdb seek and 10 steps");
    let mut picks = Picks::new();
    group.bench_function("store", |b| {
        b.iter(|| {
            let min = picks.next();
            let scan = tx.scan(KeySpan::new(&min, None), Direction::Forward).unwrap();
            scan.take(10).map(|pair| pair.unwrap()).map(|(k, v)| k.len() + v.len()).sum::<usize>()
        });
    });
    let mut picks = Picks::new();
    group.bench_function("by hand", |b| {
        b.iter(|| {
            let min = picks.next();
            let range = pairs.range(&txn, &(Bound::Included(&min[..]), Bound::Unbounded)).unwrap();
            range.take(10).map(|pair| pair.unwrap()).map(|(k, v)| k.len() + v.len()).sum::<usize>()
        });
    });
    group.finish();

    let mut group = c.benchmark_group("lmdb full scan");
    group.sample_size(20).throughput(Throughput::Elements(PAIRS));
    group.bench_function("store", |b| {
        b.iter(|| {
            let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
            scan.map(|pair| pair.unwrap()).map(|(k, v)| k.len() + v.len()).sum::<usize>()
        });
    });
    group.bench_function("by hand", |b| {
        b.iter(|| {
            let iter = pairs.iter(&txn).unwrap();
            iter.map(|pair| pair.unwrap()).map(|(k, v)| k.len() + v.len()).sum::<usize>()
        });
    });
    group.finish();
    drop((tx, txn));

    let mut group = c.benchmark_group("lmdb 10,000 puts and commit");
    group.sample_size(20).throughput(Throughput::Elements(BATCH));
    let mut picks = Picks::new();
    group.bench_function("store", |b| {
        b.iter(|| {
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            (0..BATCH).for_each(|_| tx.put(&picks.next(), &value).unwrap());
            tx.commit().unwrap();
        });
    });
    let mut picks = Picks::new();
    group.bench_function("by hand", |b| {
        b.iter(|| {
            let mut txn = env.write_txn().unwrap();
            (0..BATCH).for_each(|_| pairs.put(&mut txn, &picks.next(), &value).unwrap());
            txn.commit().unwrap();
        });
    });
    group.finish();

    let mut group = c.benchmark_group("lmdb one put and commit without sync");
    let mut picks = Picks::new();
    group.bench_function("store", |b| {
        b.iter(|| {
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            tx.put(&picks.next(), &value).unwrap();
            tx.commit().unwrap();
        });
    });
    let mut picks = Picks::new();
    group.bench_function("by hand", |b| {
        b.iter(|| {
            let mut txn = env.write_txn().unwrap();
            pairs.put(&mut txn, &picks.next(), &value).unwrap();
            txn.commit().unwrap();
        });
    });
    group.finish();
}

/// Gets on several threads at once; the time is that of one get on one thread.
fn get_on_threads(group: &mut BenchmarkGroup<'_, WallTime>, store: &MemoryStore, threads: u64) {
    group.bench_function(format!("{threads}"), |b| {
        b.iter_custom(|gets| {
            let slowest = std::thread::scope(|scope| {
                let running: Vec<_> = (0..threads)
                    .map(|thread| {
                        scope.spawn(move || {
                            let mut picks = Picks(StdRng::seed_from_u64(thread));
                            let tx = store.begin(&TxOptions::reading()).unwrap();
                            let start = Instant::now();
                            for _ in 0..gets {
                                black_box(tx.get(&picks.next()).unwrap().unwrap().len());
                            }
                            start.elapsed()
                        })
                    })
                    .collect();
                running.into_iter().map(|thread| thread.join().unwrap()).max()
            });
            slowest.unwrap_or(Duration::ZERO)
        });
    });
}

fn memory(c: &mut Criterion) {
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    sorted_keys().iter().for_each(|key| tx.put(key, &[7; 100]).unwrap());
    tx.commit().unwrap();

    let mut group = c.benchmark_group("memory get, threads");
    get_on_threads(&mut group, &store, 1);
    get_on_threads(&mut group, &store, 2);
    group.finish();

    let mut group = c.benchmark_group("memory");
    group.sample_size(20).throughput(Throughput::Elements(PAIRS));
    let tx = store.begin(&TxOptions::reading()).unwrap();
    group.bench_function("full scan", |b| {
        b.iter(|| {
            let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
            scan.map(|pair| pair.unwrap()).map(|(k, v)| k.len() + v.len()).sum::<usize>()
        });
    });
    drop(tx);
    group.throughput(Throughput::Elements(BATCH));
    let mut picks = Picks::new();
    group.bench_function("10,000 puts and commit", |b| {
        b.iter(|| {
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            (0..BATCH).for_each(|_| tx.put(&picks.next(), &[8; 100]).unwrap());
            tx.commit().unwrap();
        });
    });
    group.finish();
}

/// The median in nanoseconds that criterion has noted for a benchmark.
fn median(group: &str, name: &str) -> Option<f64> {
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "../target".to_owned());
    let group = group.replace(' ', "_").replace(',', "");
    let estimates = [group.clone(), group.replace('_', " ")].into_iter().find_map(|group| {
        let path = Path::new(&target).join("criterion").join(group).join(name);
        std::fs::read(path.join("new/estimates.json")).ok()
    })?;
    let estimates: serde_json::Value = serde_json::from_slice(&estimates).ok()?;
    estimates["median"]["point_estimate"].as_f64()
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    lmdb(&mut criterion);
    memory(&mut criterion);
    criterion.final_summary();
    println!("\nmedians, store : by hand");
    for group in [
        "lmdb get",
        "lmdb seek and 10 steps",
        "lmdb full scan",
        "lmdb 10,000 puts and commit",
        "lmdb one put and commit without sync",
    ] {
        if let (Some(store), Some(hand)) = (median(group, "store"), median(group, "by hand")) {
            println!("{group:38} {store:12.0} ns : {hand:12.0} ns = {:.3}", store / hand);
        }
    }
    if let (Some(one), Some(two)) =
        (median("memory get, threads", "1"), median("memory get, threads", "2"))
    {
        println!("memory: two threads do {:.2} times the gets of one", 2.0 * one / two);
    }
}
