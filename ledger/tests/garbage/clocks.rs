//! Collections, pins and rounds under clocks that are set back, and a round that takes long.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use permazen_kv::KvRead;
use permazen_kv::memory::MemoryStore;
use permazen_ledger::{LedgerError, MAIN, Page, PageId, Repository, Retention};

use crate::support::clock::{TestClock, process};
use crate::support::page::{assert_all_clean, count_rows, put, write};

const ROOT: PageId = PageId::ROOT;
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

const IDLE: u8 = 0;
const MARKING: u8 = 1;

/// The row with the counts and the round of the first page.
fn counts(host: &MemoryStore) -> Vec<u8> {
    host.snapshot().get(&[0x10, 1, 0x32]).unwrap().unwrap().into_owned()
}

fn phase(host: &MemoryStore) -> u8 {
    counts(host)[47]
}

#[track_caller]
fn assert_busy(page: &Page) {
    let error = page.collect().unwrap_err();
    assert!(matches!(error, LedgerError::Busy { .. }), "{error}");
}

/// A page in the middle of a round that marks many slices of one commit, and is not near its end.
fn marking(repository: &Repository, host: &MemoryStore) -> Page {
    let page = repository.create_page("films", ROOT).unwrap();
    // Many values, each the same chunk: most of the pieces that a slice visits are marked already.
    let value = [7; 600];
    write(&page, MAIN, |tx| {
        (0..60_000_u32).for_each(|key| tx.put(&key.to_be_bytes(), &value).unwrap());
    });
    while phase(host) != MARKING {
        assert!(page.collect_slice().unwrap());
    }
    // It reads the pieces of streams, of which there are none.
    assert!(page.collect_slice().unwrap());
    page
}

#[test]
fn a_process_that_marks_for_long_is_not_taken_for_one_that_has_stopped() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let page = marking(&one, &host);
    let of_two = two.page("films", ROOT).unwrap();
    for _ in 0..10 {
        assert_busy(&of_two);
        clock.advance(Duration::from_secs(10));
        assert!(page.collect_slice().unwrap());
        assert_eq!(phase(&host), MARKING, "the page has too few pieces for this test");
    }
    while page.collect_slice().unwrap() {}
    of_two.collect().unwrap();
    assert_all_clean(&two);
}

#[test]
fn a_round_shows_that_it_runs_although_the_clock_was_set_back() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let page = marking(&one, &host);
    let of_two = two.page("films", ROOT).unwrap();
    assert_busy(&of_two);
    clock.set_back(60 * MINUTE);
    let before = counts(&host);
    assert!(page.collect_slice().unwrap());
    assert_ne!(counts(&host), before);
    while page.collect_slice().unwrap() {}
    of_two.collect().unwrap();
    assert_all_clean(&two);
}

#[test]
fn a_round_of_a_process_that_has_ended_is_taken_over_although_the_clock_was_set_back() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let page = marking(&one, &host);
    let of_two = two.page("films", ROOT).unwrap();
    assert_busy(&of_two);
    clock.set_back(60 * MINUTE);
    assert_busy(&of_two);
    clock.advance(MINUTE);
    of_two.collect().unwrap();
    assert_all_clean(&two);
    drop(page);
}

/// Whatever the process was about to do next in its round.
#[test]
fn a_round_that_another_process_has_taken_over_and_ended_begins_anew() {
    let mut phases = BTreeSet::new();
    // A slice ends early if the processors leave it no time, and then a phase can be passed over.
    for _ in 0..20 {
        for slices in 1.. {
            let (host, clock) = (MemoryStore::new(), TestClock::new());
            let (one, two) = (process(&host, &clock), process(&host, &clock));
            let page = one.create_page("films", ROOT).unwrap();
            for year in [b"1978", b"1979"] {
                put(&page, MAIN, b"Alien", year);
            }
            page.set_retention(Retention::Heads).unwrap();
            if !(0..slices).all(|_| page.collect_slice().unwrap()) {
                break;
            }
            let phase = phase(&host);
            let of_two = two.page("films", ROOT).unwrap();
            if phase != IDLE {
                assert_busy(&of_two);
                phases.insert(phase);
            }
            clock.advance(10 * MINUTE);
            of_two.collect().unwrap();
            while page.collect_slice().unwrap() {}
            assert_all_clean(&one);
        }
        if phases.len() == 3 {
            break;
        }
    }
    assert_eq!(phases.len(), 3, "{phases:?}");
}

