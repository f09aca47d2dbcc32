//! How to open an environment.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::LmdbStore;
use super::copy;
use super::directory::make_directory;
use super::error::{cannot_open, io_failed};
use super::file::{self, DataFile};
use super::options::Options;
use super::registry;
use super::reserve::rounded;
use crate::contract::DEFAULT_WAIT;
use crate::copy::{Compacted, Copied, Watch};
use crate::{Durability, KvDatabase, KvError, KvRead, Result};

/// Options for opening an LMDB environment.
///
/// ```
/// # let parent = tempfile::tempdir().map_err(|e| permazen_kv::KvError::IllegalState(e.to_string()))?;
/// # let path = parent.path().join("db");
/// use permazen_kv::lmdb::{Durability, LmdbStore};
///
/// let store = LmdbStore::builder()
///     .create(true)
///     .durability(Durability::MayLoseLastCommits)
///     .open(&path)?;
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LmdbBuilder {
    options: Options,
    verify: bool,
    checks: bool,
}

impl LmdbStore {
    /// Opens the environment in the directory `path`, which must exist.
    ///
    /// # Errors
    /// See [`LmdbBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        LmdbBuilder::default().open(path)
    }

    /// Opens the environment in the directory `path`. Creates both if they are missing.
    ///
    /// # Errors
    /// See [`LmdbBuilder::open`].
    pub fn open_or_create(path: impl AsRef<Path>) -> Result<Self> {
        LmdbBuilder::default().create(true).open(path)
    }

    /// Options for opening an environment.
    pub fn builder() -> LmdbBuilder {
        LmdbBuilder::default()
    }
}

impl Default for LmdbBuilder {
    fn default() -> Self {
        let options = Options {
            create: false,
            read_only: false,
            map_size: None,
            first_map_size: None,
            max_readers: 1022,
            durability: Durability::Full,
            name: "permazen".to_owned(),
            wait: DEFAULT_WAIT,
            groups: true,
        };
        LmdbBuilder { options, verify: false, checks: false }
    }
}

