//! The two files that SQLite keeps beside a database whose journal mode is WAL: the log and its
//! index. This removes them if only reading the database has created them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, Result};

/// The name of the log is that of the database and this.
pub(super) const LOG: &str = "-wal";
/// The name of the index of the log is that of the database and this.
pub(super) const INDEX: &str = "-shm";

/// The path of `database` with `suffix` at its end.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(suffix);
    PathBuf::from(name)
}

/// When it is dropped, removes the files that connections which only read have created. SQLite
/// creates the files for such a connection, but does not let it remove them.
///
/// It must be dropped after those connections.
pub(super) struct LogFiles {
    database: PathBuf,
    log: PathBuf,
}

impl LogFiles {
    /// Call it before the database is opened. `None` if one of the files exists: then both stay.
    pub(super) fn unless_present(path: &Path) -> Option<LogFiles> {
        // The files are beside the real file, not beside a link to it.
        let database = path.canonicalize().ok()?;
        let log = beside(&database, LOG);
        let absent = |path: &Path| path.symlink_metadata().is_err();
        (absent(&log) && absent(&beside(&database, INDEX))).then_some(LogFiles { database, log })
    }

    /// Makes SQLite remove the files. SQLite does that when the last connection that may write is
    /// closed, unless another process has the database open.
    fn remove(&self) -> Result<()> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.database, flags)?;
        connection.busy_timeout(std::time::Duration::ZERO)?;
        // Only a connection that has read has opened the log.
        connection.pragma_query(None, "schema_version", |_| Ok(()))?;
        connection.close().map_err(|(_, error)| error)
    }
}

impl Drop for LogFiles {
    fn drop(&mut self) {
        // A log with content belongs to a writer that came meanwhile. SQLite would move the content
        // to the database, and a store that only reads must not cause that.
        if self.log.metadata().is_ok_and(|log| log.len() == 0) {
            // If this fails, the files stay, and do no harm.
            let _ = self.remove();
        }
    }
}
