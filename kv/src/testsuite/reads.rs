//! Rows 1 to 28: reading a sorted byte map.

use super::{Fixture, Tx, dump, put_all};
use crate::{Direction, KeySpan, KvError, KvRead, Pair, TxOptions};

fn begin(fixture: &Fixture, keys: &[&[u8]]) -> Tx {
    let mut tx = fixture.store().begin(&TxOptions::writing()).unwrap();
    keys.iter().for_each(|key| tx.put(key, key).unwrap());
    tx
}

fn keys<K: KvRead + ?Sized>(
    source: &K,
    min: &[u8],
    max: Option<&[u8]>,
    direction: Direction,
) -> Vec<Vec<u8>> {
    let scan = source.scan(KeySpan::new(min, max), direction).unwrap();
    scan.map(|pair| pair.unwrap().0.into_owned()).collect()
}

fn at_least(tx: &Tx, min: &[u8], max: Option<&[u8]>) -> Option<Vec<u8>> {
    tx.at_least(min, max).unwrap().map(key_of)
}

fn at_most(tx: &Tx, min: &[u8], max: Option<&[u8]>) -> Option<Vec<u8>> {
    tx.at_most(min, max).unwrap().map(key_of)
}

/// The key of a pair that [`begin`] has put.
fn key_of((key, value): Pair<'_>) -> Vec<u8> {
    assert_eq!(key, value);
    key.into_owned()
}

/// `get` of a key that was never written.
pub fn t001_absent_key(fixture: &mut Fixture) {
    let tx = begin(fixture, &[]);
    for key in [&b""[..], b"k", &[0], &[0xfe; 100]] {
        assert!(tx.get(key).unwrap().is_none());
    }
}

/// `get_near` finds the same as two gets, wherever the second key is.
pub fn get_near_is_two_gets(fixture: &mut Fixture) {
    let object = |field: u8| vec![7, 7, field];
    let mut committed: Vec<Vec<u8>> = (0..40).filter(|n| n % 3 != 0).map(object).collect();
    committed.extend([vec![], vec![7, 7], vec![7, 8], vec![9]]);
    let mut asked = committed.clone();
    asked.extend([vec![0], vec![7], vec![7, 7, 200], vec![8], vec![10], vec![7; 5000]]);
    asked.extend((0..42).map(object));
    let as_gets = |source: &dyn KvRead| {
        for key in &asked {
            for near in &asked {
                let value = source.get(key).unwrap();
                let both = value.map(|value| (value, source.get(near).unwrap()));
                assert_eq!(source.get_near(key, near).unwrap(), both, "{key:?} {near:?}");
            }
        }
    };
    as_gets(&fixture.store().begin(&TxOptions::reading()).unwrap());
    let keys: Vec<&[u8]> = committed.iter().map(|key| &key[..]).collect();
    begin(fixture, &keys).commit().unwrap();
    for options in [TxOptions::reading(), TxOptions::writing()] {
        let mut tx = fixture.store().begin(&options).unwrap();
        as_gets(&tx);
        tx.put(&object(3), b"own").unwrap();
        tx.put(&object(4), b"other").unwrap();
        tx.remove(&object(5)).unwrap();
        tx.remove(&[7, 8]).unwrap();
        as_gets(&tx);
        if let Some(untracked) = tx.untracked() {
            as_gets(untracked);
        }
        if let Ok(snapshot) = tx.snapshot() {
            as_gets(&snapshot);
        }
    }
}

/// `get` returns the value that was put.
pub fn t002_value_is_returned(fixture: &mut Fixture) {
    let mut tx = begin(fixture, &[]);
    let value: Vec<u8> = (0..=255).collect();
    tx.put(b"k", &value).unwrap();
    assert_eq!(tx.get(b"k").unwrap().as_deref(), Some(&value[..]));
    tx.commit().unwrap();
    assert_eq!(super::get(fixture.store(), b"k"), Some(value));
}

/// A second put replaces the first.
pub fn t003_put_replaces(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"k", b"a much longer first value")]);
    let mut tx = begin(fixture, &[]);
    tx.put(b"k", b"2").unwrap();
    assert_eq!(dump(&*tx), [(b"k".to_vec(), b"2".to_vec())]);
    tx.put(b"k", b"3 is longer again").unwrap();
    tx.commit().unwrap();
    assert_eq!(super::committed(fixture.store()), [(b"k".to_vec(), b"3 is longer again".to_vec())]);
}

