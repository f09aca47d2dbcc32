//! What the overlay costs beside a plain map, and an optimistic commit beside a direct one.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use permazen_kv::memory::{MemorySnapshot, MemoryStore};
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::overlay::MutableView;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};

const COUNT: u64 = 10_000;

/// Well-spread keys of 16 bytes and values of 100.
fn pairs(count: u64, seed: u64) -> Vec<([u8; 16], [u8; 100])> {
    (0..count)
        .map(|i| {
            let high = (i ^ seed).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut key = [0; 16];
            key[..8].copy_from_slice(&high.rotate_left(31).to_be_bytes());
            key[8..].copy_from_slice(&i.to_be_bytes());
            (key, [i as u8; 100])
        })
        .collect()
}

fn filled() -> MemorySnapshot {
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for (key, value) in pairs(COUNT, 0) {
        tx.put(&key, &value).unwrap();
    }
    tx.commit().unwrap();
    store.snapshot()
}

fn overlay(c: &mut Criterion) {
    let own = pairs(COUNT, 77);
    let based = pairs(COUNT, 0);
    let base = filled();

    let mut group = c.benchmark_group("put");
    group.throughput(Throughput::Elements(COUNT));
    group.bench_function("BTreeMap", |b| {
        let fill = |mut map: BTreeMap<Vec<u8>, Vec<u8>>| {
            own.iter().for_each(|(key, value)| drop(map.insert(key.to_vec(), value.to_vec())));
            map
        };
        b.iter_batched(BTreeMap::new, fill, BatchSize::LargeInput);
    });
    group.bench_function("overlay", |b| {
        let fill = |mut view: MutableView<MemorySnapshot>| {
            own.iter().for_each(|(key, value)| view.put(key, value).unwrap());
            view
        };
        b.iter_batched(|| MutableView::new(base.clone()), fill, BatchSize::LargeInput);
    });
    group.finish();

    let map: BTreeMap<Vec<u8>, Vec<u8>> =
        own.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
    let mut view = MutableView::new(base.clone());
    own.iter().for_each(|(key, value)| view.put(key, value).unwrap());
    let mut group = c.benchmark_group("get");
    group.throughput(Throughput::Elements(COUNT));
    group.bench_function("BTreeMap", |b| {
        b.iter(|| own.iter().for_each(|(key, _)| _ = black_box(map.get(&key[..]))));
    });
    group.bench_function("overlay, own change", |b| {
        b.iter(|| own.iter().for_each(|(key, _)| drop(black_box(view.get(key).unwrap()))));
    });
    group.bench_function("base", |b| {
        b.iter(|| based.iter().for_each(|(key, _)| drop(black_box(base.get(key).unwrap()))));
    });
    group.bench_function("overlay, from base, untracked", |b| {
        let view = MutableView::untracked(base.clone());
        b.iter(|| based.iter().for_each(|(key, _)| drop(black_box(view.get(key).unwrap()))));
    });
    group.bench_function("overlay, from base, tracked", |b| {
        b.iter_batched(
            || MutableView::new(base.clone()),
            |view| {
                based.iter().for_each(|(key, _)| drop(black_box(view.get(key).unwrap())));
                view
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();

    let mut group = c.benchmark_group("scan");
    group.throughput(Throughput::Elements(COUNT));
    let count = |store: &dyn KvRead| {
        let scan = store.scan(KeySpan::FULL, Direction::Forward).unwrap();
        scan.map(Result::unwrap).count()
    };
    group.bench_function("base", |b| b.iter(|| count(&base)));
    group.bench_function("overlay, unchanged, tracked", |b| {
        b.iter(|| count(&MutableView::new(base.clone())));
    });
    group.bench_function("overlay, as many changes, tracked", |b| b.iter(|| count(&view)));
    group.finish();
}

#[cfg(feature = "lmdb")]
fn commit(c: &mut Criterion) {
    use permazen_kv::Durability;
    use permazen_kv::lmdb::LmdbStore;

    const WRITES: u64 = 1000;
    for (name, durability) in
        [("durable", Durability::Full), ("unflushed", Durability::MayLoseEverything)]
    {
        let mut group = c.benchmark_group(format!("commit of 1,000 writes on LMDB, {name}"));
        group.throughput(Throughput::Elements(WRITES)).sample_size(50);
        for optimistic in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let store =
                LmdbStore::builder().create(true).durability(durability).open(dir.path()).unwrap();
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            for (key, value) in pairs(10 * COUNT, 0) {
                tx.put(&key, &value).unwrap();
            }
            tx.commit().unwrap();
            let run = |db: &dyn KvDatabase, seed: u64| {
                let mut tx = db.begin(&TxOptions::writing()).unwrap();
                for (key, value) in pairs(WRITES, seed << 16) {
                    tx.put(&key, &value).unwrap();
                }
                tx.commit().unwrap();
            };
            let mut seed = 0;
            if optimistic {
                let db = OptimisticDatabase::new(store);
                group.bench_function("optimistic", |b| {
                    b.iter(|| {
                        seed += 1;
                        run(&db, seed);
                    });
                });
            } else {
                group.bench_function("direct", |b| {
                    b.iter(|| {
                        seed += 1;
                        run(&store, seed);
                    });
                });
            }
        }
        group.finish();
    }
}

#[cfg(not(feature = "lmdb"))]
fn commit(_: &mut Criterion) {}

criterion_group!(benches, overlay, commit);
criterion_main!(benches);
