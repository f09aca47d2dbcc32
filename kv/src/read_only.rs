//! A wrapper that refuses changes (kv §10).

use std::time::Duration;

use crate::{
    Blob, Capabilities, Direction, KeySpan, KvDatabase, KvError, KvRead, KvTransaction, KvWrite,
    Pair, Result, Scan, SharedRead, Statistics, TxOptions, Visitor, Watch, Writes,
};

/// A store, transaction or database that can be read and not changed: every change fails with
/// [`KvError::Unsupported`], an empty one included.
///
/// This is stricter than a read-only transaction, which takes changes and forgets them.
///
/// ```
/// use permazen_kv::{KvDatabase, KvError, KvRead, KvWrite, TxOptions};
/// use permazen_kv::{memory::MemoryStore, read_only::ReadOnly};
///
/// let db = ReadOnly(MemoryStore::new());
/// let mut tx = db.begin(&TxOptions::reading())?;
/// assert!(tx.get(b"key")?.is_none());
/// assert!(matches!(tx.put(b"key", b"value"), Err(KvError::Unsupported(_))));
/// # Ok::<(), KvError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ReadOnly<T>(pub T);

fn refused() -> Result<()> {
    Err(KvError::Unsupported("changing what is wrapped as read-only"))
}

impl<T: KvRead> KvRead for ReadOnly<T> {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.0.get(key)
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.0.scan(span, direction)
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        self.0.visit(span, direction, visitor)
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.0.at_least(min, max)
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.0.at_most(min, max)
    }

    fn max_key_len(&self) -> usize {
        self.0.max_key_len()
    }

    fn encode_counter(&self, count: i64) -> [u8; 8] {
        self.0.encode_counter(count)
    }

    fn decode_counter(&self, value: &[u8]) -> Result<i64> {
        self.0.decode_counter(value)
    }
}

impl<T: KvRead> KvWrite for ReadOnly<T> {
    fn put(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        refused()
    }

    fn remove(&mut self, _key: &[u8]) -> Result<()> {
        refused()
    }

    fn remove_span(&mut self, _span: KeySpan<'_>) -> Result<()> {
        refused()
    }

    fn adjust_counter(&mut self, _key: &[u8], _by: i64) -> Result<()> {
        refused()
    }

    fn apply(&mut self, _writes: &Writes) -> Result<()> {
        refused()
    }
}

impl<T: KvTransaction> KvTransaction for ReadOnly<T> {
    fn is_read_only(&self) -> bool {
        true
    }

    fn set_read_only(&mut self) -> Result<()> {
        Ok(())
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.0.set_timeout(timeout)
    }

    fn version(&self) -> Option<u64> {
        self.0.version()
    }

    fn snapshot(&self) -> Result<SharedRead> {
        self.0.snapshot()
    }

    fn watch(&mut self, key: &[u8]) -> Result<Watch> {
        self.0.watch(key)
    }

    fn untracked(&self) -> Option<&dyn KvRead> {
        self.0.untracked()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        Box::new(self.0).commit()
    }

    fn rollback(self: Box<Self>) {
        Box::new(self.0).rollback();
    }
}

impl<D: KvDatabase> KvDatabase for ReadOnly<D> {
    /// Always begins a read-only transaction, one that refuses changes.
    fn begin<'db>(&'db self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send + 'db>> {
        let options = TxOptions { read_only: true, ..options.clone() };
        Ok(Box::new(ReadOnly(self.0.begin(&options)?)))
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn verify(&self) -> Result<Vec<String>> {
        self.0.verify()
    }

    fn statistics(&self) -> Result<Statistics> {
        self.0.statistics()
    }
}
