//! A clock that a test sets, and processes that go by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use permazen_kv::KvDatabase;
use permazen_ledger::{Clock, Repository};

/// Milliseconds since 1970, which only the test changes.
#[derive(Debug)]
pub(crate) struct TestClock(AtomicU64);

impl TestClock {
    /// Some day in 2027.
    pub(crate) fn new() -> Arc<Self> {
        Self::at(1_800_000_000_000)
    }

    pub(crate) fn at(millis: u64) -> Arc<Self> {
        Arc::new(TestClock(AtomicU64::new(millis)))
    }

    pub(crate) fn millis(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn set(&self, millis: u64) {
        self.0.store(millis, Ordering::SeqCst);
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    }

    pub(crate) fn set_back(&self, by: Duration) {
        self.0.fetch_sub(by.as_millis() as u64, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.millis())
    }
}

/// A process on the host.
pub(crate) fn process(
    host: &(impl KvDatabase + Clone + 'static),
    clock: &Arc<TestClock>,
) -> Repository {
    let builder = Repository::builder(host.clone()).manual_maintenance();
    builder.clock(clock.clone()).open_or_create().unwrap()
}
