//! An open environment, and what its users in this process share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvInfo, MdbError, RoTxn, RwTxn, WithoutTls};

use super::error::{cannot_open, failed, io_failed};
#[cfg(target_os = "linux")]
use super::exclusive::LockFile;
use super::map::{Counted, Map, MapUse};
use super::options::Options;
use super::page::readable_pages;
use super::replaced_files::Files;
use super::writer::Writer;
use crate::contract::store_id::StoreId;
use crate::store_parts::file_identity::FileId;
use crate::store_parts::lock::lock;
use crate::store_parts::process::Process;
use crate::store_parts::write_lock::{KeptWait, WriteLock, forget_wait_in_vain};
use crate::{Durability, KvError, Result};

/// The database inside the environment that holds the pairs.
pub(super) type Pairs = Database<'static, Bytes, Bytes>;

/// How long each wait for the right to create the database lasts. After each, the store checks
/// whether another process has created it.
const CREATING: Duration = Duration::from_millis(100);

/// The pause before looking again at a change that another process is just making.
pub(super) const PAUSE: Duration = Duration::from_millis(5);

/// An environment, with everything that its users share.
pub(super) struct SharedEnv {
    /// Dropped first: this ends the writer thread before the environment is closed.
    pub(super) writer: Option<Writer>,
    pub(super) right_to_write: Arc<WriteLock>,
    pub(super) env: Arc<OpenEnv>,
    pub(super) durability: Durability,
    pub(super) id: StoreId,
    name: String,
    /// The database of the pairs, once it was found or created.
    pairs: OnceLock<Pairs>,
    /// Held by the thread that looks for it: LMDB allows only one at a time.
    finding: Mutex<()>,
    /// Whether the structure of the file was checked, and nothing was wrong with it.
    pub(super) verified: AtomicBool,
}

/// An environment that stays open as long as its users or the writer thread need it.
pub(super) struct OpenEnv {
    env: Env<WithoutTls>,
    /// The process that has opened it.
    process: Process,
    directory: PathBuf,
    files: Files,
    /// Whether a thread of this process waits for the right to write, to see the commits of others.
    settling: AtomicBool,
    map: Map,
    /// How long pages are, if they can be read where they are mapped.
    readable_pages: Option<usize>,
    page_len: usize,
    /// The address of the map, as the first tree that was read in it says; 0 before that.
    map_start: AtomicUsize,
    /// How many pages the file has at least.
    pages_in_file: AtomicU64,
    /// The database without a name, which has the records of the named databases; once there is
    /// one.
    records: OnceLock<Pairs>,
    #[cfg(target_os = "linux")]
    lock_file: LockFile,
}

/// A reader that is counted while this exists, and keeps the environment open. It must be dropped
/// after its transaction.
pub(super) struct CountedReader {
    pub(super) shared: Arc<SharedEnv>,
    counted: Counted,
}

impl Drop for CountedReader {
    fn drop(&mut self) {
        self.shared.env.map.end_read(self.counted);
    }
}

impl OpenEnv {
    /// The environment that LMDB has opened in `directory`. `before` are the files that were there
    /// before; `map_size` is the size of the map that was tried first; `grows` says whether it
    /// grows by itself.
    pub(super) fn new(
        env: Env<WithoutTls>,
        directory: &Path,
        before: &Files,
        map_size: usize,
        grows: bool,
    ) -> Result<Self> {
        let data = env
            .try_clone_inner_file()
            .map_err(|error| failed(directory, "cannot look at data.mdb", error))?;
        let data = FileId::of(&data)
            .map_err(|error| io_failed(directory, "cannot look at data.mdb", error))?;
        let files = Files::opened(directory, before, data)?;
        let map = Map::new(env.info().map_size, map_size, grows);
        let settling = AtomicBool::new(false);
        let page_len = env.unnamed_database_stat().page_size as usize;
        let readable_pages = readable_pages(page_len);
        Ok(OpenEnv {
            env,
            process: Process::this(),
            directory: directory.to_owned(),
            files,
            settling,
            map,
            readable_pages,
            page_len,
            map_start: AtomicUsize::new(0),
            pages_in_file: AtomicU64::new(0),
            records: OnceLock::new(),
            #[cfg(target_os = "linux")]
            lock_file: LockFile::default(),
        })
    }

    /// The process that has opened it.
    #[inline]
    pub(super) fn process(&self) -> Process {
        self.process
    }

    pub(super) fn files(&self) -> &Files {
        &self.files
    }

    /// Fails if the directory no longer has the files that are open.
    pub(super) fn check_files(&self) -> Result<()> {
        self.files.check(&self.directory)
    }