/// The empty key is a key like any other.
pub fn t004_empty_key(fixture: &mut Fixture) {
    let mut tx = begin(fixture, &[&[0]]);
    tx.put(b"", b"value").unwrap();
    assert_eq!(tx.get(b"").unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!(keys(&*tx, b"", None, Direction::Forward), [vec![], vec![0]]);
    tx.remove(b"").unwrap();
    assert_eq!(keys(&*tx, b"", None, Direction::Forward), [vec![0]]);
}

/// An empty value is not the same as an absent one.
pub fn t005_empty_value(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"k", b""), (b"", b"")]);
    let tx = begin(fixture, &[]);
    assert_eq!(tx.get(b"k").unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(tx.get(b"").unwrap().as_deref(), Some(&b""[..]));
    assert!(tx.get(b"l").unwrap().is_none());
    assert_eq!(dump(&*tx).len(), 2);
}

/// Zero bytes are part of keys and values.
pub fn t006_zero_bytes(fixture: &mut Fixture) {
    let names: [&[u8]; 5] = [&[], &[0], &[0, 0], &[1, 0, 2], &[1, 0, 2, 0]];
    let tx = begin(fixture, &names);
    for name in names {
        assert_eq!(tx.get(name).unwrap().as_deref(), Some(name));
    }
    assert_eq!(keys(&*tx, b"", None, Direction::Forward), names);
}

/// Bytes are unsigned.
pub fn t007_unsigned_order(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[0xfe, 1], &[0x7f, 1], &[0x80, 1]]);
    assert_eq!(
        keys(&*tx, b"", None, Direction::Forward),
        [[0x7f, 1], [0x80, 1], [0xfe, 1]].map(|key| key.to_vec())
    );
}

/// A prefix sorts before the keys that it is a prefix of.
pub fn t008_prefix_sorts_first(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[0, 0x81], &[0, 0x80, 0], &[0, 0x80]]);
    assert_eq!(
        keys(&*tx, b"", None, Direction::Forward),
        [vec![0, 0x80], vec![0, 0x80, 0], vec![0, 0x81]]
    );
}

/// The list of keys in the test suite of Java.
pub fn t009_sort_order(fixture: &mut Fixture) {
    let sorted: [&[u8]; 20] = [
        &[],
        &[0],
        &[0, 0],
        &[0, 1],
        &[0, 1, 0],
        &[0, 0x7f],
        &[0, 0x7f, 0],
        &[0, 0x80],
        &[0, 0x80, 0],
        &[0, 0x81],
        &[0, 0x81, 0],
        &[0, 0xff],
        &[0, 0xff, 0],
        &[1, 1],
        &[2, 1],
        &[0x7e, 1],
        &[0x7f, 1],
        &[0x80, 1],
        &[0xfe, 1],
        &[0xfe, 0xff],
    ];
    let mut mixed = sorted.to_vec();
    mixed.sort_by_key(|key| (key.iter().map(|byte| u32::from(*byte)).sum::<u32>() * 7919) % 31);
    let tx = begin(fixture, &mixed);
    assert_eq!(keys(&*tx, b"", None, Direction::Forward), sorted);
    let reversed: Vec<&[u8]> = sorted.into_iter().rev().collect();
    assert_eq!(keys(&*tx, b"", None, Direction::Reverse), reversed);
    tx.commit().unwrap();
    let tx = begin(fixture, &[]);
    assert_eq!(keys(&*tx, b"", None, Direction::Forward), sorted);
    assert!(dump(&*tx).iter().all(|(key, value)| key == value));
}

