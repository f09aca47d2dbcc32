//! The pairs before and after the writes.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

use permazen_kv::{Direction, KeySpan, KvRead, Writes};

use super::change::NetPair;
use crate::object::Result;
use crate::schema::SchemaBundle;

/// Writes, the snapshot that they are on, and the schemas that are recorded before and after.
#[derive(Clone, Copy)]
pub(super) struct Both<'a> {
    pub(super) writes: &'a Writes,
    pub(super) before: &'a dyn KvRead,
    pub(super) former: &'a SchemaBundle,
    pub(super) now: &'a SchemaBundle,
    /// If this becomes true, the search ends.
    pub(super) stop: Option<&'a AtomicBool>,
}

impl Both<'_> {
    /// Whether the search is to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The value of a pair after the writes, if it was `old` before.
    pub(super) fn new_value(&self, key: &[u8], old: Option<&[u8]>) -> Option<Vec<u8>> {
        let writes = self.writes;
        // Puts come after removals, so the put counts if a key is in both.
        let value = match writes.puts.get(key) {
            Some(put) => put.clone(),
            None if writes.removes.contains(key) => return None,
            None => old?.to_vec(),
        };
        // An adjustment is added to what the puts left.
        let Some(by) = writes.adjusts.get(key) else { return Some(value) };
        match self.before.decode_counter(&value) {
            // A counter wraps around, as in the store.
            Ok(count) => Some(self.before.encode_counter(count.wrapping_add(*by)).to_vec()),
            // A value that is no counter is not adjusted.
            Err(_) => Some(value),
        }
    }

    /// A pair that had `old` before as a change, if the writes change it.
    pub(super) fn pair(&self, key: &[u8], old: Option<&[u8]>) -> Option<NetPair> {
        let new = self.new_value(key, old);
        // A write of the same value is no change.
        (new.as_deref() != old).then(|| NetPair {
            key: key.into(),
            old: old.map(Into::into),
            new: new.map(Into::into),
        })
    }

    /// The value of a key before the writes.
    pub(super) fn old_value(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.before.get(key)?.map(|value| value.into_owned()))
    }

    /// The first key of `span` that the writes touch; `None` also if the search is stopped. A
    /// removed range touches the pairs in it.
    pub(super) fn first_touched(&self, span: KeySpan<'_>) -> Result<Option<Vec<u8>>> {
        let written = self.first_written(span);
        // A removed pair after the first written key is not the first, so that part is not
        // searched.
        let before = KeySpan::new(span.min, written.map(|key| &key[..]).or(span.max));
        for removed in self.removed(before) {
            // Many removed ranges can be empty, so this asks before each one.
            if self.is_stopped() {
                return Ok(None);
            }
            if let Some((key, _)) = self.before.at_least(removed.min, removed.max)? {
                return Ok(Some(key.into_owned()));
            }
        }
        Ok(written.cloned())
    }

    /// All keys of `span` that the writes touch, each with the value that it had.
    pub(super) fn touched(&self, span: KeySpan<'_>) -> Result<BTreeMap<Vec<u8>, Option<Vec<u8>>>> {
        let mut touched = BTreeMap::new();
        // A removed range has pairs that only the snapshot knows.
        for removed in self.removed(span) {
            for pair in self.before.scan(removed, Direction::Forward)? {
                let (key, value) = pair?;
                touched.insert(key.into_owned(), Some(value.into_owned()));
            }
        }
        let written: Vec<&Vec<u8>> =
            // A removed key that is put again was found above, with its old value.
            self.written(span).filter(|key| !touched.contains_key(*key)).collect();
        // A new object has no pairs yet. One seek says so for all of them.
        let is_new = written.len() > 1 && self.before.at_least(span.min, span.max)?.is_none();
        for key in written {
            let old = if is_new { None } else { self.old_value(key)? };
            touched.insert(key.clone(), old);
        }
        Ok(touched)
    }

    /// The keys of `span` that are put or adjusted. A key can be both.
    pub(super) fn written(&self, span: KeySpan<'_>) -> impl Iterator<Item = &Vec<u8>> {
        self.put(span).chain(self.adjusted(span))
    }

    /// The first key of `span` that is put or adjusted. It takes one step in each map, however many
    /// keys follow.
    fn first_written(&self, span: KeySpan<'_>) -> Option<&Vec<u8>> {
        self.put(span).next().into_iter().chain(self.adjusted(span).next()).min()
    }

    fn put(&self, span: KeySpan<'_>) -> impl Iterator<Item = &Vec<u8>> {
        self.writes.puts.range::<[u8], _>(bounds(span)).map(|(key, _)| counted(key))
    }

    fn adjusted(&self, span: KeySpan<'_>) -> impl Iterator<Item = &Vec<u8>> {
        self.writes.adjusts.range::<[u8], _>(bounds(span)).map(|(key, _)| counted(key))
    }

    /// The parts of `span` that are removed.
    fn removed<'k>(&'k self, span: KeySpan<'k>) -> impl Iterator<Item = KeySpan<'k>> {
        // A removed range can reach beyond the span on both sides.
        self.writes.removes.overlapping(span).map(move |removed| {
            let max = match (removed.max, span.max) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            KeySpan::new(removed.min.max(span.min), max)
        })
    }
}

fn bounds(span: KeySpan<'_>) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Included(span.min), span.max.map_or(Bound::Unbounded, Bound::Excluded))
}

/// A written key that was read.
fn counted(key: &Vec<u8>) -> &Vec<u8> {
    #[cfg(test)]
    tests::LOOKS.with(|looks| looks.set(looks.get() + 1));
    key
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use permazen_kv::memory::MemoryStore;
    use permazen_kv::{Branch, KvDatabase, TxOptions};

    use crate::encoding::{Value, ids};
    use crate::object::pending_changes::NetChanges;
    use crate::object::{Database, Migrate, TransactionConfig};
    use crate::schema::{Field, ObjectType, SchemaModel, Simple};

    thread_local! {
        /// How many written keys this thread has looked at.
        pub(super) static LOOKS: Cell<u64> = const { Cell::new(0) };
    }

    /// How many written keys are read for this number of changed objects, and for each of
    /// them.
    fn looks(objects: u32) -> (u64, u64) {
        let year = Field::new("year", Simple::of(ids::INT));
        let visits = Field::new("visits", crate::schema::FieldKind::Counter);
        let book = ObjectType::new("Book").field(year).field(visits);
        let config = TransactionConfig::new(SchemaModel::new().object_type(book)).unwrap();
        let store = Arc::new(MemoryStore::new());
        let db = Database::new(store.clone());
        let tx = db.begin(&config).unwrap();
        let books: Vec<_> = (0..objects).map(|_| tx.create("Book").unwrap()).collect();
        tx.commit().unwrap();

        let branch = Branch::open(&store).unwrap();
        let tx = db.detached(branch, &config).unwrap();
        for book in books {
            tx.set(book, "year", &Value::Int(1), Migrate::No).unwrap();
            tx.adjust_counter(book, "visits", 1, Migrate::No).unwrap();
        }
        let schemas = tx.bundle();
        let branch: Branch = tx.into_store().unwrap();
        let before = store.begin(&TxOptions::reading()).unwrap();
        LOOKS.set(0);
        let found = NetChanges::new(branch.writes(), &*before, &schemas).count();
        assert_eq!(found, objects as usize);
        (LOOKS.get(), LOOKS.get() / u64::from(objects))
    }

    #[test]
    fn each_object_costs_the_same_however_many_are_written() {
        assert_eq!(looks(10).1, looks(1000).1);
    }
}