    /// Notes that a thread waits for the right to write; false if one does already.
    pub(super) fn begin_settling(&self) -> bool {
        !self.settling.swap(true, Ordering::AcqRel)
    }

    pub(super) fn end_settling(&self) {
        self.settling.store(false, Ordering::Release);
    }

    pub(super) fn path(&self) -> &Path {
        &self.directory
    }

    pub(super) fn heed(&self) -> &Env<WithoutTls> {
        &self.env
    }

    /// How long pages are, if they can be read where they are mapped.
    pub(super) fn readable_pages(&self) -> Option<usize> {
        self.readable_pages
    }

    /// Whether the map begins at this address, as far as is known. The first answer decides: the
    /// file was checked not long before. To be called in a transaction, which keeps the map where
    /// it is.
    pub(super) fn map_begins_at(&self, start: usize) -> bool {
        let known = self.map_start.compare_exchange(0, start, Ordering::Relaxed, Ordering::Relaxed);
        known.is_ok() || known == Err(start)
    }

    /// How many of the first `wanted` pages the file has. A file does not become shorter, so its
    /// length is asked for only if more pages are wanted than it was known to have.
    pub(super) fn pages_in_file(&self, wanted: u64, page_len: u64) -> u64 {
        if self.pages_in_file.load(Ordering::Relaxed) < wanted {
            let bytes = self.env.real_disk_size().unwrap_or(0);
            self.pages_in_file.fetch_max(bytes / page_len, Ordering::Relaxed);
        }
        self.pages_in_file.load(Ordering::Relaxed).min(wanted)
    }

    /// The database that has the records of the others.
    pub(super) fn records(&self) -> Option<Pairs> {
        self.records.get().copied()
    }

    pub(super) fn map(&self) -> &Map {
        &self.map
    }

