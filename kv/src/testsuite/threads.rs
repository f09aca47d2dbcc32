//! Rows 67 and 105: many threads on one store.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Fixture, committed, dump, get, put_all, write};
use crate::{Direction, KeySpan, KvRead, TxOptions};

/// A transaction that may run twice has the right result after it was retried.
pub fn t067_retried_until_done(fixture: &mut Fixture) {
    let store = fixture.store();
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            scope.spawn(move || {
                for round in 0..25u8 {
                    write(store, |tx| {
                        let key = [b'n', thread, round];
                        if tx.get(&key)?.is_none() {
                            let next = tx.at_most(b"o", Some(b"p"))?.map_or(0, |(key, _)| {
                                u32::from_be_bytes(key[1..].try_into().unwrap()) + 1
                            });
                            tx.put(&[&b"o"[..], &next.to_be_bytes()].concat(), &key)?;
                            tx.put(&key, &next.to_be_bytes())?;
                        }
                        Ok(())
                    });
                }
            });
        }
    });
    let all = committed(store);
    assert_eq!(all.len(), 200);
    for (key, value) in all.iter().filter(|(key, _)| key[0] == b'o') {
        assert_eq!(get(store, value).as_deref(), Some(&key[1..]));
    }
}

/// A range is removed while a pair is put into it. Then the range is empty, or has that pair.
pub fn t105_remove_span_races_put(fixture: &mut Fixture) {
    let store = fixture.store();
    for round in 0..20u8 {
        for i in 0..10u8 {
            put_all(store, &[(&[5, i], b"old")]);
        }
        std::thread::scope(|scope| {
            scope.spawn(|| write(store, |tx| tx.remove_span(KeySpan::new(&[5], Some(&[6])))));
            scope.spawn(|| write(store, |tx| tx.put(&[5, 100], &[round])));
        });
        let left = committed(store);
        assert!(left.is_empty() || left == [(vec![5, 100], vec![round])], "{left:?}");
        write(store, |tx| tx.remove_span(KeySpan::FULL));
    }
}

/// All reads of a transaction see a commit as a whole or not at all.
pub fn readers_see_whole_commits(fixture: &mut Fixture) {
    let store = fixture.store();
    let done = &AtomicBool::new(false);
    let change = |n: u32| {
        write(store, |tx| {
            tx.remove_span(KeySpan::FULL)?;
            (0..20u8).try_for_each(|i| tx.put(&[i, (n % 7) as u8], &n.to_be_bytes()))
        });
    };
    change(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let tx = store.begin(&TxOptions::reading()).unwrap();
                    let pairs = dump(&*tx);
                    assert_eq!(pairs.len(), 20);
                    assert!(pairs.iter().all(|(_, value)| *value == pairs[0].1));
                    std::thread::yield_now();
                    assert_eq!(tx.at_least(&[7], None).unwrap().unwrap().1[..], pairs[0].1[..]);
                    assert_eq!(tx.scan(KeySpan::FULL, Direction::Reverse).unwrap().count(), 20);
                    tx.commit().unwrap();
                }
            });
        }
        (1..60).for_each(change);
        done.store(true, Ordering::Relaxed);
    });
}

/// Two transactions never find the same gap free: bookings must not overlap.
pub fn unique_by_scan(fixture: &mut Fixture) {
    let store = fixture.store();
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            scope.spawn(move || {
                for wish in 0..30u8 {
                    // Starts are in units of ten minutes, and each booking lasts an hour.
                    let start = wish.wrapping_mul(37).wrapping_add(thread * 11) % 200;
                    write(store, |tx| {
                        let span = (start.saturating_sub(5), start + 6);
                        let free = tx
                            .scan(KeySpan::new(&[span.0], Some(&[span.1])), Direction::Forward)?
                            .next()
                            .is_none();
                        if free { tx.put(&[start], &[thread]) } else { Ok(()) }
                    });
                }
            });
        }
    });
    let booked = committed(store);
    assert!(!booked.is_empty());
    for pair in booked.windows(2) {
        assert!(pair[1].0[0] - pair[0].0[0] > 5, "{:?} and {:?} overlap", pair[0], pair[1]);
    }
}
