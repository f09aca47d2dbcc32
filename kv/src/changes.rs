//! Serialized changes and pairs, one at a time (kv §1, §4.1).

use std::fmt;

use crate::codec::{self, Input};
use crate::{KeyRange, KeyRanges, Pair, Result};

/// One of the changes of [`Writes`](crate::Writes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Keys to be removed.
    Remove(KeyRange),
    /// A value to be set.
    Put {
        /// Its key.
        key: Vec<u8>,
        /// The value.
        value: Vec<u8>,
    },
    /// A number to be added to a counter.
    Adjust {
        /// The key of the counter.
        key: Vec<u8>,
        /// The number.
        by: i64,
    },
}

/// Reads the serialized form of [`Writes`](crate::Writes) without holding all of it: the removes, then
/// the puts, then the adjusts, each in key order. After an error it is at its end.
///
/// ```
/// # use permazen_kv::{Change, Changes, Writes};
/// let mut writes = Writes::default();
/// writes.puts.insert(b"key".to_vec(), b"value".to_vec());
/// let bytes = writes.to_bytes()?;
/// let mut changes = Changes::new(&bytes);
/// let put = Change::Put { key: b"key".to_vec(), value: b"value".to_vec() };
/// assert_eq!(changes.next().transpose()?, Some(put));
/// assert!(changes.next().is_none() && changes.rest().is_empty());
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
pub struct Changes<'a> {
    input: Input<'a>,
    stage: Stage,
    /// How many changes of this stage are still to come; unknown before its start.
    left: Option<usize>,
    /// The last range removed, by its end, or the last key put or adjusted.
    previous: Option<Option<Vec<u8>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Removes,
    Puts,
    Adjusts,
    End,
}

impl<'a> Changes<'a> {
    /// The changes at the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        let input = Input::new(bytes, "a set of changes");
        Changes { input, stage: Stage::Removes, left: None, previous: None }
    }

    /// The bytes that were not read yet; at the end those behind the changes.
    pub fn rest(&self) -> &'a [u8] {
        self.input.rest()
    }

    fn read(&mut self) -> Result<Option<Change>> {
        loop {
            let left = match self.left {
                Some(left) => left,
                None if self.stage == Stage::End => return Ok(None),
                None => self.input.count()?,
            };
            if let Some(left) = left.checked_sub(1) {
                self.left = Some(left);
                return self.change();
            }
            (self.left, self.previous) = (None, None);
            self.stage = match self.stage {
                Stage::Removes => Stage::Puts,
                Stage::Puts => Stage::Adjusts,
                Stage::Adjusts | Stage::End => Stage::End,
            };
        }
    }

    fn change(&mut self) -> Result<Option<Change>> {
        Ok(Some(match self.stage {
            Stage::Removes => {
                let (min, max) = KeyRanges::read_range(&mut self.input, self.previous.as_ref())?;
                self.previous = Some(max.clone());
                Change::Remove(KeyRange::new(min, max)?)
            }
            Stage::Puts => {
                let key = self.key()?;
                Change::Put { key, value: self.input.item(None)? }
            }
            Stage::Adjusts => {
                let key = self.key()?;
                Change::Adjust { key, by: self.input.long()? }
            }
            Stage::End => return Ok(None),
        }))
    }

    fn key(&mut self) -> Result<Vec<u8>> {
        let previous = self.previous.take().flatten();
        let key = self.input.item(previous.as_deref())?;
        if previous.is_some_and(|previous| key <= previous) {
            return Err(self.input.error("keys are not ascending"));
        }
        self.previous = Some(Some(key.clone()));
        Ok(key)
    }
}

impl Iterator for Changes<'_> {
    type Item = Result<Change>;

    fn next(&mut self) -> Option<Self::Item> {
        let change = self.read();
        if change.is_err() {
            (self.stage, self.left) = (Stage::End, None);
        }
        change.transpose()
    }
}

impl fmt::Debug for Changes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("stage", &self.stage).finish_non_exhaustive()
    }
}

/// What ends a list of pairs; no item begins with it.
const END: u8 = 0xff;

/// Appends `pairs` to `out` as a list that [`PairList`] reads; returns their number. A key takes less
/// room the more it has in common with the one before it, so they should come in order. (kv §1)
///
/// # Errors
/// Those of `pairs`, and [`InvalidArgument`](crate::KvError::InvalidArgument) if a key or a value has
/// more than 2³¹−1 bytes; `out` then ends with a part of the list.
///
/// ```
/// # use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
/// # use permazen_kv::{PairList, encode_pairs, memory::MemoryStore};
/// let store = MemoryStore::new();
/// let mut tx = store.begin(&TxOptions::writing())?;
/// tx.put(b"key", b"value")?;
/// let mut out = Vec::new();
/// encode_pairs(tx.scan(KeySpan::FULL, Direction::Forward)?, &mut out)?;
/// let pairs = PairList::new(&out).collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(pairs, [(b"key".to_vec(), b"value".to_vec())]);
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
pub fn encode_pairs<'p>(
    pairs: impl IntoIterator<Item = Result<Pair<'p>>>,
    out: &mut Vec<u8>,
) -> Result<u64> {
    let (mut previous, mut count) = (None, 0);
    for pair in pairs {
        let (key, value) = pair?;
        codec::put_item(out, &key, previous.as_deref())?;
        codec::put_item(out, &value, None)?;
        previous = Some(key);
        count += 1;
    }
    out.push(END);
    Ok(count)
}

/// Reads a list that [`encode_pairs`] wrote, a pair at a time. A list that is cut short ends with an
/// [`InvalidArgument`](crate::KvError::InvalidArgument). After an error it is at its end.
pub struct PairList<'a> {
    input: Input<'a>,
    previous: Option<Vec<u8>>,
    ended: bool,
}

impl<'a> PairList<'a> {
    /// The list at the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        PairList { input: Input::new(bytes, "a list of pairs"), previous: None, ended: false }
    }

    /// The bytes that were not read yet; at the end those behind the list.
    pub fn rest(&self) -> &'a [u8] {
        self.input.rest()
    }

    fn read(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        if self.input.skip_if(END) {
            self.ended = true;
            return Ok(None);
        }
        let key = self.input.item(self.previous.as_deref())?;
        let value = self.input.item(None)?;
        self.previous = Some(key.clone());
        Ok(Some((key, value)))
    }
}

impl Iterator for PairList<'_> {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let pair = self.read();
        self.ended |= pair.is_err();
        pair.transpose()
    }
}

impl fmt::Debug for PairList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairList").field("ended", &self.ended).finish_non_exhaustive()
    }
}
