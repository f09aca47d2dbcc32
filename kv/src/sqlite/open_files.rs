//! Which database files this process has open, and where.
//!
//! SQLite finds the log of a database by the name of the file, and uses it even if another file
//! wrote it. So a file must not be opened beside the log of another file that had its place before,
//! if this process has that file open or had it open when it was replaced. A log that another
//! process has begun beside the new file belongs to the new file, and its commits may be only
//! there. So the log of the old file is recognized by its identity and its first bytes, and not by
//! its name.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use super::log_files::{INDEX, LOG, beside};
use crate::__internal::OpenWithSqlite;
use crate::contract::store_id::StoreId;
use crate::store_parts::file_identity::FileId;
use crate::store_parts::lock::lock;
use crate::store_parts::process::Process;

/// The identity of a file, which is known even after the file was closed. The system may then give
/// the number of the file to another file, but that has another time of creation.
#[derive(Clone, Copy)]
pub(super) struct Identity {
    number: FileId,
    /// `None` if the system does not say.
    made: Option<SystemTime>,
}

impl Identity {
    fn of(found: &Metadata) -> Self {
        Identity { number: FileId::new(found), made: found.created().ok() }
    }

    /// The identity of the file at `path`; `None` if there is no file.
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

    /// Whether both are the same file, if one of them is open. In that case no other file has its
    /// number. The time is not compared, because some systems allow changing it.
    pub(super) fn is_while_open(self, other: Identity) -> bool {
        self.number == other.number
    }
}

fn are_same(one: Option<Identity>, two: Option<Identity>) -> bool {
    one.zip(two).is_some_and(|(one, two)| one.is(two))
}

/// The files that SQLite has put beside a database.
#[derive(Clone, Copy, Default)]
struct Beside {
    log: Option<Identity>,
    index: Option<Identity>,
}

impl Beside {
    fn at(place: &Path) -> Beside {
        // A file that cannot be examined is treated as unknown.
        let look = |suffix| Identity::at(&beside(place, suffix)).ok().flatten();
        Beside { log: look(LOG), index: look(INDEX) }
    }

    fn shares_with(&self, other: &Beside) -> bool {
        are_same(self.log, other.log) || are_same(self.index, other.index)
    }
}

/// A log file and its first bytes. When SQLite begins the log again, it changes these bytes.
struct WalFile {
    id: Identity,
    header: [u8; 32],
}

impl WalFile {
    /// The log of the database at `place`; `None` if there is no log or it is empty.
    fn at(place: &Path) -> Option<WalFile> {
        let path = beside(place, LOG);
        // Opening a named pipe would wait until another process writes to it.
        let found = fs::metadata(&path).ok().filter(Metadata::is_file)?;
        let mut header = [0; 32];
        // SQLite holds no locks on this file, so closing it gives up none.
        File::open(path).ok()?.read_exact(&mut header).ok()?;
        Some(WalFile { id: Identity::of(&found), header })
    }

    fn is(&self, other: &WalFile) -> bool {
        self.id.is(other.id) && self.header == other.header
    }
}

/// The known state of the place of a database.
struct Known {
    place: PathBuf,
    id: Identity,
    /// The process that has opened it.
    process: Process,
    state: PlaceState,
}

