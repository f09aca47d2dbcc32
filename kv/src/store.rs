//! The contract: what a sorted transactional byte map offers.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::{KeySpan, KvError, Result};

/// Bytes borrowed from the store where it can, owned where it cannot.
pub type Blob<'a> = Cow<'a, [u8]>;
/// A key and its value.
pub type Pair<'a> = (Blob<'a>, Blob<'a>);
/// A running scan; it borrows the transaction.
pub type Scan<'a> = Box<dyn Iterator<Item = Result<Pair<'a>>> + 'a>;
/// A consistent read-only view that outlives the transaction it came from.
pub type SharedRead = Arc<dyn KvRead + Send + Sync>;

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Reverse,
}

/// Reading a sorted byte map. Object safe.
pub trait KvRead {
    /// The value of `key`; an empty value differs from an absent one.
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>>;

    /// The pairs of `span` in order of `direction`.
    ///
    /// # Errors
    /// `min > max` is [`KvError::InvalidArgument`]; `min == max` is an empty scan.
    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>>;

    /// The first pair of `[min, max)`; none if `min >= max`.
    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        if max.is_some_and(|max| min >= max) {
            return Ok(None);
        }
        self.scan(KeySpan::new(min, max), Direction::Forward)?.next().transpose()
    }

    /// The last pair of `[min, max)`; none if `min >= max`.
    ///
    /// The bounds stand in the same order as everywhere else (Java takes `max` first).
    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        if max.is_some_and(|max| min >= max) {
            return Ok(None);
        }
        self.scan(KeySpan::new(min, max), Direction::Reverse)?.next().transpose()
    }

    /// The longest key this store can hold, in bytes.
    fn max_key_len(&self) -> usize {
        usize::MAX
    }
}

/// Changing a sorted byte map. Object safe.
pub trait KvWrite: KvRead {
    /// Sets the value of `key`.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Removes `key`, if there.
    fn remove(&mut self, key: &[u8]) -> Result<()>;

    /// Removes every pair of `span`.
    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()>;

    /// Adds `by`, wrapping, to the 8-byte big-endian counter at `key`. An absent key or a value of
    /// another length stays as it is.
    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        let Some(old) = self.get(key)?.and_then(|v| <[u8; 8]>::try_from(&v[..]).ok()) else {
            return Ok(());
        };
        self.put(key, &i64::from_be_bytes(old).wrapping_add(by).to_be_bytes())
    }
}

/// Options of a new transaction.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TxOptions {
    /// Ask for a snapshot that takes no writer lock; what is written in it is visible inside and
    /// discarded by `commit`.
    pub read_only: bool,
}

/// A transaction. Dropping it rolls back.
pub trait KvTransaction: KvWrite {
    /// Whether writes are discarded by `commit`.
    fn is_read_only(&self) -> bool;

    /// Makes this a read-only transaction from now on.
    fn set_read_only(&mut self) -> Result<()>;

    /// Limits how long operations may take or wait; `None` is unlimited.
    fn set_timeout(&mut self, _timeout: Option<Duration>) -> Result<()> {
        Err(KvError::Unsupported("a transaction time-out"))
    }

    /// A consistent view of what this transaction sees now, own writes included.
    fn snapshot(&self) -> Result<SharedRead> {
        Err(KvError::Unsupported("a snapshot of a transaction"))
    }

    /// Makes the changes durable and visible to others.
    fn commit(self: Box<Self>) -> Result<()>;

    /// Discards the changes.
    fn rollback(self: Box<Self>);
}

/// A database: something transactions can be begun on.
pub trait KvDatabase: Send + Sync {
    /// Begins a transaction.
    fn begin<'db>(&'db self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send + 'db>>;
}
