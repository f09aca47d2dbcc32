//! How long a transaction may be used.

use std::time::{Duration, Instant};

use permazen_kv::{KvError, Result};

/// How long a transaction may be used. `None` means unlimited; of zero, no time is left.
pub(super) struct Deadline {
    begun: Instant,
    limit: Option<Duration>,
}

impl Deadline {
    /// From now on.
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Deadline { begun: Instant::now(), limit }
    }

    /// Changes the limit. Fails once the time is over: it stays so.
    pub(super) fn set(&mut self, limit: Option<Duration>) -> Result<()> {
        self.check()?;
        self.limit = limit;
        Ok(())
    }

    pub(super) fn check(&self) -> Result<()> {
        let Some(limit) = self.limit else { return Ok(()) };
        let open = self.begun.elapsed();
        if open < limit {
            return Ok(());
        }
        Err(KvError::Timeout(format!("open for {open:?}, limit {limit:?}")))
    }
}
