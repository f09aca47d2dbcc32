//! The program that runs a check, and the checked database.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use permazen::encoding::EncodingRegistry;
use permazen::open::OpenStore;

/// Why the program ends early: one line for the user.
pub(super) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Why the program ends early: others use the database. The same may succeed later.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Busy(pub(super) String);

/// The outcome of a commit; an error is one line for the user.
pub type Committed = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The program that runs a check.
pub trait Host {
    /// The beginning of messages on standard error: `jsck`.
    fn name(&self) -> &str;

    /// Whether the output is seen on a terminal that shows colours.
    fn shows_colours(&self) -> bool;

    /// The encodings that the recorded schemas may use.
    fn encodings(&self) -> Arc<EncodingRegistry> {
        Arc::new(EncodingRegistry::new())
    }

    /// How long to wait for others that use the database; `None` for as long as each kind of store
    /// does by itself.
    fn wait(&self) -> Option<Duration> {
        None
    }

    /// The host sets this to end the check with the findings so far; a repair is then not made.
    fn stop(&self) -> Arc<AtomicBool>;

    /// From now on, [`stop`](Self::stop) is checked every few milliseconds. Before, the check may
    /// wait for other programs, or for a pipe that it reads.
    fn stop_is_checked(&self) {}

    /// Whether there is a user to ask.
    fn can_ask(&self) -> bool;

    /// Shows a question, which is safe to show, and waits for the answer: yes or no. No, if the
    /// check is stopped meanwhile.
    ///
    /// # Errors
    /// If the question cannot be shown or the answer not be read.
    fn confirm(&self, question: &str) -> io::Result<bool>;

    /// Calls `commit`, which makes the changes of a repair lasting, and returns what it returns. A
    /// user that ends the process meanwhile does not know whether they were made.
    ///
    /// # Errors
    /// That of `commit`. A host that does not call it, because it wants to stop, says why.
    fn commit(&self, commit: &mut dyn FnMut() -> Committed) -> Committed {
        commit()
    }
}

/// The database to check.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Subject<'s> {
    /// Its path or URL, as [`permazen::open()`] takes it. It is opened for reading, or for writing
    /// to repair it.
    Named(&'s OsStr),
    /// A store that is open already. It must have been opened for writing to be repaired. An XML
    /// dump is opened again, by its path.
    Open(&'s OpenStore),
}
