//! Opening databases, and their connections.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::connection::{Session, Statements};
use super::error::{cannot_open, failed};
use super::log_files::LogFiles;
use super::transaction::{View, WriteTransaction};
use super::versions::{Pooled, Versions};
use crate::read_transaction::ReadTransaction;
use crate::write_lock::WriteLock;
use crate::{
    Capabilities, Durability, KvDatabase, KvError, KvTransaction, Result, Statistics, TxOptions,
};

/// How long SQLite waits for a lock, if a transaction does not say otherwise.
const BUSY: Duration = Duration::from_secs(3);
/// How long to wait at a time, and how often, for the right to create the table.
const CREATING: Duration = Duration::from_millis(100);
const CREATING_ATTEMPTS: u32 = 100;

/// Connections that are kept for later use.
const IDLE: usize = 16;

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
    read_only: bool,
    pub(super) late_lock: bool,
    durability: Durability,
    table: String,
}

impl Default for SqliteBuilder {
    fn default() -> Self {
        SqliteBuilder {
            create: false,
            read_only: false,
            late_lock: false,
            durability: Durability::Full,
            table: "KV".to_owned(),
        }
    }
}

impl SqliteBuilder {
    /// Whether to create the file and the table if there is none; off unless set.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Whether to open for reading only, which changes neither the file nor its journal mode; off
    /// unless set.
    ///
    /// Where the journal mode is WAL, SQLite makes two files beside the database for anybody who
    /// reads it, `-wal` and `-shm`. If neither was there when the store was opened, SQLite removes
    /// them when the store is dropped. They stay, and do no harm, if the file must not be written,
    /// if others have it open then, or if the process ends without dropping the store; the next
    /// one to close it after writing removes them.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Whether a transaction takes the right to write with its first write, as in Permazen for
    /// Java; unless set it takes it when it begins.
    ///
    /// Taken late, transactions that turn out not to write are in nobody's way, but one that does
    /// fails with a retryable error if another one has committed since it began.
    #[must_use]
    pub fn late_lock(mut self, late: bool) -> Self {
        self.late_lock = late;
        self
    }

    /// What a commit has reached when it returns; the disk unless set.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The name of the table; `KV` unless set.
    #[must_use]
    pub fn table_name(mut self, name: impl Into<String>) -> Self {
        self.table = name.into();
        self
    }

    /// Opens the database in the file `path`.
    ///
    /// # Errors
    /// [`KvError::Open`] and [`KvError::Damaged`], which both name the path.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<SqliteStore> {
        let path = path.as_ref();
        let create = self.create && !self.read_only;
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                return Err(cannot_open(path, "a directory, where a SQLite file is expected"));
            }
            // SQLite would wait for somebody to write to a named pipe.
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
            }
            Err(error) => return Err(cannot_open(path, format!("cannot look at it: {error}"))),
        }
        let shared = Shared {
            path: path.to_owned(),
            options: self.clone(),
            statements: Statements::new(&self.table),
            idle: Mutex::default(),
            turn: Arc::default(),
            versions: Versions::default(),
            _log_files: self.read_only.then(|| LogFiles::unless_present(path)).flatten(),
        };
        let connection = shared.connect(create)?;
        shared.prepare(&connection, create)?;
        shared.keep(Pooled { connection, last: None });
        Ok(SqliteStore { shared: Arc::new(shared) })
    }
}

/// A database with its idle connections.
pub(super) struct Shared {
    pub(super) path: PathBuf,
    pub(super) options: SqliteBuilder,
    pub(super) statements: Statements,
    idle: Mutex<Vec<Pooled>>,
    pub(super) turn: Arc<WriteLock>,
    pub(super) versions: Versions,
    /// Dropped after all connections: everything that has one holds this, and `idle` stands before.
    _log_files: Option<LogFiles>,
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Vec<Pooled>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that is in no transaction.
    pub(super) fn take(&self) -> Result<Pooled> {
        let Some(pooled) = self.idle().pop() else {
            return Ok(Pooled { connection: self.connect(false)?, last: None });
        };
        // The last one to use it may have set another time to wait.
        pooled
            .connection
            .busy_timeout(BUSY)
            .map_err(|error| failed(&self.path, "cannot set how long to wait", error))?;
        Ok(pooled)
    }

