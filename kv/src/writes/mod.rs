//! Changes held as data, and their serialized form. The rest of the crate may call [`Writes`],
//! which is public at the root of the crate. `codec.rs` has the bytes of the serialized form, for
//! this folder only.

mod codec;

use std::collections::BTreeMap;

use self::codec::Input;
use crate::{KeyRanges, KeySpan, Result};

/// A set of changes to a store.
///
/// They are always made in this order: removes, puts, adjusts. The same key may be in several of
/// them. For example, a put inside a removed range remains.
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
    /// The amounts to add to counters.
    pub adjusts: BTreeMap<Vec<u8>, i64>,
}

impl Writes {
    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.removes.is_empty() && self.puts.is_empty() && self.adjusts.is_empty()
    }

    /// How many removed ranges, puts and adjusts there are.
    pub fn len(&self) -> usize {
        self.removes.len() + self.puts.len() + self.adjusts.len()
    }

    /// Whether `key` is changed, even if to the same value.
    pub fn touches(&self, key: &[u8]) -> bool {
        self.puts.contains_key(key) || self.adjusts.contains_key(key) || self.removes.contains(key)
    }

    /// The serialized form, which is that of Java.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::KvError::InvalidArgument) if a key, a value or the number of
    /// changes exceeds 2³¹−1.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        codec::put_count(&mut out, self.removes.len())?;
        let mut previous = None;
        for span in self.removes.iter() {
            codec::put_item(&mut out, span.min, previous)?;
            codec::put_item(&mut out, span.max.unwrap_or(span.min), Some(span.min))?;
            previous = span.max;
        }
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

    /// Reads the serialized form from the start of `input`, and moves `input` past it.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::KvError::InvalidArgument) if the bytes are cut short, malformed
    /// or not in order.
    pub fn decode(input: &mut &[u8]) -> Result<Writes> {
        let mut reader = Input::new(input, "a set of changes");
        let writes = Writes {
            removes: read_ranges(&mut reader)?,
            puts: read_map(&mut reader, |reader| reader.item(None))?,
            adjusts: read_map(&mut reader, Input::long)?,
        };
        *input = reader.rest();
        Ok(writes)
    }
}

/// Reads ranges, which must be ascending and must not touch.
fn read_ranges(input: &mut Input<'_>) -> Result<KeyRanges> {
    let mut ranges = KeyRanges::new();
    // The end of the range before this one. The outer `None` is for the first range, the inner
    // `None` for a range without an end.
    let mut previous: Option<Option<Vec<u8>>> = None;
    for _ in 0..input.count()? {
        let min = input.item(previous.as_ref().and_then(Option::as_deref))?;
        if previous.is_some_and(|end| end.is_none_or(|end| min <= end)) {
            return Err(input.error("ranges are not ascending, or touch"));
        }
        let max = input.item(Some(&min))?;
        if max < min {
            return Err(input.error("a range ends before it starts"));
        }
        // An end that equals the start means that there is no end.
        let max = (max > min).then_some(max);
        ranges.add(KeySpan::new(&min, max.as_deref()));
        previous = Some(max);
    }
    Ok(ranges)
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