/// Keys that begin with `ff` work like others, or are refused with a regular error.
pub fn t010_keys_beginning_ff(fixture: &mut Fixture) {
    let mut tx = begin(fixture, &[b"a"]);
    let (low, high): (&[u8], &[u8]) = (&[0xff], &[0xff, 0xff]);
    match tx.put(low, low) {
        Ok(()) => {
            tx.put(high, high).unwrap();
            assert_eq!(tx.get(low).unwrap().as_deref(), Some(low));
            assert_eq!(at_least(&tx, low, None).as_deref(), Some(low));
            assert_eq!(at_least(&tx, &[0xff, 0], None).as_deref(), Some(high));
            assert_eq!(at_most(&tx, b"", None).as_deref(), Some(high));
            assert_eq!(at_most(&tx, b"", Some(high)).as_deref(), Some(low));
            assert_eq!(keys(&*tx, low, None, Direction::Reverse), [high, low]);
            tx.remove_span(KeySpan::new(low, None)).unwrap();
        }
        Err(error) => {
            assert!(matches!(error, KvError::InvalidArgument(_)), "{error}");
            assert!(matches!(tx.get(low), Err(KvError::InvalidArgument(_))));
            assert!(matches!(tx.remove(low), Err(KvError::InvalidArgument(_))));
            assert_eq!(at_least(&tx, low, None), None);
            assert_eq!(at_most(&tx, b"", Some(low)).as_deref(), Some(&b"a"[..]));
            assert!(keys(&*tx, low, None, Direction::Forward).is_empty());
            tx.remove_span(KeySpan::new(low, None)).unwrap();
        }
    }
    assert_eq!(dump(&*tx), [(b"a".to_vec(), b"a".to_vec())]);
}

/// The lower bound is included.
pub fn t013_at_least_is_inclusive(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[1], &[2], &[3]]);
    assert_eq!(at_least(&tx, &[2], None), Some(vec![2]));
}

/// Finds the next greater key if the bound itself is absent.
pub fn t014_at_least_finds_next(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[1], &[3]]);
    assert_eq!(at_least(&tx, &[2], None), Some(vec![3]));
    assert_eq!(at_least(&tx, &[1, 0], None), Some(vec![3]));
    assert_eq!(at_least(&tx, &[4], None), None);
}

/// The upper bound is excluded.
pub fn t015_at_least_excludes_max(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[1], &[3]]);
    assert_eq!(at_least(&tx, &[2], Some(&[3])), None);
    assert_eq!(at_least(&tx, &[2], Some(&[3, 0])), Some(vec![3]));
}

/// The first pair of all.
pub fn t016_at_least_of_all(fixture: &mut Fixture) {
    let mut tx = begin(fixture, &[]);
    assert_eq!(at_least(&tx, b"", None), None);
    tx.put(&[5], &[5]).unwrap();
    assert_eq!(at_least(&tx, b"", None), Some(vec![5]));
    tx.put(b"", b"").unwrap();
    assert_eq!(at_least(&tx, b"", None), Some(vec![]));
}

/// Nothing is between reversed bounds.
pub fn t017_at_least_reversed_bounds(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[1], &[2], &[3]]);
    assert_eq!(at_least(&tx, &[3], Some(&[1])), None);
    assert_eq!(at_least(&tx, &[2], Some(&[2])), None);
    assert_eq!(at_least(&tx, b"", Some(b"")), None);
}

/// The upper bound is excluded.
pub fn t018_at_most_excludes_max(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[1], &[2], &[3]]);
    assert_eq!(at_most(&tx, b"", Some(&[2])), Some(vec![1]));
    assert_eq!(at_most(&tx, b"", Some(&[2, 0])), Some(vec![2]));
    assert_eq!(at_most(&tx, b"", Some(&[9])), Some(vec![3]));
    assert_eq!(at_most(&tx, b"", Some(&[1])), None);
}

/// The lower bound is included.
pub fn t019_at_most_includes_min(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[1], &[3]]);
    assert_eq!(at_most(&tx, &[1], Some(&[3])), Some(vec![1]));
    assert_eq!(at_most(&tx, &[1, 0], Some(&[3])), None);
}

/// The last pair of all.
pub fn t020_at_most_of_all(fixture: &mut Fixture) {
    let mut tx = begin(fixture, &[]);
    assert_eq!(at_most(&tx, b"", None), None);
    tx.put(b"", b"").unwrap();
    assert_eq!(at_most(&tx, b"", None), Some(vec![]));
    tx.put(&[5], &[5]).unwrap();
    assert_eq!(at_most(&tx, b"", None), Some(vec![5]));
}

/// Nothing is between reversed bounds.
pub fn t021_at_most_reversed_bounds(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[1], &[2], &[3]]);
    assert_eq!(at_most(&tx, &[3], Some(&[1])), None);
    assert_eq!(at_most(&tx, &[2], Some(&[2])), None);
}

