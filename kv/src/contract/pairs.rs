//! Reading and changing the pairs of a sorted byte map.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::{Conflict, KeyRanges, KeySpan, KvError, Result, Writes, difference_by_scan};

/// Bytes: borrowed from the store where it can lend them, owned where it cannot.
pub type Blob<'a> = Cow<'a, [u8]>;
/// A key and its value.
pub type Pair<'a> = (Blob<'a>, Blob<'a>);
/// The value of a key, and that of another one near it; see [`KvRead::get_near`].
pub type Near<'a> = (Blob<'a>, Option<Blob<'a>>);
/// A running scan; it borrows the transaction. An error ends it: after an error, as after the last
/// pair, it returns `None`.
pub type Scan<'a> = Box<dyn Iterator<Item = Result<Pair<'a>>> + 'a>;
// A scan returns a `Result` for each pair, so an error must not make that larger.
const _: () = assert!(size_of::<Result<Pair<'_>>>() == size_of::<Pair<'_>>());

/// A consistent read-only view, which outlives the transaction it came from.
pub type SharedRead = Arc<dyn KvRead + Send + Sync>;

/// A function that [`KvRead::visit`] calls with the key and the value of each pair; `Break` ends
/// the visit.
pub type Visitor<'v> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'v;

/// Decides whether [`KvWrite::remove_where`] removes a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is removed.
    Remove,
    /// It stays.
    Keep,
    /// It stays, and no other pair is shown.
    Stop,
}

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Reverse,
}

/// Reading a sorted byte map. Object safe.
///
/// Keys sort as unsigned bytes; a key that is a prefix of another one sorts before it. Keys and
/// values may be empty.
///
/// Costs are counted in descents and steps. A *descent* finds the place of a key. In a store that
/// is a tree, it leads from the root to a leaf. A *step* moves from one pair to the next one. Each
/// get, seek, put or delete of the guide costs one descent.
///
/// Every method that reads pairs can return these errors: [`KvError::Stale`] if the transaction has
/// failed before, [`KvError::Timeout`] if its time is over, a retryable error if the store finds a
/// conflict while it reads, and [`KvError::Store`] if the store itself fails.
///
/// ```
/// use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
///
/// let store = MemoryStore::new();
/// let mut tx = store.begin(&TxOptions::writing())?;
/// for key in [b"a", b"b", b"c"] {
///     tx.put(key, b"")?;
/// }
/// assert!(tx.get(b"a")?.is_some());
/// assert_eq!(tx.at_most(b"", Some(b"c"))?.unwrap().0, &b"b"[..]);
/// let scan = tx.scan(KeySpan::new(b"b", None), Direction::Reverse)?;
/// let keys = scan.map(|pair| pair.map(|(key, _)| key.into_owned()));
/// assert_eq!(keys.collect::<Result<Vec<_>, _>>()?, [b"c", b"b"]);
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
pub trait KvRead {
    /// The value of `key`. An empty value is not the same as an absent one. Costs one descent.
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>>;

    /// The value of `key` and, if `key` is there, that of `near`. Meant for a key that comes soon
    /// after `key`, with few pairs in between: LMDB then takes a few steps from one to the other.
    /// The answer does not depend on where `near` is. Costs one descent and some steps, or two
    /// descents.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// tx.put(b"a", b"1")?;
    /// tx.put(b"ab", b"2")?;
    /// let (own, near) = tx.get_near(b"a", b"ab")?.unwrap();
    /// assert_eq!((&own[..], near.as_deref()), (&b"1"[..], Some(&b"2"[..])));
    /// assert_eq!(tx.get_near(b"a", b"ac")?.unwrap().1, None);
    /// assert!(tx.get_near(b"0", b"ab")?.is_none());
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn get_near(&self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        let Some(value) = self.get(key)? else { return Ok(None) };
        Ok(Some((value, self.get(near)?)))
    }

    /// The pairs of `span` in the order of `direction`. Costs one descent, then one step for each
    /// pair. Reads nothing ahead, except in stores that read pages of pairs.
    ///
    /// # Errors
    /// `min > max` is [`KvError::InvalidArgument`]; `min == max` is an empty scan.
    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>>;

