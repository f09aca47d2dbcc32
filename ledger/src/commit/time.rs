//! Times of commits.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::process::clock::millis;

/// When a commit was made: milliseconds since 1970 and a counter, so that a change is always later
/// than its parent, also if clocks are wrong, and later than the earlier commits of its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CommitTime(pub(crate) u64);

/// How many bits of a time count within a millisecond.
const COUNTER_BITS: u32 = 16;

impl CommitTime {
    /// Times and generations are below this.
    pub(crate) const LIMIT: u64 = 1 << 63;

    /// Clocks give times below this. From there on, the time of a change is exactly one tick after
    /// its parent: copies refuse any other.
    pub(crate) const FAR: u64 = CommitTime::LIMIT / 2;

    /// The time of a change, after its parent: that of the clock, unless the parent is later.
    /// `None` if the parent has the last one.
    pub(crate) fn after(parent: CommitTime, clock: CommitTime) -> Option<Self> {
        let time = clock.0.max(parent.0.saturating_add(1));
        (time < Self::LIMIT).then_some(CommitTime(time))
    }

    /// This point in time, with counter 0. The format says that a time after the last millisecond
    /// before [`FAR`](Self::FAR) counts as that millisecond.
    pub(crate) fn at(time: SystemTime) -> Self {
        CommitTime(millis(time).min((Self::FAR >> COUNTER_BITS) - 1) << COUNTER_BITS)
    }

    /// The next time that a clock can give; after the last one, the last one.
    pub(crate) fn next(self) -> Self {
        CommitTime(self.0.saturating_add(1).min(Self::FAR - 1))
    }

    /// This time plus `millis` milliseconds, with the same counter; at most the last time that
    /// there is.
    pub(crate) fn later(self, millis: u64) -> Self {
        let ticks = millis.saturating_mul(1 << COUNTER_BITS);
        CommitTime(self.0.saturating_add(ticks).min(Self::LIMIT - 1))
    }

    /// As a number, to send it elsewhere: milliseconds since 1970 ‖ 16 bits of counter.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The time with this number.
    pub fn from_bits(bits: u64) -> Self {
        CommitTime(bits)
    }

    /// Milliseconds since 1970.
    pub fn as_millis(self) -> u64 {
        self.0 >> COUNTER_BITS
    }

    /// The point in time.
    pub fn to_system_time(self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.as_millis())
    }
}

impl fmt::Display for CommitTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.as_millis(), self.0 & ((1 << COUNTER_BITS) - 1))
    }
}
