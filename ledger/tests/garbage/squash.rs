//! Several commits become one.
//!
//! `PERMAZEN_SQUASHES` sets how many random histories there are.

use std::collections::{BTreeMap, BTreeSet};

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, LastWriterWins, LedgerError, MAIN, Origin, Page, PageId, RemoteState, Repository,
    Secret, Status,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::page::{assert_clean, new_page, put};

fn log(page: &Page, from: CommitId) -> Vec<CommitId> {
    page.log(from).unwrap().map(|found| found.unwrap().0).collect()
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
    // A caller that knows the old ones can read them.
    assert_eq!(page.snapshot(&one).unwrap().get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_clean(&page);
}

#[test]
fn merges_are_squashed_with_both_of_their_sides() {
    let page = new_page();
    let base = put(&page, MAIN, b"base", b"");
    page.create_branch("side", &base).unwrap();
    put(&page, "side", b"side", b"");
    let side = put(&page, "side", b"side", b"2");
    put(&page, MAIN, b"main", b"");
    page.merge(MAIN, &side, &mut LastWriterWins).unwrap();
    // The branch has a commit that would be replaced.
    let error = page.squash(MAIN, &base, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot squash at commit {side} of page 1: it is reachable from branch side")
    );
    page.remove_branch("side").unwrap();
    page.set_tag("half", &side).unwrap();
    let error = page.squash(MAIN, &base, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot squash at commit {side} of page 1: it is reachable from tag half")
    );
    page.remove_tag("half").unwrap();
    let squashed = page.squash(MAIN, &base, None).unwrap();
    assert_eq!(log(&page, squashed), [squashed, base]);
    // Onto a commit of the other side of a merge: its ancestors stay, all other commits are
    // replaced.
    page.create_branch("side", &base).unwrap();
    let side = put(&page, "side", b"side", b"3");
    let merge = page.merge(MAIN, &side, &mut LastWriterWins).unwrap();
    page.remove_branch("side").unwrap();
    let root = page.snapshot(&merge).unwrap().root();
    let squashed = page.squash(MAIN, &side, None).unwrap();
    assert_eq!(log(&page, squashed), [squashed, side, base]);
    assert_eq!(page.snapshot(&squashed).unwrap().root(), root);
    assert_clean(&page);
}

/// Why a squash is refused, and onto which commit it is possible.
fn refused(page: &Page, branch: &str, onto: &CommitId) -> (CommitId, String, Option<CommitId>) {
    let head = page.head(branch).unwrap();
    match page.squash(branch, onto, None).unwrap_err() {
        LedgerError::CannotSquash { commit, reason, onto, .. } => {
            assert_eq!(page.head(branch).unwrap(), head);
            (commit, reason, onto)
        }
        error => panic!("{error}"),
    }
}

#[test]
fn a_branch_that_leaves_in_between_brings_no_old_values_back() {
    let page = new_page();
    let put_all = |branch: &str, puts: &[(&str, &str)], removed: &[&str]| {
        let db = page.database(branch).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        puts.iter().for_each(|(key, value)| tx.put(key.as_bytes(), value.as_bytes()).unwrap());
        removed.iter().for_each(|key| tx.remove(key.as_bytes()).unwrap());
        tx.commit().unwrap();
        page.head(branch).unwrap()
    };
    let fork = put_all(MAIN, &[("price", "1"), ("x", "1")], &[]);
    page.create_branch("b", &fork).unwrap();
    put_all("b", &[("note", "1")], &[]);
    let changed = put_all(MAIN, &[("price", "2")], &["x"]);
    let head = put_all(MAIN, &[("more", "1")], &[]);
    let error = page.squash(MAIN, &CommitId::FIRST, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot squash at commit {fork} of page 1: it is reachable from branch b; \
             squash onto commit {fork} instead"
        )
    );
    assert_eq!(page.head(MAIN).unwrap(), head);
    // Commits after the fork are reachable from nothing else.
    let squashed = page.squash(MAIN, &fork, None).unwrap();
    assert_eq!(log(&page, squashed), [squashed, fork]);
    assert_ne!(squashed, changed);
    let other = put_all("b", &[("note", "2")], &[]);
    let merge = page.merge(MAIN, &other, &mut LastWriterWins).unwrap();
    let merged = page.snapshot(&merge).unwrap();
    let value = |key: &str| merged.get(key.as_bytes()).unwrap().map(|value| value.into_owned());
    assert_eq!((value("price"), value("x")), (Some(b"2".to_vec()), None));
    assert_eq!((value("note"), value("more")), (Some(b"2".to_vec()), Some(b"1".to_vec())));
    assert_clean(&page);
}