    /// Keeps a connection for later use, if it is fit for that.
    pub(super) fn keep(&self, pooled: Pooled) {
        let mut idle = self.idle();
        if pooled.connection.is_autocommit() && idle.len() < IDLE {
            idle.push(pooled);
        }
    }

    pub(super) fn session<'c>(&'c self, connection: &'c Connection) -> Session<'c> {
        Session { connection, statements: &self.statements, path: &self.path }
    }

    pub(super) fn connect(&self, create: bool) -> Result<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags |= if self.options.read_only {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        } else {
            OpenFlags::SQLITE_OPEN_READ_WRITE
        };
        if create {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let synchronous = match self.options.durability {
            Durability::Full => "FULL",
            Durability::MayLoseLastCommits => "NORMAL",
            Durability::MayLoseEverything => "OFF",
        };
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(&self.path, flags)?;
            connection.busy_timeout(BUSY)?;
            connection.set_prepared_statement_cache_capacity(32);
            connection.pragma_update(None, "synchronous", synchronous)?;
            if !self.options.read_only {
                connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
            }
            Ok(connection)
        };
        open().map_err(|error| failed(&self.path, "cannot open it", error))
    }

    /// Sees to it that the table is there.
    fn prepare(&self, connection: &Connection, create: bool) -> Result<()> {
        let busy_timeout = |pause| {
            let set = connection.busy_timeout(pause);
            set.map_err(|error| failed(&self.path, "cannot open it", error))
        };
        // If another process creates the table and goes on writing, it is better to look again than
        // to wait for the right to create it.
        busy_timeout(CREATING)?;
        let mut attempt = 1;
        let prepared = loop {
            match self.find_or_create(connection, create) {
                Err(error) if error.is_retryable() && attempt < CREATING_ATTEMPTS => attempt += 1,
                prepared => break prepared,
            }
        };
        busy_timeout(BUSY)?;
        prepared
    }

    fn find_or_create(&self, connection: &Connection, create: bool) -> Result<()> {
        let failed = |error| failed(&self.path, "cannot look for the table", error);
        let table = &self.options.table;
        let count = |sql: &str, table: &str| -> rusqlite::Result<i64> {
            connection.query_row(sql, [table], |row| row.get(0))
        };
        let tables =
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let own = count(&format!("{tables} AND name = ?1"), table).map_err(failed)?;
        if own > 0 {
            let columns =
                "SELECT count(*) FROM pragma_table_info(?1) WHERE name IN ('kv_key', 'kv_value')";
            if count(columns, table).map_err(failed)? == 2 {
                return Ok(());
            }
            return Err(cannot_open(
                &self.path,
                format!("table {table:?} is not one of key/value pairs"),
            ));
        }
        let others = count(&format!("{tables} AND name <> ?1"), table).map_err(failed)?;
        if others > 0 || !create {
            return Err(cannot_open(
                &self.path,
                format!("SQLite database without a table named {table:?}"),
            ));
        }
        connection.execute(&self.statements.create, []).map(drop).map_err(failed)
    }
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
    shared: Arc<Shared>,
}

impl SqliteStore {
    /// Opens the database in the file `path`, which must exist.
    ///
    /// # Errors
    /// See [`SqliteBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        SqliteBuilder::default().open(path)
    }

    /// Opens the database in the file `path`, after creating it if need be.
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

    /// The file of the database.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl KvDatabase for SqliteStore {
    fn begin<'db>(&'db self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send + 'db>> {
        if options.read_only {
            let view = View::open(Arc::clone(&self.shared))?;
            return Ok(Box::new(ReadTransaction::new(view, options)));
        }
        if self.shared.options.read_only {
            return Err(KvError::IllegalState(format!(
                "{}: open for reading only, so only read-only transactions can begin",
                self.path().display()
            )));
        }
        Ok(Box::new(WriteTransaction::begin(&self.shared, options)?))
    }

    fn capabilities(&self) -> Capabilities {
        let mut offered = Capabilities::none();
        offered.serializable = true;
        offered.timeouts = true;
        offered.read_only_switch = true;
        offered.persistent = true;
        offered
    }

    /// SQLite's own `integrity_check`.
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
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

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
}
