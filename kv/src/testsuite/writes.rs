//! Rows 11, 12, 29 to 36, 46 and 47: changing a sorted byte map.

use super::fixture::Rival;
use super::{Fixture, Tx, committed, dump, get, put_all, write};
use crate::{Direction, KeySpan, KvError, KvRead, TxOptions, Writes};

fn begin(fixture: &Fixture, keys: &[u8]) -> Tx {
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

/// A key that must be new is put if it is absent; a present one stays.
pub fn put_new_refuses_what_is_there(fixture: &mut Fixture) {
    let store = fixture.store();
    put_all(store, &[(b"a", b"1"), (b"k", b"1"), (b"kx", b"1")]);
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    assert!(tx.put_new(b"new", b"").unwrap());
    assert_eq!(tx.get(b"new").unwrap().as_deref(), Some(&b""[..]));
    assert!(!tx.put_new(b"new", b"2").unwrap());
    tx.put(b"own", b"1").unwrap();
    assert!(!tx.put_new(b"own", b"2").unwrap());
    // Known to be there, and known to be absent.
    assert!(tx.get(b"a").unwrap().is_some() && tx.get(b"b").unwrap().is_none());
    assert!(!tx.put_new(b"a", b"2").unwrap());
    assert!(tx.put_new(b"b", b"2").unwrap());
    // Keys that this transaction has removed are absent.
    tx.remove(b"k").unwrap();
    assert!(tx.put_new(b"k", b"2").unwrap());
    tx.remove_span(KeySpan::new(b"kx", None)).unwrap();
    assert!(tx.put_new(b"kx", b"2").unwrap());
    assert!(tx.put_new(b"gone", b"").unwrap());
    tx.remove(b"gone").unwrap();
    tx.commit().unwrap();
    let expected: [(&[u8], &[u8]); 4] = [(b"a", b"1"), (b"b", b"2"), (b"k", b"2"), (b"kx", b"2")];
    let found = committed(store);
    assert_eq!(found.len(), 4, "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((&found.0[..], &found.1[..]), expected);
    }
    // Not known: the put says so, or the commit fails, and nothing is changed.
    for remove in [false, true] {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.put(b"other", b"").unwrap();
        if tx.put_new(b"k", b"3").unwrap() {
            if remove {
                tx.remove(b"k").unwrap();
            }
            assert!(tx.commit().unwrap_err().is_retryable());
        } else {
            drop(tx);
        }
        assert_eq!(get(store, b"k").as_deref(), Some(&b"2"[..]));
        assert_eq!(get(store, b"other"), None);
    }
}

/// Of two transactions that put the same new key, one fails.
pub fn put_new_by_two(fixture: &mut Fixture) {
    let store = fixture.store();
    if !store.capabilities().serializable {
        return;
    }
    let (mut first, mut second) = (Rival::begin(store), Rival::begin(store));
    let one = first.step(|tx| tx.put_new(b"k", b"first")) == Some(true);
    let other = second.step(|tx| tx.put_new(b"k", b"second")) == Some(true);
    let (first, second) = (first.commit() && one, second.commit() && other);
    assert!(first != second, "{first} and {second}");
    let winner: &[u8] = if first { b"first" } else { b"second" };
    assert_eq!(get(store, b"k").as_deref(), Some(winner));
    let done = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let done = &done;
            scope.spawn(move || {
                for key in 0..30_u8 {
                    let put = store.begin(&TxOptions::writing()).and_then(|mut tx| {
                        let is_new = tx.put_new(&[0, key], &[thread])?;
                        tx.commit().map(|()| is_new)
                    });
                    match put {
                        Ok(false) => {}
                        Ok(true) => drop(done.fetch_add(1, std::sync::atomic::Ordering::Relaxed)),
                        Err(error) => assert!(error.is_retryable(), "{error}"),
                    }
                }
            });
        }
    });
    // Each put that was acknowledged is the only one of its key.
    assert_eq!(committed(store).len() as u64, 1 + done.into_inner());
}

/// A put if the key is absent says whether it was.
pub fn put_if_absent_says_whether_it_was(fixture: &mut Fixture) {
    let store = fixture.store();
    put_all(store, &[(b"a", b"1"), (b"k", b"")]);
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    assert!(!tx.put_if_absent(b"a", b"2").unwrap());
    assert!(!tx.put_if_absent(b"k", b"2").unwrap());
    assert!(tx.put_if_absent(b"b", b"1").unwrap());
    assert!(!tx.put_if_absent(b"b", b"2").unwrap());
    tx.remove(b"a").unwrap();
    assert!(tx.put_if_absent(b"a", b"3").unwrap());
    assert!(tx.put_if_absent(b"", b"empty").unwrap());
    assert!(!tx.put_if_absent(b"", b"again").unwrap());
    tx.commit().unwrap();
    let expected: [(&[u8], &[u8]); 4] = [(b"", b"empty"), (b"a", b"3"), (b"b", b"1"), (b"k", b"")];
    let found = committed(store);
    assert_eq!(found.len(), 4, "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((&found.0[..], &found.1[..]), expected);
    }
    if !store.capabilities().serializable {
        return;
    }
    // Both see the key absent, so they cannot both be committed.
    let (mut first, mut second) = (Rival::begin(store), Rival::begin(store));
    let of = |tx: &mut Rival| tx.step(|tx| tx.put_if_absent(b"new", b""));
    let (one, other) = (of(&mut first), of(&mut second));
    let (first, second) = (first.commit(), second.commit());
    assert!(!(first && second && one == other), "both have put it");
}