    /// Keeps the memory map where it is. Everything that LMDB does with an open environment uses
    /// the map, except operations on `lock.mdb` alone.
    pub(super) fn using_map(&self) -> Result<MapUse<'_>> {
        self.map.using(&self.directory)
    }

    /// Makes the memory map larger if `map_size` is more than was asked for before.
    pub(super) fn grow(&self, map_size: usize) -> Result<()> {
        self.map.grow(&self.directory, map_size, |size| self.resize(size))
    }

    /// Makes the memory map larger, if it should grow before a transaction writes. May wait for its
    /// uses to end, for at most `wait` and at most a second. Costs one read of memory if there is
    /// nothing to do.
    #[inline]
    pub(super) fn make_room(&self, wait: Duration) -> Result<()> {
        if !self.map.is_to_grow() {
            return Ok(());
        }
        self.map.make_room(&self.directory, wait, |size| self.resize(size))
    }

    /// Makes the memory map larger, if it should grow before a transaction reads and nothing uses
    /// it at this moment. Costs one read of memory if there is nothing to do.
    #[inline]
    fn make_room_at_once(&self) -> Result<()> {
        if !self.map.is_to_grow() {
            return Ok(());
        }
        self.map.make_room_at_once(&self.directory, |size| self.resize(size))
    }

    /// Makes the memory map as large as the file that another process has made larger. Returns
    /// false if it was that large already.
    pub(super) fn follow_others(&self) -> Result<bool> {
        let using = self.using_map()?;
        let info = self.env.info();
        drop(using);
        let used = self.used(&info);
        if used <= info.map_size {
            return Ok(false);
        }
        self.map.follow(&self.directory, used, |size| self.resize(size))?;
        Ok(true)
    }

    /// How many bytes of the file are used.
    fn used(&self, info: &EnvInfo) -> usize {
        info.last_page_number.saturating_add(1).saturating_mul(self.page_len)
    }

    /// The data of LMDB about the environment, for a transaction that begins to write or commits.
    /// Notes whether the map should grow.
    pub(super) fn info_of_writer(&self) -> EnvInfo {
        let info = self.env.info();
        self.map.note_used(self.used(&info), info.map_size);
        info
    }

    /// To be called by the map alone, when nothing uses it.
    fn resize(&self, size: usize) -> heed::Result<()> {
        self.map_start.store(0, Ordering::Relaxed);
        // SAFETY: No transaction of this process is active, and nothing else uses the map: that
        // is when the map calls this, and it keeps new ones from beginning meanwhile.
        #[allow(unsafe_code)]
        unsafe {
            self.env.resize(size)
        }
    }

    /// The error of a failed operation.
    pub(super) fn failed(&self, what: &'static str, error: heed::Error) -> KvError {
        match error {
            heed::Error::Mdb(MdbError::MapFull) => self.map.used_up(self.path()),
            heed::Error::Mdb(MdbError::MapResized) => KvError::Retry(format!(
                "{}: another process has just made it larger than the memory map of {} bytes that this process has for it; \
                 begin again",
                self.path().display(),
                self.map.size(),
            )),
            error => failed(self.path(), what, error),
        }
    }

    /// Begins a read transaction.
    ///
    /// The holder of the transaction must also hold this environment, and count as a reader of its
    /// map.
    fn begin_read(&self) -> heed::Result<RoTxn<'static, WithoutTls>> {
        let txn = self.env.read_txn()?;
        // SAFETY: The transaction refers to `self.env`, which lies in an `Arc<OpenEnv>`, so it does
        // not move, and which every holder keeps alive: `LmdbView` by its `CountedReader`, which is
        // dropped after the transaction.
        #[allow(unsafe_code)]
        let txn = unsafe { std::mem::transmute::<RoTxn<'_, _>, RoTxn<'static, _>>(txn) };
        Ok(txn)
    }

    /// Begins a write transaction. Waits without a limit.
    ///
    /// The holder of the transaction must also hold this environment and its map.
    pub(super) fn begin_write(&self) -> heed::Result<RwTxn<'static>> {
        let txn = self.env.write_txn()?;
        // SAFETY: The transaction refers to `self.env`, which lies in an `Arc<OpenEnv>`, so it
        // does not move, and which every holder of a transaction keeps alive: `WriteTransaction`
        // and `Writer` by an `Arc`, declared after the transaction and hence dropped after it.
        #[allow(unsafe_code)]
        let txn = unsafe { std::mem::transmute::<RwTxn<'_>, RwTxn<'static>>(txn) };
        Ok(txn)
    }

    /// Begins a write transaction on this thread, for which LMDB does not wait. `None` if another
    /// process has the environment open, or might have it. Otherwise the same as
    /// [`begin_write`](OpenEnv::begin_write).
    #[cfg(target_os = "linux")]
    pub(super) fn begin_write_alone(&self) -> Option<heed::Result<RwTxn<'static>>> {
        let alone = self.lock_file.keep_alone(self.files.lock()?)?;
        let begun = self.begin_write();
        drop(alone);
        Some(begun)
    }

    /// Other systems than Linux have other kinds of locks for files and for LMDB.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn begin_write_alone(&self) -> Option<heed::Result<RwTxn<'static>>> {
        None
    }

    /// Finds or creates the database `name` in `txn`, and commits. `None` if there are only other
    /// databases.
    pub(super) fn create_pairs(
        &self,
        txn: RwTxn<'static>,
        name: &str,
    ) -> heed::Result<Option<Pairs>> {
        let created = self.env.create_databases_and_commit(txn, |opener, txn| {
            let records = opener.open_database::<Bytes, Bytes>(txn, None)?;
            if let Some(pairs) = opener.open_database::<Bytes, Bytes>(txn, Some(name))? {
                return Ok(CommitOrAbort::Commit((pairs, records)));
            }
            // No other process can add a database during this transaction.
            if self.env.unnamed_database_stat().entries > 0 {
                return Ok(CommitOrAbort::Abort(()));
            }
            let pairs = opener.create_database::<Bytes, Bytes>(txn, Some(name))?;
            Ok::<_, heed::Error>(CommitOrAbort::Commit((pairs, records)))
        });
        Ok(created?.commit().map(|found| self.note_records(found)))
    }

    /// Keeps the database that has the records, and returns the other one.
    fn note_records(&self, (pairs, records): (Pairs, Option<Pairs>)) -> Pairs {
        if let Some(records) = records {
            self.records.get_or_init(|| records);
        }
        pairs
    }

    /// The error of a failed commit. It depends on whether the environment is still usable.
    pub(super) fn commit_failed(&self, error: heed::Error) -> KvError {
        // These come before the page is written that makes a commit valid.
        if matches!(
            error,
            heed::Error::Mdb(MdbError::MapFull | MdbError::TxnFull | MdbError::BadTxn)
        ) {
            return self.failed("cannot commit", error);
        }
        let _using = self.using_map();
        match self.env.read_txn() {
            // LMDB reports a map that was resized only if it still works.
            Ok(_) | Err(heed::Error::Mdb(MdbError::MapResized)) => {
                self.failed("cannot commit", error)
            }
            // LMDB stops working when it could not write that page. Other errors hide whether it
            // still works.
            Err(_) => KvError::OutcomeUnknown(format!(
                "{}: {error}; close the store and open it again to see what is committed",
                self.directory.display()
            )),
        }
    }
}

