//! The first commit leads to all others, also where history is no longer kept.

use permazen_kv::memory::MemoryStore;
use permazen_ledger::{
    CommitId, Digest, LastWriterWins, LedgerError, MAIN, Page, PageId, Repository, Retention,
};

use crate::support::page::{assert_clean, put};

fn put_key(page: &Page, key: u8) -> CommitId {
    put(page, MAIN, &[key], &[key])
}

/// A page of which only the last commits are kept.
fn pruned() -> (Page, CommitId) {
    let repository = Repository::builder(MemoryStore::new()).exclusive().manual_maintenance();
    let page = repository.open_or_create().unwrap().create_page("test", PageId::ROOT).unwrap();
    page.set_retention(Retention::Last(2)).unwrap();
    for key in 0..4 {
        put_key(&page, key);
    }
    let head = put_key(&page, 4);
    page.collect().unwrap();
    assert_eq!(page.log(head).unwrap().count(), 2);
    (page, head)
}

#[test]
fn a_branch_at_the_first_commit_goes_forward() {
    let (page, head) = pruned();
    assert!(page.is_ancestor(&CommitId::FIRST, &head).unwrap());
    page.create_branch("new", &CommitId::FIRST).unwrap();
    assert_eq!(page.merge("new", &head, &mut LastWriterWins).unwrap(), head);
    assert_eq!(page.head("new").unwrap(), head);
    // The other way round, nothing is to be done.
    assert_eq!(page.merge(MAIN, &CommitId::FIRST, &mut LastWriterWins).unwrap(), head);
    page.create_branch("newer", &CommitId::FIRST).unwrap();
    let none = page.merge("newer", &CommitId::FIRST, &mut LastWriterWins).unwrap();
    assert_eq!(none, CommitId::FIRST);
    assert_clean(&page);
    // A commit that is not there is no merge.
    let gone = CommitId(Digest([7; 32]));
    for branch in ["newer", MAIN] {
        let error = page.merge(branch, &gone, &mut LastWriterWins).unwrap_err();
        assert!(matches!(error, LedgerError::NoCommit { .. }), "{error}");
    }
}

#[test]
fn what_is_left_of_history_becomes_one_commit() {
    let (page, head) = pruned();
    let root = page.snapshot(&head).unwrap().root();
    let all = page.squash(MAIN, &CommitId::FIRST, Some("all")).unwrap();
    assert_eq!(page.head(MAIN).unwrap(), all);
    assert_eq!(page.snapshot(&all).unwrap().root(), root);
    assert_eq!(page.commit(&all).unwrap().unwrap().parents(), [CommitId::FIRST]);
    assert_clean(&page);
    page.collect().unwrap();
    assert_eq!(page.verify().unwrap().commits, 1);
    assert_clean(&page);
    put_key(&page, 9);
    assert_clean(&page);
}

#[test]
fn what_others_may_have_is_not_squashed() {
    let (page, head) = pruned();
    // Other commits that are only here do not help: the remote may have commits that are no longer
    // kept.
    page.remote().attach().unwrap();
    let error = page.squash(MAIN, &CommitId::FIRST, None).unwrap_err();
    let LedgerError::CannotSquash { onto, .. } = error else { panic!("{error}") };
    assert_eq!(page.head(MAIN).unwrap(), head);
    // After the oldest commit that is here, all is known.
    let oldest = page.log(head).unwrap().map(|found| found.unwrap().0).last().unwrap();
    assert_eq!(onto, Some(oldest));
    page.squash(MAIN, &oldest, None).unwrap();
}
