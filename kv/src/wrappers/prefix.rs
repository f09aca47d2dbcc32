//! A wrapper that shows the keys of one prefix as a store of its own.

use std::borrow::Cow;
use std::fmt;

use crate::contract::pass_on::pass_on;
use crate::key::after_prefix;
use crate::{
    Blob, Capabilities, Direction, KeySpan, KeyWatch, KvDatabase, KvError, KvRead, KvTransaction,
    KvWrite, Near, Pair, Result, Scan, SharedRead, Space, TxOptions, Verdict, Visitor,
};

/// The keys of a store, transaction or database that start with a prefix, without this prefix. No
/// operation reaches other keys.
///
/// Each operation costs as much as in the wrapped store, and a copy of its keys.
///
/// ```
/// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
/// use permazen_kv::{memory::MemoryStore, prefix::Prefixed};
///
/// let store = MemoryStore::new();
/// let part = Prefixed::new(store.clone(), b"part/");
/// let mut tx = part.begin(&TxOptions::writing())?;
/// tx.put(b"key", b"value")?;
/// tx.commit()?;
/// assert!(store.begin(&TxOptions::reading())?.get(b"part/key")?.is_some());
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Clone)]
pub struct Prefixed<T> {
    /// The wrapped store or transaction, in a struct of its own that can be lent as the untracked
    /// view.
    part: PrefixedPart<T>,
}

impl<T> Prefixed<T> {
    /// The keys of `inner` that start with `prefix`.
    pub fn new(inner: T, prefix: &[u8]) -> Self {
        Prefixed { part: PrefixedPart { inner, prefix: prefix.to_vec() } }
    }

    /// The prefix.
    pub fn prefix(&self) -> &[u8] {
        &self.part.prefix
    }

    /// The wrapped store.
    pub fn into_inner(self) -> T {
        self.part.inner
    }

    fn key(&self, key: &[u8]) -> Vec<u8> {
        with_prefix(self.prefix(), key)
    }

    /// The bounds in the wrapped store.
    fn bounds(&self, span: KeySpan<'_>) -> (Vec<u8>, Option<Vec<u8>>) {
        bounds(self.prefix(), span)
    }

    fn inner(&mut self) -> &mut T {
        &mut self.part.inner
    }
}

/// The wrapped store or transaction, and the prefix. Reads through this directly are the untracked
/// reads.
#[derive(Clone)]
struct PrefixedPart<T> {
    inner: T,
    prefix: Vec<u8>,
}

fn with_prefix(prefix: &[u8], key: &[u8]) -> Vec<u8> {
    [prefix, key].concat()
}

/// The bounds of a span in the wrapped store. Without an upper bound, that is the end of the
/// prefix.
fn bounds(prefix: &[u8], span: KeySpan<'_>) -> (Vec<u8>, Option<Vec<u8>>) {
    let max = match span.max {
        Some(max) => Some(with_prefix(prefix, max)),
        None => after_prefix(prefix),
    };
    (with_prefix(prefix, span.min), max)
}

/// A key of the wrapped store, without the first `length` bytes.
fn without_prefix(length: usize, key: &[u8]) -> &[u8] {
    key.get(length..).unwrap_or_default()
}

fn strip<'a>(length: usize, (key, value): Pair<'a>) -> Pair<'a> {
    let key = match key {
        Cow::Borrowed(key) => Cow::Borrowed(without_prefix(length, key)),
        Cow::Owned(mut key) => {
            key.drain(..length.min(key.len()));
            Cow::Owned(key)
        }
    };
    (key, value)
}

/// The content that is read, and the prefix.
struct PrefixedRead<'a, R: ?Sized> {
    content: &'a R,
    prefix: &'a [u8],
}

impl<'a, R: KvRead + ?Sized> PrefixedRead<'a, R> {
    fn get(self, key: &[u8]) -> Result<Option<Blob<'a>>> {
        self.content.get(&with_prefix(self.prefix, key))
    }

    fn get_near(self, key: &[u8], near: &[u8]) -> Result<Option<Near<'a>>> {
        self.content.get_near(&with_prefix(self.prefix, key), &with_prefix(self.prefix, near))
    }

    fn scan(self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        span.check()?;
        let (min, max) = bounds(self.prefix, span);
        let scan = self.content.scan(KeySpan::new(&min, max.as_deref()), direction)?;
        let length = self.prefix.len();
        Ok(Box::new(scan.map(move |pair| pair.map(|pair| strip(length, pair)))))
    }

    fn visit(
        self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        span.check()?;
        let (min, max) = bounds(self.prefix, span);
        let length = self.prefix.len();
        self.content.visit(KeySpan::new(&min, max.as_deref()), direction, &mut |key, value| {
            visitor(without_prefix(length, key), value)
        })
    }

    fn at_least(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'a>>> {
        let (min, max) = bounds(self.prefix, KeySpan::new(min, max));
        let pair = self.content.at_least(&min, max.as_deref())?;
        Ok(pair.map(|pair| strip(self.prefix.len(), pair)))
    }

    fn at_most(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'a>>> {
        let (min, max) = bounds(self.prefix, KeySpan::new(min, max));
        let pair = self.content.at_most(&min, max.as_deref())?;
        Ok(pair.map(|pair| strip(self.prefix.len(), pair)))
    }

    fn prefetch(self, spans: &[KeySpan<'_>]) -> bool {
        let ends: Vec<_> = spans.iter().map(|span| bounds(self.prefix, *span)).collect();
        let spans = ends.iter().map(|(min, max)| KeySpan::new(min, max.as_deref()));
        self.content.prefetch(&spans.collect::<Vec<_>>())
    }

    fn max_key_len(self) -> usize {
        self.content.max_key_len().saturating_sub(self.prefix.len())
    }

    fn encode_counter(self, count: i64) -> [u8; 8] {
        self.content.encode_counter(count)
    }

    fn decode_counter(self, value: &[u8]) -> Result<i64> {
        self.content.decode_counter(value)
    }
}