#[test]
fn a_branch_or_tag_at_the_head_or_after_it_leads_through_all() {
    let page = new_page();
    put(&page, MAIN, b"a", b"1");
    let head = put(&page, MAIN, b"a", b"2");
    page.create_branch("kept", &head).unwrap();
    let expected = "it is reachable from branch kept".to_owned();
    assert_eq!(refused(&page, MAIN, &CommitId::FIRST), (head, expected.clone(), None));
    put(&page, "kept", b"b", b"1");
    assert_eq!(refused(&page, MAIN, &CommitId::FIRST), (head, expected, None));
    page.remove_branch("kept").unwrap();
    page.set_tag("kept", &head).unwrap();
    let expected = "it is reachable from tag kept".to_owned();
    assert_eq!(refused(&page, MAIN, &CommitId::FIRST), (head, expected, None));
    page.remove_tag("kept").unwrap();
    let squashed = page.squash(MAIN, &CommitId::FIRST, None).unwrap();
    assert_eq!(log(&page, squashed).len(), 1);
    assert_clean(&page);
}

#[test]
fn the_newest_fork_is_what_can_be_squashed_onto() {
    let page = new_page();
    let commits: Vec<_> = (0..8).map(|value| put(&page, MAIN, b"a", &[value])).collect();
    for (name, at) in [("early", 1), ("late", 4)] {
        page.create_branch(name, &commits[at]).unwrap();
        put(&page, name, name.as_bytes(), b"");
    }
    page.set_tag("before", &commits[0]).unwrap();
    let (at, expected) = (commits[1], "it is reachable from branch early".to_owned());
    assert_eq!(refused(&page, MAIN, &CommitId::FIRST), (at, expected.clone(), Some(commits[4])));
    assert_eq!(refused(&page, MAIN, &commits[0]), (at, expected, Some(commits[4])));
    // A branch that leaves before the commit that stays does not matter.
    let expected = "it is reachable from branch late".to_owned();
    assert_eq!(refused(&page, MAIN, &commits[2]), (commits[4], expected, Some(commits[4])));
    // A fork on one side of a merge: only the merge has all of it.
    page.create_branch("side", &commits[7]).unwrap();
    let side = put(&page, "side", b"side", b"1");
    put(&page, MAIN, b"b", b"");
    let merge = page.merge(MAIN, &side, &mut LastWriterWins).unwrap();
    put(&page, MAIN, b"b", b"1");
    put(&page, MAIN, b"b", b"2");
    put(&page, "side", b"side", b"2");
    let expected = "it is reachable from branch side".to_owned();
    assert_eq!(refused(&page, MAIN, &commits[7]), (side, expected, Some(merge)));
    let squashed = page.squash(MAIN, &merge, None).unwrap();
    assert_eq!(page.commit(&squashed).unwrap().unwrap().parents(), [merge]);
    assert_clean(&page);
}

#[test]
fn commits_below_an_open_transaction_of_a_connection_are_not_replaced() {
    let page = new_page();
    let base = put(&page, MAIN, b"a", b"1");
    let head = put(&page, MAIN, b"a", b"2");
    let connection = page.connect(MAIN).unwrap();
    let mut tx = connection.start().unwrap();
    tx.put(b"b", b"").unwrap();
    let (commit, reason, onto) = refused(&page, MAIN, &base);
    assert_eq!((commit, onto), (head, None));
    assert!(reason.contains("an open transaction of a connection"), "{reason}");
    tx.commit().unwrap();
    let squashed = page.squash(MAIN, &base, None).unwrap();
    assert_eq!(log(&page, squashed), [squashed, base]);
    // The connection goes there.
    assert!(connection.snapshot().unwrap().get(b"b").unwrap().is_some());
    assert_eq!(connection.commit(), squashed);
    assert_clean(&page);
}

