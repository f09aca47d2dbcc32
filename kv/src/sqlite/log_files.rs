//! The two files that SQLite keeps beside a database whose journal mode is WAL, the log and its
//! index, where looking at the database has made them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, Result};

/// What the name of the log has after that of the database.
pub(super) const LOG: &str = "-wal";
/// The same for the index of the log.
pub(super) const INDEX: &str = "-shm";

/// The file beside a database whose name has `suffix` at its end.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(suffix);
    PathBuf::from(name)
}

/// Sees to it, when it is dropped, that the files go which connections that only read have made.
/// SQLite makes them for such a connection, but does not let it remove them.
///
/// It must be dropped after those connections.
pub(super) struct LogFiles {
    database: PathBuf,
    log: PathBuf,
}

impl LogFiles {
    /// To be called before the database is opened; `None` if a file is there: then it stays.
    pub(super) fn unless_present(path: &Path) -> Option<LogFiles> {
        // They lie beside the file, not beside a link to it.
        let database = path.canonicalize().ok()?;
        let log = beside(&database, LOG);
        let absent = |path: &Path| path.symlink_metadata().is_err();
        (absent(&log) && absent(&beside(&database, INDEX))).then_some(LogFiles { database, log })
    }

    /// Has SQLite remove the files, as it does when the last connection that may write is closed.
    /// It leaves them where another process has the database open.
    fn remove(&self) -> Result<()> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.database, flags)?;
        connection.busy_timeout(std::time::Duration::ZERO)?;
        // Only one that has read has the log open.
        connection.pragma_query(None, "schema_version", |_| Ok(()))?;
        connection.close().map_err(|(_, error)| error)
    }
}

impl Drop for LogFiles {
    fn drop(&mut self) {
        // A log with content is that of a writer who came meanwhile. SQLite would bring the content
        // into the database, which is not for somebody to do who only looked.
        if self.log.metadata().is_ok_and(|log| log.len() == 0) {
            // Where that is not possible the files stay, and do no harm.
            let _ = self.remove();
        }
    }
}
