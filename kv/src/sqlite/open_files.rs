//! Which files this process has open as databases, and where.
//!
//! SQLite finds the log of a database by the name of the file and takes it for its own, whatever file
//! wrote it. So where a file takes the place of one that is still open, or was when it was replaced, it must
//! not be opened with the log of that one. A log that another process has begun beside the new file belongs
//! to that file, and its commits are only there: so the log of the old file is known by what it is, and not
//! by its name.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use super::log_files::{INDEX, LOG, beside};
use crate::store_parts::file_id::FileId;
use crate::store_parts::lock::lock;

/// A file, known also after it was closed: the system may give its number to another file then, but not the
/// time at which it was made.
#[derive(Clone, Copy)]
pub(super) struct Identity {
    number: FileId,
    /// `None` where the system does not tell.
    made: Option<SystemTime>,
}

impl Identity {
    fn of(found: &Metadata) -> Self {
        Identity { number: FileId::new(found), made: found.created().ok() }
    }

    /// That of the file `path` leads to, if there is one.
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(found) => Ok(Some(Identity::of(&found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether both are the same file.
    pub(super) fn is(self, other: Identity) -> bool {
        let made_apart = self.made.zip(other.made).is_some_and(|(one, two)| one != two);
        self.number == other.number && !made_apart
    }

    /// Whether both are the same file, if one of them is open. No other one has its number then, and some
    /// systems let the time be changed.
    pub(super) fn is_while_open(self, other: Identity) -> bool {
        self.number == other.number
    }
}

fn are_same(one: Option<Identity>, two: Option<Identity>) -> bool {
    one.zip(two).is_some_and(|(one, two)| one.is(two))
}

/// What SQLite has put beside a database.
#[derive(Clone, Copy, Default)]
struct Beside {
    log: Option<Identity>,
    index: Option<Identity>,
}

impl Beside {
    fn at(place: &Path) -> Beside {
        // What cannot be looked at is not known.
        let look = |suffix| Identity::at(&beside(place, suffix)).ok().flatten();
        Beside { log: look(LOG), index: look(INDEX) }
    }

    fn shares_with(&self, other: &Beside) -> bool {
        are_same(self.log, other.log) || are_same(self.index, other.index)
    }
}

/// A log file and its first bytes, which are never the same again once it is begun anew.
struct Log {
    id: Identity,
    header: [u8; 32],
}

impl Log {
    /// That of the database at `place`, if there is one with content.
    fn at(place: &Path) -> Option<Log> {
        let path = beside(place, LOG);
        // Opening a named pipe would wait for somebody to write to it.
        let found = fs::metadata(&path).ok().filter(Metadata::is_file)?;
        let mut header = [0; 32];
        // There are no locks on this file which closing it could give up.
        File::open(path).ok()?.read_exact(&mut header).ok()?;
        Some(Log { id: Identity::of(&found), header })
    }

    fn is(&self, other: &Log) -> bool {
        self.id.is(other.id) && self.header == other.header
    }
}

/// What is known of the place of a database.
struct Known {
    place: PathBuf,
    id: Identity,
    state: State,
}

enum State {
    /// So many have the file open, and this was beside it when it was looked at last.
    Open(usize, Beside),
    /// The file was closed after it had lost its place, and has left this log there.
    Left(Log),
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<Known>> {
    lock(&KNOWN)
}

/// More links than any system follows.
const MOST_LINKS: usize = 256;

/// Where SQLite finds a file and its log, after all links; also of a file that is not there yet.
pub(super) fn place_of(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(found) = place.canonicalize() {
            return found;
        }
        // A link that leads to no file says where SQLite would make it.
        let Ok(target) = place.read_link() else { break };
        place.pop();
        place.push(target);
    }
    let in_directory = || {
        let (directory, name) = (place.parent()?, place.file_name()?);
        Some(directory.canonicalize().ok()?.join(name))
    };
    in_directory().unwrap_or(place)
}

/// Why the file at `place`, `None` if there is none, must not be opened there. What cannot be known is no
/// reason.
pub(super) fn objection(place: &Path, found: Option<Identity>) -> Option<String> {
    let (mut known, now) = (known(), Beside::at(place));
    for open in known.iter() {
        let State::Open(_, own) = &open.state else { continue };
        let same = found.is_some_and(|found| found.is_while_open(open.id));
        if open.place != place {
            // Under a name by which the same log is found, as in a directory that is mounted twice, it is
            // open as usual.
            if FileId::TELLS && same && own.log.is_some() && !are_same(own.log, now.log) {
                return Some(format!(
                    "it is open in this process as {}, and SQLite keeps its log beside that name; open it by \
                     that name, and if it was renamed, rename it back first",
                    open.place.display()
                ));
            }
        } else if found.is_none() {
            return Some(
                "it was removed while it is open in this process, which still has the file that was there \
                 before and its log; if it was moved, move it back; otherwise close every store on it with \
                 its transactions and snapshots, and open it again"
                    .to_owned(),
            );
        } else if !same && own.shares_with(&now) {
            return Some(
                "it was replaced while it is open in this process, and -wal or -shm beside it belong to the \
                 file that was there before; close every store on it with its transactions and snapshots, \
                 in every process, then move -wal and -shm to another directory if they are still there, \
                 and open it again"
                    .to_owned(),
            );
        }
    }
    let log = Log::at(place);
    let is_there = |left: &Log| log.as_ref().is_some_and(|log| log.is(left));
    // What has been removed since need not be known any longer.
    known.retain(|known| match &known.state {
        State::Left(left) => known.place != place || is_there(left),
        State::Open(..) => true,
    });
    let of_another = |found: Identity| {
        let left = |known: &&Known| matches!(known.state, State::Left(_)) && known.place == place;
        known.iter().filter(left).any(|known| !known.id.is(found))
    };
    found.is_some_and(of_another).then(|| {
        "the file -wal beside it is the log of another file, which was there before and was replaced or \
         removed while this process had it open; close the database in every process, then move -wal and \
         -shm to another directory if they are still there (the last commits of the old file may be only \
         in them), and open it again"
            .to_owned()
    })
}

/// A file that is open; it is known as such until this is dropped.
pub(super) struct OpenFile {
    place: PathBuf,
    id: Identity,
}

impl OpenFile {
    pub(super) fn new(place: PathBuf, id: Identity) -> Self {
        let file = OpenFile { place, id };
        let mut known = known();
        match known.iter_mut().find(|known| file.is(known)).map(|known| &mut known.state) {
            Some(State::Open(stores, _)) => *stores += 1,
            _ => known.push(Known {
                place: file.place.clone(),
                id,
                state: State::Open(1, Beside::default()),
            }),
        }
        file
    }

    pub(super) fn id(&self) -> Identity {
        self.id
    }

    fn is(&self, known: &Known) -> bool {
        matches!(known.state, State::Open(..))
            && known.place == self.place
            && known.id.is_while_open(self.id)
    }

    /// Looks at what lies beside the file, which is its own if `is_there` says afterwards that the file still
    /// has its place. SQLite keeps what a connection has once used until the last connection is closed, so
    /// it is enough to look after each connection that is made.
    pub(super) fn look_beside<E>(&self, is_there: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let now = Beside::at(&self.place);
        is_there()?;
        let mut known = known();
        let own = known.iter_mut().find(|known| self.is(known));
        if let Some(State::Open(_, beside)) = own.map(|known| &mut known.state) {
            // A connection that only reads has none before it reads.
            beside.log = now.log.or(beside.log);
            beside.index = now.index.or(beside.index);
        }
        Ok(())
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let mut known = known();
        let Some(at) = known.iter().position(|known| self.is(known)) else { return };
        let State::Open(stores, beside) = &mut known[at].state else { return };
        *stores -= 1;
        if *stores > 0 {
            return;
        }
        let own = beside.log;
        known.swap_remove(at);
        let in_place = |found: Identity| found.is_while_open(self.id);
        let has_lost_its_place =
            Identity::at(&self.place).is_ok_and(|found| !found.is_some_and(in_place));
        // Otherwise SQLite removes the log, or leaves it to others who use it.
        if has_lost_its_place
            && let Some(log) = Log::at(&self.place).filter(|log| are_same(own, Some(log.id)))
        {
            known.retain(|known| {
                known.place != self.place || matches!(known.state, State::Open(..))
            });
            known.push(Known { place: self.place.clone(), id: self.id, state: State::Left(log) });
        }
    }
}
