//! Opening databases, and their connections.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::connection::{Session, Statements};
use super::error::{cannot_open, failed};
use super::file::DatabaseFile;
use super::log_files::LogFiles;
use super::transaction::{View, WriteTransaction};
use super::versions::{Pooled, Versions};
use crate::contract::DEFAULT_WAIT;
use crate::store_parts::lock::lock;
use crate::store_parts::read_transaction::ReadTransaction;
use crate::store_parts::write_lock::WriteLock;
use crate::{
    Capabilities, Durability, KvDatabase, KvError, KvTransaction, Result, Statistics, TxOptions,
};

/// How long SQLite waits for a lock, if a transaction does not say otherwise.
const BUSY: Duration = Duration::from_secs(3);
/// How long SQLite waits for a lock while it opens a database, before that is begun anew: it may be
/// another process that is creating the database, and then there is nothing left to do.
const OPENING: Duration = Duration::from_millis(100);
/// The pause before beginning anew, since some failures come without a wait.
const PAUSE: Duration = Duration::from_millis(5);

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
    wait: Duration,
}

impl Default for SqliteBuilder {
    fn default() -> Self {
        SqliteBuilder {
            create: false,
            read_only: false,
            late_lock: false,
            durability: Durability::Full,
            table: "KV".to_owned(),
            wait: DEFAULT_WAIT,
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

    /// How long [`open`](Self::open) waits for others that are in its way, such as a process that is just
    /// creating the database; 30 seconds unless set.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Opens the database in the file `path`. If several processes create it at the same time, one does
    /// and the others wait for it.
    ///
    /// # Errors
    /// [`KvError::Open`] and [`KvError::Damaged`], which both name the path; [`KvError::Retry`] if others
    /// were in the way for as long as it was to wait. Names that SQLite does not take for that of a file
    /// (`:memory:`, URIs, none) are refused: each connection would have a database of its own.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<SqliteStore> {
        let path = path.as_ref();
        check_name(path)?;
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
            file: DatabaseFile::new(path),
            options: self.clone(),
            statements: Statements::new(&self.table),
            idle: Mutex::default(),
            turn: Arc::default(),
            versions: Versions::default(),
            _log_files: self.read_only.then(|| LogFiles::unless_present(path)).flatten(),
        };
        let connection = shared.patiently(self.wait, || {
            let connection = shared.try_to_connect(create)?;
            shared.find_or_create(&connection, create)?;
            shared.set_up(&connection)?;
            Ok(connection)
        })?;
        shared.keep(Pooled { connection, last: None });
        Ok(SqliteStore { shared: Arc::new(shared) })
    }
}

/// Refuses a name by which SQLite would not open the file of that name.
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

/// A database with its idle connections.
pub(super) struct Shared {
    pub(super) path: PathBuf,
    pub(super) file: DatabaseFile,
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
        lock(&self.idle)
    }

    /// A connection that is in no transaction.
    pub(super) fn take(&self) -> Result<Pooled> {
        let Some(pooled) = self.idle().pop() else {
            return Ok(Pooled { connection: self.connect()?, last: None });
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

    /// A connection to the database, which is there.
    pub(super) fn connect(&self) -> Result<Connection> {
        self.patiently(BUSY.min(self.options.wait), || {
            let connection = self.try_to_connect(false)?;
            self.set_up(&connection)?;
            Ok(connection)
        })
    }

    /// What `attempt` gives, which is made again for as long as others are in its way.
    fn patiently<T>(&self, wait: Duration, attempt: impl Fn() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        loop {
            match attempt() {
                Err(error) if error.is_retryable() && start.elapsed() >= wait => {
                    return Err(KvError::Retry(format!(
                        "{}: waited {wait:?} for others that use it: {error}",
                        self.path.display()
                    )));
                }
                Err(error) if error.is_retryable() => thread::sleep(PAUSE),
                done => return done,
            }
        }
    }

    /// A connection that waits no longer than [`OPENING`].
    fn try_to_connect(&self, create: bool) -> Result<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags |= if self.options.read_only {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        } else {
            OpenFlags::SQLITE_OPEN_READ_WRITE
        };
        if create {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let open = |path: &Path| -> rusqlite::Result<(Connection, String)> {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(OPENING)?;
            let mut mode = "wal".to_owned();
            if !self.options.read_only {
                connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| {
                    mode = row.get(0)?;
                    Ok(())
                })?;
            }
            Ok((connection, mode))
        };
        self.file.connect(|path| {
            let (connection, mode) =
                open(path).map_err(|error| failed(&self.path, "cannot open it", error))?;
            if mode != "wal" {
                let reason = format!(
                    "SQLite cannot keep a log beside it (its journal mode stays {mode:?} instead of WAL), so \
                     connections would be in each other's way; copy it to a local file system"
                );
                return Err(cannot_open(&self.path, reason));
            }
            Ok(connection)
        })
    }

    /// Makes a new connection ready for transactions.
    fn set_up(&self, connection: &Connection) -> Result<()> {
        let synchronous = match self.options.durability {
            Durability::Full => "FULL",
            Durability::MayLoseLastCommits => "NORMAL",
            Durability::MayLoseEverything => "OFF",
        };
        connection.set_prepared_statement_cache_capacity(32);
        connection
            .pragma_update(None, "synchronous", synchronous)
            .and_then(|()| connection.busy_timeout(BUSY))
            .map_err(|error| failed(&self.path, "cannot open it", error))
    }

    /// Sees to it that the table is there.
    fn find_or_create(&self, connection: &Connection, create: bool) -> Result<()> {
        if self.has_table(connection)? {
            return Ok(());
        }
        if !create {
            return Err(self.no_table());
        }
        let failed = |error| failed(&self.path, "cannot create the table", error);
        let tx = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
        let tx = tx.map_err(failed)?;
        // Until now others could have created it, or something else.
        if !self.has_table(&tx)? {
            tx.execute(&self.statements.create, []).map_err(failed)?;
        }
        tx.commit().map_err(failed)
    }

    /// Whether the table is there; it is not in a new database.
    fn has_table(&self, connection: &Connection) -> Result<bool> {
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
                return Ok(true);
            }
            return Err(cannot_open(
                &self.path,
                format!("table {table:?} is not one of key/value pairs"),
            ));
        }
        let others = count(&format!("{tables} AND name <> ?1"), table).map_err(failed)?;
        if others > 0 { Err(self.no_table()) } else { Ok(false) }
    }

    fn no_table(&self) -> KvError {
        let table = &self.options.table;
        cannot_open(&self.path, format!("SQLite database without a table named {table:?}"))
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
