//! A collection beside a round of another process.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvWrite, TxOptions};

use super::{CollectPieces, Collector, CollectorState};
use crate::ids::PageId;
use crate::process::clock::Clock;
use crate::process::test_clock::TestClock;
use crate::repository::{MAIN, Repository};
use crate::rows::counts::Phase;
use crate::rows::parameters::Retention;

/// Maintenance, which would begin no round for so little garbage, finds that another process marks,
/// so that no commit can be removed. That round ends before maintenance would begin its own.
#[test]
fn commits_are_pruned_if_the_round_that_blocked_it_ends_meanwhile() {
    let (host, clock) = (MemoryStore::new(), Arc::new(TestClock(AtomicU64::new(1 << 40))));
    let process = || {
        let builder = Repository::builder(host.clone()).manual_maintenance();
        builder.clock(clock.clone() as Arc<dyn Clock>).open_or_create().unwrap()
    };
    let (one, two) = (process(), process());
    let page = one.create_page("test", PageId::ROOT).unwrap();
    let db = page.database(MAIN).unwrap();
    for value in [b"one", b"two"] {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(b"key", value).unwrap();
        tx.commit().unwrap();
    }
    page.set_retention(Retention::Heads).unwrap();
    page.collect().unwrap();
    // The grace time of the old commit is not over when the other process begins.
    clock.0.fetch_add(60_000, Ordering::Relaxed);
    let of_two = two.page("test", PageId::ROOT).unwrap();
    let counts = || page.shared.open.rows.counts(&page.shared.read().unwrap()).unwrap();
    while counts().round.phase != Phase::Marking {
        assert!(of_two.collect_slice().unwrap());
    }
    clock.0.fetch_add(120_000, Ordering::Relaxed);
    let mut collector = Collector::new(Arc::clone(&page.shared.open));
    collector.start(CollectPieces::IfMuch).unwrap();
    while !matches!(collector.state, CollectorState::Begin) {
        assert!(collector.step().unwrap());
    }
    while of_two.collect_slice().unwrap() {}
    assert_eq!((counts().round.phase, counts().suspects), (Phase::Idle, 0));
    while collector.step().unwrap() {}
    assert_eq!(collector.take_collected().commits, 1);
    assert!(page.verify().unwrap().is_clean());
}