/// Nothing is before the empty key.
pub fn t022_at_most_below_empty_key(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[], &[1]]);
    assert_eq!(at_most(&tx, b"", Some(b"")), None);
}

/// Scans return exactly the pairs of the span, in both directions.
pub fn t023_t024_scan_both_ways(fixture: &mut Fixture) {
    let all: Vec<Vec<u8>> =
        (0..40u8).map(|i| if i % 3 == 0 { vec![i, 0] } else { vec![i] }).collect();
    let borrowed: Vec<&[u8]> = all.iter().map(|key| &key[..]).collect();
    let tx = begin(fixture, &borrowed);
    let bounds: [&[u8]; 9] = [&[], &[0], &[0, 0], &[5], &[6], &[6, 0], &[6, 0, 0], &[39], &[200]];
    for min in bounds {
        for max in bounds.map(Some).into_iter().chain([None]) {
            if max.is_some_and(|max| min > max) {
                continue;
            }
            let span = KeySpan::new(min, max);
            let mut expected: Vec<_> =
                all.iter().filter(|key| span.contains(key)).cloned().collect();
            assert_eq!(keys(&*tx, min, max, Direction::Forward), expected, "{span}");
            assert_eq!(at_least(&tx, min, max).as_ref(), expected.first(), "{span}");
            assert_eq!(at_most(&tx, min, max).as_ref(), expected.last(), "{span}");
            expected.reverse();
            assert_eq!(keys(&*tx, min, max, Direction::Reverse), expected, "{span}");
        }
    }
}

/// The smallest and the largest span.
pub fn t025_scan_empty_and_full(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[], &[1], &[2]]);
    for direction in [Direction::Forward, Direction::Reverse] {
        assert!(keys(&*tx, &[1], Some(&[1]), direction).is_empty());
        assert!(keys(&*tx, &[], Some(&[]), direction).is_empty());
        assert_eq!(keys(&*tx, &[], None, direction).len(), 3);
    }
}

/// Reversed bounds are refused when a scan begins.
pub fn t026_scan_reversed_bounds(fixture: &mut Fixture) {
    let mut tx = begin(fixture, &[&[1]]);
    for direction in [Direction::Forward, Direction::Reverse] {
        let error = tx.scan(KeySpan::new(&[2], Some(&[1])), direction).err().unwrap();
        assert!(matches!(error, KvError::InvalidArgument(_)), "{error}");
    }
    tx.put(&[3], &[3]).expect("the transaction is still usable");
}

/// The empty key as lower bound means "from the start".
pub fn t027_scan_from_empty_key(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[], &[1], &[2]]);
    assert_eq!(keys(&*tx, &[], Some(&[2]), Direction::Forward), [vec![], vec![1]]);
    assert_eq!(keys(&*tx, &[], Some(&[2]), Direction::Reverse), [vec![1], vec![]]);
}

/// A scan that has ended stays at its end.
pub fn t028_end_of_scan_lasts(fixture: &mut Fixture) {
    let tx = begin(fixture, &[&[1], &[2], &[3]]);
    for direction in [Direction::Forward, Direction::Reverse] {
        for max in [Some(&[3][..]), None, Some(&[1])] {
            let mut scan = tx.scan(KeySpan::new(&[1], max), direction).unwrap();
            while scan.next().is_some() {}
            assert!((0..3).all(|_| scan.next().is_none()));
        }
    }
}

/// Scans longer than any page or node.
pub fn t028_scans_of_many_pairs(fixture: &mut Fixture) {
    let all: Vec<[u8; 4]> = (0..3000u32).map(|i| (i * 3).to_be_bytes()).collect();
    let borrowed: Vec<&[u8]> = all.iter().map(|key| &key[..]).collect();
    let tx = begin(fixture, &borrowed);
    let (min, max) = (100u32.to_be_bytes(), 8000u32.to_be_bytes());
    let mut expected: Vec<_> =
        all.iter().filter(|key| **key >= min && **key < max).map(|key| key.to_vec()).collect();
    assert_eq!(keys(&*tx, &min, Some(&max), Direction::Forward), expected);
    expected.reverse();
    assert_eq!(keys(&*tx, &min, Some(&max), Direction::Reverse), expected);
    tx.commit().unwrap();
    let tx = fixture.store().begin(&TxOptions::reading()).unwrap();
    assert_eq!(keys(&*tx, &[], None, Direction::Forward), borrowed);
}
