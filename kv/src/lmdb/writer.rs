//! The thread that begins and ends write transactions.
//!
//! In LMDB, the write lock belongs to the thread that takes it. Only that thread can give it back,
//! and it waits for the lock without a limit. In this crate, transactions may move between threads,
//! and threads wait with a limit. So each environment has one thread that takes the lock and gives
//! it back. In between, the thread that has the transaction uses the lock. Transactions that do not
//! move need this thread only if other processes have the environment open (`own_thread.rs`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SendError, Sender, SyncSender, channel, sync_channel,
};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use heed::RwTxn;

use super::env::{OpenEnv, Pairs, SharedEnv};
use super::error::io_failed;
use super::forked::note_in_use;
use crate::store_parts::write_lock::note_wait_in_vain;
use crate::{KvError, Result};

/// How long to wait for the lock before checking whether the writer thread sleeps although the lock
/// is free.
const KNOCK: Duration = Duration::from_secs(1);
/// How long another thread gets to start waiting for the lock.
const SETTLED: Duration = Duration::from_millis(50);
/// The least time to wait for the lock.
const MOMENT: Duration = Duration::from_millis(100);
/// How much longer to wait for a writer thread that does not come to ask for the lock, because the
/// processors are busy.
const LATE: Duration = Duration::from_secs(10);