/// Brings a commit from one copy of a page to another one, whose parents are there.
fn bring(from: &Page, receiver: &mut permazen_ledger::Receiver, id: &CommitId) {
    let remote = from.remote();
    let bytes = remote.commit_bytes(id).unwrap().unwrap();
    loop {
        let wanted = receiver.wanted(&bytes).unwrap();
        if wanted.is_empty() {
            break;
        }
        for (kind, digest) in wanted {
            let piece = remote.piece_bytes(&digest).unwrap().unwrap();
            receiver.add_piece(kind, piece).unwrap();
        }
    }
    receiver.add_commit(id, &bytes).unwrap();
}

#[test]
fn what_another_copy_has_is_not_replaced() {
    let copy = || {
        let repository = Repository::open_or_create(MemoryStore::new()).unwrap();
        repository.create_page_with("test", PageId::ROOT, Secret::new([7; 32])).unwrap()
    };
    let (here, there) = (copy(), copy());
    let one = put(&there, MAIN, b"a", b"1");
    let two = put(&there, MAIN, b"a", b"2");
    let mut receiver = here.receive();
    bring(&there, &mut receiver, &one);
    bring(&there, &mut receiver, &two);
    receiver.add_head(MAIN, &two).unwrap();
    drop(receiver);
    put(&here, MAIN, b"a", b"3");
    put(&here, MAIN, b"a", b"4");
    let (commit, reason, onto) = refused(&here, MAIN, &CommitId::FIRST);
    assert!([one, two].contains(&commit));
    assert_eq!(reason, "it came from another copy of the page, which has it");
    assert_eq!(onto, Some(two));
    let squashed = here.squash(MAIN, &two, None).unwrap();
    assert_eq!(log(&here, squashed), [squashed, two, one]);
    // The other copy continues, and the entries that it did not touch stay.
    let mut receiver = here.receive();
    let three = put(&there, MAIN, b"b", b"1");
    bring(&there, &mut receiver, &three);
    // The parents of a received commit without a ref are reachable from it, too.
    put(&here, MAIN, b"c", b"1");
    let error = here.squash(MAIN, &one, None).unwrap_err();
    assert!(error.to_string().contains("that a receiver has added"), "{error}");
    let merge = here.merge(MAIN, &three, &mut LastWriterWins).unwrap();
    let merged = here.snapshot(&merge).unwrap();
    assert_eq!(merged.get(b"a").unwrap().as_deref(), Some(&b"4"[..]));
    assert_clean(&here);
}

/// A branch leaves before the commits at the remote: a squash is possible after both only.
#[test]
fn what_is_proposed_is_possible_beside_a_remote_too() {
    let page = new_page();
    page.remote().attach().unwrap();
    let commits: Vec<_> = (0..5).map(|value| put(&page, MAIN, b"a", &[value])).collect();
    page.create_branch("b", &commits[0]).unwrap();
    page.remote().mark_synced(&commits[..3], &[], &[]).unwrap();
    let expected = "it is reachable from branch b".to_owned();
    let first = refused(&page, MAIN, &CommitId::FIRST);
    assert_eq!(first, (commits[0], expected, Some(commits[2])));
    let expected = "it is at the remote".to_owned();
    let (commit, reason, onto) = refused(&page, MAIN, &commits[0]);
    assert!(commits[1..3].contains(&commit));
    assert_eq!((reason, onto), (expected, Some(commits[2])));
    let squashed = page.squash(MAIN, &commits[2], None).unwrap();
    assert_eq!(page.commit(&squashed).unwrap().unwrap().parents(), [commits[2]]);
    // If the head is at the remote, nothing can be squashed.
    page.remote().mark_synced(&[squashed], &[], &[]).unwrap();
    let (commit, _, onto) = refused(&page, MAIN, &CommitId::FIRST);
    assert_eq!((commit, onto), (commits[0], None));
    assert_clean(&page);
}

