//! Opens databases.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::copy;
use super::database::{Database, Options};
use super::error::{cannot_open, failed};
use super::log_files::LogFiles;
use super::shared::SharedDatabase;
use super::transaction::{SqliteView, WriteTransaction};
use super::versions::Pooled;
use crate::contract::DEFAULT_WAIT;
use crate::contract::store_id::StoreId;
use crate::copy::{Compacted, Copied, Watch};
use crate::store_parts::directories::{is_missing, missing_above};
use crate::store_parts::on_disk;
use crate::store_parts::read_transaction::ReadTransaction;
use crate::{
    Capabilities, Counters, Durability, KvDatabase, KvRead, KvTransaction, Result, Statistics,
    TxOptions,
};

/// Options for opening an SQLite database.
///
/// ```
/// use permazen_kv::{Durability, sqlite::SqliteStore};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("data.db");
///
/// let builder = SqliteStore::builder().create(true).table_name("pairs");
/// let store = builder.durability(Durability::MayLoseLastCommits).open(&path)?;
/// assert_eq!(store.path(), path);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SqliteBuilder {
    create: bool,
    options: Options,
}

impl Default for SqliteBuilder {
    fn default() -> Self {
        let options = Options {
            read_only: false,
            late_lock: false,
            durability: Durability::Full,
            table: "KV".to_owned(),
            wait: DEFAULT_WAIT,
            groups: true,
        };
        SqliteBuilder { create: false, options }
    }
}

impl SqliteBuilder {
    /// Whether to create the file and the table if they are missing; off unless set.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Whether to open for reading only, which changes neither the file nor its journal mode; off
    /// unless set.
    ///
    /// If the journal mode is WAL, SQLite creates two files beside the database for every reader,
    /// `-wal` and `-shm`. If neither was there when the store was opened, SQLite removes them when
    /// the store is dropped. They stay, and do no harm, in three cases: the file must not be
    /// written, others have it open at that time, or the process ends without dropping the store.
    /// Then they are removed when another program closes the database after writing.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.options.read_only = read_only;
        self
    }

    /// Whether a transaction takes the right to write with its first write, as in Permazen for
    /// Java. Unless set, it takes it when it begins.
    ///
    /// With this, transactions that do not write block no others. But a transaction that writes
    /// fails with a retryable error if another one has committed since it began.
    #[must_use]
    pub fn late_lock(mut self, late: bool) -> Self {
        self.options.late_lock = late;
        self
    }

    /// Sets the guarantee of a commit that has returned; [`Durability::Full`] unless set.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.options.durability = durability;
        self
    }

    /// Whether transactions that write at the same time can be committed together, if their options
    /// allow it ([`TxOptions::in_group`]), as the options of closures do; on unless set. One flush
    /// then serves all. There are groups only with [`Durability::Full`] and without
    /// [`late_lock`](Self::late_lock).
    #[must_use]
    pub fn group_commit(mut self, groups: bool) -> Self {
        self.options.groups = groups;
        self
    }

    /// The name of the table; `KV` unless set.
    #[must_use]
    pub fn table_name(mut self, name: impl Into<String>) -> Self {
        self.options.table = name.into();
        self
    }

    /// How long [`open`](Self::open) waits for other processes that block it, for example one that
    /// is creating the database; 30 seconds unless set.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.wait = wait;
        self
    }

    /// Opens the database in the file `path`. If several processes create it at the same time, one
    /// of them does, and the others wait for it.
    ///
    /// # Errors
    /// [`KvError::Open`](crate::KvError::Open) and [`KvError::Damaged`](crate::KvError::Damaged),
    /// which both name the path. [`KvError::Retry`](crate::KvError::Retry) if other processes
    /// blocked it for the whole time to wait.
    ///
    /// These are refused:
    ///
    /// - names that SQLite does not take as the name of a file (`:memory:`, URIs, the empty name),
    ///   because each connection would have its own database
    /// - a file that this process has open by another name
    /// - a file beside the log of another file that was replaced or removed while this process had
    ///   it open
    pub fn open(&self, path: impl AsRef<Path>) -> Result<SqliteStore> {
        let path = path.as_ref();
        check_name(path)?;
        let create = self.create && !self.options.read_only;
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                return Err(cannot_open(path, "a directory, where a SQLite file is expected"));
            }
            // SQLite would wait until another process writes to a named pipe.
            Ok(found) if !found.is_file() => {
                return Err(cannot_open(
                    path,
                    "a named pipe, socket or device, where a SQLite file is expected",
                ));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if !create {
                    return Err(cannot_open(path, "no such file"));
                }
                if let Some(missing) = missing_above(path) {
                    return Err(cannot_open(path, is_missing(&missing)));
                }
            }
            Err(error) => return Err(cannot_open(path, format!("cannot look at it: {error}"))),
        }
        // Checked before the first connection creates them.
        let log_files = self.options.read_only.then(|| LogFiles::unless_present(path)).flatten();
        let database = Database::new(path, &self.options);
        let connection = database.patiently(self.options.wait, || {
            let connection = database.try_to_connect(create)?;
            database.find_or_create(&connection, create)?;
            database.set_up(&connection)?;
            Ok(connection)
        })?;
        let shared = SharedDatabase::new(database, log_files);
        shared.keep(Pooled { connection, last: None });
        Ok(SqliteStore { shared: Arc::new(shared) })
    }
}

