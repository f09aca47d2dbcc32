//! The trait that a store on another machine implements: how to ask it, and how to commit.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use crate::{
    Capabilities, Counters, Direction, KeyRanges, KeySpan, KeyWatch, KvError, Result, Statistics,
    TxOptions, Writes,
};

/// The longest time that an engine waits, also if the options of a transaction ask for a longer
/// one: 30 days.
pub const LONGEST_WAIT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A question for pairs of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeRead {
    /// The first key.
    pub min: Vec<u8>,
    /// The first key after the range; `None` if it has no end.
    pub max: Option<Vec<u8>>,
    /// From which end of the range.
    pub direction: Direction,
    /// How many pairs are asked for at most; at least 1.
    pub pairs: usize,
    /// The answer ends once its keys and values have this many bytes. It always has one pair, if
    /// there is one.
    pub bytes: usize,
}

impl RangeRead {
    /// Asks for the first pairs of a span.
    pub fn new(span: KeySpan<'_>, direction: Direction, pairs: usize, bytes: usize) -> Self {
        let (min, max) = (span.min.to_vec(), span.max.map(<[u8]>::to_vec));
        RangeRead { min, max, direction, pairs, bytes }
    }

    /// The range.
    pub fn span(&self) -> KeySpan<'_> {
        KeySpan::new(&self.min, self.max.as_deref())
    }
}

/// The answer to a [`RangeRead`]: a page of its pairs. It can be empty although it is not the last
/// one; the next question then brings more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RangePage {
    /// The pairs, in the order of the direction.
    pub pairs: Vec<(Bytes, Bytes)>,
    /// Whether the range has no further pairs.
    pub is_last: bool,
}

/// The changes that a transaction commits.
#[derive(Debug, Default)]
pub struct Changes {
    /// Removes and puts. Adjusts of counters have become puts.
    pub writes: Writes,
    /// Keys that must be absent in the committed state. If one is there, the commit is
    /// [`KvError::Retry`].
    pub absent: BTreeSet<Vec<u8>>,
    /// The ranges on which the answers depended, if the engine [asks for
    /// that](Engine::checks_reads).
    pub reads: Option<KeyRanges>,
}

impl Changes {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.absent.is_empty()
    }
}

/// A store on another machine, of which [`RemoteDatabase`](super::RemoteDatabase) makes a
/// [`KvDatabase`](crate::KvDatabase).
pub trait Engine: fmt::Debug + Send + Sync + 'static {
    /// Begins a transaction. The store need not be asked yet: the beginning can travel with the
    /// first question.
    ///
    /// # Errors
    /// Retryable if no connection was free in time.
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn Session>>;

    /// The capabilities of transactions. `timeouts`, `read_only_switch`, `pending_writes` and
    /// `lazy_begin` are always there, `snapshots`, `untracked_reads` and `conflict_free_counters`
    /// never; the values of the engine for these do not count.
    fn capabilities(&self) -> Capabilities;

    /// The name of the store in messages, without a password.
    fn name(&self) -> String {
        "a store on a server".to_owned()
    }

    /// The longest key in bytes.
    fn max_key_len(&self) -> usize;

    /// The longest value in bytes. A longer one is refused when it is put. Unless the engine says
    /// so, there is no limit here, and the store finds out when the transaction commits.
    fn max_value_len(&self) -> usize {
        usize::MAX
    }

    /// Whether a commit needs to know the reads. Without that, the store finds conflicts itself.
    fn checks_reads(&self) -> bool {
        false
    }

    /// Begins to watch a key. A [`WatchTracker`](super::WatchTracker) keeps watches until they end.
    ///
    /// # Errors
    /// [`KvError::Unsupported`] if the engine has no watches.
    fn watch(&self, _key: &[u8]) -> Result<KeyWatch> {
        Err(KvError::Unsupported("watching a key"))
    }

    /// Figures about the store.
    ///
    /// # Errors
    /// [`KvError::Unsupported`] if there are none.
    fn statistics(&self) -> Result<Statistics> {
        Err(KvError::Unsupported("statistics"))
    }

    /// The counters of the engine: requests, connections, waits for these, and failovers.
    /// Transactions, commits and conflicts are counted above it.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

/// Makes one more session that reads the same state and has begun already; `None` if that is not
/// possible now.
pub type Siblings = Box<dyn Fn() -> Option<Box<dyn Session>> + Send + Sync>;

/// A transaction of an [`Engine`]. All of its answers come from one state. Dropping it rolls back.
///
/// After an error nothing more is asked of it.
pub trait Session: Send {
    /// Sends questions, all in one request, and does not wait for the answer.
    ///
    /// # Errors
    /// If the connection is lost.
    fn ask(&mut self, reads: &[RangeRead]) -> Result<()>;

    /// Waits for the answer to the oldest request that has none yet: a page for each of its
    /// questions.
    ///
    /// # Errors
    /// Retryable after a conflict and after a lost connection.
    fn answer(&mut self) -> Result<Vec<RangePage>>;

    /// Whether the store was asked.
    fn is_begun(&self) -> bool;

    /// Fixes the state that a read-only transaction sees, so that it can also be read when the
    /// transaction has ended, whatever the outcome of its commit. No answers are awaited then.
    ///
    /// # Errors
    /// [`KvError::Unsupported`] if that is not possible, or not any more.
    fn share(&mut self) -> Result<()>;

    /// Whether [`share`](Self::share) is impossible only because the transaction is not
    /// [certain](crate::TxOptions::certain). Then a closure that wants it runs again in one that
    /// is. False unless the engine says otherwise.
    fn lacks_certainty(&self) -> bool {
        false
    }

    /// A function that makes more sessions of the state that was [shared](Self::share), so that
    /// several threads read it at once. It is used as long as this session is there. `None`, the
    /// default, if there can be no others: then the threads take turns.
    fn siblings(&self) -> Option<Siblings> {
        None
    }

    /// Makes changes that only this transaction sees until it commits, so that they take no more
    /// memory here. False if the engine cannot do that.
    ///
    /// # Errors
    /// As for [`commit`](Self::commit).
    fn flush(&mut self, _changes: &Changes) -> Result<bool> {
        Ok(false)
    }

    /// Makes the changes and ends the transaction, in one request. Answers that were not waited for
    /// do not matter any more, unless they are errors.
    ///
    /// # Errors
    /// [`KvError::OutcomeUnknown`] only if no server can tell the outcome of the commit. After any
    /// other error nothing was changed.
    fn commit(self: Box<Self>, changes: Changes) -> Result<()>;
}
