//! The clock of a repository.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The clock of a repository. Tests can have their own.
///
/// Commits take their times from it, and leases end by it. When it jumps forward, reads that
/// another process began less than a minute before can fail with
/// [`LedgerError::SnapshotExpired`](crate::LedgerError::SnapshotExpired). When it is set back, work
/// that waits for a time is done at once, or its waiting time begins again: garbage, grace times
/// and leases of processes that have ended stay for longer, and nothing is removed too early.
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

/// Whether this many milliseconds have passed since a time. They count as passed if the time lies
/// ahead: the clock was set back since.
pub(crate) fn have_passed(millis: u64, since: u64, now: u64) -> bool {
    now < since || now >= since.saturating_add(millis)
}

/// Whether a time has come that was at most this many milliseconds ahead when it was chosen. It
/// counts as come if it lies further ahead: the clock was set back since.
pub(crate) fn has_come(time: u64, at_most: u64, now: u64) -> bool {
    now >= time || time > now.saturating_add(at_most)
}

/// Milliseconds since 1970. The format says that an earlier time counts as 0, and a time over the
/// last number as that number.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    // As the format says it.
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
