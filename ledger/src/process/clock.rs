//! What time it is.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time to a repository. Tests can have their own.
///
/// Commits take their times from it, and leases end by it. When it jumps forward, what another
/// process began to read less than a minute before can be gone
/// ([`LedgerError::SnapshotExpired`](crate::LedgerError::SnapshotExpired)); nothing else is
/// possible.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The present time.
    fn now(&self) -> SystemTime;
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Milliseconds since 1970. The format has it so that a time before counts as 0, and one after the
/// last number as that.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
