//! A store in memory that is peculiar in ways that other stores are.

use permazen::kv::memory::MemoryStore;
use permazen::kv::{
    Blob, Capabilities, Direction, KeySpan, KvDatabase, KvRead, KvTransaction, KvWrite, Result,
    Scan, SharedRead, TxOptions,
};

/// A store that accepts keys up to some length, and may keep counters with the least significant
/// byte first.
#[derive(Clone)]
pub(crate) struct PeculiarStore {
    inner: MemoryStore,
    key_limit: usize,
    reversed_counters: bool,
}

impl PeculiarStore {
    /// Accepts keys of at most this length.
    pub(crate) fn with_short_keys(key_limit: usize) -> Self {
        PeculiarStore { inner: MemoryStore::new(), key_limit, reversed_counters: false }
    }

    /// Keeps counters with the least significant byte first.
    pub(crate) fn with_reversed_counters() -> Self {
        PeculiarStore { inner: MemoryStore::new(), key_limit: usize::MAX, reversed_counters: true }
    }
}

struct PeculiarTx {
    inner: Box<dyn KvTransaction + Send>,
    store: PeculiarStore,
}

impl PeculiarTx {
    fn check(&self, key: &[u8]) {
        assert!(key.len() <= self.store.key_limit, "a key that is too long came through");
    }
}

impl KvDatabase for PeculiarStore {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        Ok(Box::new(PeculiarTx { inner: self.inner.begin(options)?, store: self.clone() }))
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}

impl KvRead for PeculiarTx {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.check(key);
        self.inner.get(key)
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.inner.scan(span, direction)
    }

    fn max_key_len(&self) -> usize {
        self.store.key_limit
    }

    fn encode_counter(&self, count: i64) -> [u8; 8] {
        match self.store.reversed_counters {
            true => count.to_le_bytes(),
            false => self.inner.encode_counter(count),
        }
    }

    fn decode_counter(&self, value: &[u8]) -> Result<i64> {
        let count = self.inner.decode_counter(value)?;
        Ok(if self.store.reversed_counters { count.swap_bytes() } else { count })
    }
}

impl KvWrite for PeculiarTx {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check(key);
        self.inner.put(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.check(key);
        self.inner.remove(key)
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        self.inner.remove_span(span)
    }
}

impl KvTransaction for PeculiarTx {
    fn is_read_only(&self) -> bool {
        self.inner.is_read_only()
    }

    fn set_read_only(&mut self) -> Result<()> {
        self.inner.set_read_only()
    }

    fn snapshot(&self) -> Result<SharedRead> {
        self.inner.snapshot()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.inner.commit()
    }

    fn rollback(self: Box<Self>) {
        self.inner.rollback();
    }
}
