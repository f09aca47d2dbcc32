//! Rows 11, 12, 29 to 36, 46 and 47: changing a sorted byte map.

use super::{Fixture, Tx, committed, dump, put_all};
use crate::{Direction, KeySpan, KvError, KvRead, TxOptions, Writes};

fn begin<'db>(fixture: &'db Fixture, keys: &[u8]) -> Tx<'db> {
    let mut tx = fixture.store().begin(&TxOptions::writing()).unwrap();
    keys.iter().for_each(|key| tx.put(&[*key], &[*key]).unwrap());
    tx
}

/// The first bytes of all keys.
fn keys<K: KvRead + ?Sized>(source: &K) -> Vec<u8> {
    dump(source).into_iter().map(|(key, _)| key[0]).collect()
}

/// Removing an absent key does nothing.
pub fn t011_remove_absent(fixture: &mut Fixture) {
    let mut tx = begin(fixture, &[1, 2]);
    tx.remove(&[3]).unwrap();
    tx.remove(&[1, 0]).unwrap();
    tx.remove(b"").unwrap();
    assert_eq!(keys(&*tx), [1, 2]);
}

/// A removed key is absent in every way of reading.
pub fn t012_removed_is_gone(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(&[1], b"old"), (&[2], b"old"), (&[3], b"old")]);
    let mut tx = begin(fixture, &[]);
    tx.remove(&[2]).unwrap();
    assert!(tx.get(&[2]).unwrap().is_none());
    assert_eq!(keys(&*tx), [1, 3]);
    assert_eq!(tx.at_least(&[2], None).unwrap().unwrap().0[..], [3]);
    assert_eq!(tx.at_most(b"", Some(&[3])).unwrap().unwrap().0[..], [1]);
    tx.commit().unwrap();
    assert_eq!(committed(fixture.store()).len(), 2);
}

/// Removes the current pair of a walk, in both directions.
pub fn t029_remove_while_walking(fixture: &mut Fixture) {
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut tx = begin(fixture, &[1, 2, 3, 4, 5, 6]);
        let mut seen = Vec::new();
        while let Some(key) = step(&*tx, direction, seen.last().copied()) {
            if key % 2 == 0 {
                tx.remove(&[key]).unwrap();
            }
            seen.push(key);
        }
        let mut expected = vec![1, 2, 3, 4, 5, 6];
        if direction == Direction::Reverse {
            expected.reverse();
        }
        assert_eq!(seen, expected);
        assert_eq!(keys(&*tx), [1, 3, 5]);
    }
}

/// A walk that asks for one pair after the other sees the current content of the store.
pub fn t031_walk_sees_changes(fixture: &mut Fixture) {
    let mut tx = begin(fixture, &[10, 20, 30, 40]);
    assert_eq!(step(&*tx, Direction::Forward, None), Some(10));
    tx.put(&[11], b"").unwrap();
    tx.remove(&[20]).unwrap();
    tx.put(&[5], b"").unwrap();
    let mut last = 10;
    let next = || step(&*tx, Direction::Forward, Some(last)).inspect(|key| last = *key);
    assert_eq!(std::iter::from_fn(next).collect::<Vec<_>>(), [11, 30, 40]);
}

/// The first byte of the key after that with the byte `last`, or of the first key.
fn step<K: KvRead + ?Sized>(source: &K, direction: Direction, last: Option<u8>) -> Option<u8> {
    let pair = match (direction, last) {
        (Direction::Forward, last) => source.at_least(&[last.map_or(0, |last| last + 1)], None),
        (Direction::Reverse, None) => source.at_most(b"", None),
        (Direction::Reverse, Some(last)) => source.at_most(b"", Some(&[last])),
    };
    pair.unwrap().map(|(key, _)| key[0])
}

/// A removed span includes its lower bound and excludes its upper bound.
pub fn t032_remove_span_bounds(fixture: &mut Fixture) {
    let mut tx = begin(fixture, &[1, 2, 3, 4]);
    tx.remove_span(KeySpan::new(&[2], Some(&[4]))).unwrap();
    assert_eq!(keys(&*tx), [1, 4]);
}

/// Removing everything.
pub fn t033_remove_everything(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"", b""), (b"a", b""), (&[0xfe], b"")]);
    let mut tx = begin(fixture, &[1, 2]);
    tx.remove_span(KeySpan::FULL).unwrap();
    assert!(dump(&*tx).is_empty());
    tx.put(b"new", b"").unwrap();
    tx.commit().unwrap();
    assert_eq!(committed(fixture.store()).len(), 1);
}

/// Removes up to a key, and from a key on.
pub fn t034_remove_span_open_ended(fixture: &mut Fixture) {
    let mut tx = begin(fixture, &[1, 2, 3, 4, 5]);
    tx.put(b"", b"").unwrap();
    tx.remove_span(KeySpan::new(&[], Some(&[2]))).unwrap();
    assert_eq!(keys(&*tx), [2, 3, 4, 5]);
    tx.remove_span(KeySpan::new(&[4], None)).unwrap();
    assert_eq!(keys(&*tx), [2, 3]);
}