impl<T: KvRead> KvRead for Prefixed<T> {
    pass_on!(
        self => PrefixedRead { content: &self.part.inner, prefix: &self.part.prefix };
        READS, LIMITS
    );
}

impl<T: KvTransaction> KvRead for PrefixedPart<T> {
    pass_on!(
        self => PrefixedRead {
            content: self.inner.untracked().unwrap_or(&self.inner),
            prefix: &self.prefix,
        };
        READS, LIMITS
    );
}

impl<T: KvRead> Prefixed<T> {
    /// Fails if `key` is too long. The wrapped store would include the prefix in the length it
    /// reports.
    fn check_length(&self, key: &[u8]) -> Result<()> {
        let max = self.max_key_len();
        if key.len() > max { Err(KvError::key_too_long(key, max)) } else { Ok(()) }
    }
}

impl<T: KvWrite> KvWrite for Prefixed<T> {
    fn get_to_put(&mut self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        let (key, near) = (self.key(key), self.key(near));
        self.inner().get_to_put(&key, &near)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_length(key)?;
        let key = self.key(key);
        self.inner().put(&key, value)
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.check_length(key)?;
        let key = self.key(key);
        self.inner().put_new(&key, value)
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        // A key that is too long is absent, so it is to be put.
        self.check_length(key)?;
        let key = self.key(key);
        self.inner().put_if_absent(&key, value)
    }

    fn get_or_put(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        self.check_length(key)?;
        let key = self.key(key);
        self.inner().get_or_put(&key, value)
    }

    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_length(key)?;
        let key = self.key(key);
        self.inner().append(&key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        let key = self.key(key);
        self.inner().remove(&key)
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        span.check()?;
        let (min, max) = self.bounds(span);
        self.inner().remove_span(KeySpan::new(&min, max.as_deref()))
    }

    fn remove_where(
        &mut self,
        span: KeySpan<'_>,
        judge: &mut dyn FnMut(&[u8], &[u8]) -> Verdict,
    ) -> Result<()> {
        span.check()?;
        let (min, max) = self.bounds(span);
        let length = self.prefix().len();
        self.inner().remove_where(KeySpan::new(&min, max.as_deref()), &mut |key, value| {
            judge(without_prefix(length, key), value)
        })
    }

    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        // A key that is too long is absent, and an absent counter stays absent.
        let key = self.key(key);
        self.inner().adjust_counter(&key, by)
    }
}

impl<T: KvTransaction> KvTransaction for Prefixed<T> {
    pass_on!(self => self.part.inner; is_read_only, set_read_only, set_timeout, version);
    pass_on!(self => Box::new(self.part.inner); commit, rollback);

    fn snapshot(&self) -> Result<SharedRead> {
        let snapshot = Prefixed::new(self.part.inner.snapshot()?, self.prefix());
        Ok(std::sync::Arc::new(snapshot))
    }

    /// The [`KeyWatch`] names the key with the prefix.
    fn watch(&mut self, key: &[u8]) -> Result<KeyWatch> {
        let key = self.key(key);
        self.inner().watch(&key)
    }

    fn untracked(&self) -> Option<&dyn KvRead> {
        // `None` if the store has no other view.
        self.part.inner.untracked().map(|_| &self.part as &dyn KvRead)
    }
}

impl<D: KvDatabase> KvDatabase for Prefixed<D> {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        Ok(Box::new(Prefixed::new(self.part.inner.begin(options)?, self.prefix())))
    }

    /// The capabilities of the wrapped store, without pending writes, which name the keys with the
    /// prefix.
    fn capabilities(&self) -> Capabilities {
        let mut offered = self.part.inner.capabilities();
        offered.pending_writes = false;
        offered
    }

    /// Of the keys under the prefix.
    fn space(&self, spans: &[KeySpan<'_>]) -> Result<Vec<Space>> {
        let bounds: Vec<_> = spans.iter().map(|span| self.bounds(*span)).collect();
        let spans: Vec<_> =
            bounds.iter().map(|(min, max)| KeySpan::new(min, max.as_deref())).collect();
        self.part.inner.space(&spans)
    }

    // These are about the whole wrapped store.
    pass_on!(self => self.part.inner; verify, statistics, counters, identity);
}

impl<T> fmt::Debug for Prefixed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prefixed({})", crate::Hex(self.prefix()))
    }
}