impl SharedEnv {
    /// Shares an environment that has just been opened.
    pub(super) fn new(options: &Options, env: OpenEnv) -> Result<SharedEnv> {
        let env = Arc::new(env);
        let writer = if options.read_only { None } else { Some(Writer::start(Arc::clone(&env))?) };
        Ok(SharedEnv {
            writer,
            right_to_write: WriteLock::of(env.path().display().to_string()),
            env,
            durability: options.durability,
            id: StoreId::new(),
            name: options.name.clone(),
            pairs: OnceLock::new(),
            finding: Mutex::new(()),
            verified: AtomicBool::new(false),
        })
    }

    /// Whether a commit waits for the disk.
    pub(super) fn flushes(&self) -> bool {
        self.durability != Durability::MayLoseEverything
    }

    /// Checks that an environment that is already open fits `options`.
    pub(super) fn suits(&self, options: &Options) -> Result<()> {
        let reason = if !options.read_only && self.writer.is_none() {
            "it is already open in this process, read-only; close it there first, or open it \
             read-only here too"
        } else if !options.read_only && options.durability != self.durability {
            "it is already open in this process with another durability; open it with the same, or \
             close it there first"
        } else if options.name != self.name {
            "it is already open in this process with another database name; close it there first"
        } else {
            return Ok(());
        };
        Err(self.still_open(cannot_open(self.path(), reason)))
    }

    /// Fails if this process was forked from the one that has opened the environment.
    #[inline]
    pub(super) fn check_process(&self) -> Result<()> {
        self.env.process.check(|| self.path().display().to_string())
    }

    /// Fails if the directory no longer has the files that are open.
    pub(super) fn check_files(&self) -> Result<()> {
        self.env.check_files().map_err(|error| self.still_open(error))
    }

    /// `error` advises to close the environment; adds which users may keep it open nevertheless.
    fn still_open(&self, error: KvError) -> KvError {
        match error {
            KvError::Open { path, reason }
                if self.writer.as_ref().is_some_and(Writer::is_blocked)
                    || self.env.settling.load(Ordering::Acquire) =>
            {
                let still = "; it stays open as long as a transaction or an opening that gave up waiting \
                             is in line for the right to write, which another process has";
                KvError::Open { path, reason: format!("{reason}{still}").into() }
            }
            error => error,
        }
    }

    /// Prepares the environment for use with `options`. May wait for other processes.
    pub(super) fn prepare(self: &Arc<Self>, options: &Options) -> Result<()> {
        let env = &self.env;
        env.follow_others()?;
        // Slots of readers whose process died keep old pages from being used again.
        env.env
            .clear_stale_readers()
            .map_err(|error| failed(env.path(), "cannot check for dead readers", error))?;
        self.check_commit_numbers(options.wait)?;
        if options.read_only {
            // An environment without any database was never written, or another process is just
            // creating the database.
            let using = env.using_map()?;
            let empty = env.env.unnamed_database_stat().entries == 0;
            drop(using);
            return match self.pairs()? {
                None if !empty => Err(self.no_pairs()),
                _ => Ok(()),
            };
        }
        if self.pairs()?.is_none() {
            // Creating a database changes the file, so `options` must ask for it.
            match &self.writer {
                Some(writer) if options.create => self.create_pairs(writer, options.wait)?,
                _ => return Err(self.no_pairs()),
            }
        }
        Ok(())
    }

    /// The error for an environment without this database.
    fn no_pairs(&self) -> KvError {
        cannot_open(
            self.path(),
            format!("LMDB environment without a database named {:?}", self.name),
        )
    }

    pub(super) fn path(&self) -> &Path {
        self.env.path()
    }

    /// The name of the database of the pairs.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The database of the pairs; `None` in an environment that was never written.
    pub(super) fn pairs(&self) -> Result<Option<Pairs>> {
        if let Some(pairs) = self.pairs.get() {
            return Ok(Some(*pairs));
        }
        let _finding = lock(&self.finding);
        if self.pairs.get().is_none()
            && let Some(found) = self.find_pairs()?
        {
            self.pairs.get_or_init(|| found);
        }
        Ok(self.pairs.get().copied())
    }

