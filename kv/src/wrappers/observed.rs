//! Transactions that call an observer before each operation; also their snapshots and untracked
//! reads.

use std::sync::Arc;

use crate::contract::pass_on::pass_on;
use crate::{
    Blob, Direction, KeySpan, KvRead, KvTransaction, KvWrite, Near, Pair, Pending, Result, Scan,
    SharedRead,
};

/// The operation that is about to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Get,
    /// A search in key order.
    Seek,
    Put,
    Remove,
    RemoveSpan,
    Adjust,
    Snapshot,
    Commit,
}

/// Sees operations before they run, and can make them fail.
pub(crate) trait Observer: Clone {
    /// Called before `operation`. If this fails, the operation is not made.
    fn before(&self, operation: Operation) -> Result<()>;

    /// Called when a scan has begun. The caller gets the scan that this returns.
    fn steps<'a>(&'a self, scan: Scan<'a>) -> Scan<'a>;

    /// Called to commit the transaction, by `commit`.
    fn commit(&self, commit: impl FnOnce() -> Result<()>) -> Result<()> {
        self.before(Operation::Commit)?;
        commit()
    }
}

/// The content that is read, and the observer.
struct ObservedRead<'a, O> {
    observer: &'a O,
    content: &'a dyn KvRead,
}

impl<'a, O: Observer> ObservedRead<'a, O> {
    fn get(self, key: &[u8]) -> Result<Option<Blob<'a>>> {
        self.observer.before(Operation::Get)?;
        self.content.get(key)
    }

    /// Counts as the gets that the caller would need without it.
    fn get_near(self, key: &[u8], near: &[u8]) -> Result<Option<Near<'a>>> {
        self.observer.before(Operation::Get)?;
        let found = self.content.get_near(key, near)?;
        if found.is_some() {
            self.observer.before(Operation::Get)?;
        }
        Ok(found)
    }

    fn scan(self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.observer.before(Operation::Seek)?;
        Ok(self.observer.steps(self.content.scan(span, direction)?))
    }

    fn at_least(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'a>>> {
        self.observer.before(Operation::Seek)?;
        self.content.at_least(min, max)
    }

    fn at_most(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'a>>> {
        self.observer.before(Operation::Seek)?;
        self.content.at_most(min, max)
    }
}

struct Snapshot<O> {
    content: SharedRead,
    observer: O,
}

impl<O: Observer> KvRead for Snapshot<O> {
    // A visit runs as a scan, so that the observer sees its steps.
    pass_on!(
        self => ObservedRead { observer: &self.observer, content: &self.content };
        get, get_near, scan, at_least, at_most
    );
    pass_on!(self => self.content; LIMITS);
}

/// A transaction that is observed.
pub(crate) struct Observed<O> {
    /// Holds the transaction, because it can be lent as its untracked view.
    untracked: Untracked<O>,
}

/// The untracked reads of a transaction.
struct Untracked<O> {
    tx: Box<dyn KvTransaction + Send>,
    observer: O,
}

impl<O: Observer> Observed<O> {
    pub(crate) fn new(tx: Box<dyn KvTransaction + Send>, observer: O) -> Self {
        Observed { untracked: Untracked { tx, observer } }
    }

    /// The transaction, after the observer has seen `operation`.
    fn tx_for(&mut self, operation: Operation) -> Result<&mut (dyn KvTransaction + Send)> {
        self.untracked.observer.before(operation)?;
        Ok(&mut *self.untracked.tx)
    }
}

impl<O: Observer> KvRead for Untracked<O> {
    pass_on!(
        self => ObservedRead {
            observer: &self.observer,
            content: self.tx.untracked().unwrap_or(&self.tx),
        };
        get, get_near, scan, at_least, at_most
    );
    pass_on!(self => self.tx; LIMITS);
}

impl<O: Observer> KvRead for Observed<O> {
    pass_on!(
        self => ObservedRead { observer: &self.untracked.observer, content: &self.untracked.tx };
        get, get_near, scan, at_least, at_most
    );
    pass_on!(self => self.untracked.tx; LIMITS);
}

// `get_or_put` is made of the get and the put that the caller would need without it, as `get_near`
// is, and so `get_to_put`.
impl<O: Observer> KvWrite for Observed<O> {
    pass_on!(self => self.tx_for(Operation::Put)?; put, put_new, put_if_absent, append);
    pass_on!(self => self.tx_for(Operation::Remove)?; remove);
    pass_on!(self => self.tx_for(Operation::RemoveSpan)?; remove_span);
    pass_on!(self => self.tx_for(Operation::Adjust)?; adjust_counter);
}

impl<O: Observer + Send + Sync + 'static> KvTransaction for Observed<O> {
    pass_on!(
        self => self.untracked.tx;
        is_read_only, set_read_only, set_timeout, version, watch, rollback
    );

    fn snapshot(&self) -> Result<SharedRead> {
        let Untracked { tx, observer } = &self.untracked;
        observer.before(Operation::Snapshot)?;
        Ok(Arc::new(Snapshot { content: tx.snapshot()?, observer: observer.clone() }))
    }

    fn untracked(&self) -> Option<&dyn KvRead> {
        // `None` if the store has no other view.
        self.untracked.tx.untracked().map(|_| &self.untracked as &dyn KvRead)
    }

    fn pending(&self) -> Option<Pending<'_>> {
        let Untracked { tx, observer } = &self.untracked;
        let Pending { writes, base: content } = tx.pending()?;
        Some(Pending { writes, base: Arc::new(Snapshot { content, observer: observer.clone() }) })
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let Untracked { tx, observer } = self.untracked;
        observer.commit(|| tx.commit())
    }
}
