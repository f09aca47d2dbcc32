//! The tree against `BTreeMap`, and what is special about this store.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

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

fn pairs<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<(Vec<u8>, Vec<u8>)> {
    entries.map(|e| (e.key().to_vec(), e.value().to_vec())).collect()
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
    assert_eq!(pairs(tree.ascend(&min, max.as_deref())), expected);
    assert_eq!(
        pairs(tree.descend(&min, max.as_deref())),
        expected.iter().rev().cloned().collect::<Vec<_>>()
    );
    assert_eq!(
        at_least(tree, &min, max.as_deref()).map(|p| p.0.to_vec()),
        expected.first().map(|p| p.0.clone())
    );
    assert_eq!(
        at_most(tree, &min, max.as_deref()).map(|p| p.0.to_vec()),
        expected.last().map(|p| p.0.clone())
    );
    let probe = key(rng);
    assert_eq!(tree.get(&probe).map(|e| e.value().to_vec()), model.get(&probe).cloned());
}

fn run(seed: u64, steps: usize, key: fn(&mut StdRng) -> Vec<u8>) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut tree = Tree::default();
    let mut model = Model::new();
    let mut kept: Vec<(Tree, Model)> = Vec::new();
    for step in 0..steps {
        match rng.random_range(0..100) {
            0..60 => {
                let (k, v) = (key(&mut rng), vec![step as u8; rng.random_range(0..5)]);
                tree.insert(&k, &v);
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
    for seed in 0..8 {
        run(seed, 1500, key);
        run(seed, 3000, long_key);
    }
}

#[test]
fn keys_in_order_leave_full_leaves_and_can_all_go_again() {
    let mut tree = Tree::default();
    for i in 0..20_000u32 {
        tree.insert(&i.to_be_bytes(), b"x");
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