    fn find_pairs(&self) -> Result<Option<Pairs>> {
        let failed = |error| match error {
            heed::Error::Mdb(MdbError::Incompatible) => {
                cannot_open(self.path(), format!("{:?} in it is not a database", self.name))
            }
            heed::Error::Mdb(MdbError::ReadersFull) => self.readers_full(),
            error => self.env.failed("cannot open the database in it", error),
        };
        let _using = self.env.using_map()?;
        let txn = self.with_reader(|| self.env.env.read_txn()).map_err(failed)?;
        let opened = self.env.env.open_databases_and_commit(txn, |opener, txn| {
            let Some(pairs) = opener.open_database::<Bytes, Bytes>(txn, Some(&self.name))? else {
                return Ok(CommitOrAbort::Abort(()));
            };
            let records = opener.open_database::<Bytes, Bytes>(txn, None)?;
            Ok::<_, heed::Error>(CommitOrAbort::Commit((pairs, records)))
        });
        Ok(opened.map_err(failed)?.commit().map(|found| self.env.note_records(found)))
    }

    /// Creates the database, unless another process creates it first. That process may continue to
    /// write, so this looks for the database repeatedly while it waits for the right to write.
    fn create_pairs(self: &Arc<Self>, writer: &Writer, wait: Duration) -> Result<()> {
        let start = Instant::now();
        // This may run within an attempt of a transaction.
        let _outer = KeptWait::new();
        loop {
            let left = wait.saturating_sub(start.elapsed());
            let pause = CREATING.min(left);
            let begin = || {
                let permit = self.right_to_write.acquire(pause)?;
                Ok((writer.begin(self, pause)?, permit))
            };
            let (txn, _permit) = match begin() {
                Err(KvError::Retry(_)) if self.pairs()?.is_some() => break,
                Err(KvError::Retry(_)) if !left.is_zero() => continue,
                Err(KvError::Retry(_)) => {
                    return Err(KvError::Retry(format!(
                        "{}: there is no database {:?} in it yet, and creating it needs the right to \
                         write, which other processes had for all of {wait:?}; open it again later",
                        self.path().display(),
                        self.name
                    )));
                }
                begun => begun?,
            };
            if let Err(error) = self.check_files().and_then(|()| self.env.check_writing(&txn)) {
                writer.abort(txn);
                return Err(error);
            }
            match writer.create_pairs(txn, &self.name)? {
                None => return Err(self.no_pairs()),
                Some(pairs) => {
                    self.pairs.get_or_init(|| pairs);
                }
            }
            break;
        }
        forget_wait_in_vain();
        Ok(())
    }

    /// Begins to read the current version.
    pub(super) fn begin_read(
        self: &Arc<Self>,
    ) -> Result<(RoTxn<'static, WithoutTls>, CountedReader)> {
        self.env.make_room_at_once()?;
        let mut is_again = false;
        loop {
            let (txn, counted) = self.begin_read_once()?;
            let Err(error) = self.env.check_reading(counted.counted.version) else {
                return Ok((txn, counted));
            };
            drop(txn);
            if is_again {
                return Err(error);
            }
            // A processor may see the number of a commit in `lock.mdb` shortly before the data in
            // `data.mdb`. So this reader may see an older version. Try once more after a pause.
            is_again = true;
            thread::sleep(PAUSE);
        }
    }

    fn begin_read_once(self: &Arc<Self>) -> Result<(RoTxn<'static, WithoutTls>, CountedReader)> {
        let begin = || {
            self.env.map.begin_read(self.path(), || {
                let txn = self.with_reader(|| self.env.begin_read())?;
                let version = txn.id();
                Ok((txn, version))
            })
        };
        let txn = match begin()? {
            Err(heed::Error::Mdb(MdbError::MapResized)) => {
                self.env.follow_others()?;
                begin()?
            }
            begun => begun,
        };
        let (txn, counted) = txn.map_err(|error| self.read_failed(error))?;
        Ok((txn, CountedReader { shared: Arc::clone(self), counted }))
    }

    /// The error of a read transaction that could not begin.
    pub(super) fn read_failed(&self, error: heed::Error) -> KvError {
        match error {
            heed::Error::Mdb(MdbError::ReadersFull) => self.readers_full(),
            error => self.env.failed("cannot begin to read", error),
        }
    }

    /// The result of `read`, which needs a reader slot.
    pub(super) fn with_reader<R>(
        &self,
        mut read: impl FnMut() -> heed::Result<R>,
    ) -> heed::Result<R> {
        match read() {
            // Processes that died may still hold some of the slots.
            Err(heed::Error::Mdb(MdbError::ReadersFull)) => {
                let _ = self.env.env.clear_stale_readers();
                read()
            }
            result => result,
        }
    }

    pub(super) fn readers_full(&self) -> KvError {
        KvError::ReadersFull { path: self.path().into(), max: self.env.env.max_readers() }
    }
}
