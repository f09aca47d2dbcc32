//! Which threads of this process are in the middle of a transaction that writes to a file.
//!
//! Each of two stores on one file has its own right to write. So a thread that would wait for
//! itself could not be told apart from others, and SQLite would wait in vain. Transactions that
//! take the right late are noted here with their first write.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::{self, ThreadId};

use super::database::Database;
use crate::store_parts::lock::lock;
use crate::{KvError, Result};

/// The files, with the threads on which their transactions end.
static WRITING: Mutex<Vec<(PathBuf, ThreadId)>> = Mutex::new(Vec::new());

/// A transaction that ends on its thread and writes to a file, as long as this exists.
pub(super) struct Writing {
    place: PathBuf,
    thread: ThreadId,
}

impl Writing {
    /// Notes that this thread writes to the file at `place`.
    pub(super) fn new(place: &Path) -> Self {
        let writing = Writing { place: place.to_owned(), thread: thread::current().id() };
        lock(&WRITING).push((writing.place.clone(), writing.thread));
        writing
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        let mut all = lock(&WRITING);
        let is_this =
            |(place, thread): &(PathBuf, ThreadId)| *thread == self.thread && *place == self.place;
        if let Some(at) = all.iter().position(is_this) {
            all.swap_remove(at);
        }
    }
}

/// Fails if this thread is in the middle of a transaction that writes to the same file.
pub(super) fn check_this_thread(database: &Database) -> Result<()> {
    let all = lock(&WRITING);
    if all.is_empty() {
        return Ok(());
    }
    let here = thread::current().id();
    let place = database.file.place();
    let is_within = all.iter().any(|(file, thread)| *thread == here && Some(&**file) == place);
    if is_within {
        return Err(KvError::WithinWrite { store: database.path.display().to_string().into() });
    }
    Ok(())
}
