//! The limit to the time of a transaction.

use std::time::{Duration, Instant};

use crate::{KvError, Result};

/// How long a transaction may be used, counted from its beginning. Free unless there is a limit.
#[derive(Debug)]
pub struct Deadline {
    begun: Instant,
    limit: Option<Duration>,
}

impl Deadline {
    /// Starts to count. `None` means unlimited; of zero, no time is left.
    pub fn new(limit: Option<Duration>) -> Self {
        Deadline { begun: Instant::now(), limit }
    }

    /// Changes the limit. Fails once the time is over: it stays so.
    ///
    /// # Errors
    /// [`KvError::Timeout`].
    pub fn set(&mut self, limit: Option<Duration>) -> Result<()> {
        self.check()?;
        self.limit = limit;
        Ok(())
    }

    /// From here on, the time is not limited. Called after a check, at the beginning of the commit.
    #[cfg(any(feature = "lmdb", feature = "sqlite"))]
    pub(crate) fn lift(&mut self) {
        self.limit = None;
    }

    /// Fails once the time is over.
    ///
    /// # Errors
    /// [`KvError::Timeout`].
    pub fn check(&self) -> Result<()> {
        let Some(limit) = self.limit else { return Ok(()) };
        let open = self.begun.elapsed();
        if open < limit {
            return Ok(());
        }
        Err(KvError::Timeout(format!("open for {open:?}, limit {limit:?}")))
    }
}
