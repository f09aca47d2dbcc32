//! Pauses between attempts to reach a store.

use std::thread;
use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(500);

/// The pauses between attempts to reach a store: 10 milliseconds, then twice as long each time, up
/// to half a second.
///
/// ```
/// use std::time::{Duration, Instant};
/// use permazen_kv::remote::Pauses;
///
/// let mut pauses = Pauses::new();
/// assert_eq!(pauses.next_pause(), Duration::from_millis(10));
/// assert_eq!(pauses.next_pause(), Duration::from_millis(20));
/// assert!(!pauses.sleep_until(Instant::now()));
/// ```
#[derive(Debug, Clone)]
pub struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Pauses { next: FIRST }
    }
}

impl Pauses {
    /// Begins with the first pause.
    pub fn new() -> Self {
        Pauses::default()
    }

    /// How long the next pause is; the one after it is longer.
    pub fn next_pause(&mut self) -> Duration {
        self.next_up_to(LONGEST)
    }

    /// The same, with pauses that grow up to `longest`.
    pub(super) fn next_up_to(&mut self, longest: Duration) -> Duration {
        let pause = self.next.min(longest);
        self.next = (2 * pause).min(longest);
        pause
    }

    /// Waits for the next pause, but no longer than `until`. False, without a wait, if that time is
    /// over.
    pub fn sleep_until(&mut self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::sleep(self.next_pause().min(left));
        true
    }
}
