//! Several commits become one.
//!
//! `PERMAZEN_SQUASHES` sets how many random histories there are.
#![allow(clippy::unwrap_used)]

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{CommitId, LastOneWins, LedgerError, MAIN, Origin, Page, PageId, Repository};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn new_page() -> Page {
    let repository = Repository::create(MemoryStore::new()).unwrap();
    repository.create_page("test", PageId::ROOT).unwrap()
}

fn put(page: &Page, branch: &str, key: &[u8], value: &[u8]) -> CommitId {
    let db = page.database(branch).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(key, value).unwrap();
    tx.commit().unwrap();
    page.head(branch).unwrap()
}

fn log(page: &Page, from: CommitId) -> Vec<CommitId> {
    page.log(from).unwrap().map(|found| found.unwrap().0).collect()
}

fn clean(page: &Page) {
    let found = page.verify().unwrap();
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

#[test]
fn one_commit_has_the_content_of_all() {
    let page = new_page();
    let base = put(&page, MAIN, b"base", b"");
    let one = put(&page, MAIN, b"a", b"1");
    let two = put(&page, MAIN, b"a", b"2");
    let root = page.snapshot(&two).unwrap().root();
    let squashed = page.squash(MAIN, &base, Some("both")).unwrap();
    assert_eq!(page.head(MAIN).unwrap(), squashed);
    assert_eq!(log(&page, squashed), [squashed, base]);
    assert_eq!(page.snapshot(&squashed).unwrap().root(), root);
    let commit = page.commit(&squashed).unwrap().unwrap();
    assert!(matches!(&commit.origin, Origin::Change { message, .. } if message == "both"));
    assert!(commit.time > page.commit(&base).unwrap().unwrap().time);
    // Who knows the old ones can read them.
    assert_eq!(page.snapshot(&one).unwrap().get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    clean(&page);
}

#[test]
fn merges_are_squashed_with_both_of_their_sides() {
    let page = new_page();
    let base = put(&page, MAIN, b"base", b"");
    page.create_branch("side", &base).unwrap();
    put(&page, "side", b"side", b"");
    let side = put(&page, "side", b"side", b"2");
    put(&page, MAIN, b"main", b"");
    page.merge(MAIN, &side, &mut LastOneWins).unwrap();
    // The branch has a commit that would be replaced.
    let error = page.squash(MAIN, &base, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot squash at commit {side} of page 1: branch side has it")
    );
    page.remove_branch("side").unwrap();
    page.set_tag("half", &side).unwrap();
    let error = page.squash(MAIN, &base, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot squash at commit {side} of page 1: tag half has it")
    );
    page.remove_tag("half").unwrap();
    let squashed = page.squash(MAIN, &base, None).unwrap();
    assert_eq!(log(&page, squashed), [squashed, base]);
    // Onto a commit of the other side of a merge: what leads to it stays, all else is replaced.
    page.create_branch("side", &base).unwrap();
    let side = put(&page, "side", b"side", b"3");
    let merge = page.merge(MAIN, &side, &mut LastOneWins).unwrap();
    page.remove_branch("side").unwrap();
    let root = page.snapshot(&merge).unwrap().root();
    let squashed = page.squash(MAIN, &side, None).unwrap();
    assert_eq!(log(&page, squashed), [squashed, side, base]);
    assert_eq!(page.snapshot(&squashed).unwrap().root(), root);
    clean(&page);
}

#[test]
fn other_names_of_the_head_stay_there() {
    let page = new_page();
    put(&page, MAIN, b"a", b"1");
    let head = put(&page, MAIN, b"a", b"2");
    page.create_branch("kept", &head).unwrap();
    page.set_tag("kept", &head).unwrap();
    let squashed = page.squash(MAIN, &CommitId::FIRST, None).unwrap();
    assert_ne!(squashed, head);
    assert_eq!((page.head("kept").unwrap(), page.tag("kept").unwrap()), (head, head));
    assert_eq!(log(&page, squashed).len(), 1);
    clean(&page);
}

#[test]
fn nothing_to_replace_changes_nothing() {
    let page = new_page();
    assert_eq!(page.squash(MAIN, &CommitId::FIRST, None).unwrap(), CommitId::FIRST);
    let one = put(&page, MAIN, b"a", b"1");
    assert_eq!(page.squash(MAIN, &one, None).unwrap(), one);
    // What was taken back leaves the commit that it began with.
    put(&page, MAIN, b"a", b"2");
    put(&page, MAIN, b"a", b"1");
    assert_eq!(page.squash(MAIN, &one, None).unwrap(), one);
    assert_eq!(page.head(MAIN).unwrap(), one);
    clean(&page);
}

#[test]
fn what_cannot_be_squashed_is_refused() {
    let page = new_page();
    let base = put(&page, MAIN, b"a", b"1");
    page.create_branch("other", &base).unwrap();
    let other = put(&page, "other", b"b", b"");
    let head = put(&page, MAIN, b"c", b"");
    let error = page.squash(MAIN, &other, None).unwrap_err();
    let words = "it does not lead to the head of the branch";
    assert_eq!(error.to_string(), format!("cannot squash at commit {other} of page 1: {words}"));
    assert!(matches!(page.squash("none", &base, None), Err(LedgerError::NoSuch { .. })));
    let unknown = CommitId(page.snapshot(&head).unwrap().root());
    assert!(matches!(page.squash(MAIN, &unknown, None), Err(LedgerError::NoCommit { .. })));
    let long = "x".repeat(4_097);
    let error = page.squash(MAIN, &base, Some(&long)).unwrap_err();
    assert!(matches!(error, LedgerError::InvalidArgument(_)), "{error}");
    assert_eq!(page.head(MAIN).unwrap(), head);
}

#[test]
fn open_transactions_and_watchers_notice() {
    let page = new_page();
    let base = put(&page, MAIN, b"a", b"1");
    put(&page, MAIN, b"a", b"2");
    let db = page.database(MAIN).unwrap();
    let mut watcher = page.watch(MAIN, b"").unwrap();
    let mut open = db.begin(&TxOptions::writing()).unwrap();
    open.get(b"a").unwrap();
    open.put(b"b", b"").unwrap();
    page.squash(MAIN, &base, None).unwrap();
    // What it has read is the same, so it may commit.
    open.commit().unwrap();
    let told = watcher.next(std::time::Duration::ZERO).unwrap().unwrap();
    assert!(told.moved);
    assert_eq!(told.updates.len(), 1);
    clean(&page);
}

/// Whatever the history is, a squash leaves the content, and its commits are the new one and those that
/// lead to the old one.
#[test]
fn random_histories_are_squashed() {
    let mut squashed = 0;
    let count = std::env::var("PERMAZEN_SQUASHES").map_or(200, |count| count.parse().unwrap());
    for seed in 0..count {
        let mut random = StdRng::seed_from_u64(seed);
        let page = new_page();
        put(&page, MAIN, b"0", b"");
        page.create_branch("b", &page.head(MAIN).unwrap()).unwrap();
        for _ in 0..random.random_range(3..15) {
            let branches = [MAIN, "b"];
            let at = random.random_range(0..2);
            if random.random_bool(0.7) {
                put(
                    &page,
                    branches[at],
                    &[random.random_range(0..4)],
                    &[random.random_range(0..2)],
                );
            } else {
                let from = page.head(branches[1 - at]).unwrap();
                page.merge(branches[at], &from, &mut LastOneWins).unwrap();
            }
        }
        page.remove_branch("b").unwrap();
        let head = page.head(MAIN).unwrap();
        let root = page.snapshot(&head).unwrap().root();
        let all = log(&page, head);
        let onto = all[random.random_range(0..all.len())];
        let new = page.squash(MAIN, &onto, None).unwrap();
        assert_eq!(page.snapshot(&new).unwrap().root(), root, "seed {seed}");
        let mut expected = log(&page, onto);
        if new != onto {
            squashed += 1;
            expected.insert(0, new);
        }
        assert_eq!(log(&page, new), expected, "seed {seed}");
        clean(&page);
    }
    assert!(squashed > count / 4 || count < 20, "{squashed} of {count}");
}
