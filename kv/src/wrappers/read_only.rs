//! A wrapper that refuses changes.

use crate::contract::pass_on::pass_on;
use crate::{
    KeySpan, KvDatabase, KvError, KvRead, KvTransaction, KvWrite, Result, TxOptions, Writes,
};

/// A store, transaction or database that can be read but not changed. Every change fails with
/// [`KvError::Unsupported`], even one that would change nothing.
///
/// This is stricter than a read-only transaction, which accepts changes and discards them.
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
    Err(KvError::Unsupported("a change through the read-only wrapper"))
}

impl<T: KvRead> KvRead for ReadOnly<T> {
    pass_on!(self => self.0; READS, LIMITS, CONTENT);
}

impl<T: KvRead> KvWrite for ReadOnly<T> {
    fn put(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        refused()
    }

    fn put_new(&mut self, _key: &[u8], _value: &[u8]) -> Result<bool> {
        refused().map(|()| false)
    }

    fn put_if_absent(&mut self, _key: &[u8], _value: &[u8]) -> Result<bool> {
        refused().map(|()| false)
    }

    fn get_or_put(&mut self, key: &[u8], _value: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.0.get(key)? {
            Some(value) => Ok(Some(value.into_owned())),
            None => refused().map(|()| None),
        }
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

    pass_on!(self => self.0; set_timeout, version, snapshot, watch, untracked, pending);
    pass_on!(self => Box::new(self.0); commit, rollback);
}

impl<D: KvDatabase> KvDatabase for ReadOnly<D> {
    /// Always begins a read-only transaction, which refuses changes.
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        let options = TxOptions { read_only: true, ..options.clone() };
        Ok(Box::new(ReadOnly(self.0.begin(&options)?)))
    }

    pass_on!(self => self.0; STORE);
}