#[test]
fn what_is_read_is_protected_although_the_clock_was_set_back() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (reader, other) = (process(&host, &clock), process(&host, &clock));
    let page = reader.create_page("films", ROOT).unwrap();
    let old = put(&page, MAIN, b"Alien", b"1978");
    put(&page, MAIN, b"Alien", b"1979");
    page.set_retention(Retention::Heads).unwrap();
    let snapshot = page.snapshot(&old).unwrap();
    clock.set_back(60 * MINUTE);
    let of_other = other.page("films", ROOT).unwrap();
    for _ in 0..10 {
        assert_eq!(of_other.collect().unwrap().commits, 0);
        clock.advance(MINUTE);
        reader.maintain().unwrap();
    }
    assert_eq!(snapshot.get(b"Alien").unwrap().as_deref(), Some(&b"1978"[..]));
    assert_all_clean(&other);
}

#[test]
fn maintenance_prunes_commits_although_the_clock_was_set_back() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    let page = repository.create_page("films", ROOT).unwrap();
    for year in [b"1978", b"1979"] {
        put(&page, MAIN, b"Alien", year);
    }
    repository.maintain().unwrap();
    clock.set_back(30 * DAY);
    page.set_retention(Retention::Heads).unwrap();
    for _ in 0..20 {
        clock.advance(MINUTE);
        repository.maintain().unwrap();
    }
    assert_eq!(count_rows(&host, 0x22), 1);
    assert_all_clean(&repository);
}

#[test]
fn a_little_garbage_is_collected_within_a_day_although_the_clock_was_set_back() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    let page = repository.create_page("films", ROOT).unwrap();
    write(&page, MAIN, |tx| {
        (0..10_000_u32).for_each(|key| tx.put(&key.to_be_bytes(), &[7; 100]).unwrap());
    });
    page.set_tag("all", &page.head(MAIN).unwrap()).unwrap();
    for year in [b"1978", b"1979"] {
        put(&page, MAIN, b"Alien", year);
    }
    page.set_retention(Retention::Heads).unwrap();
    clock.set_back(30 * DAY);
    for _ in 0..26 * 6 {
        clock.advance(10 * MINUTE);
        repository.maintain().unwrap();
    }
    assert_eq!((count_rows(&host, 0x22), page.verify().unwrap().unreachable_pieces), (2, 0));
    assert_all_clean(&repository);
}

#[test]
fn pages_of_processes_that_have_ended_are_closed_although_the_clock_was_set_back() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (dead, other) = (process(&host, &clock), process(&host, &clock));
    std::mem::forget(dead.create_page("films", ROOT).unwrap());
    std::mem::forget(dead);
    // A page of its own, so that the process has a lease.
    let page = other.create_page("books", ROOT).unwrap();
    other.maintain().unwrap();
    clock.set_back(30 * DAY);
    for _ in 0..3 * 6 {
        clock.advance(10 * MINUTE);
        other.maintain().unwrap();
    }
    let films = other.usage().unwrap().into_iter().find(|page| page.ledger == "films").unwrap();
    assert!(!films.is_open);
    drop(page);
}

#[test]
fn an_idle_watcher_keeps_its_pins_for_ten_minutes_although_the_clock_was_set_back() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    let page = repository.create_page("films", ROOT).unwrap();
    put(&page, MAIN, b"Alien", b"1979");
    let watcher = page.watch(MAIN, b"").unwrap();
    clock.set_back(60 * MINUTE);
    for minute in 0..12 {
        repository.maintain().unwrap();
        assert_eq!(count_rows(&host, 0x31), usize::from(minute < 10), "after {minute} minutes");
        clock.advance(MINUTE);
    }
    drop(watcher);
}

#[test]
fn a_value_without_references_goes_after_an_hour_although_the_clock_was_set_back() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    let page = repository.create_page("films", ROOT).unwrap();
    let mut writer = page.write_value(None).unwrap();
    writer.write_all(&[7; 100_000]).unwrap();
    drop(writer.finish().unwrap());
    repository.maintain().unwrap();
    clock.set_back(DAY);
    for minutes in [0, 30, 60] {
        assert!(count_rows(&host, 0x26) > 0, "after {minutes} minutes");
        repository.maintain().unwrap();
        clock.advance(30 * MINUTE);
    }
    assert_eq!(count_rows(&host, 0x26), 0);
    assert_all_clean(&repository);
}
