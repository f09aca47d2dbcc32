//! Changes held as data (kv §4).

use std::collections::BTreeMap;

use crate::codec;
use crate::{Change, Changes, KeyRanges, Result};

/// A set of changes to a store.
///
/// They are always made in this order: removes, puts, adjusts. The same key may stand in several:
/// a put inside a removed range stays.
///
/// ```
/// # use permazen_kv::{KeySpan, Writes};
/// let mut writes = Writes::default();
/// writes.removes.add(KeySpan::new(b"a", Some(b"b")));
/// writes.puts.insert(b"a7".to_vec(), b"value".to_vec());
/// writes.adjusts.insert(b"counter".to_vec(), 1);
/// let bytes = writes.to_bytes()?;
/// assert_eq!(Writes::decode(&mut &bytes[..])?, writes);
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writes {
    /// Keys to be removed.
    pub removes: KeyRanges,
    /// Values to be set.
    pub puts: BTreeMap<Vec<u8>, Vec<u8>>,
    /// What is to be added to counters.
    pub adjusts: BTreeMap<Vec<u8>, i64>,
}

impl Writes {
    /// Whether nothing would be changed.
    pub fn is_empty(&self) -> bool {
        self.removes.is_empty() && self.puts.is_empty() && self.adjusts.is_empty()
    }

    /// How many removed ranges, puts and adjusts there are.
    pub fn len(&self) -> usize {
        self.removes.len() + self.puts.len() + self.adjusts.len()
    }

    /// Forgets all changes.
    pub fn clear(&mut self) {
        *self = Writes::default();
    }

    /// Whether `key` is changed, be it to the same value.
    pub fn touches(&self, key: &[u8]) -> bool {
        self.puts.contains_key(key) || self.adjusts.contains_key(key) || self.removes.contains(key)
    }

    /// Every span of keys that is changed: the removed ranges, then the keys put, then the keys
    /// adjusted, the latter each with the key that follows it as its end.
    pub fn touched(&self) -> KeyRanges {
        let mut touched = self.removes.clone();
        self.puts.keys().chain(self.adjusts.keys()).for_each(|key| touched.add_key(key));
        touched
    }

    /// Appends the serialized form (kv §4.1) to `out`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::KvError::InvalidArgument) if a key, a value or the number of
    /// changes exceeds 2³¹−1; `out` then ends with a part of the form.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        self.removes.encode(out)?;
        codec::put_count(out, self.puts.len())?;
        let mut previous: Option<&[u8]> = None;
        for (key, value) in &self.puts {
            codec::put_item(out, key, previous)?;
            codec::put_item(out, value, None)?;
            previous = Some(key);
        }
        codec::put_count(out, self.adjusts.len())?;
        let mut previous: Option<&[u8]> = None;
        for (key, by) in &self.adjusts {
            codec::put_item(out, key, previous)?;
            codec::put_long(out, *by);
            previous = Some(key);
        }
        Ok(())
    }

    /// The serialized form (kv §4.1).
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.encode(&mut out)?;
        Ok(out)
    }

    /// Reads the serialized form (kv §4.1) from the front of `input`, which is moved past it;
    /// [`Changes`] reads it without holding all of it.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::KvError::InvalidArgument) if the bytes are cut short, malformed
    /// or not in order.
    pub fn decode(input: &mut &[u8]) -> Result<Writes> {
        let mut changes = Changes::new(input);
        let mut writes = Writes::default();
        for change in &mut changes {
            match change? {
                Change::Remove(range) => writes.removes.add(range.span()),
                Change::Put { key, value } => drop(writes.puts.insert(key, value)),
                Change::Adjust { key, by } => drop(writes.adjusts.insert(key, by)),
            }
        }
        *input = changes.rest();
        Ok(writes)
    }
}
