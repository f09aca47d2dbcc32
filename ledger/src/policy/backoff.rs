//! Waiting longer each time.

/// The first time, in milliseconds, and the longest.
const FIRST: u64 = 10;
const LONGEST: u64 = 60 * 60 * 1_000;

/// When something is tried again: after 10 ms, then after twice that, up to an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Backoff {
    delay: u64,
    /// In milliseconds since 1970; 0 if there is no pause.
    until: u64,
}

impl Backoff {
    /// Waits from now on, longer than the last time.
    pub(super) fn wait(&mut self, now: u64) {
        self.delay = self.delay.saturating_mul(2).clamp(FIRST, LONGEST);
        self.until = now.saturating_add(self.delay);
    }

    /// The end of the pause, if it is not over.
    pub(super) fn pending(&self, now: u64) -> Option<u64> {
        // A clock that was set back must not make the pause longer.
        let is_pending = now < self.until && self.until - now <= self.delay;
        is_pending.then_some(self.until)
    }

    /// The end of the pause, unless `end` was called.
    pub(super) fn until(&self) -> Option<u64> {
        (self.until != 0).then_some(self.until)
    }

    /// Ends the pause. The next one is longer.
    pub(super) fn end(&mut self) {
        self.until = 0;
    }

    /// Begins again with the first time.
    pub(super) fn reset(&mut self) {
        *self = Backoff::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_twice_the_last_one_up_to_an_hour() {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.pending(5), None);
        let mut delays = Vec::new();
        for _ in 0..21 {
            backoff.wait(1_000);
            delays.push(backoff.pending(1_000).map_or(0, |until| until - 1_000));
        }
        assert_eq!(delays[..4], [10, 20, 40, 80]);
        assert_eq!(delays[18..], [2_621_440, 3_600_000, 3_600_000]);
        assert_eq!(backoff.pending(1_000 + LONGEST), None);
        backoff.reset();
        backoff.wait(7);
        assert_eq!((backoff.pending(16), backoff.pending(17)), (Some(17), None));
        // The clock was set back.
        assert_eq!(backoff.pending(3), None);
    }
}