/// Commits are sent, and another copy takes them, before the page learns that they are at the
/// remote.
#[test]
fn commits_that_were_squashed_while_they_were_sent_are_told() {
    let copy = || {
        let repository = Repository::open_or_create(MemoryStore::new()).unwrap();
        repository.create_page_with("test", PageId::ROOT, Secret::new([7; 32])).unwrap()
    };
    let (here, there) = (copy(), copy());
    let remote = here.remote();
    remote.attach().unwrap();
    let sent = [put(&here, MAIN, b"price", b"1"), put(&here, MAIN, b"price", b"2")];
    let mut receiver = there.receive();
    sent.iter().for_each(|id| bring(&here, &mut receiver, id));
    receiver.add_head(MAIN, &sent[1]).unwrap();
    drop(receiver);
    put(&here, MAIN, b"price", b"3");
    // A tag at a commit that is being sent forbids the squash.
    here.set_tag("sending", &sent[1]).unwrap();
    let expected = "it is reachable from tag sending".to_owned();
    assert_eq!(refused(&here, MAIN, &CommitId::FIRST), (sent[1], expected, Some(sent[1])));
    here.remove_tag("sending").unwrap();
    here.squash(MAIN, &CommitId::FIRST, None).unwrap();
    let error = remote.mark_synced(&sent, &[], &[(b"note", b"1")]).unwrap_err();
    let expected = format!("commit {} of page 1 is at the remote", sent[1]);
    assert!(error.to_string().starts_with(&expected), "{error}");
    // It is noted all the same, and said once.
    for id in &sent {
        assert_eq!(here.commit_status(id).unwrap(), Status::Synced);
    }
    assert_eq!(remote.note(b"note").unwrap().as_deref(), Some(&b"1"[..]));
    remote.mark_synced(&sent, &[], &[]).unwrap();
    // The advice of the error: then no old value comes back.
    here.merge(MAIN, &sent[1], &mut LastWriterWins).unwrap();
    let other = put(&there, MAIN, b"more", b"1");
    let mut receiver = here.receive();
    bring(&there, &mut receiver, &other);
    let merge = here.merge(MAIN, &other, &mut LastWriterWins).unwrap();
    let merged = here.snapshot(&merge).unwrap();
    assert_eq!(merged.get(b"price").unwrap().as_deref(), Some(&b"3"[..]));
    assert_eq!(merged.get(b"more").unwrap().as_deref(), Some(&b"1"[..]));
    assert_clean(&here);
}

#[test]
fn nothing_to_replace_changes_nothing() {
    let page = new_page();
    assert_eq!(page.squash(MAIN, &CommitId::FIRST, None).unwrap(), CommitId::FIRST);
    let one = put(&page, MAIN, b"a", b"1");
    assert_eq!(page.squash(MAIN, &one, None).unwrap(), one);
    // Changes that were taken back leave the commit with which they began.
    put(&page, MAIN, b"a", b"2");
    put(&page, MAIN, b"a", b"1");
    assert_eq!(page.squash(MAIN, &one, None).unwrap(), one);
    assert_eq!(page.head(MAIN).unwrap(), one);
    assert_clean(&page);
}

#[test]
fn what_cannot_be_squashed_is_refused() {
    let page = new_page();
    let base = put(&page, MAIN, b"a", b"1");
    page.create_branch("other", &base).unwrap();
    let other = put(&page, "other", b"b", b"");
    let head = put(&page, MAIN, b"c", b"");
    let error = page.squash(MAIN, &other, None).unwrap_err();
    let expected = "it is no ancestor of the head of the branch";
    assert_eq!(error.to_string(), format!("cannot squash at commit {other} of page 1: {expected}"));
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
    // The values that it has read are the same, so it may commit.
    open.commit().unwrap();
    let told = watcher.next(std::time::Duration::ZERO).unwrap().unwrap();
    assert!(told.moved);
    assert_eq!(told.updates.len(), 1);
    assert_clean(&page);
}

/// A branch as the model sees it: the origin of its content.
#[derive(Clone, Default)]
struct Seen {
    /// For each key the change that it has its value from.
    from: BTreeMap<u8, u64>,
    /// The changes that the branch has seen.
    changes: BTreeSet<u64>,
}

