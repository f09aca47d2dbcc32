//! Write transactions that begin and end on the thread of their user, without the thread of `writer.rs`.
//!
//! LMDB waits for its lock without a limit. Inside of this process that does no harm, because a thread first
//! waits for the right to write, with a limit. So a thread can take the lock itself if no other process can
//! have it. That is certain as long as this process keeps all others from opening the environment. It does
//! so while it takes the lock, which then takes a moment only. If another process has the environment open,
//! the thread of `writer.rs` takes the lock.
//!
//! Only the thread that has taken the lock can give it back. A transaction that ends on another thread
//! against its promise is left to the first one.

use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use heed::RwTxn;

use super::env::{OpenEnv, Shared};
use super::writer::Writer;
use crate::store_parts::lock::lock;
use crate::store_parts::write_lock::WritePermit;
use crate::{KvError, Result};

/// The lock file that LMDB has open, found when it is first needed.
#[derive(Default)]
pub(super) struct LockFile {
    #[cfg(target_os = "linux")]
    descriptor: std::sync::OnceLock<Option<std::os::fd::RawFd>>,
}

impl OpenEnv {
    /// Begins a write transaction on this thread, for which LMDB does not wait. `None` if another process
    /// has the environment open, or might have it.
    #[cfg(target_os = "linux")]
    fn begin_alone(&self) -> Option<heed::Result<RwTxn<'static>>> {
        let find = || find_descriptor(self.files().lock()?);
        let file = *self.lock_file.descriptor.get_or_init(find);
        let alone = super::exclusive::KeptAlone::take(file?)?;
        let begun = self.begin_write();
        drop(alone);
        Some(begun)
    }

    /// Elsewhere than on Linux, the locks of files and those of LMDB are of other kinds.
    #[cfg(not(target_os = "linux"))]
    fn begin_alone(&self) -> Option<heed::Result<RwTxn<'static>>> {
        None
    }
}

/// The descriptor of the file that LMDB has open. LMDB does not tell it. A second one would not do, because
/// closing it gives up the locks of LMDB. `None` if others have opened the file in this process too: such a
/// descriptor may become that of another file.
#[cfg(target_os = "linux")]
fn find_descriptor(
    lock: crate::store_parts::file_identity::FileId,
) -> Option<std::os::fd::RawFd> {
    use crate::store_parts::file_identity::FileId;
    let mut found = None;
    for entry in std::fs::read_dir("/proc/self/fd").ok()? {
        let entry = entry.ok()?;
        // What was closed meanwhile is not there any more.
        if FileId::at(&entry.path()).ok().flatten() != Some(lock) {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some(entry.file_name().to_str()?.parse().ok()?);
    }
    found
}

thread_local! {
    /// What other threads have left to this one.
    static LEFT: LeftToThisThread = LeftToThisThread::default();
}

/// Transactions that other threads have left to the thread that can end them. That thread ends them when it
/// begins to write again, or when it ends.
type Left = Mutex<Vec<Abandoned>>;

#[derive(Default)]
struct LeftToThisThread(Arc<Left>);

impl LeftToThisThread {
    fn end_all(&self) {
        let left = std::mem::take(&mut *lock(&self.0));
        for abandoned in left {
            abandoned.txn.abort();
        }
    }
}

impl Drop for LeftToThisThread {
    fn drop(&mut self) {
        self.end_all();
    }
}

struct Abandoned {
    txn: RwTxn<'static>,
    _map: KeptMap,
    _permit: WritePermit,
}

/// Keeps the map where it is, and the environment open.
struct KeptMap(Arc<Shared>);

impl KeptMap {
    fn new(shared: &Arc<Shared>) -> Result<Self> {
        shared.env.map().begin_use(shared.path())?;
        Ok(KeptMap(Arc::clone(shared)))
    }
}

impl Drop for KeptMap {
    fn drop(&mut self) {
        self.0.env.map().end_use();
    }
}

/// What a transaction needs that only one thread can end.
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
        shared: &Arc<Shared>,
        writer: &Writer,
    ) -> Result<Option<(RwTxn<'static>, Self)>> {
        if writer.is_blocked() {
            return Ok(None);
        }
        // Without its memory, a thread that is ending could not be left anything.
        let Ok(left) = LEFT.try_with(|left| Arc::clone(&left.0)) else { return Ok(None) };
        let own = OwnThread { thread: thread::current().id(), left, map: KeptMap::new(shared)? };
        match shared.env.begin_alone() {
            None => Ok(None),
            Some(Ok(txn)) => Ok(Some((txn, own))),
            Some(Err(error)) => Err(shared.env.failed("cannot begin to write", error)),
        }
    }

    pub(super) fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }

    /// The error for a commit on another thread.
    pub(super) fn elsewhere() -> KvError {
        KvError::IllegalState(
            "a transaction that was to end on the thread that began it was committed on another one; it is \
             rolled back"
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
            lock(&self.left).push(Abandoned { txn, _map: self.map, _permit: permit });
        }
    }
}

/// Ends what other threads have left to this one. Costs an uncontended lock.
pub(super) fn end_what_was_left() {
    let _ = LEFT.try_with(LeftToThisThread::end_all);
}
