//! The tree against `BTreeMap`, and the special properties of this store.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Barrier;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(rng: &mut StdRng) -> Vec<u8> {
    let len = rng.random_range(0..4);
    (0..len)
        .map(|_| *[0, 1, 2, 5, 0x7f, 0x80, 0xfe, 0xff].get(rng.random_range(0..8)).unwrap())
        .collect()
}

fn long_key(rng: &mut StdRng) -> Vec<u8> {
    rng.random_range(0..4000u32).to_be_bytes().to_vec()
}

/// Keys with much in common, some of which are too long to lie in a block.
fn wide_key(rng: &mut StdRng) -> Vec<u8> {
    let start = *[0, 3, 60, 70, 200].get(rng.random_range(0..5)).unwrap();
    [vec![7; start], rng.random_range(0..300u16).to_be_bytes().to_vec()].concat()
}

fn value(rng: &mut StdRng, step: usize) -> Vec<u8> {
    let len = if rng.random_ratio(1, 10) { 300 } else { 5 };
    vec![step as u8; rng.random_range(0..len)]
}

fn pairs<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Vec<(Vec<u8>, Vec<u8>)> {
    pairs.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

fn compare(tree: &Tree, model: &Model, rng: &mut StdRng, key: fn(&mut StdRng) -> Vec<u8>) {
    tree.check();
    assert_eq!(tree.len(), model.len());
    assert_eq!(tree.bytes(), model.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>());
    let (mut min, mut max) = (key(rng), Some(key(rng)).filter(|_| rng.random_ratio(3, 4)));
    if max.as_ref().is_some_and(|max| *max < min) {
        std::mem::swap(&mut min, max.as_mut().unwrap());
    }
    let inside = |k: &Vec<u8>| *k >= min && max.as_ref().is_none_or(|max| k < max);
    let expected: Vec<_> =
        model.iter().filter(|(k, _)| inside(k)).map(|(k, v)| (k.clone(), v.clone())).collect();
    assert_eq!(pairs(tree.ascend(&min, max.as_deref()).unwrap()), expected);
    assert_eq!(
        pairs(tree.descend(&min, max.as_deref()).unwrap()),
        expected.iter().rev().cloned().collect::<Vec<_>>()
    );
    let seen = MemorySnapshot { tree: tree.clone() };
    assert_eq!(
        seen.at_least(&min, max.as_deref()).unwrap().map(|p| p.0.to_vec()),
        expected.first().map(|p| p.0.clone())
    );
    assert_eq!(
        seen.at_most(&min, max.as_deref()).unwrap().map(|p| p.0.to_vec()),
        expected.last().map(|p| p.0.clone())
    );
    let (probe, near) = (key(rng), key(rng));
    let both = tree.get(&probe).map(|value| (value, tree.get(&near)));
    assert_eq!(tree.get_near(&probe, &near), both);
    let close = [&probe[..], &[1]].concat();
    let both = tree.get(&probe).map(|value| (value, tree.get(&close)));
    assert_eq!(tree.get_near(&probe, &close), both);
    let mut shown = Vec::new();
    let broke = tree.ascend(&min, max.as_deref()).unwrap().show(|key, value| {
        shown.push((key.to_vec(), value.to_vec()));
        if shown.len() == 100 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(
        (broke.is_break(), &shown[..]),
        (expected.len() >= 100, &expected[..expected.len().min(100)])
    );
    shown.clear();
    let broke = tree.descend(&min, max.as_deref()).unwrap().show(|key, value| {
        shown.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    });
    assert!(broke.is_continue() && shown.iter().rev().eq(&expected));
    assert_eq!(tree.get(&probe).map(<[u8]>::to_vec), model.get(&probe).cloned());
}

fn run(seed: u64, steps: usize, key: fn(&mut StdRng) -> Vec<u8>) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut tree = Tree::default();
    let mut model = Model::new();
    let mut kept: Vec<(Tree, Model)> = Vec::new();
    for step in 0..steps {
        match rng.random_range(0..100) {
            0..60 => {
                let (k, v) = (key(&mut rng), value(&mut rng, step));
                tree.insert(&k, &v).unwrap();
                model.insert(k, v);
            }
            60..95 => {
                let k = key(&mut rng);
                tree.remove(&k);
                model.remove(&k);
            }
            95..97 => {
                let (a, b) = (key(&mut rng), key(&mut rng));
                let (min, max) = if a <= b { (a, b) } else { (b, a) };
                let max = Some(max).filter(|_| rng.random_ratio(9, 10));
                tree.remove_range(&min, max.as_deref());
                model.retain(|k, _| *k < min || max.as_ref().is_some_and(|max| k >= max));
            }
            _ => {
                if kept.len() > 3 {
                    kept.remove(0);
                }
                kept.push((tree.clone(), model.clone()));
            }
        }
        if step % 7 == 0 {
            compare(&tree, &model, &mut rng, key);
            for (tree, model) in &kept {
                compare(tree, model, &mut rng, key);
            }
        }
    }
}

#[test]
fn tree_equals_a_sorted_map_with_snapshots() {
    let count = std::env::var("PERMAZEN_HISTORIES").map_or(3, |count| count.parse().unwrap());
    for seed in 0..count {
        run(seed, 1500, key);
        run(seed, 3000, long_key);
        run(seed, 500, wide_key);
    }
}

#[test]
fn keys_in_order_leave_full_leaves_and_can_all_go_again() {
    let mut tree = Tree::default();
    for i in 0..20_000u32 {
        tree.insert(&i.to_be_bytes(), b"x").unwrap();
    }
    tree.check();
    for i in (0..20_000u32).filter(|i| i % 1000 != 0) {
        tree.remove(&i.to_be_bytes());
    }
    tree.check();
    assert_eq!(tree.len(), 20);
    tree.remove_range(&[], None);
    tree.check();
    assert_eq!((tree.len(), tree.bytes()), (0, 0));
}

/// In trees of three levels, whole subtrees are removed: at the start, at the end, in the middle.
#[test]
fn large_ranges_leave_a_tree_that_finds_everything() {
    const KEYS: u32 = 12_000;
    let full: Model = (0..KEYS).map(|i| (i.to_be_bytes().to_vec(), vec![1])).collect();
    let mut tree = Tree::default();
    full.iter().for_each(|(key, value)| tree.insert(key, value).unwrap());
    let bound = |at: u32| at.to_be_bytes().to_vec();
    let mut rng = StdRng::seed_from_u64(7);
    let mut ranges: Vec<(Vec<u8>, Option<Vec<u8>>)> = Vec::new();
    for left in [1, 2, 11, 12, 13, 47, 48, 49, 50, 500, 3000, 6000] {
        ranges.push((Vec::new(), Some(bound(KEYS - left))));
        ranges.push((bound(0), Some(bound(KEYS - left))));
        ranges.push((bound(left), None));
        ranges.push((bound(left), Some(bound(KEYS - left / 2))));
    }
    for _ in 0..20 {
        let (a, b) = (rng.random_range(0..KEYS), rng.random_range(0..KEYS));
        ranges.push((bound(a.min(b)), Some(bound(a.max(b)))));
    }
    for (min, max) in ranges {
        let (mut tree, mut model) = (tree.clone(), full.clone());
        // Removes a range, then others from the rest, and puts keys back where the range was.
        for round in 0..3 {
            let (min, max) = if round == 0 {
                (min.clone(), max.clone())
            } else {
                let at = rng.random_range(0..KEYS);
                (bound(at), Some(bound(at.saturating_add(rng.random_range(0..KEYS / 3)))))
            };
            tree.remove_range(&min, max.as_deref());
            model.retain(|key, _| *key < min || max.as_ref().is_some_and(|max| key >= max));
            tree.check();
            let keys = tree.ascend(&[], None).unwrap().map(|(key, _)| key);
            assert!(keys.eq(model.keys()), "[{min:?}, {max:?})");
            assert!(model.keys().all(|key| tree.get(key).is_some()), "[{min:?}, {max:?})");
            for _ in 0..20 {
                let key = bound(rng.random_range(0..KEYS));
                tree.insert(&key, b"new").unwrap();
                model.insert(key, b"new".to_vec());
            }
            tree.check();
        }
        let entries = tree.ascend(&[], None).unwrap();
        assert!(entries.eq(model.iter().map(|(key, value)| (&key[..], &value[..]))));
    }
}

/// Which keys a transaction has written is known also after their leaves were split or merged.
#[test]
fn a_tree_knows_what_its_transaction_has_written() {
    for (seed, key) in [(1, key as fn(&mut StdRng) -> _), (2, long_key), (3, wide_key)] {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut before = Tree::default();
        for stamp in 1..40 {
            let mut tree = before.clone().for_changes(stamp);
            let mut written = BTreeSet::new();
            let mut snapshot = None;
            let number = rng.random_range(1..200);
            for step in 0..number {
                let key = key(&mut rng);
                match rng.random_range(0..10) {
                    // The same value counts as well.
                    0..3 => {
                        let value = tree.get(&key).unwrap_or_default().to_vec();
                        tree.insert(&key, &value).unwrap();
                        written.insert(key);
                    }
                    3..6 => {
                        tree.insert(&key, &value(&mut rng, step)).unwrap();
                        written.insert(key);
                    }
                    6..9 => {
                        tree.remove(&key);
                        written.insert(key);
                    }
                    _ => {
                        let max = [&key[..], &[1]].concat();
                        tree.remove_range(&key, Some(&max));
                        let gone = before.ascend(&key, Some(&max)).unwrap();
                        written.extend(gone.map(|(key, _)| key.to_vec()));
                        written.extend(
                            tree.ascend(&key, Some(&max)).unwrap().map(|(key, _)| key.to_vec()),
                        );
                    }
                }
                // While a snapshot holds the present version, leaves are copied once more.
                if step % 50 == 0 {
                    snapshot = Some(tree.clone());
                }
            }
            drop(snapshot);
            let all = before.ascend(&[], None).unwrap().chain(tree.ascend(&[], None).unwrap());
            for key in all.map(|(key, _)| key) {
                assert_eq!(tree.has_written(&before, key), written.contains(key), "{key:?}");
            }
            before = tree;
        }
    }
}

/// Each commit copies the leaf, and gives a value another place in its block.
#[test]
fn a_value_of_changing_length_can_be_rewritten_without_end() {
    let changes = std::env::var("PERMAZEN_CHANGES");
    let changes: usize = changes.map_or(1_500, |count| count.parse().unwrap());
    for (others, lengths) in [(0, [40, 41]), (0, [0, 128]), (60, [120, 60]), (63, [1, 2])] {
        let store = MemoryStore::new();
        let write = |key: &[u8], value: &[u8]| {
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            tx.put(key, value).unwrap();
            tx.commit().unwrap();
        };
        (0..others).for_each(|other: u8| write(&[other], &[other; 100]));
        for step in 0..changes {
            let value = vec![step as u8; lengths[step % 2]];
            write(b"key", &value);
            let seen = store.snapshot();
            seen.tree.check();
            assert_eq!(seen.get(b"key").unwrap().as_deref(), Some(&value[..]), "step {step}");
            for other in 0..others {
                let found = seen.get(&[other]).unwrap();
                assert_eq!(found.as_deref(), Some(&[other; 100][..]), "step {step}");
            }
        }
    }
}

/// A few pairs of a large tree are left. They must not lie in a leaf each.
#[test]
fn removed_keys_leave_few_nodes() {
    let mut rng = StdRng::seed_from_u64(5);
    let mut tree = Tree::default();
    let mut keys: Vec<[u8; 4]> = (0..60_000u32).map(|i| (i * 7919).to_be_bytes()).collect();
    keys.iter().for_each(|key| tree.insert(key, b"x").unwrap());
    while tree.len() > 100 {
        tree.remove(&keys.swap_remove(rng.random_range(0..keys.len())));
        if tree.len().is_multiple_of(5000) {
            assert!(
                tree.nodes() <= tree.len() / 8,
                "{} nodes for {} keys",
                tree.nodes(),
                tree.len()
            );
        }
    }
    assert!(tree.nodes() <= 12, "{} nodes", tree.nodes());
}

#[test]
fn a_large_tree_is_dropped_with_a_small_stack() {
    let mut tree = Tree::default();
    for i in 0..300_000_u32 {
        tree.insert(&i.to_be_bytes(), &[]).unwrap();
    }
    let thread = std::thread::Builder::new().stack_size(64 << 10);
    thread.spawn(move || drop(tree)).unwrap().join().unwrap();
}

/// Each commit gives all keys the same new value, and moves some others. Readers see one value.
#[test]
fn readers_see_one_version_while_others_commit() {
    const KEYS: u32 = 500;
    let store = MemoryStore::new();
    let commit = |number: u32| {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        for key in 0..KEYS {
            tx.put(&(key * 10).to_be_bytes(), &number.to_be_bytes()).unwrap();
            let other = (key * 10 + number % 10).to_be_bytes();
            if number.is_multiple_of(2) && !number.is_multiple_of(10) {
                tx.put(&other, &number.to_be_bytes()).unwrap();
            }
        }
        let old = number.saturating_sub(2).to_be_bytes();
        let stale: Vec<Vec<u8>> = tx
            .scan(KeySpan::FULL, Direction::Forward)
            .unwrap()
            .map(Result::unwrap)
            .filter(|(_, value)| **value <= old[..])
            .map(|(key, _)| key.into_owned())
            .collect();
        for key in stale {
            tx.remove(&key).unwrap();
        }
        tx.commit().unwrap();
    };
    commit(1);
    let start = Barrier::new(3);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                for round in 0..200 {
                    let seen = store.snapshot();
                    let number = seen.get(&0_u32.to_be_bytes()).unwrap().unwrap().into_owned();
                    for key in 0..KEYS {
                        let key = (key * 10).to_be_bytes();
                        assert_eq!(seen.get(&key).unwrap().unwrap(), number, "round {round}");
                    }
                    let pairs = seen.scan(KeySpan::FULL, Direction::Reverse).unwrap();
                    assert!(pairs.map(Result::unwrap).is_sorted_by(|a, b| a.0 > b.0));
                }
            });
        }
        start.wait();
        (2..100).for_each(commit);
    });
}

#[test]
fn a_second_writer_waits_its_turn_and_gives_up_in_time() {
    let store = MemoryStore::new();
    let first = store.begin(&TxOptions::writing()).unwrap();
    let wait = TxOptions::writing().with_wait(Duration::from_millis(1));
    assert!(store.begin(&wait).err().unwrap().is_retryable());
    assert!(store.begin(&TxOptions::reading()).is_ok());
    drop(first);
    assert!(store.begin(&wait).is_ok());
}

#[test]
fn a_snapshot_keeps_what_was_seen() {
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.put(b"a", b"1").unwrap();
    let snapshot = tx.snapshot().unwrap();
    tx.put(b"a", b"2").unwrap();
    tx.rollback();
    assert_eq!(snapshot.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    assert!(store.snapshot().get(b"a").unwrap().is_none());
    let shared: SharedRead = snapshot;
    let other = Arc::clone(&shared);
    std::thread::spawn(move || assert!(other.get(b"a").unwrap().is_some())).join().unwrap();
}