/// A get or put shows the value of a key that there is, and puts one that is absent.
pub fn get_or_put_shows_what_is_there(fixture: &mut Fixture) {
    let store = fixture.store();
    put_all(store, &[(b"a", b"1"), (b"k", b"")]);
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    assert_eq!(tx.get_or_put(b"a", b"2").unwrap().unwrap(), b"1");
    assert_eq!(tx.get_or_put(b"k", b"2").unwrap().unwrap(), b"");
    assert_eq!(tx.get_or_put(b"b", b"1").unwrap(), None);
    assert_eq!(tx.get_or_put(b"b", b"2").unwrap().unwrap(), b"1");
    tx.remove(b"a").unwrap();
    assert_eq!(tx.get_or_put(b"a", b"3").unwrap(), None);
    assert_eq!(tx.get_or_put(b"", b"empty").unwrap(), None);
    tx.commit().unwrap();
    let expected: [(&[u8], &[u8]); 4] = [(b"", b"empty"), (b"a", b"3"), (b"b", b"1"), (b"k", b"")];
    let found = committed(store);
    let found: Vec<(&[u8], &[u8])> =
        found.iter().map(|(key, value)| (&key[..], &value[..])).collect();
    assert_eq!(found, expected);
    // The same as a get and a put, among other writes.
    let mut model: std::collections::BTreeMap<_, _> = committed(store).into_iter().collect();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    let mut number = 7_u32;
    for _ in 0..600 {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let key = vec![(number >> 24) as u8 & 15, (number >> 16) as u8 & 7];
        let value = number.to_be_bytes().to_vec();
        match number >> 30 {
            0 => {
                tx.remove(&key).unwrap();
                model.remove(&key);
            }
            1 => {
                tx.put(&key, &value).unwrap();
                model.insert(key, value);
            }
            _ => {
                assert_eq!(tx.get_or_put(&key, &value).unwrap().as_ref(), model.get(&key));
                model.entry(key).or_insert(value);
            }
        }
    }
    tx.commit().unwrap();
    assert_eq!(committed(store), model.into_iter().collect::<Vec<_>>());
    if !store.capabilities().serializable {
        return;
    }
    // Both see the key absent, so they cannot both be committed.
    let (mut first, mut second) = (Rival::begin(store), Rival::begin(store));
    let of = |tx: &mut Rival| tx.step(|tx| Ok(tx.get_or_put(b"new", b"")?.is_none()));
    let (one, other) = (of(&mut first), of(&mut second));
    let (first, second) = (first.commit(), second.commit());
    assert!(!(first && second && one == other), "both have put it");
}

/// A pair that is appended is put, whether it comes last or not.
pub fn append_is_a_put(fixture: &mut Fixture) {
    let store = fixture.store();
    put_all(store, &[(b"m", b"old")]);
    let mut expected = std::collections::BTreeMap::from([(b"m".to_vec(), b"old".to_vec())]);
    let mut number = 1_u32;
    for _ in 0..3 {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        for ascending in 0..200_u32 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Ascending keys at the end, and others anywhere.
            let key = match number >> 30 {
                0 => vec![b'a' + (number >> 8) as u8 % 26, number as u8],
                _ => [&[0xfe, (number >> 24) as u8 & 1], &ascending.to_be_bytes()[..]].concat(),
            };
            let value = number.to_be_bytes();
            tx.append(&key, &value).unwrap();
            assert_eq!(tx.get(&key).unwrap().as_deref(), Some(&value[..]));
            expected.insert(key, value.to_vec());
        }
        tx.append(b"m", b"new").unwrap();
        tx.append(b"m", b"newer").unwrap();
        expected.insert(b"m".to_vec(), b"newer".to_vec());
        tx.commit().unwrap();
    }
    let expected: Vec<_> = expected.into_iter().collect();
    assert_eq!(committed(store), expected);
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    let long = vec![0xff; tx.max_key_len().min(1 << 20).saturating_add(1)];
    if long.len() > tx.max_key_len() {
        assert!(matches!(tx.append(&long, b""), Err(KvError::KeyTooLong { .. })));
    }
}

/// A span that was prefetched is read as any other.
pub fn prefetch_changes_no_answer(fixture: &mut Fixture) {
    let store = fixture.store();
    write(store, |tx| (0..600_u16).try_for_each(|n| tx.put(&n.to_be_bytes(), b"1")));
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.put(&[0, 5], b"own").unwrap();
    tx.remove(&[0, 6]).unwrap();
    let spans = [
        KeySpan::new(&[0, 4], Some(&[0, 8])),
        KeySpan::new(&[0, 7], Some(&[1])),
        KeySpan::FULL,
        KeySpan::new(&[9], Some(&[9])),
        KeySpan::new(&[1, 4], Some(&[1, 4, 0])),
    ];
    tx.prefetch(&spans);
    tx.prefetch(&spans);
    assert_eq!(tx.get(&[0, 5]).unwrap().as_deref(), Some(&b"own"[..]));
    assert!(tx.get(&[0, 6]).unwrap().is_none() && tx.get(&[1, 4]).unwrap().is_some());
    assert_eq!(dump(&*tx).len(), 599);
    let reverse = tx.scan(KeySpan::FULL, crate::Direction::Reverse).unwrap();
    assert_eq!(reverse.filter(Result::is_ok).count(), 599);
    tx.prefetch(&spans);
    tx.commit().unwrap();
    assert_eq!(committed(store).len(), 599);
}
