//! Notices when the file of a database was replaced or removed: whether its path still leads to the
//! file that is open.
//!
//! A connection keeps the file it has opened when another file takes its place, for example when a
//! backup is restored. Commits to it are then lost to all others.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rusqlite::Connection;

use super::error::cannot_open;
use super::open_files::{Identity, Objection, OpenFile, is_open_in_parent, objection, place_of};
use crate::contract::store_id::StoreId;
use crate::store_parts::file_identity::perhaps_unseen;
use crate::{KvError, Result};

/// The file that all connections of a store open.
pub(super) struct DatabaseFile {
    /// The path as it was given, for messages.
    given: PathBuf,
    /// The absolute path: it leads to the same file even if the process changes its directory.
    path: PathBuf,
    /// Known after the first connection.
    opened: OnceLock<Opened>,
}

struct Opened {
    file: OpenFile,
    /// Whether the path contains links, so that SQLite has opened the file by another path.
    by_link: bool,
}

impl Opened {
    fn is(&self, found: Option<Identity>) -> bool {
        found.is_some_and(|found| found.is_while_open(self.file.id()))
    }
}

impl DatabaseFile {
    pub(super) fn new(given: &Path) -> Self {
        let path = std::path::absolute(given).unwrap_or_else(|_| given.to_owned());
        DatabaseFile { given: given.to_owned(), path, opened: OnceLock::new() }
    }

    /// Makes a connection by calling `open`. It must lead to the same file as the connections
    /// before. This is checked before, because opening a file has effects if the log of another
    /// file is beside it, and again after.
    pub(super) fn connect(
        &self,
        open: impl FnOnce(&Path) -> Result<Connection>,
    ) -> Result<Connection> {
        let before = self.found()?;
        // It counts as open before SQLite opens it, so that code of this process which would give
        // up SQLite's locks does not come in between.
        let mut opening = None;
        if let Some(opened) = self.opened.get() {
            if !opened.is(before) {
                return Err(self.replaced());
            }
        } else if is_open_in_parent(before) {
            return Err(KvError::forked(&self.given));
        } else {
            let place = place_of(&self.path);
            match objection(&place, before) {
                Some(Objection::Lasting(reason)) => return Err(cannot_open(&self.given, reason)),
                Some(Objection::Passing(reason)) => {
                    return Err(KvError::Retry(format!("{}: {reason}", self.given.display())));
                }
                None => {}
            }
            opening = before.map(|before| OpenFile::new(place, before));
        }
        let connection = open(&self.path)?;
        let Some(found) = self.found()? else { return Err(self.replaced()) };
        if before.is_some_and(|before| !before.is(found)) {
            return Err(self.replaced());
        }
        let opened = self.opened.get_or_init(|| {
            let place = place_of(&self.path);
            let by_link = place != self.path;
            Opened { file: OpenFile::new(place, found), by_link }
        });
        // Only SQLite knows whether it has opened the file that was found.
        if has_moved(&connection) || !opened.is(Some(found)) {
            return Err(self.replaced());
        }
        drop(opening);
        Ok(connection)
    }

    /// Where the file is, after following all links; `None` before the first connection.
    pub(super) fn place(&self) -> Option<&Path> {
        self.opened.get().map(|opened| opened.file.place())
    }

    /// The identity of all stores on the file; `None` before the first connection.
    pub(super) fn store(&self) -> Option<StoreId> {
        self.opened.get().map(|opened| opened.file.store())
    }

    /// Notes which files SQLite has put beside the file for `connection`, so that they are known
    /// again when another file has taken the place of this one.
    pub(super) fn look_beside(&self, connection: &Connection) -> Result<()> {
        let Some(opened) = self.opened.get() else { return Ok(()) };
        opened.file.look_beside(|| self.check(connection))
    }

    fn found(&self) -> Result<Option<Identity>> {
        Identity::at(&self.path)
            .map_err(|error| cannot_open(&self.given, format!("cannot look at it: {error}")))
    }

    /// Fails if the path now leads to another file than `connection`, or to none. Costs one call of
    /// `stat`, two if the path contains links.
    pub(super) fn check(&self, connection: &Connection) -> Result<()> {
        let Some(opened) = self.opened.get() else { return Ok(()) };
        // If SQLite has opened the file through a link, the file may have been moved and the link
        // changed to follow it. Then it is still the same file, but others look for its log
        // elsewhere.
        if !opened.is(self.found()?) || opened.by_link && has_moved(connection) {
            return Err(self.replaced());
        }
        Ok(())
    }

    /// Fails if the last commit of `connection` went to a file that is no longer there.
    pub(super) fn check_committed(&self, connection: &Connection) -> Result<()> {
        self.check(connection).map_err(|error| perhaps_unseen(&error))
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

/// Here, a file that is open cannot be replaced.
#[cfg(not(unix))]
fn has_moved(_: &Connection) -> bool {
    false
}
