//! Which files this process has open as databases, and where.
//!
//! SQLite finds the log of a database by the name of the file and takes it for its own, whatever file
//! wrote it. So where a file takes the place of one that is still open, or was when it was replaced, it must
//! not be opened with the log of that one.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use super::log_files::{LOG, beside};
use crate::store_parts::file_id::FileId;
use crate::store_parts::lock::lock;

/// What is known of the place of a database.
struct Known {
    place: PathBuf,
    id: FileId,
    state: State,
}

#[derive(PartialEq)]
enum State {
    /// The file is open.
    Open,
    /// The file was closed after another one had taken its place, and has left this log there.
    Left(Log),
}

/// A log file and its first bytes, which are never the same again once it is begun anew.
#[derive(PartialEq)]
struct Log {
    id: FileId,
    header: [u8; 32],
}

impl Log {
    /// That of the database at `place`, if there is one with content.
    fn at(place: &Path) -> Option<Log> {
        let path = beside(place, LOG);
        let id = FileId::at(&path).ok()??;
        let mut header = [0; 32];
        // There are no locks on this file which closing it could give up.
        File::open(path).ok()?.read_exact(&mut header).ok()?;
        Some(Log { id, header })
    }
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<Known>> {
    lock(&KNOWN)
}

/// Where SQLite finds a file and its log, after all links; also of a file that is not there yet.
pub(super) fn place_of(path: &Path) -> PathBuf {
    let in_directory = || {
        let (directory, name) = (path.parent()?, path.file_name()?);
        Some(directory.canonicalize().ok()?.join(name))
    };
    let place = path.canonicalize().ok().or_else(in_directory);
    place.unwrap_or_else(|| path.to_owned())
}

/// Why the file at `place`, `None` if there is none, must not be opened there.
pub(super) fn objection(place: &Path, found: Option<FileId>) -> Option<String> {
    let mut known = known();
    let others = |known: &Known| known.place == place && Some(known.id) != found;
    if known.iter().any(|known| others(known) && known.state == State::Open) {
        return Some(
            "it was replaced or removed while it is open in this process, which still has the file that \
             was there before and its log; close every store on it with its transactions and snapshots, \
             remove the files -wal and -shm beside it, and open it again"
                .to_owned(),
        );
    }
    let log = Log::at(place).map(State::Left);
    // What has been removed since need not be known any longer.
    known.retain(|known| {
        known.place != place || known.state == State::Open || Some(&known.state) == log.as_ref()
    });
    let left =
        found.is_some() && known.iter().any(|known| others(known) && known.state != State::Open);
    left.then(|| {
        "the file -wal beside it is the log of another file, which was there before and was replaced while \
         this process had it open; remove -wal and -shm, unless the old file is to come back, and open it \
         again"
            .to_owned()
    })
}

/// A file that is open; it is known as such until this is dropped.
pub(super) struct OpenFile {
    place: PathBuf,
    id: FileId,
}

impl OpenFile {
    pub(super) fn new(place: PathBuf, id: FileId) -> Self {
        known().push(Known { place: place.clone(), id, state: State::Open });
        OpenFile { place, id }
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let replaced =
            FileId::at(&self.place).is_ok_and(|found| found.is_some_and(|id| id != self.id));
        let left = if replaced { Log::at(&self.place) } else { None };
        let mut known = known();
        let own = |known: &Known| known.place == self.place && known.id == self.id;
        if let Some(at) = known.iter().position(|known| own(known) && known.state == State::Open) {
            known.swap_remove(at);
        }
        if let Some(log) = left {
            known.retain(|known| known.place != self.place || known.state == State::Open);
            known.push(Known { place: self.place.clone(), id: self.id, state: State::Left(log) });
        }
    }
}
