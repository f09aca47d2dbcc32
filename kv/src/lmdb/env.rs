//! The open environments of this process: at most one per directory, shared by all who open it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use heed::types::Bytes;
use heed::{
    CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, MdbError, RoTxn, RwTxn, WithoutTls,
};

use super::builder::{LmdbBuilder, create_files};
use super::error::{cannot_open, failed, io_failed};
use super::writer::Writer;
use crate::write_lock::WriteLock;
use crate::{Durability, KvError, Result};

/// The database inside the environment that holds the pairs.
pub(super) type Pairs = Database<'static, Bytes, Bytes>;

/// How long to wait for an environment that is just being closed.
const CLOSING: Duration = Duration::from_secs(10);

/// What is open in this process, by directory.
static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<Shared>>>> = LazyLock::new(Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these mutexes guard is changed in single steps, so a panic leaves it whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An environment with everything that all of its users share.
pub(super) struct Shared {
    /// Ends the writer thread before the environment goes.
    pub(super) writer: Option<Writer>,
    pub(super) turn: Arc<WriteLock>,
    pub(super) env: Arc<OpenEnv>,
    pub(super) durability: Durability,
    name: String,
    pairs: Mutex<Option<Pairs>>,
    /// The versions that open readers of this process look at, with how many look at each.
    readers: Mutex<BTreeMap<usize, usize>>,
}

/// An environment that stays open as long as anybody, be it the writer thread, needs it.
pub(super) struct OpenEnv {
    env: Env<WithoutTls>,
    directory: PathBuf,
}

impl OpenEnv {
    pub(super) fn path(&self) -> &Path {
        &self.directory
    }

    pub(super) fn heed(&self) -> &Env<WithoutTls> {
        &self.env
    }

    /// Begins a write transaction, waiting for as long as it takes.
    ///
    /// Whoever holds the transaction also holds this environment.
    pub(super) fn begin_write(&self) -> heed::Result<RwTxn<'static>> {
        let txn = self.env.write_txn()?;
        // SAFETY: The transaction refers to `self.env`, which lies in an `Arc<OpenEnv>`, so it
        // does not move, and which every holder of a transaction keeps alive: `WriteTransaction`
        // and `Writer` by an `Arc`, declared after the transaction and hence dropped after it.
        #[allow(unsafe_code)]
        let txn = unsafe { std::mem::transmute::<RwTxn<'_>, RwTxn<'static>>(txn) };
        Ok(txn)
    }

    /// The error of a failed commit, which depends on whether the environment survived it.
    pub(super) fn commit_failed(&self, error: heed::Error) -> KvError {
        match self.env.read_txn() {
            // LMDB gives up when the page that makes a commit valid could not be written.
            Err(heed::Error::Mdb(MdbError::Panic)) => KvError::OutcomeUnknown(format!(
                "{}: {error}; close the store and open it again to see",
                self.directory.display()
            )),
            _ => failed(&self.directory, "cannot commit", error),
        }
    }
}

impl Shared {
    /// Opens the environment in `directory` or joins those who have it open. If its files are
    /// `missing` they are created.
    pub(super) fn open(
        options: &LmdbBuilder,
        directory: &Path,
        missing: bool,
    ) -> Result<Arc<Shared>> {
        let directory = directory
            .canonicalize()
            .map_err(|error| io_failed(directory, "cannot find the directory", error))?;
        let mut open = lock(&OPEN);
        if let Some(shared) = open.get(&directory).and_then(Weak::upgrade) {
            shared.suits(options)?;
            return Ok(shared);
        }
        open.retain(|_, shared| shared.strong_count() > 0);
        if missing {
            create_files(&directory)?;
        }
        let shared = Arc::new(Shared::open_new(options, directory.clone())?);
        open.insert(directory, Arc::downgrade(&shared));
        Ok(shared)
    }

    /// Whether an environment that is already open does what `options` ask for.
    fn suits(&self, options: &LmdbBuilder) -> Result<()> {
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
        Err(cannot_open(self.path(), reason))
    }

    fn open_new(options: &LmdbBuilder, directory: PathBuf) -> Result<Shared> {
        let env = Arc::new(open_env(options, directory)?);
        let shared = Shared {
            writer: None,
            turn: Arc::default(),
            env: Arc::clone(&env),
            durability: options.durability,
            name: options.name.clone(),
            pairs: Mutex::new(None),
            readers: Mutex::default(),
        };
        // Readers that died without saying so would keep old pages from being used again.
        env.env
            .clear_stale_readers()
            .map_err(|error| failed(env.path(), "cannot check for dead readers", error))?;
        if shared.pairs()?.is_none() {
            // An environment without any database was never written. To start one in it changes the file, which
            // therefore has to be asked for.
            let empty = env.env.unnamed_database_stat().entries == 0;
            if !(empty && (options.create || options.read_only)) {
                return Err(cannot_open(
                    env.path(),
                    format!("LMDB environment without a database named {:?}", options.name),
                ));
            }
            if !options.read_only {
                shared.create_pairs()?;
            }
        }
        let writer = if options.read_only { None } else { Some(Writer::start(env)?) };
        Ok(Shared { writer, ..shared })
    }

    pub(super) fn path(&self) -> &Path {
        self.env.path()
    }

    /// The name of the database of the pairs.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The database of the pairs; none in an environment that was never written.
    pub(super) fn pairs(&self) -> Result<Option<Pairs>> {
        let mut pairs = lock(&self.pairs);
        if pairs.is_none() {
            *pairs = self.find_pairs()?;
        }
        Ok(*pairs)
    }

