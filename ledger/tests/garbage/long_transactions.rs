//! Transactions that are open for minutes, while others commit and retention removes history: their
//! commits can be merged.

use std::sync::Arc;
use std::time::Duration;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, CommitId, LastWriterWins, LedgerError, MAIN, Page, PageId, Repository, Retention,
};

use crate::support::clock::TestClock;
use crate::support::page::{get, put};

fn exclusive(retention: Retention) -> (Repository, Page) {
    let builder = Repository::builder(MemoryStore::new()).exclusive().manual_maintenance();
    let repository = builder.open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    page.set_retention(retention).unwrap();
    (repository, page)
}

/// A transaction begins before or after the first commit; another process commits for five minutes.
fn other_process(retention: Retention, has_first: bool) {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let open = || {
        let clock: Arc<dyn Clock> = Arc::clone(&clock) as _;
        Repository::builder(host.clone())
            .manual_maintenance()
            .clock(clock)
            .open_or_create()
            .unwrap()
    };
    let repositories = [open(), open()];
    let page = repositories[0].create_page("test", PageId::ROOT).unwrap();
    let theirs = repositories[1].page("test", PageId::ROOT).unwrap();
    page.set_retention(retention).unwrap();
    if has_first {
        put(&page, MAIN, b"first", b"1");
    }
    let connection = page.connect(MAIN).unwrap();
    let mut tx = connection.start().unwrap();
    tx.put(b"mine", b"1").unwrap();
    for second in 0..30_u8 {
        put(&theirs, MAIN, b"theirs", &[second]);
        clock.advance(Duration::from_secs(10));
        repositories.iter().for_each(|repository| repository.maintain().unwrap());
        if second % 6 == 5 {
            theirs.collect().unwrap();
        }
    }
    tx.commit().unwrap();
    page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    assert_eq!(get(&page, b"mine").as_deref(), Some(&b"1"[..]), "{retention:?}");
    assert_eq!(get(&page, b"theirs").as_deref(), Some(&[29][..]), "{retention:?}");
    // Once it is not needed any more, history goes.
    for _ in 0..30 {
        clock.advance(Duration::from_secs(10));
        repositories.iter().for_each(|repository| repository.maintain().unwrap());
        theirs.collect().unwrap();
    }
    let left = page.log(page.head(MAIN).unwrap()).unwrap().count();
    assert!(retention == Retention::All || left <= 3, "{retention:?}: {left} commits");
    assert!(page.verify().unwrap().findings.is_empty());
}

#[test]
fn what_another_process_commits_meanwhile_stays_as_long_as_merging_needs_it() {
    for has_first in [true, false] {
        for rule in [Retention::All, Retention::Heads, Retention::Last(2)] {
            other_process(rule, has_first);
        }
    }
}

#[test]
fn what_other_handles_commit_meanwhile_stays_as_long_as_merging_needs_it() {
    for has_first in [true, false] {
        let (_repository, page) = exclusive(Retention::Heads);
        if has_first {
            put(&page, MAIN, b"first", b"1");
        }
        let db = page.branching_database(MAIN).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        for round in 0..4 {
            put(&page, MAIN, b"theirs", &[round]);
        }
        page.collect().unwrap();
        tx.put(b"mine", b"1").unwrap();
        tx.commit().unwrap();
        page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
        assert_eq!(get(&page, b"theirs").as_deref(), Some(&[3][..]));
        assert_eq!(get(&page, b"mine").as_deref(), Some(&b"1"[..]));
        page.collect().unwrap();
        assert_eq!(page.log(page.head(MAIN).unwrap()).unwrap().count(), 1);
    }
}

#[test]
fn a_snapshot_keeps_its_commit_and_not_what_came_after_it() {
    let (_repository, page) = exclusive(Retention::Heads);
    let first = put(&page, MAIN, b"key", b"1");
    let snapshot = page.snapshot(&first).unwrap();
    for round in 0..4 {
        put(&page, MAIN, b"key", &[round]);
    }
    assert_eq!(page.collect().unwrap().commits, 3);
    assert_eq!(snapshot.get(b"key").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn a_branch_at_the_first_commit_can_be_merged_after_retention() {
    let (_repository, page) = exclusive(Retention::Heads);
    page.create_branch("work", &CommitId::FIRST).unwrap();
    for round in 0..3 {
        put(&page, "work", b"work", &[round]);
    }
    page.collect().unwrap();
    put(&page, MAIN, b"main", b"1");
    page.collect().unwrap();
    page.merge(MAIN, &page.head("work").unwrap(), &mut LastWriterWins).unwrap();
    assert_eq!(get(&page, b"work").as_deref(), Some(&[2][..]));
    assert!(page.verify().unwrap().findings.is_empty());
}

#[test]
fn a_branch_moves_forward_past_commits_that_are_gone() {
    let (_repository, page) = exclusive(Retention::Last(3));
    page.create_branch("side", &put(&page, MAIN, b"key", b"0")).unwrap();
    put(&page, "side", b"side", b"1");
    for round in 1..4 {
        put(&page, MAIN, b"key", &[round]);
    }
    let merge = page.merge(MAIN, &page.head("side").unwrap(), &mut LastWriterWins).unwrap();
    page.remove_branch("side").unwrap();
    page.collect().unwrap();
    // The other parent is older than the last three, and gone.
    let commit = page.commit(&merge).unwrap().unwrap();
    let here = |id: &&CommitId| page.commit(id).is_ok();
    let parents: Vec<_> = commit.parents().iter().filter(here).collect();
    assert_eq!(parents.len(), 1);
    page.create_branch("back", parents[0]).unwrap();
    assert_eq!(page.merge("back", &merge, &mut LastWriterWins).unwrap(), merge);
}

#[test]
fn a_commit_on_a_branch_that_was_removed_meanwhile_can_be_tried_again() {
    let (_repository, page) = exclusive(Retention::All);
    page.create_branch("work", &put(&page, MAIN, b"key", b"0")).unwrap();
    let db = page.database("work").unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"1").unwrap();
    page.remove_branch("work").unwrap();
    let error = LedgerError::from(tx.commit().unwrap_err());
    assert!(error.is_retryable(), "{error}");
    assert!(error.to_string().contains("work"), "{error}");
    assert!(db.begin(&TxOptions::writing()).is_err());
}
