//! A wrapper that shows the keys of one prefix as a store of its own.

use std::borrow::Cow;
use std::fmt;

use crate::contract::pass_on::pass_on;
use crate::key::after_prefix;
use crate::{
    Blob, Capabilities, Direction, KeySpan, KeyWatch, KvDatabase, KvError, KvRead, KvTransaction,
    KvWrite, Near, Pair, Result, Scan, SharedRead, Space, TxOptions, Visitor,
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
    inner: T,
    prefix: Vec<u8>,
}

impl<T> Prefixed<T> {
    /// The keys of `inner` that start with `prefix`.
    pub fn new(inner: T, prefix: &[u8]) -> Self {
        Prefixed { inner, prefix: prefix.to_vec() }
    }

    /// The prefix.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// The wrapped store.
    pub fn into_inner(self) -> T {
        self.inner
    }

    fn key(&self, key: &[u8]) -> Vec<u8> {
        [&self.prefix, key].concat()
    }

    /// The upper bound in the wrapped store. `None` becomes the end of the prefix.
    fn max(&self, max: Option<&[u8]>) -> Option<Vec<u8>> {
        match max {
            Some(max) => Some(self.key(max)),
            None => after_prefix(&self.prefix),
        }
    }

    fn strip<'a>(&self, (key, value): Pair<'a>) -> Pair<'a> {
        (strip(self.prefix.len(), key), value)
    }
}

fn strip(length: usize, key: Blob<'_>) -> Blob<'_> {
    match key {
        Cow::Borrowed(key) => Cow::Borrowed(key.get(length..).unwrap_or_default()),
        Cow::Owned(mut key) => {
            key.drain(..length.min(key.len()));
            Cow::Owned(key)
        }
    }
}

impl<T: KvRead> KvRead for Prefixed<T> {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.inner.get(&self.key(key))
    }

    fn get_near(&self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        self.inner.get_near(&self.key(key), &self.key(near))
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        span.check()?;
        let (min, max) = (self.key(span.min), self.max(span.max));
        let scan = self.inner.scan(KeySpan::new(&min, max.as_deref()), direction)?;
        Ok(Box::new(scan.map(|pair| pair.map(|pair| self.strip(pair)))))
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        span.check()?;
        let (min, max) = (self.key(span.min), self.max(span.max));
        let length = self.prefix.len();
        self.inner.visit(KeySpan::new(&min, max.as_deref()), direction, &mut |key, value| {
            visitor(key.get(length..).unwrap_or_default(), value)
        })
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        let pair = self.inner.at_least(&self.key(min), self.max(max).as_deref())?;
        Ok(pair.map(|pair| self.strip(pair)))
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        let pair = self.inner.at_most(&self.key(min), self.max(max).as_deref())?;
        Ok(pair.map(|pair| self.strip(pair)))
    }

    fn prefetch(&self, spans: &[KeySpan<'_>]) -> bool {
        let ends = |span: &KeySpan<'_>| (self.key(span.min), self.max(span.max));
        let ends: Vec<(Vec<u8>, Option<Vec<u8>>)> = spans.iter().map(ends).collect();
        let spans = ends.iter().map(|(min, max)| KeySpan::new(min, max.as_deref()));
        self.inner.prefetch(&spans.collect::<Vec<_>>())
    }

    fn max_key_len(&self) -> usize {
        self.inner.max_key_len().saturating_sub(self.prefix.len())
    }

    pass_on!(self => self.inner; encode_counter, decode_counter);
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
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_length(key)?;
        let key = self.key(key);
        self.inner.put(&key, value)
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.check_length(key)?;
        let key = self.key(key);
        self.inner.put_new(&key, value)
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        // A key that is too long is absent, so it is to be put.
        self.check_length(key)?;
        let key = self.key(key);
        self.inner.put_if_absent(&key, value)
    }

    fn get_or_put(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        self.check_length(key)?;
        let key = self.key(key);
        self.inner.get_or_put(&key, value)
    }

    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_length(key)?;
        let key = self.key(key);
        self.inner.append(&key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        let key = self.key(key);
        self.inner.remove(&key)
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        span.check()?;
        let (min, max) = (self.key(span.min), self.max(span.max));
        self.inner.remove_span(KeySpan::new(&min, max.as_deref()))
    }

    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        self.check_length(key)?;
        let key = self.key(key);
        self.inner.adjust_counter(&key, by)
    }
}

impl<T: KvTransaction> KvTransaction for Prefixed<T> {
    pass_on!(self => self.inner; is_read_only, set_read_only, set_timeout, version);
    pass_on!(self => Box::new(self.inner); commit, rollback);

    fn snapshot(&self) -> Result<SharedRead> {
        let snapshot = Prefixed::new(self.inner.snapshot()?, &self.prefix);
        Ok(std::sync::Arc::new(snapshot))
    }

    /// The [`KeyWatch`] names the key with the prefix.
    fn watch(&mut self, key: &[u8]) -> Result<KeyWatch> {
        let key = self.key(key);
        self.inner.watch(&key)
    }
}

impl<D: KvDatabase> KvDatabase for Prefixed<D> {
    fn begin<'db>(&'db self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send + 'db>> {
        Ok(Box::new(Prefixed::new(self.inner.begin(options)?, &self.prefix)))
    }

    /// The capabilities of the wrapped store, without untracked reads and pending writes.
    fn capabilities(&self) -> Capabilities {
        let mut offered = self.inner.capabilities();
        offered.untracked_reads = false;
        offered.pending_writes = false;
        offered
    }

    /// Of the keys under the prefix.
    fn space(&self, spans: &[KeySpan<'_>]) -> Result<Vec<Space>> {
        let bounds: Vec<_> =
            spans.iter().map(|span| (self.key(span.min), self.max(span.max))).collect();
        let spans: Vec<_> =
            bounds.iter().map(|(min, max)| KeySpan::new(min, max.as_deref())).collect();
        self.inner.space(&spans)
    }

    // These are about the whole wrapped store.
    pass_on!(self => self.inner; verify, statistics);
}

impl<T> fmt::Debug for Prefixed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prefixed({})", crate::Hex(&self.prefix))
    }
}
