//! Write transactions that begin and end on the thread of their user, without the thread of
//! `writer.rs`.
//!
//! LMDB waits for its lock without a limit. Inside of this process that does no harm, because a
//! thread first waits for the right to write, with a limit. So a thread can take the lock itself if
//! no other process can have it. That is certain as long as this process keeps all others from
//! opening the environment. It does so while it takes the lock, which then takes a moment only. If
//! another process has the environment open, the thread of `writer.rs` takes the lock.
//!
//! Only the thread that has taken the lock can give it back. A transaction that ends on another
//! thread against its promise is left to the first one. When that thread ends before, the lock ends
//! with it: another process may then write, and the transaction can only be dropped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use heed::RwTxn;

use super::env::SharedEnv;
use super::writer::Writer;
use crate::store_parts::lock::lock;
use crate::store_parts::write_lock::WritePermit;
use crate::{KvError, Result};

thread_local! {
    /// The transactions that other threads have left to this one.
    static LEFT: LeftToThisThread = LeftToThisThread::default();
}

/// What the transactions of a thread need to know of it when they are used elsewhere.
#[derive(Default)]
struct Left {
    /// Transactions that other threads have left to this one, which alone can end them. It does so
    /// when it begins to write again, or when it ends.
    transactions: Mutex<Vec<Abandoned>>,
    /// Whether the thread has ended, or is about to.
    has_ended: AtomicBool,
}

#[derive(Default)]
struct LeftToThisThread(Arc<Left>);

impl LeftToThisThread {
    fn end_all(&self) {
        let left = std::mem::take(&mut *lock(&self.0.transactions));
        for abandoned in left {
            if abandoned.map.0.env.process().is_this() {
                abandoned.txn.abort();
            } else {
                // It is a transaction of the parent of this process.
                std::mem::forget(abandoned.txn);
            }
        }
    }
}

impl Drop for LeftToThisThread {
    fn drop(&mut self) {
        // The lock of LMDB ends only after this.
        self.0.has_ended.store(true, Ordering::Release);
        self.end_all();
    }
}

struct Abandoned {
    txn: RwTxn<'static>,
    map: KeptMap,
    _permit: WritePermit,
}

/// Keeps the map where it is, and the environment open.
struct KeptMap(Arc<SharedEnv>);

impl KeptMap {
    fn new(shared: &Arc<SharedEnv>) -> Result<Self> {
        shared.env.map().begin_use(shared.path())?;
        Ok(KeptMap(Arc::clone(shared)))
    }
}

impl Drop for KeptMap {
    fn drop(&mut self) {
        self.0.env.map().end_use();
    }
}

/// The state of a transaction that only one thread can end.
pub(super) struct OwnThread {
    thread: ThreadId,
    left: Arc<Left>,
    map: KeptMap,
}

impl OwnThread {
    /// Begins a transaction on this thread. `None` if the writer thread must begin it.
    ///
    /// The caller has the right to write.
    pub(super) fn begin(
        shared: &Arc<SharedEnv>,
        writer: &Writer,
    ) -> Result<Option<(RwTxn<'static>, Self)>> {
        if writer.is_blocked() {
            return Ok(None);
        }
        // A thread that is ending has given up its thread-local memory, so nothing could be left to
        // it.
        let Ok(left) = LEFT.try_with(|left| Arc::clone(&left.0)) else { return Ok(None) };
        let own = OwnThread { thread: thread::current().id(), left, map: KeptMap::new(shared)? };
        match shared.env.begin_write_alone() {
            None => Ok(None),
            Some(Ok(txn)) => Ok(Some((txn, own))),
            Some(Err(error)) => Err(shared.env.failed("cannot begin to write", error)),
        }
    }

    /// Fails if the thread that has begun the transaction has ended. Costs one read of memory.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        if self.left.has_ended.load(Ordering::Acquire) { Err(thread_has_ended()) } else { Ok(()) }
    }

    /// The same check, for iterators of the transaction.
    #[inline]
    pub(super) fn at_each_step(&self) -> AtEachStep<'_> {
        AtEachStep { has_ended: &self.left.has_ended }
    }

    pub(super) fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }

    /// The error for a commit on another thread.
    pub(super) fn elsewhere() -> KvError {
        KvError::IllegalState(
            "this transaction was to end on the thread that began it (TxOptions::ends_here), and was committed on \
             another thread; it is rolled back"
                .to_owned(),
        )
    }

    /// Commits. Must be called on the thread that began the transaction.
    pub(super) fn commit(self, txn: RwTxn<'static>) -> heed::Result<()> {
        txn.commit()
    }

    /// Rolls back, or leaves that to the thread that can do it.
    pub(super) fn abort(self, txn: RwTxn<'static>, permit: WritePermit) {
        if self.is_here() {
            txn.abort();
        } else {
            let abandoned = Abandoned { txn, map: self.map, _permit: permit };
            lock(&self.left.transactions).push(abandoned);
        }
    }
}

/// The check of [`OwnThread::check`], for each step of an iterator.
#[derive(Clone, Copy)]
pub(super) struct AtEachStep<'t> {
    has_ended: &'t AtomicBool,
}

impl AtEachStep<'_> {
    /// Fails if the thread that has begun the transaction has ended. Costs one read of memory.
    #[inline]
    pub(super) fn check(self) -> Result<()> {
        if self.has_ended.load(Ordering::Relaxed) { Err(thread_has_ended()) } else { Ok(()) }
    }
}

#[cold]
fn thread_has_ended() -> KvError {
    KvError::Stale(
        "it was to end on the thread that began it (TxOptions::ends_here), and that thread has ended; begin \
         it again, on a thread that lasts longer or without that option"
            .to_owned(),
    )
}

/// Ends the transactions that other threads have left to this one. Costs an uncontended lock.
pub(super) fn end_abandoned() {
    let _ = LEFT.try_with(LeftToThisThread::end_all);
}