/// An empty span removes nothing. Reversed bounds are refused.
pub fn t035_remove_span_empty_or_reversed(fixture: &mut Fixture) {
    let mut tx = begin(fixture, &[1, 2]);
    tx.put(b"", b"").unwrap();
    tx.remove_span(KeySpan::new(&[1], Some(&[1]))).unwrap();
    tx.remove_span(KeySpan::new(&[], Some(&[]))).unwrap();
    let error = tx.remove_span(KeySpan::new(&[2], Some(&[1]))).unwrap_err();
    assert!(matches!(error, KvError::InvalidArgument(_)), "{error}");
    assert_eq!(dump(&*tx).len(), 3);
    tx.commit().expect("the transaction is still usable");
}

/// A pair that is put after its span was removed remains.
pub fn t036_remove_span_then_put(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(&[1], b"old"), (&[2], b"old"), (&[3], b"old"), (&[9], b"old")]);
    let mut tx = begin(fixture, &[]);
    tx.remove_span(KeySpan::new(&[1], Some(&[5]))).unwrap();
    tx.put(&[2], b"new").unwrap();
    assert_eq!(keys(&*tx), [2, 9]);
    tx.commit().unwrap();
    assert_eq!(
        committed(fixture.store()),
        [(vec![2], b"new".to_vec()), (vec![9], b"old".to_vec())]
    );
}

/// A set of changes whose removes, puts and adjusts overlap.
fn changes() -> Writes {
    let mut writes = Writes::default();
    writes.removes.add(KeySpan::new(&[2], Some(&[4])));
    writes.removes.add_key(&[7]);
    writes.puts.insert(vec![3], vec![33]);
    writes.puts.insert(vec![5], 10i64.to_be_bytes().to_vec());
    writes.adjusts.insert(vec![5], -3);
    writes.adjusts.insert(vec![8], 5);
    writes.adjusts.insert(vec![2], 5);
    writes
}

/// Applying a set of changes has the same result as making them one by one in order.
pub fn t046_apply_is_its_parts(fixture: &mut Fixture) {
    let start = |fixture: &Fixture| {
        let mut tx = begin(fixture, &[1, 2, 3, 6, 7]);
        tx.put(&[8], &100i64.to_be_bytes()).unwrap();
        tx.commit().unwrap();
    };
    start(fixture);
    let mut tx = begin(fixture, &[]);
    tx.apply(&changes()).unwrap();
    let whole = dump(&*tx);
    tx.commit().unwrap();
    assert_eq!(committed(fixture.store()), whole);

    start(fixture);
    let mut tx = begin(fixture, &[]);
    tx.remove_span(KeySpan::new(&[2], Some(&[4]))).unwrap();
    tx.remove(&[7]).unwrap();
    tx.put(&[3], &[33]).unwrap();
    tx.put(&[5], &10i64.to_be_bytes()).unwrap();
    tx.adjust_counter(&[5], -3).unwrap();
    tx.adjust_counter(&[8], 5).unwrap();
    tx.adjust_counter(&[2], 5).unwrap();
    assert_eq!(dump(&*tx), whole);
    assert_eq!(keys(&*tx), [1, 3, 5, 6, 8]);
    assert_eq!(tx.get(&[5]).unwrap().as_deref(), Some(&7i64.to_be_bytes()[..]));
}

/// A put overrides a remove of the same set.
pub fn t047_apply_put_wins_over_remove(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(&[3], b"old"), (&[2], b"old")]);
    let mut tx = begin(fixture, &[]);
    tx.apply(&changes()).unwrap();
    assert_eq!(tx.get(&[3]).unwrap().as_deref(), Some(&[33][..]));
    assert!(tx.get(&[2]).unwrap().is_none());
}

/// Sizes at which stores change the way they store a pair.
pub fn large_values_and_long_keys(fixture: &mut Fixture) {
    let mut tx = begin(fixture, &[]);
    let longest = tx.max_key_len();
    let mut pairs = Vec::new();
    for (i, size) in
        [0, 1, 100, 1000, 2000, 2030, 4000, 5000, 100_000, 3_000_000].into_iter().enumerate()
    {
        pairs.push((vec![i as u8; (1 << i).min(longest)], vec![i as u8; size]));
    }
    pairs.push((vec![200; longest.min(100_000)], vec![1]));
    for (key, value) in &pairs {
        tx.put(key, value).unwrap();
    }
    assert!(dump(&*tx) == pairs);
    tx.commit().unwrap();
    assert!(committed(fixture.store()) == pairs);
    let Some(too_long) = longest.checked_add(1).filter(|len| *len < 1 << 24) else { return };
    let mut tx = begin(fixture, &[]);
    let error = tx.put(&vec![7; too_long], b"").unwrap_err();
    assert!(
        matches!(error, KvError::KeyTooLong { len, max, .. } if len == too_long && max == longest)
    );
    assert!(tx.get(&vec![7; too_long]).unwrap().is_none());
    tx.remove(&vec![7; too_long]).unwrap();
    tx.put(b"short", b"").unwrap();
    tx.commit().unwrap();
}
