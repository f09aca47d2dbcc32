//! Changes held as data (kv §4).

use std::collections::BTreeMap;

use crate::codec::{self, Input};
use crate::{KeyRanges, Result};

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

    /// Whether `key` is changed, be it to the same value.
    pub fn touches(&self, key: &[u8]) -> bool {
        self.puts.contains_key(key) || self.adjusts.contains_key(key) || self.removes.contains(key)
    }

    /// The serialized form (kv §4.1).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::KvError::InvalidArgument) if a key, a value or the number of
    /// changes exceeds 2³¹−1.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.removes.encode(&mut out)?;
        codec::put_count(&mut out, self.puts.len())?;
        let mut previous: Option<&[u8]> = None;
        for (key, value) in &self.puts {
            codec::put_item(&mut out, key, previous)?;
            codec::put_item(&mut out, value, None)?;
            previous = Some(key);
        }
        codec::put_count(&mut out, self.adjusts.len())?;
        let mut previous: Option<&[u8]> = None;
        for (key, by) in &self.adjusts {
            codec::put_item(&mut out, key, previous)?;
            codec::put_long(&mut out, *by);
            previous = Some(key);
        }
        Ok(out)
    }

    /// Reads the serialized form (kv §4.1) from the front of `input`, which is moved past it.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::KvError::InvalidArgument) if the bytes are cut short, malformed
    /// or not in order.
    pub fn decode(input: &mut &[u8]) -> Result<Writes> {
        let mut reader = Input::new(input, "a set of changes");
        let writes = Writes {
            removes: KeyRanges::read(&mut reader)?,
            puts: read_map(&mut reader, |reader| reader.item(None))?,
            adjusts: read_map(&mut reader, Input::long)?,
        };
        *input = reader.rest();
        Ok(writes)
    }
}

fn read_map<'a, V>(
    input: &mut Input<'a>,
    value: impl Fn(&mut Input<'a>) -> Result<V>,
) -> Result<BTreeMap<Vec<u8>, V>> {
    let mut map = BTreeMap::<Vec<u8>, V>::new();
    for _ in 0..input.count()? {
        let previous = map.last_key_value().map(|(key, _)| &key[..]);
        let key = input.item(previous)?;
        if previous.is_some_and(|previous| *key <= *previous) {
            return Err(input.error("keys are not ascending"));
        }
        map.insert(key, value(input)?);
    }
    Ok(map)
}
