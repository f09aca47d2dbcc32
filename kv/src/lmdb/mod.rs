//! LMDB environments in the file format of Permazen for Java (docs/src/format.md#lmdb). The rest of
//! the crate may call the public items here: [`LmdbStore`] and its builder. All other files are for
//! this folder only.
//!
//! The pairs are in one named database of an environment. An environment is a directory with the
//! files `data.mdb` and `lock.mdb`. In the file, a zero byte stands before each key, so that the
//! empty key can be stored.
//!
//! Only one transaction writes at a time, on the whole machine. Read-only transactions see the
//! version that was current when they began; they wait for no transaction, and no transaction waits
//! for them. All transactions are strictly serializable without conflicts. For concurrent writers,
//! use the optimistic engine over this store.
//!
//! Permazen for Java can open the same environment, but not at the same time: the two use different
//! lock files, and the second one to open it gets an error.
//!
//! If several parts of a program open an environment, they share it. It is closed when its last
//! store, transaction and snapshot is dropped. Keep read-only transactions and snapshots short:
//! space that is freed while they are open cannot be used again, so the file grows.
//! [`LmdbStore::statistics`](KvDatabase::statistics) shows how old the oldest one is, in commits.

mod builder;
mod copy;
mod directory;
mod env;
mod error;
#[cfg(unix)]
mod exclusive;
mod file;
mod file_at;
mod files_match;
mod forked;
mod key;
mod map;
mod open_write;
mod opening;
mod options;
mod own_thread;
mod page;
mod page_reader;
mod read;
mod registry;
mod replaced_files;
mod reserve;
mod transaction;
mod tree;
mod tree_record;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use self::builder::LmdbBuilder;
use self::env::SharedEnv;
use self::error::failed;
use self::read::LmdbView;
use self::transaction::WriteTransaction;
pub use crate::Durability;
use crate::contract::check_spans;
use crate::contract::store_id::StoreId;
use crate::copy::{Copied, Watch};
use crate::store_parts::file_identity::FileId;
use crate::store_parts::on_disk;
use crate::store_parts::read_transaction::ReadTransaction;
use crate::{
    Capabilities, Counters, KeySpan, KvDatabase, KvError, KvTransaction, Result, Space, Statistics,
    TxOptions,
};

/// An LMDB environment. Clones share it.
///
/// Keys have at most 510 bytes.
///
/// ```
/// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, lmdb::LmdbStore};
///
/// # let parent = tempfile::tempdir().map_err(|e| permazen_kv::KvError::IllegalState(e.to_string()))?;
/// # let path = parent.path().join("db");
/// let store = LmdbStore::open_or_create(&path)?;
/// let mut tx = store.begin(&TxOptions::writing())?;
/// tx.put(b"key", b"value")?;
/// tx.commit()?;
/// assert_eq!(store.begin(&TxOptions::reading())?.get(b"key")?.as_deref(), Some(&b"value"[..]));
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Clone)]
pub struct LmdbStore {
    shared: Arc<SharedEnv>,
    read_only: bool,
    /// Whether closures that write at the same time can be committed together.
    groups: bool,
    /// Whether nothing in a damaged file may end the process.
    checks: bool,
}

impl LmdbStore {
    /// The directory of the environment.
    pub fn path(&self) -> &Path {
        self.shared.path()
    }

    /// Makes sure that everything committed so far is on disk. Needed only with a [`Durability`]
    /// other than full. Costs a flush of the commits since the last flush.
    ///
    /// # Errors
    /// [`KvError::Store`] if the disk fails.
    pub fn sync(&self) -> Result<()> {
        self.shared.check_process()?;
        let _using = self.shared.env.using_map()?;
        let synced = self.shared.env.heed().force_sync();
        synced.map_err(|error| failed(self.path(), "cannot sync", error))
    }

    /// Writes a copy of the current version as a new environment in the directory `target`, with
    /// full pages and, but for a few pages, without unused space. Creates the directory if it is
    /// missing. Neither readers nor writers wait. If there are other databases in the environment,
    /// pages are copied as they are.
    ///
    /// The copy is first called `data.mdb.part`, and gets its name when all of it is on disk. So
    /// there is always a complete copy or no copy. On Unix, it is as private as the source, from
    /// its first byte ([`Readers::of`](crate::copy::Readers::of)); a directory that is there
    /// already stays as it is.
    ///
    /// # Errors
    /// [`KvError::Open`] if `target` has an environment already, or gets one
    /// while the copy is made; that environment is not changed.
    /// [`KvError::Retry`] if another process takes more than 30 seconds
    /// to end a commit. [`KvError::ReadersFull`] if there are
    /// too many readers. A copy that could not be finished is removed.
    pub fn copy_to(&self, target: impl AsRef<Path>) -> Result<()> {
        self.copy_to_watched(target, &mut Watch::new()).map(drop)
    }

