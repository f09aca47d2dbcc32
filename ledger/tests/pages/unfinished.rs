//! Openings, closings, deletions and evictions of pages that were not completed, and what the next
//! process or the same one finds.

use std::time::Duration;

use permazen_ledger::{LedgerError, MAIN, PageId};

use super::separate::{Disk, process};
use crate::support::clock::TestClock;
use crate::support::page::{assert_all_clean, put};

const ROOT: PageId = PageId::ROOT;

const HOUR: Duration = Duration::from_secs(60 * 60);

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
