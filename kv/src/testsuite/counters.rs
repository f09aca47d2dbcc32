//! Rows 37 to 45 and 65: counters.

use super::fixture::Rival;
use super::{Fixture, Tx, dump, get, put_all, write};
use crate::{KvError, KvRead, TxOptions};

const EDGES: [i64; 7] = [i64::MIN, -1_000_000, -1, 0, 1, 0x1234_5678, i64::MAX];

fn begin(fixture: &Fixture) -> Tx {
    fixture.store().begin(&TxOptions::writing()).unwrap()
}

fn counter<K: KvRead + ?Sized>(source: &K, key: &[u8]) -> i64 {
    source.decode_counter(&source.get(key).unwrap().unwrap()).unwrap()
}

/// Counters are big-endian in two's complement.
pub fn t037_counter_encoding(fixture: &mut Fixture) {
    let tx = begin(fixture);
    assert_eq!(tx.encode_counter(0), [0; 8]);
    assert_eq!(tx.encode_counter(-1), [0xff; 8]);
    assert_eq!(tx.encode_counter(1234), [0, 0, 0, 0, 0, 0, 4, 0xd2]);
}

/// Decoding reverses encoding.
pub fn t038_counter_round_trip(fixture: &mut Fixture) {
    let tx = begin(fixture);
    for count in EDGES {
        assert_eq!(tx.decode_counter(&tx.encode_counter(count)).unwrap(), count);
    }
}

/// A counter has eight bytes.
pub fn t039_counter_of_other_length(fixture: &mut Fixture) {
    let tx = begin(fixture);
    for len in [0, 1, 7, 9, 16] {
        let error = tx.decode_counter(&vec![0; len]).unwrap_err();
        assert!(matches!(error, KvError::InvalidArgument(_)), "{error}");
    }
}

/// An adjusted counter is seen at once, by `get` and by scans.
pub fn t040_adjust_is_visible(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"c", &100i64.to_be_bytes())]);
    let mut tx = begin(fixture);
    tx.adjust_counter(b"c", 5).unwrap();
    tx.adjust_counter(b"c", -50).unwrap();
    assert_eq!(counter(&*tx, b"c"), 55);
    assert_eq!(dump(&*tx)[0].1, tx.encode_counter(55));
    assert_eq!(tx.at_least(b"", None).unwrap().unwrap().1[..], tx.encode_counter(55));
    assert_eq!(tx.at_most(b"", None).unwrap().unwrap().1[..], tx.encode_counter(55));
    tx.adjust_counter(b"c", -55).unwrap();
    assert_eq!(counter(&*tx, b"c"), 0);
    tx.commit().unwrap();
    assert_eq!(get(fixture.store(), b"c"), Some(vec![0; 8]));
}

/// Overflow wraps.
pub fn t041_adjust_wraps(fixture: &mut Fixture) {
    for start in EDGES {
        for by in EDGES {
            put_all(fixture.store(), &[(b"c", &start.to_be_bytes())]);
            let mut tx = begin(fixture);
            tx.adjust_counter(b"c", by).unwrap();
            assert_eq!(counter(&*tx, b"c"), start.wrapping_add(by));
            tx.commit().unwrap();
            let stored = get(fixture.store(), b"c").unwrap();
            assert_eq!(stored, start.wrapping_add(by).to_be_bytes());
        }
    }
}

/// An absent counter stays absent.
pub fn t042_adjust_absent(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"gone", &[0; 8])]);
    let mut tx = begin(fixture);
    tx.adjust_counter(b"never", 5).unwrap();
    tx.remove(b"gone").unwrap();
    tx.adjust_counter(b"gone", 5).unwrap();
    assert!(dump(&*tx).is_empty());
    tx.commit().unwrap();
    assert!(super::committed(fixture.store()).is_empty());
}

/// A value that is not a counter stays as it is.
pub fn t043_adjust_other_value(fixture: &mut Fixture) {
    let pairs: [(&[u8], &[u8]); 3] = [(b"a", b""), (b"b", b"1234567"), (b"c", b"123456789")];
    put_all(fixture.store(), &pairs);
    let mut tx = begin(fixture);
    tx.put(b"d", b"own").unwrap();
    for key in [b"a", b"b", b"c", b"d"] {
        tx.adjust_counter(key, 1).unwrap();
    }
    for (key, value) in pairs.into_iter().chain([(&b"d"[..], &b"own"[..])]) {
        assert_eq!(tx.get(key).unwrap().as_deref(), Some(value));
    }
    tx.commit().unwrap();
    assert_eq!(get(fixture.store(), b"b").as_deref(), Some(&b"1234567"[..]));
}

/// A put and an adjust add up.
pub fn t044_adjust_after_put(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"c", &7i64.to_be_bytes())]);
    let mut tx = begin(fixture);
    tx.put(b"c", &100i64.to_be_bytes()).unwrap();
    tx.adjust_counter(b"c", 5).unwrap();
    tx.commit().unwrap();
    assert_eq!(get(fixture.store(), b"c").unwrap(), 105i64.to_be_bytes());
}

/// A later put or remove overrides an adjust.
pub fn t045_adjust_before_put_or_remove(fixture: &mut Fixture) {
    put_all(fixture.store(), &[(b"c", &7i64.to_be_bytes()), (b"d", &7i64.to_be_bytes())]);
    let mut tx = begin(fixture);
    tx.adjust_counter(b"c", 5).unwrap();
    tx.put(b"c", &1i64.to_be_bytes()).unwrap();
    tx.adjust_counter(b"d", 5).unwrap();
    tx.remove(b"d").unwrap();
    tx.commit().unwrap();
    assert_eq!(get(fixture.store(), b"c").unwrap(), 1i64.to_be_bytes());
    assert_eq!(get(fixture.store(), b"d"), None);
}

/// Where counters are conflict-free, transactions that only adjust all commit. The sum is exact
/// everywhere.
pub fn t065_adjusts_do_not_conflict(fixture: &mut Fixture) {
    let store = fixture.store();
    put_all(store, &[(b"c", &5i64.to_be_bytes())]);
    let mut first = Rival::begin(store);
    let mut second = Rival::begin(store);
    first.step(|tx| tx.adjust_counter(b"c", 1));
    second.step(|tx| tx.adjust_counter(b"c", 2));
    let (first, second) = (first.commit(), second.commit());
    if store.capabilities().conflict_free_counters {
        assert!(first && second);
    }
    let expected = 5 + i64::from(first) + 2 * i64::from(second);
    assert_eq!(get(store, b"c").unwrap(), expected.to_be_bytes());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    write(store, |tx| tx.adjust_counter(b"c", 1));
                }
            });
        }
    });
    assert_eq!(get(store, b"c").unwrap(), (expected + 200).to_be_bytes());
}
