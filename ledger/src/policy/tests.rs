//! When heads are read again.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};

use super::merging::Trigger;
use super::resolver::OpenMerge;
use super::strategy::{CallStart, Running};
use crate::commit::encoding::{Commit, Origin};
use crate::commit::time::CommitTime;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::merge::merger::{LastWriterWins, Merger};
use crate::merge::sides::MergeSides;
use crate::merge::strategy::{ThreeVersions, Version};
use crate::node::view::Node;
use crate::process::clock::Clock;
use crate::{CommitId, MAIN, MergeFactory, MergePolicy, Page, PageId, Repository};

/// A clock that stands still.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(60)
    }
}

fn page() -> (Repository, Page) {
    let repository = Repository::builder(MemoryStore::new()).manual_maintenance();
    let repository = repository.clock(Arc::new(Still)).open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    (repository, page)
}

fn put(db: &dyn KvDatabase, key: &str) {
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(key.as_bytes(), b"").unwrap();
    tx.commit().unwrap();
}

/// Makes two heads.
fn diverge(page: &Page) {
    let both = [(); 2].map(|()| page.branching_database(MAIN).unwrap());
    let mut open = both.each_ref().map(|db| db.begin(&TxOptions::writing()).unwrap());
    open[0].put(b"a", b"").unwrap();
    open[1].put(b"b", b"").unwrap();
    open.into_iter().for_each(|tx| tx.commit().unwrap());
    assert_eq!(page.heads(MAIN).unwrap().len(), 2);
}

/// Has no resolver for the policy.
struct Policy(MergePolicy);

impl MergeFactory for Policy {
    fn policy(&self, _: &str, _: &PageId) -> MergePolicy {
        self.0
    }
}

/// Something is missing for each merge, as long as this says so.
#[derive(Clone)]
struct Missing(Arc<AtomicBool>);

impl Merger for Missing {
    fn begin(&mut self, _: &MergeSides<'_>) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(LedgerError::missing(Kind::Node, &Digest([1; 32]))),
            false => Ok(()),
        }
    }
}

impl MergeFactory for Missing {
    fn policy(&self, _: &str, _: &PageId) -> MergePolicy {
        MergePolicy::Merger
    }

    fn merger(&self, _: &str, _: &PageId) -> Box<dyn Merger> {
        Box::new(self.clone())
    }
}

/// A thread that waits after an error of the former policy would wait for up to an hour.
#[test]
fn another_policy_does_not_wait_for_the_errors_of_the_former_one() {
    let (repository, page) = page();
    diverge(&page);
    let first = repository.add_merge_factory(Arc::new(Policy(MergePolicy::Custom)));
    let _then = repository.add_merge_factory(Arc::new(Policy(MergePolicy::LastWriterWins)));
    let again = page.merging.merge_branches(Trigger::Own).unwrap();
    assert!(again.is_some());
    // The clock stands still, so it waits.
    page.merging.merge_branches(Trigger::Own).unwrap();
    assert_eq!(page.heads(MAIN).unwrap().len(), 2);
    drop(first);
    page.merging.merge_branches(Trigger::Own).unwrap();
    assert_eq!(page.heads(MAIN).unwrap().len(), 1);
}

#[test]
fn nothing_is_waited_for_once_nothing_is_to_be_merged() {
    let (repository, page) = page();
    diverge(&page);
    let first = repository.add_merge_factory(Arc::new(Policy(MergePolicy::Custom)));
    let _then = repository.add_merge_factory(Arc::new(Policy(MergePolicy::None)));
    assert!(page.merging.merge_branches(Trigger::Own).unwrap().is_some());
    drop(first);
    assert_eq!(page.merging.merge_branches(Trigger::Own).unwrap(), None);
}

