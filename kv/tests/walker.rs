//! Stepping through a store that is written meanwhile (kv §7.4).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use permazen_kv::memory::MemoryStore;
use permazen_kv::{
    Direction, KeyRanges, KeySpan, KvDatabase, KvTransaction, KvWrite, TxOptions, Walker, Writes,
};

fn filled(store: &MemoryStore) -> Box<dyn KvTransaction + Send + '_> {
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for key in [10, 20, 30, 40, 50] {
        tx.put(&[key], &[key]).unwrap();
    }
    tx
}

fn rest(walker: &mut Walker, store: &dyn KvWrite) -> Vec<u8> {
    std::iter::from_fn(|| walker.step(store).unwrap().map(|(key, _)| key[0])).collect()
}

#[test]
fn bounds_and_directions() {
    let store = MemoryStore::new();
    let tx = filled(&store);
    let walk = |min: &[u8], max: Option<&[u8]>, direction| {
        rest(&mut Walker::new(KeySpan::new(min, max), direction).unwrap(), &*tx)
    };
    assert_eq!(walk(&[], None, Direction::Forward), [10, 20, 30, 40, 50]);
    assert_eq!(walk(&[], None, Direction::Reverse), [50, 40, 30, 20, 10]);
    assert_eq!(walk(&[20], Some(&[40]), Direction::Forward), [20, 30]);
    assert_eq!(walk(&[20], Some(&[40]), Direction::Reverse), [30, 20]);
    assert_eq!(walk(&[20], Some(&[20]), Direction::Forward), []);
    assert!(Walker::new(KeySpan::new(&[2], Some(&[1])), Direction::Forward).is_err());
}

#[test]
fn t029_t031_the_current_pair_and_others_change_between_steps() {
    let store = MemoryStore::new();
    let mut tx = filled(&store);
    let mut walker = Walker::new(KeySpan::FULL, Direction::Forward).unwrap();
    assert_eq!(walker.step(&tx).unwrap().unwrap().0[0], 10);
    tx.remove(&[10]).unwrap();
    tx.put(&[11], &[]).unwrap();
    tx.remove(&[20]).unwrap();
    assert_eq!(rest(&mut walker, &*tx), [11, 30, 40, 50]);
    assert!(walker.step(&tx).unwrap().is_none());

    let mut walker = Walker::new(KeySpan::FULL, Direction::Reverse).unwrap();
    assert_eq!(walker.step(&tx).unwrap().unwrap().0[0], 50);
    tx.remove(&[50]).unwrap();
    tx.put(&[45], &[]).unwrap();
    assert_eq!(rest(&mut walker, &*tx), [45, 40, 30, 11]);
}

#[test]
fn a_walk_can_be_moved_and_restarted() {
    let store = MemoryStore::new();
    let tx = filled(&store);
    let mut walker = Walker::new(KeySpan::new(&[20], Some(&[50])), Direction::Forward).unwrap();
    walker.seek(&[35]);
    assert_eq!(rest(&mut walker, &*tx), [40]);
    walker.seek(&[5]);
    assert_eq!(rest(&mut walker, &*tx), [20, 30, 40]);
    walker.restart();
    assert_eq!(rest(&mut walker, &*tx), [20, 30, 40]);

    let mut walker = Walker::new(KeySpan::new(&[20], Some(&[50])), Direction::Reverse).unwrap();
    walker.seek(&[40]);
    assert_eq!(rest(&mut walker, &*tx), [30, 20]);
    walker.seek(&[99]);
    assert_eq!(rest(&mut walker, &*tx), [40, 30, 20]);
}

#[test]
fn a_filter_is_skipped_through() {
    let store = MemoryStore::new();
    let mut tx = filled(&store);
    let mut writes = Writes::default();
    writes.puts.insert(vec![], vec![1]);
    tx.apply(&writes).unwrap();
    let filter: KeyRanges = [
        KeySpan::new(&[], Some(&[0])),
        KeySpan::new(&[15], Some(&[25])),
        KeySpan::new(&[40], Some(&[45])),
    ]
    .into_iter()
    .collect();
    for (direction, expected) in [
        (Direction::Forward, [None, Some(20), Some(40)]),
        (Direction::Reverse, [Some(40), Some(20), None]),
    ] {
        let mut walker = Walker::new(KeySpan::FULL, direction).unwrap();
        let found: Vec<Option<u8>> = std::iter::from_fn(|| {
            walker.step_in(&tx, &filter).unwrap().map(|(key, _)| key.first().copied())
        })
        .collect();
        assert_eq!(found, expected);
        assert!(walker.step_in(&tx, &filter).unwrap().is_none());
    }
}

#[test]
fn t046_t047_changes_are_made_in_order() {
    let store = MemoryStore::new();
    let mut tx = filled(&store);
    let mut writes = Writes::default();
    writes.removes.add(KeySpan::new(&[15], Some(&[35])));
    writes.removes.add_key(&[50]);
    writes.puts.insert(vec![20], 7_i64.to_be_bytes().to_vec());
    writes.adjusts.insert(vec![20], -9);
    writes.adjusts.insert(vec![30], 1);
    tx.apply(&writes).unwrap();
    let mut walker = Walker::new(KeySpan::FULL, Direction::Forward).unwrap();
    assert_eq!(rest(&mut walker, &*tx), [10, 20, 40]);
    assert_eq!(tx.get(&[20]).unwrap().unwrap()[..], (-2_i64).to_be_bytes());
}