    fn find_pairs(&self) -> Result<Option<Pairs>> {
        let failed = |error| match error {
            heed::Error::Mdb(MdbError::Incompatible) => {
                cannot_open(self.path(), format!("{:?} in it is not a database", self.name))
            }
            heed::Error::Mdb(MdbError::ReadersFull) => self.readers_full(),
            error => failed(self.path(), "cannot open the database in it", error),
        };
        let txn = self.with_reader(|| self.env.env.read_txn()).map_err(failed)?;
        let opened = self.env.env.open_databases_and_commit(txn, |opener, txn| {
            opener.open_database::<Bytes, Bytes>(txn, Some(&self.name)).map(commit)
        });
        Ok(opened.map_err(failed)?.commit().flatten())
    }

    fn create_pairs(&self) -> Result<()> {
        let failed = |error| failed(self.path(), "cannot create the database in it", error);
        let txn = self.env.env.write_txn().map_err(failed)?;
        let created = self.env.env.create_databases_and_commit(txn, |opener, txn| {
            opener.create_database::<Bytes, Bytes>(txn, Some(&self.name)).map(commit)
        });
        *lock(&self.pairs) = created.map_err(failed)?.commit();
        Ok(())
    }

    /// Begins to read the current version.
    pub(super) fn begin_read(&self) -> Result<RoTxn<'static, WithoutTls>> {
        let txn = self.with_reader(|| self.env.env.clone().static_read_txn());
        let txn = txn.map_err(|error| match error {
            heed::Error::Mdb(MdbError::ReadersFull) => self.readers_full(),
            error => failed(self.path(), "cannot begin to read", error),
        })?;
        *lock(&self.readers).entry(txn.id()).or_default() += 1;
        Ok(txn)
    }

    /// What `read` gives, which needs a slot for a reader.
    pub(super) fn with_reader<R>(
        &self,
        mut read: impl FnMut() -> heed::Result<R>,
    ) -> heed::Result<R> {
        match read() {
            // Slots of processes that died may be among those that are taken.
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

    /// Notes that a reader of version `id` has ended.
    pub(super) fn reader_ended(&self, id: usize) {
        let mut readers = lock(&self.readers);
        if let Some(count) = readers.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                readers.remove(&id);
            }
        }
    }

    /// How many readers of this process are open, and the oldest version they look at.
    pub(super) fn readers(&self) -> (usize, Option<usize>) {
        let readers = lock(&self.readers);
        (readers.values().sum(), readers.keys().next().copied())
    }
}

fn commit<D>(databases: D) -> CommitOrAbort<D, ()> {
    CommitOrAbort::Commit(databases)
}

fn open_env(options: &LmdbBuilder, directory: PathBuf) -> Result<OpenEnv> {
    let mut map_size = options.map_size;
    let mut waited = false;
    loop {
        let mut heed = EnvOpenOptions::new().read_txn_without_tls();
        heed.map_size(map_size).max_dbs(1).max_readers(options.max_readers);
        let mut flags = EnvFlags::empty();
        if options.read_only {
            flags |= EnvFlags::READ_ONLY;
        }
        match options.durability {
            Durability::Full => {}
            Durability::MayLoseLastCommits => flags |= EnvFlags::NO_META_SYNC,
            Durability::MayLoseEverything => flags |= EnvFlags::NO_SYNC,
        }
        // SAFETY: None of the flags used makes the map writable or gives up locking. Opening maps
        // the file, which must not be changed by others than LMDB; that is the documented
        // condition for using an environment at all. The file was checked to be whole.
        #[allow(unsafe_code)]
        let opened = unsafe {
            heed.flags(flags);
            heed.open(&directory)
        };
        let error = match opened {
            Ok(env) => return Ok(OpenEnv { env, directory }),
            Err(error) => error,
        };
        match error {
            // The address space is limited: make do with less, down to what LMDB uses unasked.
            heed::Error::Io(error)
                if error.kind() == std::io::ErrorKind::OutOfMemory && map_size > 2 << 20 =>
            {
                map_size /= 2;
            }
            heed::Error::EnvAlreadyOpened if !waited => {
                // Its last user in this process is just closing it.
                waited = true;
                if let Some(closing) = heed::env_closing_event(&directory) {
                    closing.wait_timeout(CLOSING);
                }
            }
            error => return Err(open_failed(options, &directory, error)),
        }
    }
}

fn open_failed(options: &LmdbBuilder, directory: &Path, error: heed::Error) -> KvError {
    use std::io::ErrorKind;
    let reason = match &error {
        // The format of the data was checked before, so this is about the lock file.
        heed::Error::Mdb(MdbError::VersionMismatch) => {
            "in use by a program whose LMDB has another lock format, such as Permazen for Java; \
             close it there first"
        }
        heed::Error::Mdb(MdbError::Invalid) => "no LMDB environment",
        heed::Error::EnvAlreadyOpened => {
            "already open in this process by other means; close it there first"
        }
        heed::Error::Io(error) => match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem if options.read_only => {
                "cannot take part in locking: lock.mdb cannot be written; copy the directory to a \
                 place where it can"
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "not writable; open it read-only, or change its permissions"
            }
            ErrorKind::OutOfMemory => "not enough address space to map it",
            _ => "cannot open the LMDB environment",
        },
        heed::Error::Mdb(_) | heed::Error::Encoding(_) | heed::Error::Decoding(_) => {
            "cannot open the LMDB environment"
        }
    };
    let shows_error = matches!(reason, "cannot open the LMDB environment");
    let reason = if shows_error { format!("{reason}: {error}") } else { reason.to_owned() };
    cannot_open(directory, reason)
}