impl LmdbBuilder {
    /// Whether to create the directory and the environment if they are missing; off unless set.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.options.create = create;
        self
    }

    /// Whether to open for reading only, which never changes `data.mdb`; off unless set.
    ///
    /// LMDB must still write `lock.mdb`, except on a read-only file system.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.options.read_only = read_only;
        self
    }

    /// The size in bytes that the environment can grow to. It is the size of its map, which
    /// reserves addresses only, neither memory nor disk.
    ///
    /// Unless set, the environment can grow to one TiB, and the map grows with it. It begins with
    /// one TiB too, or with less if the process has many environments open or few addresses (see
    /// [`first_map_size`](Self::first_map_size)).
    ///
    /// If the environment is already open in this process, a larger size than it has makes its map
    /// grow, for all that have it open. This is refused while a transaction or snapshot of it is
    /// open in this process. Unless set, the map then stays as it is.
    #[must_use]
    pub fn map_size(mut self, bytes: usize) -> Self {
        self.options.map_size = Some(rounded(bytes));
        self
    }

    /// How many addresses the map reserves at first, in bytes, if no [`map_size`](Self::map_size)
    /// is set; for processes that open very many environments, or whose addresses are limited.
    /// Unless set, a 64th of the part of 64 TiB that the environments of this process leave, at
    /// least one GiB and twice the size of the file, at most one TiB; but where the addresses of
    /// the process are limited, no more than a 256th of those that are free, and at least 2 MiB.
    ///
    /// A map that is half full doubles before the next transaction, if at that moment nothing of
    /// this process uses it. When it is used up, the operation that needs more is
    /// [`KvError::Retry`], and the next transaction that writes waits for up to a second until the
    /// transactions, snapshots and copies of the environment that are open in this process have
    /// ended; others that begin meanwhile wait too. If some do not end, it begins with the map as
    /// it is. If it then needs more, [`KvError::Full`] says how many are still open. Optimistic
    /// transactions read until they have committed, so for them the map grows only when one begins
    /// while no other is open.
    ///
    /// ```
    /// use permazen_kv::lmdb::LmdbStore;
    /// use permazen_kv::{KvDatabase, KvDatabaseExt, KvWrite};
    ///
    /// # let parent = tempfile::tempdir().map_err(|e| permazen_kv::KvError::IllegalState(e.to_string()))?;
    /// # let path = parent.path().join("db");
    /// let store = LmdbStore::builder().create(true).first_map_size(1 << 20).open(&path)?;
    /// store.write(|tx| tx.put(b"more than fits into a MiB", &vec![7; 5 << 20]))?;
    /// assert_eq!(store.statistics()?.limit_bytes, Some(1 << 40));
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    #[must_use]
    pub fn first_map_size(mut self, bytes: usize) -> Self {
        self.options.first_map_size = Some(rounded(bytes));
        self
    }

    /// How many read-only transactions and snapshots there can be at the same time, in all
    /// processes; 1022 unless set. The first process that opens the environment decides.
    #[must_use]
    pub fn max_readers(mut self, readers: u32) -> Self {
        self.options.max_readers = readers.max(1);
        self
    }

    /// Sets the guarantee of a commit that has returned; [`Durability::Full`] unless set.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.options.durability = durability;
        self
    }

    /// The name of the database inside the environment; `permazen` unless set.
    #[must_use]
    pub fn database_name(mut self, name: impl Into<String>) -> Self {
        self.options.name = name.into();
        self
    }

    /// How long [`open`](Self::open) waits for the right to write; 30 seconds unless set. It waits
    /// in two cases: it must create the database while another process writes, or a program without
    /// this crate takes more than half a second to end a commit.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.wait = wait;
        self
    }

    /// Whether transactions that write at the same time can be committed together, if their options
    /// allow it ([`TxOptions::in_group`](crate::TxOptions::in_group)), as the options of closures
    /// do; on unless set. One flush then serves all. Without [`Durability`] that flushes, there are
    /// no groups.
    #[must_use]
    pub fn group_commit(mut self, groups: bool) -> Self {
        self.options.groups = groups;
        self
    }

    /// Whether to check the structure of the whole file before any pair in it can be used, as
    /// [`verify`](crate::KvDatabase::verify) does; off unless set. At that time LMDB already has
    /// the file open, and has used the pages that opening always checks.
    ///
    /// Without this, opening checks only the pages that LMDB needs for it. If others are damaged, a
    /// transaction that writes can end the process with a signal, and one that reads can return
    /// wrong pairs. With this, opening returns an error that names the damage.
    /// [`checks`](Self::checks) does so when it is needed.
    #[must_use]
    pub fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Whether the file may be damaged, as tools must expect; off unless set. A damaged file then
    /// never ends the process:
    ///
    /// - Each page is checked as a whole before a read-only transaction uses it: its bounds, its
    ///   entries, the order of its keys, and that these belong there. That costs a few microseconds
    ///   for each page, once in a transaction.
    /// - Before the first transaction that writes begins, and before a copy of an environment with
    ///   several databases, the structure of the whole file is checked as
    ///   [`verify`](crate::KvDatabase::verify) does.
    ///
    /// Damage is reported as [`KvError::Damaged`]. LMDB keeps no checksums: another key or value in
    /// place of the right one is not noticed if it could stand there.
    ///
    /// Without this, a read-only transaction reads nothing outside a page or the file either, but
    /// checks only the parts of a page that it needs.
    ///
    /// ```
    /// use permazen_kv::lmdb::LmdbStore;
    ///
    /// # let directory = tempfile::tempdir().map_err(|e| permazen_kv::KvError::IllegalState(e.to_string()))?;
    /// let store = LmdbStore::builder().create(true).checks(true).open(directory.path())?;
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    #[must_use]
    pub fn checks(mut self, checks: bool) -> Self {
        self.checks = checks;
        self
    }

    /// Opens the environment in the directory `path`. If several processes create it at the same
    /// time, one of them does, and the others wait for it.
    ///
    /// # Errors
    /// [`KvError::Open`] and [`KvError::Damaged`], which both name the path. [`KvError::InUse`] if
    /// it is open in a program whose LMDB has another lock format. [`KvError::Retry`] if this
    /// needed the right to write, and another process held that right for the whole time to wait.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<LmdbStore> {
        let directory = path.as_ref();
        self.check_name(directory)?;
        let missing = self.prepare(directory)?;
        let shared = registry::open(&self.options, directory, missing)?;
        let Options { read_only, groups, .. } = self.options;
        let store = LmdbStore { shared, read_only, groups, checks: self.checks };
        if self.verify
            && let Some(problem) = store.verify()?.into_iter().next()
        {
            return Err(KvError::Damaged { path: directory.into(), reason: problem.into() });
        }
        Ok(store)
    }

    /// Makes a new environment in the directory `path` with the pairs of `from`, and creates the
    /// directory if it is missing. Give it a snapshot or a read-only transaction, so that all pairs
    /// are of one state. Of the options, only the name of the database counts.
    ///
    /// The pages are full, so the file is as small as it can be. It gets its name when all of it is
    /// on disk. So there is always a complete environment or no environment. Costs one scan of
    /// `from`, and writes each page once; in memory are the pages of 16 MB of pairs. On Unix, the
    /// owner of the file alone can read it (0600, and 0700 for a new directory), unless
    /// [`Watch::readers`] says otherwise.
    ///
    /// ```
    /// use permazen_kv::copy::Watch;
    /// use permazen_kv::lmdb::LmdbStore;
    /// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
    ///
    /// # let parent = tempfile::tempdir()?;
    /// # let path = parent.path().join("db");
    /// let from = MemoryStore::new();
    /// let mut tx = from.begin(&TxOptions::writing())?;
    /// tx.put(b"key", b"value")?;
    /// tx.commit()?;
    /// LmdbStore::builder().create_from(&path, &from.snapshot(), &mut Watch::new())?;
    /// let store = LmdbStore::open(&path)?;
    /// assert!(store.begin(&TxOptions::reading())?.get(b"key")?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`KvError::Open`] if the directory has an environment already, or gets one meanwhile; that
    /// is not changed. [`KvError::Stopped`], [`KvError::KeyTooLong`], [`KvError::Full`], and the
    /// errors of reading `from`.
    pub fn create_from(
        &self,
        path: impl AsRef<Path>,
        from: &dyn KvRead,
        watch: &mut Watch<'_>,
    ) -> Result<Copied> {
        let directory = path.as_ref();
        self.check_name(directory)?;
        copy::create_from(&self.options.name, directory, from, watch)
    }

    /// Makes the environment in the directory `path` compact in its place: `data.mdb` is replaced
    /// by a packed copy of it, with everything in it, the size of its map, and its owner and mode.
    /// Of the options, only the name of the database counts.
    ///
    /// **No process may have the environment open**, this one and Permazen for Java included; if
    /// one has, nothing is done. A program that opens it meanwhile waits. (A program that uses LMDB
    /// without its locks is not noticed, and neither is code of this process that opens it by other
    /// means than this crate.) Needs room on the disk for the copy beside the file. Reads the file
    /// twice, writes the copy once and reads it once.
    ///
    /// The copy takes the place of the file in one step when all of it is on disk. So whenever the
    /// process or the machine stops, there is the old file or the new one. A copy that was left
    /// over, called `data.mdb.compact`, is removed by the next call.
    ///
    /// A program without this crate that begins to open the environment **for reading only** in the
    /// very moment of that step keeps the old file, and does not see later commits until it opens
    /// it again.
    ///
    /// ```
    /// use permazen_kv::copy::Watch;
    /// use permazen_kv::lmdb::LmdbStore;
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions};
    ///
    /// # let parent = tempfile::tempdir()?;
    /// # let path = parent.path().join("db");
    /// let store = LmdbStore::open_or_create(&path)?;
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// tx.put(b"key", &[0; 100_000])?;
    /// tx.commit()?;
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// tx.remove(b"key")?;
    /// tx.commit()?;
    /// drop(store);
    /// let compacted = LmdbStore::builder().compact(&path, &mut Watch::new())?;
    /// assert!(compacted.after < compacted.before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`KvError::Retry`] if another process has it open. [`KvError::Open`] if this process has, if
    /// there is no environment, or if its file has several names. [`KvError::Damaged`],
    /// [`KvError::Full`] and [`KvError::Stopped`]. Nothing is changed then.
    /// [`KvError::Unsupported`] on Windows, where an open file cannot be replaced.
    pub fn compact(&self, path: impl AsRef<Path>, watch: &mut Watch<'_>) -> Result<Compacted> {
        let directory = path.as_ref();
        self.check_name(directory)?;
        let options = Options { create: false, ..self.options.clone() };
        LmdbBuilder { options, ..self.clone() }.prepare(directory)?;
        #[cfg(unix)]
        return super::copy::compact(&self.options.name, directory, watch);
        #[cfg(not(unix))]
        {
            watch.check()?;
            Err(KvError::Unsupported("making an LMDB environment compact in its place"))
        }
    }

    fn check_name(&self, directory: &Path) -> Result<()> {
        let name = &self.options.name;
        if name.is_empty() || name.contains('\0') {
            return Err(cannot_open(directory, format!("{name:?} cannot name a database")));
        }
        Ok(())
    }

    /// Makes sure that there is an environment to open. Returns true if its files must still be
    /// created.
    fn prepare(&self, directory: &Path) -> Result<bool> {
        let create = self.options.create && !self.options.read_only;
        match std::fs::metadata(directory) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                return Err(cannot_open(
                    directory,
                    "a file, where the directory of an LMDB environment is expected",
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && create => {
                make_directory(directory, None)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(cannot_open(
                    directory,
                    "no such directory; check the path, or have it created on opening",
                ));
            }
            Err(error) => {
                return Err(io_failed(directory, "cannot look at the directory", error));
            }
        }
        for name in ["data.mdb", "lock.mdb"] {
            // Opening a named pipe would wait until another process writes to it.
            if std::fs::metadata(directory.join(name)).is_ok_and(|found| !found.is_file()) {
                return Err(cannot_open(
                    directory,
                    format!("no LMDB environment: {name} is no regular file"),
                ));
            }
        }
        match file::check(directory, &self.options.name)? {
            DataFile::Sound => Ok(false),
            DataFile::Missing if create => Ok(true),
            DataFile::Missing => Err(cannot_open(
                directory,
                "no LMDB environment: it has no data.mdb; check the path (a program can open it so that a missing one is created)",
            )),
            DataFile::Empty if create => Ok(false),
            DataFile::Empty => {
                Err(cannot_open(directory, "no LMDB environment: data.mdb is empty"))
            }
        }
    }
}