    /// Calls `visitor` with each pair of `span` in the order of `direction`, until it breaks. Costs
    /// as much as the same steps of [`KvRead::scan`]. On LMDB and in memory, it is faster than a
    /// scan, because the store need not stop between the pairs.
    ///
    /// # Errors
    /// `min > max` is [`KvError::InvalidArgument`]. The visitor cannot return an error; it must
    /// keep its own errors itself.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
    ///
    /// let store = MemoryStore::new();
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// for key in [b"a", b"b", b"c"] {
    ///     tx.put(key, b"")?;
    /// }
    /// let mut keys = Vec::new();
    /// tx.visit(KeySpan::new(b"b", None), Direction::Forward, &mut |key, _| {
    ///     keys.push(key.to_vec());
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(keys, [b"b", b"c"]);
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        for pair in self.scan(span, direction)? {
            let (key, value) = pair?;
            if visitor(&key, &value).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The first pair of `[min, max)`; `None` if `min >= max`. Costs one descent.
    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        if max.is_some_and(|max| min >= max) {
            return Ok(None);
        }
        self.scan(KeySpan::new(min, max), Direction::Forward)?.next().transpose()
    }

    /// The last pair of `[min, max)`; `None` if `min >= max`. Costs one descent.
    ///
    /// The bounds have the same order as everywhere else. (Java takes `max` first.)
    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        if max.is_some_and(|max| min >= max) {
            return Ok(None);
        }
        self.scan(KeySpan::new(min, max), Direction::Reverse)?.next().transpose()
    }

    /// A name of the content: two contents with the same name have the same pairs. `None` if the
    /// content has no such name. Free.
    fn content_name(&self) -> Option<[u8; 48]> {
        None
    }

    /// The first difference, by value, between this content and `now` in the ranges of `reads`.
    /// Costs a scan of both over these ranges. A store that keeps its versions as trees with shared
    /// parts costs less.
    ///
    /// # Errors
    /// The errors of reading the two.
    ///
    /// ```
    /// use permazen_kv::{KeyRanges, KvDatabase, KvRead, KvTransaction, KvWrite, TxOptions};
    /// use permazen_kv::memory::MemoryStore;
    ///
    /// let store = MemoryStore::new();
    /// let old = store.begin(&TxOptions::reading())?.snapshot()?;
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// tx.put(b"b", b"1")?;
    /// let mut reads = KeyRanges::new();
    /// reads.add_key(b"a");
    /// assert_eq!(old.first_difference(&tx, &reads)?, None);
    /// reads.add_key(b"b");
    /// let conflict = old.first_difference(&tx, &reads)?.unwrap();
    /// assert_eq!(conflict.to_string(), "read/write conflict at 62");
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn first_difference(&self, now: &dyn KvRead, reads: &KeyRanges) -> Result<Option<Conflict>> {
        difference_by_scan(self, now, reads)
    }

    /// Names the spans that will be read soon, and returns whether that makes a difference. A store
    /// for which each question is a round trip then asks for all of them at once, with its next
    /// question; see [`remote`](crate::remote). Others do nothing. Changes no answer.
    ///
    /// ```
    /// use permazen_kv::{KeySpan, KvDatabase, KvRead, TxOptions, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let tx = store.begin(&TxOptions::reading())?;
    /// tx.prefetch(&[KeySpan::new(b"a", Some(b"b")), KeySpan::new(b"x", Some(b"y"))]);
    /// assert!(tx.at_least(b"a", Some(b"b"))?.is_none());
    /// assert!(tx.get(b"xyz")?.is_none());
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn prefetch(&self, _spans: &[KeySpan<'_>]) -> bool {
        false
    }

    /// The length in bytes of the longest key that this store can hold. Free.
    fn max_key_len(&self) -> usize {
        usize::MAX
    }

    /// The bytes that this store keeps as the value of a counter that stands at `count`. Free.
    fn encode_counter(&self, count: i64) -> [u8; 8] {
        count.to_be_bytes()
    }

    /// The count of a counter whose stored value is `value`: the inverse of
    /// [`encode_counter`](KvRead::encode_counter). Free.
    ///
    /// # Errors
    /// [`KvError::InvalidArgument`] if `value` does not have eight bytes.
    fn decode_counter(&self, value: &[u8]) -> Result<i64> {
        match <[u8; 8]>::try_from(value) {
            Ok(bytes) => Ok(i64::from_be_bytes(bytes)),
            Err(_) => Err(KvError::InvalidArgument(format!(
                "a counter has 8 bytes, and this value has {}",
                value.len()
            ))),
        }
    }
}

