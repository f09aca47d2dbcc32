//! The cost of the overlay compared with a plain map, and of an optimistic commit compared with a
//! direct one.
//!
//! `cargo bench -p permazen-kv --bench overlay`
#![allow(clippy::unwrap_used)]

mod rounds;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::ControlFlow;

use permazen_kv::memory::{MemorySnapshot, MemoryStore};
use permazen_kv::overlay::MutableView;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use rounds::{header, row, timed};

const COUNT: u64 = 10_000;

type Pairs = Vec<([u8; 16], [u8; 100])>;

/// Keys of 16 bytes, spread evenly, and values of 100 bytes.
fn pairs(count: u64, seed: u64) -> Pairs {
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

fn put_all(target: &mut dyn KvWrite, pairs: &Pairs) {
    pairs.iter().for_each(|(key, value)| target.put(key, value).unwrap());
}

fn get_all(source: &dyn KvRead, pairs: &Pairs) {
    pairs.iter().for_each(|(key, _)| drop(black_box(source.get(key).unwrap())));
}

fn visit_all(source: &dyn KvRead) {
    let mut count = 0;
    source
        .visit(KeySpan::FULL, Direction::Forward, &mut |_, _| {
            count += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    black_box(count);
}

fn scan_all(source: &dyn KvRead) {
    let scan = source.scan(KeySpan::FULL, Direction::Forward).unwrap();
    black_box(scan.map(|pair| pair.unwrap().0.len()).sum::<usize>());
}

fn filled() -> MemorySnapshot {
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    put_all(&mut *tx, &pairs(COUNT, 0));
    tx.commit().unwrap();
    store.snapshot()
}

fn overlay() {
    let (own, based) = (pairs(COUNT, 77), pairs(COUNT, 0));
    let base = filled();
    header("overlay of 10,000 pairs of 16 and 100 bytes", "overlay", "BTreeMap");
    let fill_map = || {
        let mut map: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        let time = timed(|| own.iter().for_each(|(k, v)| drop(map.insert(k.to_vec(), v.to_vec()))));
        (map, time)
    };
    let fill_view = || {
        let mut view = MutableView::new(base.clone());
        let time = timed(|| put_all(&mut view, &own));
        (view, time)
    };
    row("put", COUNT, Some(1.5), || fill_view().1, || fill_map().1);
    let (map, view) = (fill_map().0, fill_view().0);
    let get_from_map =
        || timed(|| own.iter().for_each(|(key, _)| _ = black_box(map.get(&key[..]))));
    row("get, own change", COUNT, Some(1.5), || timed(|| get_all(&view, &own)), get_from_map);

    header("overlay beside the snapshot it lies on", "overlay", "snapshot");
    let tracked = || MutableView::new(base.clone());
    let untracked = || MutableView::untracked(base.clone());
    let get_from_base = || timed(|| get_all(&base, &based));
    let get = |view: MutableView<MemorySnapshot>| timed(|| get_all(&view, &based));
    row("get, tracked", COUNT, None, || get(tracked()), get_from_base);
    row("get, untracked", COUNT, None, || get(untracked()), get_from_base);
    let visit_base = || timed(|| visit_all(&base));
    let visit = |view: MutableView<MemorySnapshot>| timed(|| visit_all(&view));
    row("visit, tracked", COUNT, None, || visit(tracked()), visit_base);
    row("visit, untracked", COUNT, None, || visit(untracked()), visit_base);
    row("visit, as many changes", 2 * COUNT, None, || timed(|| visit_all(&view)), visit_base);
    let scan_base = || timed(|| scan_all(&base));
    let scan = |view: MutableView<MemorySnapshot>| timed(|| scan_all(&view));
    row("scan, tracked", COUNT, None, || scan(tracked()), scan_base);
    row("scan, untracked", COUNT, None, || scan(untracked()), scan_base);
    row("scan, as many changes", 2 * COUNT, None, || timed(|| scan_all(&view)), scan_base);
}

#[cfg(feature = "lmdb")]
fn commit() {
    use permazen_kv::Durability;
    use permazen_kv::lmdb::LmdbStore;
    use permazen_kv::optimistic::OptimisticDatabase;

    const WRITES: u64 = 1000;
    header("commit of 1,000 writes on LMDB with 100,000 pairs", "optimistic", "direct");
    for (name, durability) in
        [("durable", Durability::Full), ("unflushed", Durability::MayLoseEverything)]
    {
        let dir = tempfile::tempdir().unwrap();
        let open = |name: &str| {
            let builder = LmdbStore::builder().create(true).durability(durability);
            let store = builder.open(dir.path().join(name)).unwrap();
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            put_all(&mut *tx, &pairs(10 * COUNT, 0));
            tx.commit().unwrap();
            store
        };
        let (direct, optimistic) = (open("direct"), OptimisticDatabase::new(open("optimistic")));
        let run = |db: &dyn KvDatabase, round: &mut u64| {
            *round += 1;
            let pairs = pairs(WRITES, *round << 16);
            timed(|| {
                let mut tx = db.begin(&TxOptions::writing()).unwrap();
                put_all(&mut *tx, &pairs);
                tx.commit().unwrap();
            })
        };
        let (mut ours, mut theirs) = (0, 0);
        let (ours, theirs) = (|| run(&optimistic, &mut ours), || run(&direct, &mut theirs));
        row(name, WRITES, Some(1.3), ours, theirs);
    }
}

#[cfg(not(feature = "lmdb"))]
fn commit() {}

fn main() {
    overlay();
    commit();
}