impl Seen {
    /// For each key, the changes whose value a merge with another branch may have. If only one of
    /// both branches has changed the key since they had the same value, it is the change of that
    /// branch.
    fn merged(&self, other: &Seen) -> BTreeMap<u8, Vec<u64>> {
        let keys: BTreeSet<u8> = self.from.keys().chain(other.from.keys()).copied().collect();
        let of = |key: u8| {
            let both = [self, other].map(|of| of.from.get(&key).copied().unwrap_or_default());
            let knows = [self.changes.contains(&both[1]), other.changes.contains(&both[0])];
            match knows {
                [true, false] => vec![both[0]],
                [false, true] => vec![both[1]],
                _ => both.to_vec(),
            }
        };
        keys.into_iter().map(|key| (key, of(key))).collect()
    }
}

/// A page with branches, and their known state.
struct Model {
    page: Page,
    random: StdRng,
    branches: BTreeMap<String, Seen>,
    /// The values of changes; `None` if they have removed the key. Change 0 is none.
    values: Vec<Option<Vec<u8>>>,
    squashed: usize,
    refused: usize,
    /// How often a squash was refused of commits of which some are at the remote.
    at_remote: usize,
}

impl Model {
    fn new(seed: u64) -> Self {
        let (page, random) = (new_page(), StdRng::seed_from_u64(seed));
        if seed % 2 == 1 {
            page.remote().attach().unwrap();
        }
        let main = Seen { changes: BTreeSet::from([0]), ..Seen::default() };
        let branches = BTreeMap::from([(MAIN.to_owned(), main)]);
        Model { page, random, branches, values: vec![None], squashed: 0, refused: 0, at_remote: 0 }
    }

    fn below(&mut self, count: usize) -> usize {
        self.random.random_range(0..count)
    }

    fn any_branch(&mut self) -> String {
        let at = self.below(self.branches.len());
        self.branches.keys().nth(at).unwrap().clone()
    }

    fn change(&mut self, branch: &str) {
        let (key, is_removed) = (self.below(5) as u8, self.below(4) == 0);
        let number = self.values.len() as u64;
        // No two changes have the same value.
        let value = (!is_removed).then(|| number.to_be_bytes().to_vec());
        let db = self.page.database(branch).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        if is_removed && tx.get(&[key]).unwrap().is_none() {
            return;
        }
        match &value {
            Some(value) => tx.put(&[key], value).unwrap(),
            None => tx.remove(&[key]).unwrap(),
        }
        tx.commit().unwrap();
        self.values.push(value);
        let seen = self.branches.get_mut(branch).unwrap();
        seen.from.insert(key, number);
        seen.changes.insert(number);
    }

    fn merge(&mut self, into: &str, from: &str, what: &str) {
        let head = self.page.head(from).unwrap();
        self.page.merge(into, &head, &mut LastWriterWins).unwrap();
        let (ours, theirs) = (self.branches[into].clone(), self.branches[from].clone());
        let content = self.page.snapshot(&self.page.head(into).unwrap()).unwrap();
        let mut seen = ours.clone();
        seen.changes.extend(&theirs.changes);
        for (key, may_be) in ours.merged(&theirs) {
            let found = content.get(&[key]).unwrap().map(|value| value.into_owned());
            let change = may_be.iter().find(|change| self.values[**change as usize] == found);
            let Some(mut change) = change.copied() else {
                panic!("{what}: key {key} of {into} has {found:?}, and not that of {may_be:?}");
            };
            if may_be.len() > 1 && may_be[0] != may_be[1] {
                // A commit that has the merge has the decisions of the merge.
                change = self.values.len() as u64;
                self.values.push(found);
                seen.changes.insert(change);
            }
            seen.from.insert(key, change);
        }
        self.branches.insert(into.to_owned(), seen);
    }

    /// Whether a remote has the commit.
    fn is_synced(&self, id: &CommitId) -> bool {
        self.page.commit_status(id).unwrap() == Status::Synced
    }

    /// Brings the oldest commits to the remote, if there is one: each comes after its parents.
    fn push(&mut self) {
        let remote = self.page.remote();
        if remote.state().unwrap() == RemoteState::Attached {
            let unsynced = remote.unsynced_commits().unwrap();
            let count = self.below(4).min(unsynced.len());
            let ids: Vec<_> = unsynced[..count].iter().map(|commit| commit.id).collect();
            remote.mark_synced(&ids, &[], &[]).unwrap();
        }
    }

