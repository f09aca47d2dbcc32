use std::collections::BTreeMap;

use permazen_kv::{Direction, KeySpan, KvError, KvRead, KvWrite, Result as KvResult, Scan};

use super::Store;
use super::writing::Undo;
use crate::object::error::{Error, Result};

/// A sorted map that fails at the write with a given number, once.
#[derive(Default)]
struct Map {
    pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    fail_at: Option<u32>,
    /// The failure is one that passes.
    passes: bool,
    max_key_len: Option<usize>,
}

impl Map {
    fn count_down(&mut self) -> KvResult<()> {
        match self.fail_at {
            Some(0) => {
                self.fail_at = None;
                let why = "planned failure".to_owned();
                Err(if self.passes { KvError::Retry(why) } else { KvError::InvalidArgument(why) })
            }
            Some(n) => {
                self.fail_at = Some(n - 1);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl KvRead for Map {
    fn get(&self, key: &[u8]) -> KvResult<Option<permazen_kv::Blob<'_>>> {
        Ok(self.pairs.get(key).map(|value| value.as_slice().into()))
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> KvResult<Scan<'a>> {
        let max = span
            .max
            .map_or(std::ops::Bound::Unbounded, |max| std::ops::Bound::Excluded(max.to_vec()));
        let range = self
            .pairs
            .range((std::ops::Bound::Included(span.min.to_vec()), max))
            .map(|(key, value)| Ok((key.as_slice().into(), value.as_slice().into())));
        Ok(match direction {
            Direction::Forward => Box::new(range),
            Direction::Reverse => Box::new(range.rev()),
        })
    }

    fn max_key_len(&self) -> usize {
        self.max_key_len.unwrap_or(usize::MAX)
    }
}

impl KvWrite for Map {
    fn put(&mut self, key: &[u8], value: &[u8]) -> KvResult<()> {
        self.count_down()?;
        self.pairs.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> KvResult<()> {
        self.count_down()?;
        self.pairs.remove(key);
        Ok(())
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> KvResult<()> {
        self.count_down()?;
        self.pairs.retain(|key, _| {
            key.as_slice() < span.min || span.max.is_some_and(|max| key.as_slice() >= max)
        });
        Ok(())
    }
}

fn filled(fail_at: Option<u32>) -> Store {
    let mut map = Map { fail_at, ..Map::default() };
    for key in [b"a", b"b", b"c", b"d"] {
        map.pairs.insert(key.to_vec(), b"old".to_vec());
    }
    map.pairs.insert(b"n".to_vec(), 7i64.to_be_bytes().to_vec());
    Store::detached(map)
}

fn content(store: &Store) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs = Vec::new();
    store
        .each(KeySpan::FULL, |key, value| {
            pairs.push((key.to_vec(), value.to_vec()));
            Ok(())
        })
        .unwrap();
    pairs
}

fn edit(store: &Store) -> Result<()> {
    store.put(b"a", b"new", Undo::Old(b"old"))?;
    store.put(b"e", b"new", Undo::Absent)?;
    store.remove(b"a", Undo::Old(b"new"))?;
    store.adjust_counter(b"n", -9)?;
    store.remove_span(KeySpan::new(b"b", Some(b"d")))?;
    store.operation(|| store.put(b"d", b"new", Undo::Unread))?;
    store.put_entry(b"f")?;
    store.remove_entry(b"f")
}

#[test]
fn a_failed_operation_leaves_everything_as_it_was_whichever_write_fails() {
    let before = content(&filled(None));
    for n in 0.. {
        let store = filled(Some(n));
        if store.operation(|| edit(&store)).is_ok() {
            assert_eq!(n, 8, "every write was made to fail once");
            break;
        }
        assert!(!store.broken.get());
        assert_eq!(content(&store), before, "failure at write {n}");
    }
}

#[test]
fn a_failed_part_is_undone_and_the_rest_stays() {
    let store = filled(None);
    store
        .operation(|| {
            store.put(b"x", b"1", Undo::Absent)?;
            let part: Result<()> = store.operation(|| {
                edit(&store)?;
                Err(Error::Busy)
            });
            assert!(part.is_err());
            store.put(b"y", b"2", Undo::Absent)
        })
        .unwrap();
    let mut expected = content(&filled(None));
    expected.push((b"x".to_vec(), b"1".to_vec()));
    expected.push((b"y".to_vec(), b"2".to_vec()));
    assert_eq!(content(&store), expected);
    assert_eq!(store.undone(), 1);
}

#[test]
fn an_undo_that_fails_breaks_the_transaction() {
    let store = filled(Some(1));
    let failed: Result<()> = store.operation(|| {
        store.put(b"a", b"new", Undo::Old(b"old"))?;
        Err(Error::Busy)
    });
    assert!(matches!(failed, Err(Error::Busy)));
    assert!(store.broken.get());
    assert!(matches!(store.get(b"a", |_| ()), Err(Error::Broken)));
    assert!(matches!(store.put(b"a", b"", Undo::Unread), Err(Error::Broken)));
    assert!(matches!(store.commit(), Err(Error::Broken)));
}

/// A closure that passes over the error of an operation runs again all the same.
#[test]
fn an_undo_that_fails_for_a_reason_that_passes_says_so() {
    let pairs = BTreeMap::from([(b"a".to_vec(), b"old".to_vec())]);
    let store = Store::detached(Map { pairs, fail_at: Some(1), passes: true, ..Map::default() });
    let failed: Result<()> = store.operation(|| {
        store.put(b"a", b"new", Undo::Old(b"old"))?;
        Err(Error::Busy)
    });
    assert!(matches!(failed, Err(Error::Busy)));
    for error in [store.get(b"a", |_| ()).unwrap_err(), store.commit().unwrap_err()] {
        assert!(error.is_retryable(), "{error}");
        assert!(error.to_string().contains("could not be undone: "), "{error}");
    }
}

#[test]
fn over_long_keys_are_refused_before_a_write_and_absent_for_reads() {
    let map = Map { max_key_len: Some(4), ..Map::default() };
    let store = Store::detached(map);
    let result = store.operation(|| store.put(b"12345", b"", Undo::Absent));
    assert!(matches!(result, Err(Error::KeyTooLong { len: 5, limit: 4, .. })));
    assert!(!store.contains(b"12345").unwrap());
    store.remove_entry(b"12345").unwrap();
    assert_eq!(content(&store), []);
}

#[test]
fn writing_while_bytes_are_lent_is_an_error() {
    let store = filled(None);
    let nested = store.get(b"a", |_| store.put(b"a", b"", Undo::Unread)).unwrap();
    assert!(matches!(nested, Err(Error::Busy)));
    assert!(store.get(b"a", |_| store.contains(b"b")).unwrap().unwrap());
}

#[test]
fn every_write_moves_the_change_counter() {
    let store = filled(None);
    let before = store.changes().get();
    store.contains(b"a").unwrap();
    assert_eq!(store.changes().get(), before);
    store.put(b"a", b"", Undo::Unread).unwrap();
    assert_ne!(store.changes().get(), before);
}
