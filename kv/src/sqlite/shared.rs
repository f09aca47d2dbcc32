//! The state that the transactions of a database share.

use std::sync::{Arc, Mutex, MutexGuard};

use super::database::{BUSY, Database};
use super::error::failed;
use super::log_files::LogFiles;
use super::versions::{Pooled, Versions};
use crate::Result;
use crate::store_parts::lock::lock;
use crate::store_parts::write_lock::WriteLock;

/// The largest number of connections that are kept for later use.
const IDLE: usize = 16;

/// A database and its idle connections.
pub(super) struct SharedDatabase {
    idle: Mutex<Vec<Pooled>>,
    pub(super) right_to_write: Arc<WriteLock>,
    pub(super) versions: Versions,
    /// Dropped after all connections: every user of a connection holds this, and `idle` and
    /// `versions`, which have others, are declared before.
    log_files: Option<LogFiles>,
    /// Dropped last: until SQLite has closed the file everywhere, it must be known as open, so that
    /// no other thread opens and closes it otherwise, which would give up the locks of SQLite.
    pub(super) database: Database,
}

impl Drop for SharedDatabase {
    fn drop(&mut self) {
        // The parent still uses the files. Connections that are in no transaction can be closed
        // here, and must be, so that SQLite knows of no locks when this process opens the database
        // itself.
        if !self.database.is_of_this_process() {
            std::mem::forget(self.log_files.take());
        }
    }
}

impl SharedDatabase {
    pub(super) fn new(database: Database, log_files: Option<LogFiles>) -> Self {
        let right_to_write = WriteLock::of(database.path.display().to_string());
        SharedDatabase {
            idle: Mutex::default(),
            right_to_write,
            versions: Versions::default(),
            log_files,
            database,
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Pooled>> {
        lock(&self.idle)
    }

    /// A connection that is in no transaction.
    pub(super) fn take(&self) -> Result<Pooled> {
        self.database.check_process()?;
        let Some(pooled) = self.idle().pop() else {
            return Ok(Pooled { connection: self.database.connect()?, last: None });
        };
        // Its last user may have set another time to wait.
        pooled
            .connection
            .busy_timeout(BUSY)
            .map_err(|error| failed(&self.database.path, "cannot set how long to wait", error))?;
        Ok(pooled)
    }

    /// Keeps a connection for later use, if it is not in a transaction and there is room.
    pub(super) fn keep(&self, pooled: Pooled) {
        let mut idle = self.idle();
        if pooled.connection.is_autocommit() && idle.len() < IDLE {
            idle.push(pooled);
        }
    }
}