enum PlaceState {
    /// The number of stores that have the file open, their identity, and the files that were beside
    /// it at the last look.
    Open(usize, StoreId, Beside),
    /// The file was closed after it had lost its place. This is the log that it left there.
    Left(WalFile),
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<Known>> {
    lock(&KNOWN)
}

/// More links than any system follows.
const MOST_LINKS: usize = 256;

/// Where SQLite finds a file and its log, after following all links; also for a file that does not
/// exist yet.
pub(super) fn place_of(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(found) = place.canonicalize() {
            return found;
        }
        // A link that leads to no file says where SQLite would create it.
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

/// Whether the file `found` is open since before this process was forked. SQLite takes the locks of
/// the parent for locks of this process until all that was open is closed.
pub(super) fn is_open_in_parent(found: Option<Identity>) -> bool {
    let is_it = |known: &Known| {
        matches!(known.state, PlaceState::Open(..))
            && !known.process.is_this()
            && found.is_some_and(|found| found.is_while_open(known.id))
    };
    known().iter().any(is_it)
}

/// What `read` returns, unless this process has the file at `path` open with SQLite: as a database,
/// or as the index of its log. Until `read` returns, no other thread opens it with SQLite.
///
/// The locks of SQLite belong to the process. When the process closes the file, however it has
/// opened it, the system gives up all of them. Then another process can remove the log while this
/// one still writes to it. So a file that may be a database or an index must not be opened outside
/// of this.
///
/// A file that another thread is creating with SQLite at this moment may not be known yet.
///
/// # Errors
/// What the open file is; then `read` was not called.
pub fn unless_open_with_sqlite<T>(
    path: &Path,
    read: impl FnOnce() -> T,
) -> Result<T, OpenWithSqlite> {
    // Where files cannot be told apart, locks belong to what was opened and not to the process.
    let found = if FileId::TELLS { Identity::at(path).ok().flatten() } else { None };
    let known = known();
    let open_as = |known: &Known| {
        let (PlaceState::Open(..), Some(found)) = (&known.state, found) else { return None };
        if found.is_while_open(known.id) {
            return Some(OpenWithSqlite::Database);
        }
        // The index that is there now. One that was noted earlier may have been removed since, and
        // another file may have its number.
        let index = Identity::at(&beside(&known.place, INDEX)).ok().flatten();
        index.is_some_and(|index| found.is_while_open(index)).then_some(OpenWithSqlite::Index)
    };
    match known.iter().find_map(open_as) {
        Some(open_as) => Err(open_as),
        None => Ok(read()),
    }
}

/// Why a file must not be opened.
#[derive(Debug)]
pub(super) enum Objection {
    /// It holds until the files are changed or closed.
    Lasting(String),
    /// It is probably gone in a moment.
    Passing(String),
}

/// Why the file `found` at `place` must not be opened there; `found` is `None` if there is no file.
/// Returns `None` if there is no reason, or none can be known.
pub(super) fn objection(place: &Path, found: Option<Identity>) -> Option<Objection> {
    let (mut known, now) = (known(), Beside::at(place));
    for open in known.iter() {
        let PlaceState::Open(_, _, own) = &open.state else { continue };
        let same = found.is_some_and(|found| found.is_while_open(open.id));
        if open.place != place {
            // By a name that leads to the same log, as in a directory that is mounted twice, the
            // file can be opened as usual.
            if FileId::TELLS && same && own.log.is_some() && !are_same(own.log, now.log) {
                let reason = format!(
                    "it is open in this process as {}, and SQLite keeps its log beside that name; open it by \
                     that name, and if it was renamed, rename it back first",
                    open.place.display()
                );
                // SQLite closes a file a moment before it is no longer known as open. If the file
                // was removed before, the system can give its number to a new file meanwhile.
                let is_new = !are_same(found, Some(open.id));
                return Some(if is_new {
                    Objection::Passing(reason)
                } else {
                    Objection::Lasting(reason)
                });
            }
        } else if found.is_none() {
            return Some(Objection::Lasting(
                "it was removed while it is open in this process, which still has the file that was there \
                 before and its log; if it was moved, move it back; otherwise close every store on it with \
                 its transactions and snapshots, and open it again"
                    .to_owned(),
            ));
        } else if !same && own.shares_with(&now) {
            return Some(Objection::Lasting(
                "it was replaced while it is open in this process, and -wal or -shm beside it belong to the \
                 file that was there before; close every store on it with its transactions and snapshots, \
                 in every process, then move -wal and -shm to another directory if they are still there, \
                 and open it again"
                    .to_owned(),
            ));
        }
    }
    let log = WalFile::at(place);
    let is_there = |left: &WalFile| log.as_ref().is_some_and(|log| log.is(left));
    // A log that was removed since need not be remembered.
    known.retain(|known| match &known.state {
        PlaceState::Left(left) => known.place != place || is_there(left),
        PlaceState::Open(..) => true,
    });
    let of_another = |found: Identity| {
        let left =
            |known: &&Known| matches!(known.state, PlaceState::Left(_)) && known.place == place;
        known.iter().filter(left).any(|known| !known.id.is(found))
    };
    found.is_some_and(of_another).then(|| {
        Objection::Lasting(
            "the file -wal beside it is the log of another file, which was there before and was replaced or \
             removed while this process had it open; close the database in every process, then move -wal \
             and -shm to another directory if they are still there (the last commits of the old file may be \
             only in them), and open it again"
                .to_owned(),
        )
    })
}

/// A file that is open. It is known as open until this is dropped.
pub(super) struct OpenFile {
    place: PathBuf,
    id: Identity,
    store: StoreId,
}

impl OpenFile {
    pub(super) fn new(place: PathBuf, id: Identity) -> Self {
        let mut known = known();
        // It may be open by another name.
        let store_of = |known: &Known| match known.state {
            PlaceState::Open(_, store, _) if known.id.is_while_open(id) => Some(store),
            _ => None,
        };
        let store = known.iter().find_map(store_of).unwrap_or_else(StoreId::new);
        let file = OpenFile { place, id, store };
        match known.iter_mut().find(|known| file.is(known)).map(|known| &mut known.state) {
            Some(PlaceState::Open(stores, ..)) => *stores += 1,
            _ => known.push(Known {
                place: file.place.clone(),
                id,
                process: Process::this(),
                state: PlaceState::Open(1, store, Beside::default()),
            }),
        }
        file
    }

    pub(super) fn id(&self) -> Identity {
        self.id
    }

    pub(super) fn place(&self) -> &Path {
        &self.place
    }

    /// The identity of all stores on the file. Where files cannot be told apart, that of all stores
    /// on files.
    pub(super) fn store(&self) -> StoreId {
        self.store
    }

    fn is(&self, known: &Known) -> bool {
        matches!(known.state, PlaceState::Open(..))
            && known.place == self.place
            && known.id.is_while_open(self.id)
    }

    /// Notes the files beside this file. They are its own if `is_there`, called after the look,
    /// says that the file still has its place. SQLite keeps files that a connection has used until
    /// the last connection is closed, so one look after each new connection is enough.
    pub(super) fn look_beside<E>(&self, is_there: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let now = Beside::at(&self.place);
        is_there()?;
        let mut known = known();
        let own = known.iter_mut().find(|known| self.is(known));
        if let Some(PlaceState::Open(.., beside)) = own.map(|known| &mut known.state) {
            // A connection that only reads has no such files before its first read.
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
        let PlaceState::Open(stores, _, beside) = &mut known[at].state else { return };
        *stores -= 1;
        if *stores > 0 {
            return;
        }
        let own = beside.log;
        known.swap_remove(at);
        let in_place = |found: Identity| found.is_while_open(self.id);
        let has_lost_its_place =
            Identity::at(&self.place).is_ok_and(|found| !found.is_some_and(in_place));
        // If the file has its place, SQLite removes the log, or leaves it to others that use it.
        if has_lost_its_place
            && let Some(log) = WalFile::at(&self.place).filter(|log| are_same(own, Some(log.id)))
        {
            known.retain(|known| {
                known.place != self.place || matches!(known.state, PlaceState::Open(..))
            });
            let (place, process) = (self.place.clone(), Process::this());
            known.push(Known { place, id: self.id, process, state: PlaceState::Left(log) });
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_new_file_with_the_number_of_one_that_is_being_closed_is_refused_for_a_moment_only() {
        let dir = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| dir.path().join(name));
        for file in [old.clone(), new.clone(), beside(&old, LOG)] {
            fs::write(file, b"").unwrap();
        }
        let id =
            Identity { made: Some(SystemTime::UNIX_EPOCH), ..Identity::at(&old).unwrap().unwrap() };
        let open = OpenFile::new(old, id);
        open.look_beside(|| Ok::<_, ()>(())).unwrap();
        // The number is the same, and only the time tells that it is another file.
        let made = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1));
        let later = Some(Identity { made, ..id });
        assert!(matches!(objection(&new, later), Some(Objection::Passing(_))));
        for same in [id, Identity { made: None, ..id }] {
            assert!(matches!(objection(&new, Some(same)), Some(Objection::Lasting(_))));
        }
        drop(open);
        assert!(objection(&new, later).is_none());
    }
}