    /// Does the same as [`copy_to`](Self::copy_to), tells `watch` how far it is, and stops when
    /// `watch` says so. (On Windows, the copy can be stopped only before it begins.)
    ///
    /// # Errors
    /// [`KvError::Stopped`], and the errors of [`copy_to`](Self::copy_to).
    pub fn copy_to_watched(
        &self,
        target: impl AsRef<Path>,
        watch: &mut Watch<'_>,
    ) -> Result<Copied> {
        self.shared.check_process()?;
        if self.checks && self.has_other_databases() {
            // LMDB copies these.
            self.verify_once()?;
        }
        copy::copy_env(&self.shared, target.as_ref(), watch, self.checks)
    }

    fn begin_apart(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        self.shared.check_process()?;
        let pages_can_be_read = self.shared.env.readable_pages().is_some();
        if self.checks && !(options.read_only && pages_can_be_read) {
            self.verify_once()?;
        }
        if options.read_only {
            let view = LmdbView::open(&self.shared, self.checks)?;
            return Ok(Box::new(ReadTransaction::new(view, options)));
        }
        if self.read_only {
            return Err(on_disk::read_only(self.path()));
        }
        WriteTransaction::begin(&self.shared, options, self.groups)
    }

    /// Whether there are databases in the environment besides that of the pairs.
    fn has_other_databases(&self) -> bool {
        let Ok(_using) = self.shared.env.using_map() else { return true };
        self.shared.env.heed().unnamed_database_stat().entries > 1
    }

    /// Checks the structure of the file, unless that was done since the environment was opened.
    fn verify_once(&self) -> Result<()> {
        if self.shared.verified.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some(problem) = self.verify()?.into_iter().next() {
            return Err(KvError::Damaged { path: self.path().into(), reason: problem.into() });
        }
        self.shared.verified.store(true, Ordering::Release);
        Ok(())
    }

    /// Lets `look` read the file without LMDB. It gets the directory and the name of the database.
    fn look_at_file<T>(&self, look: impl FnOnce(&Path, &str) -> Result<T>) -> Result<T> {
        self.shared.check_process()?;
        self.shared.check_files()?;
        // While this reader is open, the pages that it sees do not change.
        let reader = LmdbView::open(&self.shared, self.checks)?;
        let found = look(self.path(), self.shared.name());
        drop(reader);
        // If another file has taken the place of this one, the reader did not protect that file.
        self.shared.check_files()?;
        found
    }
}

impl fmt::Debug for LmdbStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LmdbStore")
            .field("path", &self.path())
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}

impl KvDatabase for LmdbStore {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        self.shared.right_to_write.counts().begin(options, || self.begin_apart(options))
    }

    fn capabilities(&self) -> Capabilities {
        on_disk::offered()
    }

    /// Follows all pages of the file without LMDB, because a damaged page can make LMDB end the
    /// process. Each page must be of the expected kind and must be in use exactly once, keys must
    /// ascend, and the counts and the lists of free pages must be right. The same holds for other
    /// databases in the environment, except for the order of their keys. Databases with several
    /// values for a key (`MDB_DUPSORT`) are skipped. Reads the whole file.
    fn verify(&self) -> Result<Vec<String>> {
        self.look_at_file(file::verify)
    }

    /// Follows the pages of the pairs without LMDB.
    fn space(&self, spans: &[KeySpan<'_>]) -> Result<Vec<Space>> {
        check_spans(spans)?;
        self.look_at_file(|directory, name| file::space(directory, name, spans))
    }

    /// Counts the operations of all users of the environment in this process.
    fn counters(&self) -> Counters {
        self.shared.right_to_write.counts().of_turns()
    }

    fn identity(&self) -> Option<StoreId> {
        // Elsewhere, an environment that is opened by two paths may not be recognized.
        FileId::TELLS.then_some(self.shared.id)
    }

    fn statistics(&self) -> Result<Statistics> {
        self.shared.check_process()?;
        let env = self.shared.env.heed();
        let view = LmdbView::open(&self.shared, self.checks)?;
        let (entries, pages, page_size) = view.sizes()?;
        // Asked while the view is open, because that keeps the map in its place.
        let info = env.info();
        drop(view);
        let (readers, oldest) = self.shared.env.map().readers();
        let readers = (info.number_of_readers as u64).max(readers as u64);
        // The first two pages are the meta pages; page numbers start with zero.
        let used = pages + 2;
        let file_pages = info.last_page_number as u64 + 1;
        let file_bytes = env.real_disk_size();
        Ok(Statistics {
            entries: Some(entries),
            used_bytes: Some(used * page_size),
            free_bytes: Some(file_pages.saturating_sub(used) * page_size),
            file_bytes: Some(
                file_bytes.map_err(|error| failed(self.path(), "cannot measure", error))?,
            ),
            limit_bytes: Some(self.shared.env.map().limit(info.map_size) as u64),
            page_bytes: Some(page_size),
            readers: Some(readers),
            max_readers: Some(u64::from(info.maximum_number_of_readers)),
            oldest_reader_lag: Some(
                oldest.map_or(0, |oldest| info.last_txn_id.saturating_sub(oldest) as u64),
            ),
        })
    }
}