enum Request {
    Begin(Asker),
    Commit(RwTxn<'static>, SyncSender<heed::Result<()>>),
    Create(RwTxn<'static>, String, SyncSender<heed::Result<Option<Pairs>>>),
    Abort(RwTxn<'static>),
}

/// A thread that asks for the lock.
struct Asker {
    reply: SyncSender<Result<RwTxn<'static>>>,
    /// Whether the thread has given up.
    gone: Arc<AtomicBool>,
    /// Keeps the environment open until the request is served, so that a thread that opens the
    /// environment meanwhile shares it.
    shared: Arc<SharedEnv>,
}

/// The progress of the writer thread.
#[derive(Default)]
struct Progress {
    /// Whether the thread waits for the lock, which another process may hold.
    blocked: AtomicBool,
    /// How often the thread has finished waiting.
    served: AtomicU64,
}

/// The handle of the writer thread.
pub(super) struct Writer {
    requests: Option<Sender<Request>>,
    progress: Arc<Progress>,
    /// Whether a thread is in [`knock`](Writer::knock).
    knocking: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    env: Arc<OpenEnv>,
}

impl Writer {
    pub(super) fn start(env: Arc<OpenEnv>) -> Result<Self> {
        let (requests, inbox) = channel();
        let progress = Arc::<Progress>::default();
        let thread = thread::Builder::new()
            .name("permazen-lmdb".to_owned())
            .spawn({
                let (env, progress) = (Arc::downgrade(&env), Arc::clone(&progress));
                move || serve(&env, &inbox, &progress)
            })
            .map_err(|error| io_failed(env.path(), "cannot start the writer thread", error))?;
        let knocking = Arc::default();
        Ok(Writer { requests: Some(requests), progress, knocking, thread: Some(thread), env })
    }

    fn send(&self, request: Request) -> Result<()> {
        let sent = self.requests.as_ref().map(|requests| requests.send(request).is_ok());
        if sent == Some(true) { Ok(()) } else { Err(self.gone()) }
    }

    fn gone(&self) -> KvError {
        KvError::IllegalState(format!("{}: the writer thread has ended", self.env.path().display()))
    }

    /// Begins a write transaction. Waits for at most `wait`, but at least 100 ms after the writer
    /// thread has come to ask for the lock.
    ///
    /// The caller makes sure that no other write transaction exists in this process, and keeps the
    /// environment open as long as the transaction. `shared` is the environment that owns this
    /// writer. If this gives up, the environment stays open until the writer thread has finished
    /// waiting.
    pub(super) fn begin(&self, shared: &Arc<SharedEnv>, wait: Duration) -> Result<RwTxn<'static>> {
        // The channel has no buffer: either the asker takes the transaction, or the thread keeps
        // it.
        let (reply, begun) = sync_channel(0);
        let gone = Arc::<AtomicBool>::default();
        let asker = Asker { reply, gone: Arc::clone(&gone), shared: Arc::clone(shared) };
        self.send(Request::Begin(asker))?;
        // The thread needs a moment even if the lock is free.
        let (start, mut limit) = (Instant::now(), wait.max(MOMENT));
        let longest = limit.saturating_add(LATE);
        // Whether the thread had not come to the lock at the last look.
        let mut is_late = false;
        let begun = loop {
            let left = limit.saturating_sub(start.elapsed());
            match begun.recv_timeout(left.min(KNOCK)) {
                Err(RecvTimeoutError::Timeout) if left > KNOCK => self.knock(shared),
                // No other process keeps the thread from the lock.
                Err(RecvTimeoutError::Timeout)
                    if (is_late || !self.waits_for_lock()) && start.elapsed() < longest =>
                {
                    is_late = !self.waits_for_lock();
                    limit = start.elapsed().saturating_add(MOMENT);
                }
                begun => break begun,
            }
        };
        match begun {
            Ok(begun) => begun,
            Err(RecvTimeoutError::Timeout) => {
                gone.store(true, Ordering::Release);
                note_wait_in_vain();
                Err(KvError::Retry(format!(
                    "{}: waited {wait:?} for the right to write, which another process has",
                    self.env.path().display()
                )))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.gone()),
        }
    }

    /// Wakes the writer thread if it sleeps although the lock is free.
    ///
    /// The lock records whether threads wait for it. The thread that gives it back reads this
    /// record, and wakes the thread that has waited longest. The record can be lost: if the process
    /// of the woken thread is killed before that thread has the lock, and another thread takes the
    /// lock meanwhile, the lock records no waiting thread. All waiting threads then sleep until a
    /// new thread starts to wait.
    ///
    /// So this starts two threads. The first takes the lock. The second starts to wait for it,
    /// which makes the record right. When the first gives the lock back, a sleeping thread is
    /// woken.
    fn knock(&self, shared: &Arc<SharedEnv>) {
        // One such attempt at a time is enough.
        if self.knocking.swap(true, Ordering::AcqRel) {
            return;
        }
        let knocking = Arc::clone(&self.knocking);
        // The environment stays open meanwhile, so that a thread that opens it shares it.
        let (shared, progress) = (Arc::clone(shared), Arc::clone(&self.progress));
        let served = progress.served.load(Ordering::Acquire);
        let knock = move || {
            let env = &shared.env;
            if let Ok(_using) = env.using_map()
                && let Ok(first) = env.begin_write()
            {
                thread::scope(|scope| {
                    // If the writer thread got the lock meanwhile, it does not sleep in vain: it
                    // now waits for nothing, or for the lock that this thread has.
                    let waits = progress.served.load(Ordering::Acquire) == served;
                    if waits && progress.blocked.load(Ordering::Acquire) {
                        scope.spawn(|| env.begin_write().map(RwTxn::abort));
                        thread::sleep(SETTLED);
                    }
                    first.abort();
                });
            }
            knocking.store(false, Ordering::Release);
        };
        let knocker = thread::Builder::new().name("permazen-knock".to_owned()).spawn(knock);
        if knocker.is_err() {
            // Without this thread nothing wakes the writer thread. If that sleeps although the lock
            // is free, `begin` waits until its time is over, and then fails with a retryable error.
            self.knocking.store(false, Ordering::Release);
        }
    }

    /// Commits, and waits until that is done.
    pub(super) fn commit(&self, txn: RwTxn<'static>) -> Result<()> {
        let (reply, done) = sync_channel(1);
        self.send(Request::Commit(txn, reply))?;
        let committed = done.recv().map_err(|_| {
            KvError::OutcomeUnknown(format!(
                "{}: the writer thread ended during the commit",
                self.env.path().display()
            ))
        })?;
        committed.map_err(|error| self.env.commit_failed(error))
    }

    /// Whether the writer thread waits for the lock, which another process may hold.
    fn waits_for_lock(&self) -> bool {
        self.progress.blocked.load(Ordering::Acquire)
    }

    /// The same, or a thread is in [`knock`](Writer::knock).
    pub(super) fn is_blocked(&self) -> bool {
        self.waits_for_lock() || self.knocking.load(Ordering::Acquire)
    }

    /// Finds or creates the database `name`, and commits. Returns `None` if the environment has
    /// other databases, but not this one.
    pub(super) fn create_pairs(&self, txn: RwTxn<'static>, name: &str) -> Result<Option<Pairs>> {
        let (reply, done) = sync_channel(1);
        self.send(Request::Create(txn, name.to_owned(), reply))?;
        let created = done.recv().map_err(|_| self.gone())?;
        created.map_err(|error| self.env.failed("cannot create the database in it", error))
    }

    /// Rolls back. Does not wait for that. The writer thread serves requests in order, so a later
    /// `begin` gets its transaction after that.
    pub(super) fn abort(&self, txn: RwTxn<'static>) {
        // If the thread has ended, dropping the request ends the transaction here.
        let _ = self.send(Request::Abort(txn));
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.requests = None;
        if !self.env.process().is_this() {
            // The thread is one of the parent of this process.
            std::mem::forget(self.thread.take());
            // Besides this and the environment that owns it, that thread has a share if it has a
            // transaction.
            if Arc::strong_count(&self.env) > 2 {
                note_in_use(self.env.path());
            }
            return;
        }
        // The writer thread itself may drop this, with a request whose thread has given up. It
        // cannot wait for its own end, and ends soon after this. In all other cases the writer
        // thread is not waiting for the lock, because a waiting request would have kept this alive.
        // So it ends soon, and this thread waits for that.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

/// Keeps the environment open and its map where it is.
struct InUse(Arc<OpenEnv>);

impl InUse {
    /// `None` if the environment is closed.
    fn new(env: &Weak<OpenEnv>) -> Option<Result<Self>> {
        let env = env.upgrade()?;
        Some(env.map().begin_use(env.path()).map(|()| InUse(env)))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.map().end_use();
    }
}

/// Serves requests until the writer is dropped. Between two transactions it does not keep the
/// environment open: a process that is forked then has this thread's memory, but not the thread,
/// and can close the environment all the same.
fn serve(env: &Weak<OpenEnv>, inbox: &Receiver<Request>, progress: &Progress) {
    // The map is in use until the transaction ends, and also while this thread waits for one.
    let mut using = None;
    while let Ok(request) = inbox.recv() {
        match request {
            // The thread that asked has given up, while this one served others or waited for them.
            Request::Begin(asker) if asker.gone.load(Ordering::Acquire) => {}
            Request::Begin(asker) => {
                let Some(used) = InUse::new(env) else { continue };
                progress.blocked.store(true, Ordering::Release);
                let begun = used.and_then(|used| {
                    let InUse(env) = &*using.insert(used);
                    env.begin_write().map_err(|error| env.failed("cannot begin to write", error))
                });
                progress.served.fetch_add(1, Ordering::AcqRel);
                progress.blocked.store(false, Ordering::Release);
                if !hand_over(begun, asker, inbox) {
                    using = None;
                }
            }
            Request::Commit(txn, reply) => {
                let committed = txn.commit();
                using = None;
                let _ = reply.send(committed);
            }
            Request::Abort(txn) => {
                txn.abort();
                using = None;
            }
            Request::Create(txn, name, reply) => {
                let Some(InUse(env)) = &using else {
                    txn.abort();
                    continue;
                };
                let created = env.create_pairs(txn, &name);
                using = None;
                let _ = reply.send(created);
            }
        }
    }
}

/// Gives the new transaction, or the error of beginning it, to `asker`. If `asker` has given up,
/// the next one in the `inbox` that still waits gets it, so that this thread need not take the lock
/// again for that one. Returns `false` if no thread has a transaction now.
fn hand_over(mut begun: Result<RwTxn<'static>>, asker: Asker, inbox: &Receiver<Request>) -> bool {
    let mut next = Some(asker);
    while let Some(Asker { reply, shared, .. }) = next {
        // This must come before `send`. Otherwise the thread that gets the transaction could end it
        // and close the environment while this thread still shares the environment. Then the
        // environment would stay open until this thread drops its share.
        drop(shared);
        let is_begun = begun.is_ok();
        match reply.send(begun) {
            Ok(()) => return is_begun,
            Err(SendError(returned)) => begun = returned,
        }
        // No thread has a transaction, so the inbox has no requests to end one.
        next = match inbox.try_recv() {
            Ok(Request::Begin(asker)) => Some(asker),
            _ => None,
        };
    }
    // Dropping `begun` rolls the transaction back here.
    false
}