/// Changing a sorted byte map. Object safe.
///
/// Reads through the same object see changes at once. In addition to the errors of [`KvRead`], a
/// store can be full ([`KvError::Full`]) or refuse to put a key that is too long
/// ([`KvError::KeyTooLong`]). Such a key can be read, removed and adjusted like any absent key.
///
/// Programs get along with [`put`](KvWrite::put), [`remove`](KvWrite::remove),
/// [`remove_span`](KvWrite::remove_span) and [`adjust_counter`](KvWrite::adjust_counter). The other
/// methods are for authors of stores: each says the same in other words that a store can do better,
/// and has a default.
///
/// ```
/// use permazen_kv::{KeySpan, KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
///
/// let store = MemoryStore::new();
/// let mut tx = store.begin(&TxOptions::writing())?;
/// let zero = tx.encode_counter(0);
/// tx.put(b"count", &zero)?;
/// tx.adjust_counter(b"count", 5)?;
/// assert_eq!(tx.decode_counter(&tx.get(b"count")?.unwrap())?, 5);
/// tx.remove_span(KeySpan::new(b"a", Some(b"d")))?;
/// assert!(tx.get(b"count")?.is_none());
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
pub trait KvWrite: KvRead {
    /// The same as [`get_near`](KvRead::get_near), for a caller that will probably put pairs near
    /// these keys. LMDB stays where it has found them, so a put on the same page needs no descent.
    /// Otherwise it does and costs the same.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// tx.put(b"a", b"1")?;
    /// let (own, near) = tx.get_to_put(b"a", b"ab")?.unwrap();
    /// assert_eq!((&own[..], near), (&b"1"[..], None));
    /// tx.put(b"ab", b"2")?;
    /// let (_, near) = tx.get_to_put(b"a", b"ab")?.unwrap();
    /// assert_eq!(near.unwrap(), &b"2"[..]);
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn get_to_put(&mut self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        (*self).get_near(key, near)
    }

