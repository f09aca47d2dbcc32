//! The clock of a repository.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The clock of a repository. Tests can have their own.
///
/// Commits take their times from it, and leases end by it. When it jumps forward, reads that
/// another process began less than a minute before can fail with
/// [`LedgerError::SnapshotExpired`](crate::LedgerError::SnapshotExpired); nothing worse can happen.
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

/// Milliseconds since 1970. The format says that an earlier time counts as 0, and a time over the
/// last number as that number.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
