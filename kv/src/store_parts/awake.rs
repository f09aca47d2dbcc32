//! Waiting without sleep, for events that come sooner than a sleeping thread could wake.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread that can join a group stays awake while turns are given, and the leader while
/// others have theirs. Most turns are shorter than the time that a thread takes to wake, and a
/// flush of the store is not.
pub(crate) const AWAKE: Duration = Duration::from_micros(200);

/// Lets other threads run until this one is `called`, or until `long` after `since`.
pub(crate) fn stay_awake(since: Instant, long: Duration, called: &AtomicBool) {
    while !called.load(Ordering::Acquire) && since.elapsed() < long {
        thread::yield_now();
    }
}
