//! Pauses between the attempts of a transaction of the host.

use std::thread;
use std::time::{Duration, Instant};

use permazen_kv::__internal::check_can_begin;
use permazen_kv::{KvDatabase, Result};

/// The first pause; each further one is twice as long, up to the longest.
const FIRST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(100);

/// The attempts of a transaction of the host, which is repeated while it fails with an error that
/// will pass. A host can report such an error at once, so without pauses the attempts would keep a
/// core busy.
pub(super) struct Retries {
    begun: Instant,
    wait: Duration,
    pause: Duration,
}

impl Retries {
    /// Attempts for as long as `wait`.
    pub(super) fn new(wait: Duration) -> Self {
        Retries { begun: Instant::now(), wait, pause: FIRST }
    }

    /// How long the next attempt may wait for the write lock of the host.
    pub(super) fn left(&self) -> Duration {
        self.wait.saturating_sub(self.begun.elapsed())
    }

    /// Pauses before the next attempt on this host. Returns `false` if the time is over.
    ///
    /// # Errors
    /// If pauses are in vain, because this thread itself is in the way.
    pub(super) fn pause(&mut self, host: &dyn KvDatabase) -> Result<bool> {
        let left = self.left();
        if left.is_zero() {
            return Ok(false);
        }
        check_can_begin(host)?;
        thread::sleep(self.pause.min(left));
        self.pause = LONGEST.min(self.pause * 2);
        Ok(true)
    }
}
