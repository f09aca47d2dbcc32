//! Openings, closings, deletions and evictions of pages that were not completed, and what the next
//! process or the same one finds.

use std::sync::Arc;
use std::time::Duration;

use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvError, KvRead};
use permazen_ledger::{LedgerError, MAIN, PageId, Repository};

use super::separate::{Disk, process};
use crate::support::clock::TestClock;
use crate::support::page::{assert_all_clean, put};

const ROOT: PageId = PageId::ROOT;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// The row of the device on which a page was opened first.
const FIRST_OPENED: u8 = 0x2b;

#[test]
fn each_opening_writes_what_an_earlier_one_could_not() {
    let errors: [fn() -> KvError; 3] = [
        || KvError::Stale("broken".into()),
        || KvError::Retry("busy".into()),
        || KvError::IllegalState("the disk is full for a moment".into()),
    ];
    for error in errors {
        for nth in 1.. {
            let (disk, clock) = (Disk::default(), TestClock::new());
            let (repository, faults) = process(&disk, &clock);
            faults.fail_nth(nth, error);
            drop(repository.create_page("films", ROOT));
            let is_over = faults.hits() == 0;
            faults.stop();
            // No maintenance comes in between.
            let page = repository.page_or_create("films", ROOT).unwrap();
            put(&page, MAIN, b"name", b"films");
            let number = *disk.numbers().last().unwrap();
            let own = disk.pages.lock().unwrap()[&number].clone();
            assert!(own.snapshot().get(&[FIRST_OPENED]).unwrap().is_some(), "operation {nth}");
            if is_over {
                assert!(nth > 10);
                break;
            }
        }
    }
}

#[test]
fn a_page_whose_closing_may_have_been_made_is_recorded_as_open_when_it_is_opened_again() {
    let mut made = 0;
    for loses in [false, true] {
        for nth in 1.. {
            let host = FaultStore::new(MemoryStore::new());
            let open = |host: Arc<dyn KvDatabase>| {
                Repository::shared_builder(host).manual_maintenance().open_or_create().unwrap()
            };
            let (one, two) = (open(Arc::new(host.clone())), open(Arc::new(host.inner().clone())));
            drop(one.create_page("films", ROOT).unwrap());
            let faults = host.faults();
            faults.lose_commits(loses);
            faults.fail_nth(nth, || KvError::OutcomeUnknown("cut".into()));
            let _ = one.maintain();
            let is_over = faults.hits() == 0;
            faults.stop();
            made += usize::from(!two.usage().unwrap()[0].is_open && !is_over);
            let page = one.page("films", ROOT).unwrap();
            let error = two.delete_page("films", ROOT).unwrap_err();
            assert!(matches!(error, LedgerError::PageInUse { .. }), "operation {nth}: {error}");
            drop(page);
            if is_over {
                break;
            }
        }
    }
    assert!(made > 0);
}

#[test]
fn a_database_that_cannot_be_opened_for_a_moment_is_removed_only_with_its_mark() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    let ((stalled, _), (other, _)) = (process(&disk, &clock), process(&disk, &clock));
    let page = stalled.create_page("films", ROOT).unwrap();
    let head = put(&page, MAIN, b"name", b"films");
    // It sleeps, and others take it for dead.
    clock.advance(2 * HOUR);
    other.maintain().unwrap();
    clock.advance(HOUR);
    other.maintain().unwrap();
    disk.closed.lock().unwrap().insert(1);
    assert!(other.delete_page("films", ROOT).is_err());
    // The deletion is decided, and waits.
    assert_eq!(disk.numbers(), [1]);
    assert!(matches!(other.page("films", ROOT), Err(LedgerError::NoSuch { .. })));
    clock.advance(HOUR);
    assert!(other.maintain().is_err());
    disk.closed.lock().unwrap().clear();
    clock.advance(HOUR);
    other.maintain().unwrap();
    assert!(disk.numbers().is_empty());
    // The process that has slept is not told that it has written.
    let error = page.set_tag("tag", &head).unwrap_err();
    assert!(matches!(error, LedgerError::PageGone { .. }), "{error}");
    assert_all_clean(&other);
}