    /// Sets the value of `key`. Costs one descent.
    ///
    /// # Errors
    /// [`KvError::KeyTooLong`]: the transaction stays usable. [`KvError::Full`]: the transaction
    /// can only be rolled back.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Sets the value of a key that should be absent, such as that of an ID that was drawn at
    /// random. Returns `false`, and changes nothing, if it is there. Costs one descent, or a get
    /// and a put.
    ///
    /// A store that is far away may find out only when the transaction commits; then the commit is
    /// [`KvError::Retry`]. Such a store may also assume that no key begins or ends with `key`,
    /// because the ID was never used before: if there is such a key, and it is put, the commit can
    /// be [`KvError::Retry`] too.
    ///
    /// # Errors
    /// The errors of [`get`](KvRead::get) and of [`put`](KvWrite::put).
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// assert!(tx.put_new(b"key", b"1")?);
    /// assert!(!tx.put_new(b"key", b"2")?);
    /// assert_eq!(tx.get(b"key")?.unwrap(), &b"1"[..]);
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.put_if_absent(key, value)
    }

    /// Sets the value of a key if it is absent, and says whether it was. A store that is far away
    /// is asked. Costs one descent, or a get and a put.
    ///
    /// # Errors
    /// The errors of [`put`](KvWrite::put), if the key is absent.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// assert!(tx.put_if_absent(b"key", b"1")?);
    /// assert!(!tx.put_if_absent(b"key", b"2")?);
    /// assert_eq!(tx.get(b"key")?.unwrap(), &b"1"[..]);
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        if self.get(key)?.is_some() {
            return Ok(false);
        }
        self.put(key, value)?;
        Ok(true)
    }

    /// Sets the value of a key if it is absent; otherwise returns its value, and changes nothing. A
    /// store that is far away is asked. Costs one descent; if the store cannot put so, or the key
    /// is there, two.
    ///
    /// # Errors
    /// The errors of [`put`](KvWrite::put), if the key is absent.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// assert_eq!(tx.get_or_put(b"key", b"1")?, None);
    /// assert_eq!(tx.get_or_put(b"key", b"2")?.unwrap(), b"1");
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn get_or_put(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        let old = self.get(key)?.map(Cow::into_owned);
        if old.is_none() {
            self.put(key, value)?;
        }
        Ok(old)
    }

    /// Sets the value of `key`, as [`put`](KvWrite::put) does. Meant for a key that comes after all
    /// keys in the store: LMDB then fills its pages, which otherwise stay half empty. Costs one
    /// descent.
    ///
    /// # Errors
    /// The errors of [`put`](KvWrite::put).
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// for key in [b"a", b"c", b"b"] {
    ///     tx.append(key, b"")?; // the last one comes before another key, and is put
    /// }
    /// assert!(tx.get(b"b")?.is_some());
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put(key, value)
    }

    /// Removes `key` if it is there. Costs one descent.
    fn remove(&mut self, key: &[u8]) -> Result<()>;

    /// Removes every pair of `span`. Costs one descent and at most a step for each removed pair.
    ///
    /// # Errors
    /// `min > max` is [`KvError::InvalidArgument`]; `min == max` removes nothing.
    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()>;

    /// Shows the pairs of `span` to `judge` in ascending order, and removes those for which it says
    /// so. Costs one descent, a step for each pair that is shown, and the removal of each. Where a
    /// store cannot do both at once, it is a [`visit`](KvRead::visit), followed by one
    /// [`remove_span`](KvWrite::remove_span) if all pairs of the span go, or else by a
    /// [`remove`](KvWrite::remove) for each; so a pair may be removed at once, or only after the
    /// last one was shown.
    ///
    /// # Errors
    /// `min > max` is [`KvError::InvalidArgument`]. After an error, some of the pairs may have been
    /// removed.
    ///
    /// # Panics
    /// If `judge` does. Then, too, some of the pairs that it has judged may have been removed. The
    /// transaction can still be used.
    ///
    /// ```
    /// use permazen_kv::{KeySpan, KvDatabase, KvRead, KvWrite, TxOptions, Verdict, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// for key in [b"a", b"b", b"c", b"d"] {
    ///     tx.put(key, b"")?;
    /// }
    /// tx.remove_where(KeySpan::new(b"b", None), &mut |key, _value| match key {
    ///     b"d" => Verdict::Stop,
    ///     b"c" => Verdict::Remove,
    ///     _ => Verdict::Keep,
    /// })?;
    /// assert!(tx.get(b"b")?.is_some());
    /// assert!(tx.get(b"c")?.is_none());
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn remove_where(
        &mut self,
        span: KeySpan<'_>,
        judge: &mut dyn FnMut(&[u8], &[u8]) -> Verdict,
    ) -> Result<()> {
        let (mut keys, mut ends) = (Vec::new(), Vec::new());
        let mut all = true;
        self.visit(span, Direction::Forward, &mut |key, value| {
            match judge(key, value) {
                Verdict::Remove => {
                    keys.extend_from_slice(key);
                    ends.push(keys.len());
                }
                Verdict::Keep => all = false,
                Verdict::Stop => {
                    all = false;
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        if all && !ends.is_empty() {
            return self.remove_span(span);
        }
        let mut start = 0;
        for end in ends {
            self.remove(keys.get(start..end).unwrap_or_default())?;
            start = end;
        }
        Ok(())
    }

    /// Adds `by` to the counter at `key`; the sum wraps around. Does nothing if `key` is absent or
    /// its value is not a counter. Costs a get and a put, or less where the store can adjust
    /// without reading.
    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        let Some(old) = self.get(key)? else { return Ok(()) };
        let Ok(old) = self.decode_counter(&old) else { return Ok(()) };
        let new = self.encode_counter(old.wrapping_add(by));
        self.put(key, &new)
    }

    /// Makes the changes of `writes`: removes, then puts, then adjusts. Costs as much as making
    /// them one by one.
    ///
    /// # Errors
    /// After an error, some of the changes may have been made: roll back.
    fn apply(&mut self, writes: &Writes) -> Result<()> {
        for span in writes.removes.iter() {
            if span.is_single_key() {
                self.remove(span.min)?;
            } else {
                self.remove_span(span)?;
            }
        }
        for (key, value) in &writes.puts {
            self.put(key, value)?;
        }
        for (key, by) in &writes.adjusts {
            self.adjust_counter(key, *by)?;
        }
        Ok(())
    }
}