    fn squash(&mut self, branch: &str, what: &str) {
        let page = &self.page;
        let head = page.head(branch).unwrap();
        let root = page.snapshot(&head).unwrap().root();
        let mut onto = log(page, head);
        onto.push(CommitId::FIRST);
        let onto = onto[self.random.random_range(0..onto.len())];
        let stays: BTreeSet<_> = match onto {
            CommitId::FIRST => BTreeSet::new(),
            onto => log(page, onto).into_iter().collect(),
        };
        let replaced: Vec<_> =
            log(page, head).into_iter().filter(|id| !stays.contains(id)).collect();
        let branches = page.branches().unwrap().into_iter().filter(|(name, _)| name != branch);
        let mut names: Vec<_> = branches.flat_map(|(_, heads)| heads).collect();
        names.extend(page.tags().unwrap().into_iter().map(|(_, id)| id));
        let names = names.into_iter().filter(|id| *id != CommitId::FIRST);
        let others: BTreeSet<_> = names.flat_map(|id| log(page, id)).collect();
        let is_free = replaced.iter().all(|id| !others.contains(id) && !self.is_synced(id));
        let (new, expected) = match page.squash(branch, &onto, None) {
            Ok(new) => {
                assert!(is_free, "{what}: another name or the remote forbids it");
                (new, onto)
            }
            Err(LedgerError::CannotSquash { commit, onto, .. }) => {
                let is_synced = !others.contains(&commit) && self.is_synced(&commit);
                assert!(is_synced || others.contains(&commit), "{what}: {commit} forbids nothing");
                self.at_remote += usize::from(replaced.iter().any(|id| self.is_synced(id)));
                assert!(replaced.contains(&commit), "{what}: {commit} stays");
                self.refused += 1;
                let Some(onto) = onto else { return };
                // The proposed squash is possible.
                (page.squash(branch, &onto, None).unwrap(), onto)
            }
            Err(error) => panic!("{what}: {error}"),
        };
        if new == CommitId::FIRST {
            return;
        }
        assert_eq!(page.snapshot(&new).unwrap().root(), root, "{what}");
        let mut commits = match expected {
            CommitId::FIRST => Vec::new(),
            onto => log(page, onto),
        };
        if new != expected {
            self.squashed += 1;
            commits.insert(0, new);
        }
        assert_eq!(log(page, new), commits, "{what}");
    }

    fn step(&mut self, what: &str) {
        let branch = self.any_branch();
        match self.below(24) {
            0..9 => self.change(&branch),
            9..13 => {
                let from = self.any_branch();
                self.merge(&branch, &from, what);
            }
            13..15 if self.branches.len() < 4 => {
                let name = format!("b{}", self.values.len());
                if !self.branches.contains_key(&name) {
                    let head = self.page.head(&branch).unwrap();
                    self.page.create_branch(&name, &head).unwrap();
                    self.branches.insert(name, self.branches[&branch].clone());
                }
            }
            15 if branch != MAIN => {
                self.page.remove_branch(&branch).unwrap();
                self.branches.remove(&branch);
            }
            16 => {
                let head = self.page.head(&branch).unwrap();
                match self.below(3) {
                    0 if head != CommitId::FIRST => self.page.set_tag("tag", &head).unwrap(),
                    _ => drop(self.page.remove_tag("tag")),
                }
            }
            17..20 => self.push(),
            20.. => self.squash(&branch, what),
            _ => {}
        }
    }
}

/// In every history, a squash leaves the content as it is. The history of its head is the new
/// commit and the commits that lead to the old one. A merge after it takes each key from the side
/// that has changed the key.
#[test]
fn random_histories_are_squashed() {
    let (mut squashed, mut refused, mut at_remote) = (0, 0, 0);
    let count = std::env::var("PERMAZEN_SQUASHES").map_or(100, |count| count.parse().unwrap());
    for seed in 0..count {
        let mut model = Model::new(seed);
        for step in 0..40 {
            model.step(&format!("seed {seed}, step {step}"));
        }
        assert_clean(&model.page);
        squashed += model.squashed;
        refused += model.refused;
        at_remote += model.at_remote;
    }
    println!(
        "{squashed} squashed, {refused} refused, {at_remote} beside a remote, in {count} histories"
    );
    let count = count as usize;
    assert!((squashed > count / 2 && refused > count && at_remote > count / 4) || count < 20);
}