impl SqliteBuilder {
    /// Makes the new file `path` with the pairs of `from`. Give it a snapshot or a read-only
    /// transaction, so that all pairs are of one state. Of the options, only the name of the table
    /// counts.
    ///
    /// The pages are full, so the file is within some percent of the smallest one. It gets its name
    /// when all of it is on disk. So there is always a complete file or none. Costs one scan of
    /// `from`, and writes each page once. On Unix, the owner of the file alone can read it (0600),
    /// unless [`Watch::readers`] says otherwise.
    ///
    /// # Errors
    /// [`KvError::Open`](crate::KvError::Open) if there is a file `path` already, or if there is
    /// one when the new file is complete; that file is not changed.
    /// [`KvError::Stopped`](crate::KvError::Stopped), [`KvError::Full`](crate::KvError::Full), and
    /// the errors of reading `from`.
    pub fn create_from(
        &self,
        path: impl AsRef<Path>,
        from: &dyn KvRead,
        watch: &mut Watch<'_>,
    ) -> Result<Copied> {
        let path = path.as_ref();
        check_name(path)?;
        copy::create_from(&self.options.table, path, from, watch)
    }
}

impl SqliteBuilder {
    /// Makes the database in the file `path` compact in its place, with the `VACUUM` of SQLite, and
    /// empties its log. Of the options, the name of the table, the durability and the time to wait
    /// count.
    ///
    /// This is one transaction: whenever the process or the machine stops, the pairs are all there.
    /// Others can read meanwhile, but not write. Needs room on the disk for two copies of the
    /// pairs: one in SQLite's folder for temporary files, and one in the log beside the file. While
    /// others read an older state, the file keeps its length; the pages that it does not need are
    /// used by later commits.
    ///
    /// ```
    /// use permazen_kv::copy::Watch;
    /// use permazen_kv::sqlite::SqliteStore;
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions};
    ///
    /// # let parent = tempfile::tempdir()?;
    /// # let path = parent.path().join("data.db");
    /// let store = SqliteStore::open_or_create(&path)?;
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// tx.put(b"key", &[0; 100_000])?;
    /// tx.commit()?;
    /// let mut tx = store.begin(&TxOptions::writing())?;
    /// tx.remove(b"key")?;
    /// tx.commit()?;
    /// drop(store);
    /// let compacted = SqliteStore::builder().compact(&path, &mut Watch::new())?;
    /// assert!(compacted.after < compacted.before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`KvError::Retry`](crate::KvError::Retry) if others wrote for all the time to wait.
    /// [`KvError::WithinWrite`](crate::KvError::WithinWrite) within a closure of this thread that
    /// writes to the file. [`KvError::Stopped`](crate::KvError::Stopped),
    /// [`KvError::Full`](crate::KvError::Full) and the errors of [`open`](Self::open). Nothing is
    /// changed then.
    pub fn compact(&self, path: impl AsRef<Path>, watch: &mut Watch<'_>) -> Result<Compacted> {
        let mut builder = self.clone().create(false);
        builder.options.read_only = false;
        let store = builder.open(path)?;
        copy::compact(&store.shared, self.options.wait, watch)
    }
}

