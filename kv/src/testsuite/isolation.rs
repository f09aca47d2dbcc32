//! Rows 58 to 66: what two transactions must not both do.
//!
//! Transactions that take turns cannot run at the same time. Then the second does not begin, which
//! counts as failing.

use super::fixture::Rival;
use super::{Fixture, committed, get, put_all, write};
use crate::{Direction, KeySpan, KvDatabase, KvRead, TxOptions};

fn number(store: &dyn KvDatabase, key: &[u8]) -> i64 {
    get(store, key).map_or(0, |value| i64::from_be_bytes(value.try_into().unwrap()))
}

fn rivals(store: &dyn KvDatabase) -> (Rival, Rival) {
    (Rival::begin(store), Rival::begin(store))
}

/// Both read a key and write it.
pub fn t058_both_read_and_write(fixture: &mut Fixture) {
    let store = fixture.store();
    put_all(store, &[(b"k", &0i64.to_be_bytes())]);
    let (mut first, mut second) = rivals(store);
    first.read(b"k");
    second.read(b"k");
    first.put(b"k", 1);
    second.put(b"k", 2);
    match (first.commit(), second.commit()) {
        (true, true) => panic!("both were committed"),
        (true, false) => assert_eq!(number(store, b"k"), 1),
        (false, true) => assert_eq!(number(store, b"k"), 2),
        (false, false) => assert_eq!(number(store, b"k"), 0),
    }
}

/// Both add to the value that they have read.
pub fn t059_lost_update(fixture: &mut Fixture) {
    let store = fixture.store();
    put_all(store, &[(b"k", &5i64.to_be_bytes())]);
    let (mut first, mut second) = rivals(store);
    let old = (first.read(b"k"), second.read(b"k"));
    first.put(b"k", old.0.unwrap_or(0) + 1);
    second.put(b"k", old.1.unwrap_or(0) + 1);
    let done = i64::from(first.commit()) + i64::from(second.commit());
    assert!(done < 2, "both were committed");
    assert_eq!(number(store, b"k"), 5 + done);
}

/// Both read two keys, each writes one of them.
pub fn t060_write_skew(fixture: &mut Fixture) {
    let store = fixture.store();
    let (mut first, mut second) = rivals(store);
    for rival in [&mut first, &mut second] {
        rival.read(b"x");
        rival.read(b"y");
    }
    first.put(b"x", 1);
    second.put(b"y", 1);
    assert!(!(first.commit() && second.commit()), "both were committed");
}

/// Each finds a range empty into which the other one puts.
pub fn t061_phantom(fixture: &mut Fixture) {
    let store = fixture.store();
    for direction in [Direction::Forward, Direction::Reverse] {
        write(store, |tx| tx.remove_span(KeySpan::FULL));
        let (mut first, mut second) = rivals(store);
        let empty = |rival: &mut Rival, min: &[u8], max: &[u8]| {
            rival.step(|tx| {
                assert!(tx.scan(KeySpan::new(min, Some(max)), direction)?.next().is_none());
                assert!(tx.at_least(min, Some(max))?.is_none());
                assert!(tx.at_most(min, Some(max))?.is_none());
                Ok(())
            });
        };
        empty(&mut first, b"a", b"b");
        empty(&mut second, b"c", b"d");
        first.put(b"cc", 1);
        second.put(b"aa", 1);
        assert!(!(first.commit() && second.commit()), "both were committed");
    }
}

/// Both find a key absent and create it.
pub fn t062_absent_key_read(fixture: &mut Fixture) {
    let store = fixture.store();
    let (mut first, mut second) = rivals(store);
    first.read(b"k");
    second.read(b"k");
    first.put(b"k", 1);
    second.put(b"k", 2);
    assert!(!(first.commit() && second.commit()), "both were committed");
}

/// Writing the same key without reading it is no conflict. The later commit wins.
pub fn t063_blind_writes(fixture: &mut Fixture) {
    let store = fixture.store();
    let (mut first, mut second) = (Rival::begin_unread(store), Rival::begin_unread(store));
    first.put(b"k", 1);
    second.put(b"k", 2);
    first.step(|tx| tx.put(b"first", b""));
    second.step(|tx| tx.remove_span(KeySpan::new(b"a", Some(b"b"))));
    let second = second.commit();
    let first = first.commit();
    if store.capabilities().concurrent_writers {
        assert!(first && second);
    }
    assert!(first || second);
    assert_eq!(number(store, b"k"), if first { 1 } else { 2 });
}

/// Transactions with nothing in common do not affect each other.
pub fn t064_disjoint_writes(fixture: &mut Fixture) {
    let store = fixture.store();
    let (mut first, mut second) = rivals(store);
    first.read(b"a");
    second.read(b"b");
    first.put(b"a", 1);
    second.put(b"b", 1);
    let both = (first.commit(), second.commit());
    if store.capabilities().concurrent_writers {
        assert!(
            both == (true, true) || store.capabilities().coarse_conflicts && both != (false, false)
        );
    }
    std::thread::scope(|scope| {
        for i in 0..10u8 {
            scope.spawn(move || {
                write(store, |tx| {
                    // Its reads overlap the writes of all others.
                    tx.at_least(&[i], None)?;
                    tx.put(&[i], &[i])
                });
            });
        }
    });
    let expected = 10 + usize::from(both.0) + usize::from(both.1);
    assert_eq!(committed(store).len(), expected);
}

/// One reads a counter that the other one adjusts, and the reverse.
pub fn t066_counter_read_and_adjust(fixture: &mut Fixture) {
    let store = fixture.store();
    put_all(store, &[(b"c", &5i64.to_be_bytes()), (b"d", &5i64.to_be_bytes())]);
    let (mut first, mut second) = rivals(store);
    first.read(b"c");
    second.read(b"d");
    first.step(|tx| tx.adjust_counter(b"d", 1));
    second.step(|tx| tx.adjust_counter(b"c", 1));
    assert!(!(first.commit() && second.commit()), "both were committed");
}

/// Two transactions that can be put in order, but only in an order that contradicts the reads of a
/// third transaction.
pub fn read_only_anomaly(fixture: &mut Fixture) {
    let store = fixture.store();
    let (mut withdrawal, mut deposit) = rivals(store);
    let balance =
        withdrawal.read(b"savings").unwrap_or(0) + withdrawal.read(b"checking").unwrap_or(0);
    deposit.read(b"savings");
    deposit.put(b"savings", 20);
    let deposited = deposit.commit();
    let report = store.begin(&TxOptions::reading()).unwrap();
    let reported = (number_in(&*report, b"savings"), number_in(&*report, b"checking"));
    report.commit().unwrap();
    // Withdraws ten, with a fee of one if that overdraws the account.
    withdrawal.put(b"checking", if balance < 10 { -11 } else { -10 });
    let withdrew = withdrawal.commit();
    assert!(
        !(deposited && withdrew && reported == (20, 0)),
        "the report shows the deposit before the withdrawal, which had not seen it"
    );
}

fn number_in(source: &dyn KvRead, key: &[u8]) -> i64 {
    let value = source.get(key).unwrap();
    value.map_or(0, |value| i64::from_be_bytes(value[..].try_into().unwrap()))
}
