//! Whether the path of a database still leads to the file that is open.
//!
//! A connection keeps the file it has opened when another one takes its place, as when a backup is
//! restored. What it then commits is lost to everybody else.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rusqlite::Connection;

use super::error::cannot_open;
use crate::file_id::FileId;
use crate::{KvError, Result};

/// The file to which all connections of a store lead.
pub(super) struct DatabaseFile {
    /// As it was given, for messages.
    given: PathBuf,
    /// Leads to the same file wherever the process goes.
    path: PathBuf,
    /// Known with the first connection.
    id: OnceLock<FileId>,
}

impl DatabaseFile {
    pub(super) fn new(given: &Path) -> Self {
        let path = std::path::absolute(given).unwrap_or_else(|_| given.to_owned());
        DatabaseFile { given: given.to_owned(), path, id: OnceLock::new() }
    }

    /// Makes a connection by `open`, which must lead to the same file as those before it.
    pub(super) fn connect(
        &self,
        open: impl FnOnce(&Path) -> Result<Connection>,
    ) -> Result<Connection> {
        if let Some(known) = self.id.get()
            && self.found()? != Some(*known)
        {
            return Err(self.replaced());
        }
        let connection = open(&self.path)?;
        let Some(found) = self.found()? else { return Err(self.replaced()) };
        if *self.id.get_or_init(|| found) != found {
            return Err(self.replaced());
        }
        self.check(&connection)?;
        Ok(connection)
    }

    fn found(&self) -> Result<Option<FileId>> {
        FileId::at(&self.path)
            .map_err(|error| cannot_open(&self.given, format!("cannot look at it: {error}")))
    }

    /// Fails if the path leads to another file than `connection` by now, or to none. Costs two `stat`s.
    pub(super) fn check(&self, connection: &Connection) -> Result<()> {
        // SQLite looks at the path it found at the end of all links when it opened the file. A link that
        // leads elsewhere by now is seen only from here.
        if has_moved(connection) || self.found()? != self.id.get().copied() {
            return Err(self.replaced());
        }
        Ok(())
    }

    /// Fails if what `connection` has just committed went to a file that is not there any more.
    pub(super) fn check_committed(&self, connection: &Connection) -> Result<()> {
        self.check(connection).map_err(|error| {
            KvError::OutcomeUnknown(format!(
                "it was committed, but perhaps to a file that others do not see: {error}"
            ))
        })
    }

    fn replaced(&self) -> KvError {
        cannot_open(
            &self.given,
            "it was replaced or removed while it is open in this process, which still has the file \
             that was there before; close this store with its transactions and snapshots and open \
             it again",
        )
    }
}

#[cfg(unix)]
fn has_moved(connection: &Connection) -> bool {
    use rusqlite::{DEFAULT_NAME, FileControl};
    let mut moved = 0;
    let asked = connection.file_control(DEFAULT_NAME, FileControl::HasMoved(&mut moved));
    asked.is_ok() && moved != 0
}

/// A file that is open cannot be replaced there.
#[cfg(not(unix))]
fn has_moved(_: &Connection) -> bool {
    false
}