/// A thread would look again and again.
#[test]
fn merges_for_which_something_is_missing_are_not_waited_for() {
    let (repository, page) = page();
    let base = page.head(MAIN).unwrap();
    for branch in ["one", "other"] {
        page.create_branch(branch, &base).unwrap();
        put(&page.database(branch).unwrap(), branch);
    }
    let heads = ["one", "other"].map(|branch| page.head(branch).unwrap());
    struct Marks(&'static str);
    impl Merger for Marks {
        fn has_derived(&self) -> bool {
            true
        }
        fn finish(&mut self, merged: &mut dyn KvWrite) -> Result<()> {
            Ok(merged.put(self.0.as_bytes(), b"")?)
        }
    }
    let merges = [
        page.merge("one", &heads[1], &mut Marks("x")).unwrap(),
        page.merge("other", &heads[0], &mut Marks("y")).unwrap(),
    ];
    // Two merges with changes of their own on them, of which both lead to a merge again.
    let is_missing = Missing(Arc::new(AtomicBool::new(true)));
    let tops: Vec<CommitId> = (0..2)
        .map(|at| {
            let (mine, side) = (format!("mine {at}"), format!("side {at}"));
            page.create_branch(&mine, &merges[at]).unwrap();
            page.create_branch(&side, &merges[at]).unwrap();
            put(&page.database(&mine).unwrap(), &mine);
            put(&page.database(&side).unwrap(), &side);
            page.merge(&mine, &page.head(&side).unwrap(), &mut LastWriterWins).unwrap()
        })
        .collect();
    page.reset(MAIN, &tops[0]).unwrap();
    page.add_head(MAIN, &tops[1]).unwrap();
    let _says = repository.add_merge_factory(Arc::new(is_missing));
    // Merges that others have made wait.
    assert!(page.merging.merge_branches(Trigger::Others).unwrap().is_some());
    // Own ones do not.
    let error = page.merging.merge_branches(Trigger::Own).unwrap_err();
    assert!(matches!(error, LedgerError::Missing { .. }), "{error}");
    assert_eq!(page.merging.merge_branches(Trigger::Others).unwrap(), None);
}

#[test]
fn what_was_missing_is_looked_for_again_once_commits_have_come() {
    let (repository, page) = page();
    diverge(&page);
    let is_missing = Arc::new(AtomicBool::new(true));
    let _says = repository.add_merge_factory(Arc::new(Missing(Arc::clone(&is_missing))));
    assert!(page.merging.merge_branches(Trigger::Others).is_err());
    is_missing.store(false, Ordering::Relaxed);
    // Nothing has come.
    page.merging.merge_branches(Trigger::Others).unwrap();
    assert_eq!(page.heads(MAIN).unwrap().len(), 2);
    let commit = Commit {
        time: CommitTime(1 << 16),
        generation: 1,
        root: Node::empty().0,
        conflicts: None,
        origin: Origin::Change {
            parent: CommitId::FIRST,
            salt: [1; 16],
            device: [0; 16],
            author: String::new(),
            message: String::new(),
        },
    };
    let bytes = commit.to_bytes();
    page.receive().add_commit(&Commit::id(&bytes), &bytes).unwrap();
    page.merging.merge_branches(Trigger::Others).unwrap();
    assert_eq!(page.heads(MAIN).unwrap().len(), 1);
}

/// The next merge would wait as long again.
#[test]
fn a_resolver_that_does_not_come_back_is_waited_for_once() {
    let (_repository, page) = page();
    let (pin, root) = page.shared.pinned_root(&CommitId::FIRST).unwrap();
    let version = Version { commit: CommitId::FIRST, root, pin };
    let [base, older, newer] = [(); 3].map(|()| version.clone());
    let versions = ThreeVersions { base, older, newer };
    let merger = Box::new(|| Box::new(LastWriterWins) as Box<dyn Merger>);
    let merge = OpenMerge::new(Arc::clone(&page.shared), versions, merger);
    let running = Running::default();
    assert_eq!(running.begin(&merge, None, 0), CallStart::Called);
    running.cancel();
    assert_eq!(running.begin(&merge, Some(Duration::ZERO), 1), CallStart::StillRunning);
    let (sender, begun) = channel();
    thread::spawn(move || sender.send(running.begin(&merge, None, 1)));
    assert_eq!(begun.recv_timeout(Duration::from_secs(60)), Ok(CallStart::StillRunning));
}

#[test]
fn a_damaged_count_of_what_keeps_holds_up_no_merge() {
    let host = MemoryStore::new();
    let repository =
        Repository::builder(host.clone()).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    page.set_tag("now", &page.head(MAIN).unwrap()).unwrap();
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    assert!(tx.get(&[0x10, 1, 0x28]).unwrap().is_some());
    tx.put(&[0x10, 1, 0x28], b"damaged").unwrap();
    tx.commit().unwrap();
    diverge(&page);
    page.merging.merge_branches(Trigger::Others).unwrap();
    assert_eq!(page.heads(MAIN).unwrap().len(), 1);
}