/// Refuses a name that does not make SQLite open the file of that name.
fn check_name(path: &Path) -> Result<()> {
    let name = path.as_os_str().as_encoded_bytes();
    let reason = if name == b":memory:" {
        "SQLite would make a database in memory of its own for each connection; for a database in memory \
         use MemoryStore, for a file of that name give its directory as well"
    } else if name.starts_with(b"file:") {
        "a URI, where the path of a file is expected; give the path alone, for a database in memory use \
         MemoryStore"
    } else if name.is_empty() {
        "no path: SQLite would make a temporary database of its own for each connection; for a database \
         in memory use MemoryStore"
    } else {
        return Ok(());
    };
    Err(cannot_open(path, reason))
}

/// An SQLite database. Clones share it.
///
/// ```
/// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, sqlite::SqliteStore};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("data.db");
///
/// let store = SqliteStore::open_or_create(path)?;
/// let mut tx = store.begin(&TxOptions::writing())?;
/// tx.put(b"key", b"value")?;
/// tx.commit()?;
/// assert_eq!(store.begin(&TxOptions::reading())?.get(b"key")?.as_deref(), Some(&b"value"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    shared: Arc<SharedDatabase>,
}

impl SqliteStore {
    /// Opens the database in the file `path`, which must exist.
    ///
    /// # Errors
    /// See [`SqliteBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        SqliteBuilder::default().open(path)
    }

    /// Opens the database in the file `path`. Creates it if it is missing.
    ///
    /// # Errors
    /// See [`SqliteBuilder::open`].
    pub fn open_or_create(path: impl AsRef<Path>) -> Result<Self> {
        SqliteBuilder::default().create(true).open(path)
    }

    /// Options for opening a database.
    pub fn builder() -> SqliteBuilder {
        SqliteBuilder::default()
    }

    /// Writes a copy of the current state of the file as the new file `target`, page by page, with
    /// everything in it. Neither readers nor writers wait. Tells `watch` how far it is, and stops
    /// when `watch` says so.
    ///
    /// The copy gets its name when all of it is on disk. So there is always a complete copy or
    /// none. Unused pages are copied too; for a file without them, see
    /// [`create_from`](SqliteBuilder::create_from). On Unix, the copy is as private as the file,
    /// from its first byte ([`Readers::of`](crate::copy::Readers::of)).
    ///
    /// ```
    /// use permazen_kv::copy::Watch;
    /// use permazen_kv::sqlite::SqliteStore;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let (path, target) = (dir.path().join("data.db"), dir.path().join("copy.db"));
    /// let store = SqliteStore::open_or_create(path)?;
    /// store.copy_to(&target, &mut Watch::new())?;
    /// SqliteStore::open(&target)?;
    /// assert!(store.copy_to(&target, &mut Watch::new()).is_err()); // it is there already
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`KvError::Open`](crate::KvError::Open) if there is a file `target` already, or if there is
    /// one when the copy is made; that file is not changed.
    /// [`KvError::Stopped`](crate::KvError::Stopped), and [`KvError::Full`](crate::KvError::Full).
    /// A copy that could not be finished is removed.
    pub fn copy_to(&self, target: impl AsRef<Path>, watch: &mut Watch<'_>) -> Result<Copied> {
        let target = target.as_ref();
        check_name(target)?;
        copy::copy_database(&self.shared, target, watch)
    }

    /// The file of the database.
    pub fn path(&self) -> &Path {
        &self.shared.database.path
    }

    #[cfg(test)]
    pub(super) fn database(&self) -> &Database {
        &self.shared.database
    }

    fn begin_apart(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        if options.read_only {
            let view = SqliteView::open(Arc::clone(&self.shared))?;
            return Ok(Box::new(ReadTransaction::new(view, options)));
        }
        if self.shared.database.options.read_only {
            return Err(on_disk::read_only(self.path()));
        }
        WriteTransaction::begin(&self.shared, options)
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl KvDatabase for SqliteStore {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        self.shared.right_to_write.counts().begin(options, || self.begin_apart(options))
    }

    fn capabilities(&self) -> Capabilities {
        on_disk::offered()
    }

    /// Runs the `integrity_check` of SQLite.
    fn verify(&self) -> Result<Vec<String>> {
        let pooled = self.shared.take()?;
        let mut problems = Vec::new();
        let checked = pooled.connection.pragma_query(None, "integrity_check", |row| {
            problems.push(row.get::<_, String>(0)?);
            Ok(())
        });
        checked.map_err(|error| failed(self.path(), "cannot check the structure", error))?;
        self.shared.keep(pooled);
        problems.retain(|problem| problem != "ok");
        Ok(problems)
    }

    fn statistics(&self) -> Result<Statistics> {
        let failed = |error| failed(self.path(), "cannot measure", error);
        let pooled = self.shared.take()?;
        let pragma = |name: &str| -> Result<u64> {
            let value =
                pooled.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            value.map(|value| value.unsigned_abs()).map_err(failed)
        };
        let (page, pages) = (pragma("page_size")?, pragma("page_count")?);
        let (free, most) = (pragma("freelist_count")?, pragma("max_page_count")?);
        self.shared.keep(pooled);
        let file = std::fs::metadata(self.path());
        Ok(Statistics {
            used_bytes: Some(pages.saturating_sub(free) * page),
            free_bytes: Some(free * page),
            file_bytes: file.ok().map(|file| file.len()),
            limit_bytes: Some(most.saturating_mul(page)),
            page_bytes: Some(page),
            ..Statistics::default()
        })
    }

    /// There are conflicts only between transactions that take the right to write late.
    fn counters(&self) -> Counters {
        let counts = self.shared.right_to_write.counts();
        match self.shared.database.options.late_lock {
            true => counts.counters(),
            false => counts.of_turns(),
        }
    }

    fn identity(&self) -> Option<StoreId> {
        self.shared.database.file.store()
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::limits::Limit;

    use super::super::database::BUSY;
    use super::*;
    use crate::KvWrite;

    #[test]
    fn a_connection_does_not_keep_what_its_last_writer_was_ready_to_wait() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_or_create(dir.path().join("db")).unwrap();
        let waits = || {
            let pooled = store.shared.take().unwrap();
            let waits = pooled
                .connection
                .pragma_query_value(None, "busy_timeout", |row| row.get::<_, u32>(0));
            store.shared.keep(pooled);
            Duration::from_millis(u64::from(waits.unwrap()))
        };
        assert_eq!(waits(), BUSY);
        drop(store.begin(&TxOptions::writing().with_wait(Duration::ZERO)).unwrap());
        assert_eq!(waits(), BUSY);
    }

    #[test]
    fn a_pair_that_is_too_long_leaves_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_or_create(dir.path().join("db")).unwrap();
        let pooled = store.shared.take().unwrap();
        pooled.connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, 10_000).unwrap();
        // The next transaction uses it.
        store.shared.keep(pooled);
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.put(b"key", b"old").unwrap();
        // The row of the second would be too long only with its header.
        for len in [9_966, 9_996, 10_000, 10_001] {
            let error = tx.put(b"key", &vec![7; len]).unwrap_err();
            assert!(
                error.is_caller_error() && error.to_string().contains("at most 9965"),
                "{error}"
            );
            assert_eq!(tx.get(b"key").unwrap().as_deref(), Some(&b"old"[..]));
        }
        tx.put(b"key", &[7; 9_965]).unwrap();
        tx.commit().unwrap();
    }
}
