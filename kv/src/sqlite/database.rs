//! The file of a database, and how to connect to it.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::connection::{Session, Statements};
use super::error::{cannot_open, failed};
use super::replaced_file::DatabaseFile;
use crate::store_parts::process::Process;
use crate::{Durability, KvError, Result};

/// How long SQLite waits for a lock if the transaction does not say.
pub(super) const BUSY: Duration = Duration::from_secs(3);
/// How long SQLite waits for a lock while it opens a database, before opening starts again. The
/// other process may be creating the database, and then nothing is left to do.
const OPENING: Duration = Duration::from_millis(100);
/// The pause before opening starts again, because some failures come without a wait.
const PAUSE: Duration = Duration::from_millis(5);

/// How a database is used.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) read_only: bool,
    pub(super) late_lock: bool,
    pub(super) durability: Durability,
    pub(super) table: String,
    pub(super) wait: Duration,
    pub(super) groups: bool,
}

impl Options {
    /// Whether closures that write at the same time can be committed together: only if a commit
    /// waits for the disk.
    pub(super) fn makes_groups(&self) -> bool {
        self.groups && self.durability == Durability::Full
    }
}

/// A database as its connections see it.
pub(super) struct Database {
    pub(super) path: PathBuf,
    pub(super) file: DatabaseFile,
    pub(super) options: Options,
    statements: Statements,
    /// The process that has opened it.
    process: Process,
}

impl Database {
    pub(super) fn new(path: &Path, options: &Options) -> Self {
        Database {
            path: path.to_owned(),
            file: DatabaseFile::new(path),
            options: options.clone(),
            statements: Statements::new(&options.table),
            process: Process::this(),
        }
    }

    /// Whether this process has opened it, and was not forked from the one that has. Costs one read
    /// of memory.
    pub(super) fn is_of_this_process(&self) -> bool {
        self.process.is_this()
    }

    /// Fails if this process was forked from the one that has opened it: both would use one state
    /// of SQLite, and the locks of the file belong to the parent.
    pub(super) fn check_process(&self) -> Result<()> {
        self.process.check(|| self.path.display().to_string())
    }

    pub(super) fn session<'c>(&'c self, connection: &'c Connection) -> Session<'c> {
        Session { connection, statements: &self.statements, path: &self.path }
    }

    /// A connection to the database, which must exist.
    pub(super) fn connect(&self) -> Result<Connection> {
        self.patiently(BUSY.min(self.options.wait), || {
            let connection = self.try_to_connect(false)?;
            self.set_up(&connection)?;
            Ok(connection)
        })
    }

    /// The result of `attempt`. Repeats it while others use the database in a way that excludes it,
    /// for at most `wait`.
    pub(super) fn patiently<T>(
        &self,
        wait: Duration,
        attempt: impl Fn() -> Result<T>,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            match attempt() {
                Err(KvError::Retry(why)) if start.elapsed() >= wait => {
                    // The error names the file.
                    return Err(KvError::Retry(format!(
                        "waited {wait:?} for others that use it: {why}"
                    )));
                }
                Err(error) if error.is_retryable() => thread::sleep(PAUSE),
                done => return done,
            }
        }
    }

    /// A connection that waits for at most [`OPENING`].
    pub(super) fn try_to_connect(&self, create: bool) -> Result<Connection> {
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

    /// Prepares a new connection for transactions.
    pub(super) fn set_up(&self, connection: &Connection) -> Result<()> {
        let synchronous = match self.options.durability {
            Durability::Full => "FULL",
            Durability::MayLoseLastCommits => "NORMAL",
            Durability::MayLoseEverything => "OFF",
        };
        connection.set_prepared_statement_cache_capacity(32);
        // On systems of Apple, a flush ends in the memory of the disk unless this is asked for.
        // Elsewhere it means nothing.
        let reaches_the_disk = cfg!(target_vendor = "apple");
        connection
            .pragma_update(None, "synchronous", synchronous)
            .and_then(|()| connection.pragma_update(None, "fullfsync", reaches_the_disk))
            .and_then(|()| connection.busy_timeout(BUSY))
            // Otherwise each page of a scan is a statement that SQLite prepares anew, because its
            // limit is another value than before.
            .and_then(|()| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true))
            .map_err(|error| failed(&self.path, "cannot open it", error))?;
        self.file.look_beside(connection)
    }

    /// Makes sure that the table exists.
    pub(super) fn find_or_create(&self, connection: &Connection, create: bool) -> Result<()> {
        if self.has_table(connection)? {
            return Ok(());
        }
        if !create {
            return Err(self.no_table());
        }
        let failed = |error| failed(&self.path, "cannot create the table", error);
        let tx = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
        let tx = tx.map_err(failed)?;
        // Before this transaction, others could have created the table, or something else.
        if !self.has_table(&tx)? {
            tx.execute(&self.statements.create, []).map_err(failed)?;
        }
        tx.commit().map_err(failed)
    }

    /// Whether the table exists. It does not in a new database.
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
