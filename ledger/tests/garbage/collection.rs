//! The commits and pieces that a collection keeps, against a simple model; and its effects on
//! readers.
//!
//! `PERMAZEN_HISTORIES` sets how many random histories there are.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, CommitId, KeepReason, LastWriterWins, LedgerError, MAIN, Page, PageId, Repository,
    RepositoryBuilder, Retention,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::clock::TestClock;
use crate::support::page::{Map, content, put};

fn builder(host: &MemoryStore, clock: &Arc<TestClock>) -> RepositoryBuilder {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    Repository::builder(host.clone()).manual_maintenance().clock(clock)
}

/// Checks that everything is right and that no piece is too much.
fn check_clean(page: &Page, what: &str) {
    let found = page.verify().unwrap();
    assert!(found.findings.is_empty(), "{what}: {:?}", found.findings);
    assert_eq!(found.unreachable_pieces, 0, "{what}");
}

/// A commit as the model knows it.
#[derive(Clone)]
struct Known {
    parents: Vec<CommitId>,
    generation: u64,
    millis: u64,
    content: Map,
}

/// Each two of these.
fn pairs(of: &BTreeSet<CommitId>) -> Vec<(CommitId, CommitId)> {
    of.iter().flat_map(|one| of.range(one..).skip(1).map(|other| (*one, *other))).collect()
}

struct Model {
    host: MemoryStore,
    page: Page,
    clock: Arc<TestClock>,
    random: StdRng,
    commits: BTreeMap<CommitId, Known>,
    retention: Retention,
    pinned: Vec<(CommitId, permazen_ledger::PageSnapshot)>,
}

impl Model {
    fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end)
    }

    fn branch(&mut self) -> String {
        let branches = self.page.branches().unwrap();
        let at = self.below(branches.len());
        branches[at].0.clone()
    }

    fn some_commit(&mut self) -> CommitId {
        let mut all: Vec<_> = self.commits.keys().copied().collect();
        all.push(CommitId::FIRST);
        all[self.below(all.len())]
    }

    /// Learns all commits that lead to one.
    fn learn(&mut self, head: CommitId) {
        for commit in self.page.log(head).unwrap() {
            let (id, commit) = commit.unwrap();
            if !self.commits.contains_key(&id) {
                let known = Known {
                    parents: commit.parents().to_vec(),
                    generation: commit.generation,
                    millis: commit.time.as_millis(),
                    content: content(&self.page, &id),
                };
                self.commits.insert(id, known);
            }
        }
    }

    /// The ancestors of these commits, themselves included.
    fn ancestors(&self, of: &[CommitId]) -> BTreeSet<CommitId> {
        let (mut ahead, mut found) = (of.to_vec(), BTreeSet::new());
        while let Some(id) = ahead.pop() {
            if let Some(commit) = self.commits.get(&id)
                && found.insert(id)
            {
                ahead.extend(&commit.parents);
            }
        }
        found
    }

    /// Whether history ends on one side, before the common ancestors of both. That is so if a
    /// branch was made at a commit that was kept for a tag or a reader, while the commits between
    /// it and the others were not kept.
    fn ends_before_base(&self, one: &CommitId, other: &CommitId) -> bool {
        let mut bases = BTreeSet::from([*one, *other]);
        while bases.len() > 1 {
            for (one, other) in pairs(&bases) {
                let (one, other) = (self.ancestors(&[one]), self.ancestors(&[other]));
                let ends = one.symmetric_difference(&other).any(|id| {
                    let mut parents = self.commits[id].parents.iter();
                    parents.any(|id| *id != CommitId::FIRST && !self.commits.contains_key(id))
                });
                if ends {
                    return true;
                }
            }
            bases = self.bases(&bases);
        }
        false
    }

    /// The latest commits that any two of these have in common.
    fn bases(&self, of: &BTreeSet<CommitId>) -> BTreeSet<CommitId> {
        let mut bases = BTreeSet::new();
        for (one, other) in pairs(of) {
            let (one, other) = (self.ancestors(&[one]), self.ancestors(&[other]));
            let common: BTreeSet<_> = one.intersection(&other).copied().collect();
            let below: BTreeSet<_> =
                common.iter().flat_map(|id| self.commits[id].parents.clone()).collect();
            bases.extend(common.difference(&below).copied());
        }
        bases
    }

    /// The commits that merges of these heads need: everything down to the latest commit that all
    /// heads have, and past which no way leads to an earlier one.
    fn for_merges(&self, heads: &BTreeSet<CommitId>) -> BTreeSet<CommitId> {
        let place = |id: &CommitId| (self.commits[id].generation, *id);
        let of_each: Vec<_> = heads.iter().map(|head| self.ancestors(&[*head])).collect();
        let all: BTreeSet<CommitId> = of_each.iter().flatten().copied().collect();
        let is_narrow = |id: &&CommitId| {
            let mut past = BTreeSet::new();
            let mut ahead: Vec<_> = heads.iter().filter(|head| head != id).copied().collect();
            while let Some(next) = ahead.pop() {
                if self.commits.contains_key(&next) && past.insert(next) {
                    let parents = self.commits[&next].parents.iter();
                    ahead.extend(parents.filter(|parent| parent != id));
                }
            }
            past.iter().all(|other| place(other) > place(id))
        };
        match all.iter().filter(is_narrow).map(place).max() {
            Some(last) => all.into_iter().filter(|id| place(id) >= last).collect(),
            None => all,
        }
    }

    /// The commits that are kept, by the rules as they are written.
    fn keep_set(&self) -> BTreeSet<CommitId> {
        let branches = self.page.branches().unwrap();
        let heads: Vec<_> = branches.iter().map(|(_, heads)| heads[0]).collect();
        let tags: Vec<_> = self.page.tags().unwrap().into_iter().map(|(_, id)| id).collect();
        let refs: Vec<_> = heads.iter().chain(&tags).copied().collect();
        let mut keep_set = match self.retention {
            Retention::All => self.ancestors(&refs),
            Retention::Age(age) => {
                let oldest = self.clock.millis() - age.as_millis() as u64;
                let mut all = self.ancestors(&refs);
                all.retain(|id| self.commits[id].millis >= oldest);
                all
            }
            Retention::Last(count) => {
                let mut last = BTreeSet::new();
                for head in &heads {
                    let all = self.ancestors(&[*head]).into_iter();
                    let mut all: Vec<_> =
                        all.map(|id| (self.commits[&id].generation, id)).collect();
                    all.sort();
                    last.extend(all.iter().rev().take(count as usize).map(|(_, id)| *id));
                }
                last
            }
            _ => BTreeSet::new(),
        };
        keep_set.extend(refs.iter().copied());
        keep_set.extend(self.pinned.iter().map(|(id, _)| *id));
        keep_set.remove(&CommitId::FIRST);
        let mut heads: BTreeSet<_> = heads.into_iter().collect();
        // Nothing but the first commit leads to a branch there.
        keep_set.extend(match heads.remove(&CommitId::FIRST) {
            true => self.ancestors(&heads.into_iter().collect::<Vec<_>>()),
            false => self.for_merges(&heads),
        });
        keep_set
    }

    fn step(&mut self) {
        self.clock.advance(Duration::from_millis(1 + self.random.random_range(0..20_000)));
        match self.below(42) {
            0..20 => {
                let branch = self.branch();
                let db = self.page.database(&branch).unwrap();
                let mut tx = db.begin(&TxOptions::writing()).unwrap();
                for _ in 0..self.below(30) + 1 {
                    let key = [self.below(8) as u8, self.below(40) as u8];
                    let len = [0, 3, 60, 600, 9_000, 70_000][self.below(6)];
                    // Few values, so that pieces that have become garbage are needed again.
                    match self.below(4) {
                        0 => tx.remove(&key).unwrap(),
                        _ => tx.put(&key, &vec![self.below(2) as u8; len]).unwrap(),
                    }
                }
                tx.commit().unwrap();
                let head = self.page.head(&branch).unwrap();
                self.learn(head);
            }
            20..23 => {
                let (name, at) = (format!("branch {}", self.below(5)), self.some_commit());
                match self.page.create_branch(&name, &at) {
                    Ok(()) | Err(LedgerError::Exists { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            23..25 => {
                let (branch, at) = (self.branch(), self.some_commit());
                self.page.reset(&branch, &at).unwrap();
            }
            25 => {
                let branch = self.branch();
                if branch != MAIN {
                    self.page.remove_branch(&branch).unwrap();
                }
            }
            26..30 => {
                let (to, from) = (self.branch(), self.branch());
                let (head, from) = (self.page.head(&to).unwrap(), self.page.head(&from).unwrap());
                let ends = self.ends_before_base(&head, &from);
                match self.page.merge(&to, &from, &mut LastWriterWins) {
                    Ok(head) => self.learn(head),
                    Err(LedgerError::BaseMissing { .. }) => assert!(ends, "heads were not merged"),
                    Err(error) => panic!("{error}"),
                }
            }
            30 => {
                let (name, at) = (format!("tag {}", self.below(3)), self.some_commit());
                self.page.set_tag(&name, &at).unwrap();
            }
            31 => {
                let name = format!("tag {}", self.below(3));
                match self.page.remove_tag(&name) {
                    Ok(()) | Err(LedgerError::NoSuch { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            32 => {
                let id = self.some_commit();
                if id != CommitId::FIRST {
                    self.pinned.push((id, self.page.snapshot(&id).unwrap()));
                }
            }
            33 => {
                if !self.pinned.is_empty() {
                    let at = self.below(self.pinned.len());
                    self.pinned.swap_remove(at);
                }
            }
            34..36 => {
                self.retention = match self.below(5) {
                    0 => Retention::All,
                    1 => Retention::Heads,
                    2 => Retention::Age(Duration::from_secs(self.below(300) as u64)),
                    _ => Retention::Last(self.below(6) as u64 + 1),
                };
                self.page.set_retention(self.retention).unwrap();
            }
            36..40 => self.collect(),
            _ => {
                // Turning them on collects garbage too.
                let has_rows = !self.page.has_reference_rows().unwrap();
                self.collect();
                self.page.set_reference_rows(has_rows).unwrap();
                assert_eq!(self.page.has_reference_rows().unwrap(), has_rows);
                check_clean(&self.page, "after reference rows were turned on or off");
            }
        }
    }

    /// The pieces that are left after the other collector has collected: the one with reference
    /// rows if the page does not keep them.
    fn collected_by_the_other(&self) -> Vec<Vec<u8>> {
        let copy = MemoryStore::new();
        let mut tx = copy.begin(&TxOptions::writing()).unwrap();
        for pair in self.host.snapshot().scan(KeySpan::FULL, Direction::Forward).unwrap() {
            let (key, row) = pair.unwrap();
            tx.put(&key, &row).unwrap();
        }
        tx.commit().unwrap();
        let repository =
            builder(&copy, &self.clock).exclusive().cache_bytes(100_000).open().unwrap();
        let page = repository.page("test", PageId::ROOT).unwrap();
        let has_rows = !page.has_reference_rows().unwrap();
        page.set_reference_rows(has_rows).unwrap();
        page.collect().unwrap();
        check_clean(&page, "of the other collector");
        pieces(&copy)
    }

    fn collect(&mut self) {
        let keep_set = self.keep_set();
        let before = self.page.verify().unwrap();
        // A commit that is only read in this process is not kept in the copy.
        let others = self.pinned.is_empty().then(|| self.collected_by_the_other());
        let collected = self.page.collect().unwrap();
        if let Some(others) = others {
            assert!(pieces(&self.host) == others, "the collectors keep other pieces");
        }
        self.commits.retain(|id, _| keep_set.contains(id));
        for (id, known) in &self.commits {
            assert!(content(&self.page, id) == known.content, "commit {id}");
        }
        check_clean(&self.page, "after a collection");
        let after = self.page.verify().unwrap();
        assert_eq!(after.commits, keep_set.len() as u64);
        assert_eq!(before.commits - after.commits, collected.commits);
        assert_eq!(before.pieces - after.pieces, collected.pieces);
        for (id, snapshot) in &self.pinned {
            assert_eq!(
                snapshot.count(KeySpan::FULL).unwrap(),
                self.commits[id].content.len() as u64
            );
        }
    }
}

fn history(seed: u64) {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository =
        builder(&host, &clock).exclusive().cache_bytes(100_000).open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let mut model = Model {
        host,
        page,
        clock,
        random: StdRng::seed_from_u64(seed),
        commits: BTreeMap::new(),
        retention: Retention::All,
        pinned: Vec::new(),
    };
    for _ in 0..60 {
        model.step();
    }
    model.collect();
    // The commits that were read are garbage then too, and both collectors have the same result.
    model.pinned.clear();
    model.collect();
}

#[test]
fn a_collection_keeps_what_the_rules_say_and_nothing_else() {
    let count = std::env::var("PERMAZEN_HISTORIES").map_or(12, |count| count.parse().unwrap());
    for seed in 0..count {
        let run = std::panic::catch_unwind(|| history(seed));
        assert!(run.is_ok(), "history {seed}");
    }
}

/// The keys of the rows of pieces.
fn pieces(host: &MemoryStore) -> Vec<Vec<u8>> {
    let span = KeySpan::new(&[0x10, 1, 0x23], Some(&[0x10, 1, 0x24]));
    let snapshot = host.snapshot();
    let pairs = snapshot.scan(span, Direction::Forward).unwrap();
    pairs.map(|pair| pair.unwrap().0.into_owned()).collect()
}

#[test]
fn what_is_damaged_stops_a_collection_before_it_removes_a_piece() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let open = |host: &MemoryStore| {
        builder(host, &clock).exclusive().cache_bytes(1).open_or_create().unwrap()
    };
    let repository = open(&host);
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let db = page.database(MAIN).unwrap();
    for number in 0..3_u8 {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        for key in 0..=255 {
            tx.put(&[key], &[number; 100]).unwrap();
        }
        tx.put(b"long", &vec![number; 200_000]).unwrap();
        tx.commit().unwrap();
    }
    page.set_retention(Retention::Heads).unwrap();
    let head = page.head(MAIN).unwrap();
    let needed = content(&page, &head);
    let mut damaged = 0;
    for key in pieces(&host) {
        let copy = MemoryStore::new();
        let mut tx = copy.begin(&TxOptions::writing()).unwrap();
        for pair in host.snapshot().scan(KeySpan::FULL, Direction::Forward).unwrap() {
            let (other, row) = pair.unwrap();
            if *other != *key {
                tx.put(&other, &row).unwrap();
            }
        }
        tx.commit().unwrap();
        let page = open(&copy).page("test", PageId::ROOT).unwrap();
        let before = pieces(&copy);
        match page.collect() {
            // Only a commit that is not kept had it.
            Ok(_) => assert!(content(&page, &head) == needed),
            Err(error) => {
                assert!(matches!(error, LedgerError::Missing { .. }), "{error}");
                assert_eq!(pieces(&copy), before);
                assert!(page.collect().is_err());
                damaged += 1;
            }
        }
    }
    assert!(damaged > 5, "{damaged} pieces are needed");
    page.collect().unwrap();
    assert_eq!(pieces(&host).len(), damaged);
}

/// The phase of the collector of the first page.
fn phase(host: &MemoryStore) -> u8 {
    host.snapshot().get(&[0x10, 1, 0x32]).unwrap().unwrap()[47]
}

fn put_row(host: &MemoryStore, key: &[u8], row: &[u8]) {
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    tx.put(key, row).unwrap();
    tx.commit().unwrap();
}

/// A page of which nearly all is garbage.
fn with_garbage(repository: &Repository) -> Page {
    let page = repository.page_or_create("test", PageId::ROOT).unwrap();
    page.set_retention(Retention::Heads).unwrap();
    let db = page.database(MAIN).unwrap();
    for number in 0..3_u8 {
        let value: Vec<u8> = (0..100_000_u64).map(|at| ((at * at) >> 5) as u8 ^ number).collect();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(b"long", &value).unwrap();
        tx.commit().unwrap();
    }
    page
}

#[test]
fn a_damaged_piece_ends_a_round_and_none_begins_by_itself_before_one_was_complete() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let open = |host: &MemoryStore| {
        builder(host, &clock).exclusive().cache_bytes(1).open_or_create().unwrap()
    };
    let repository = open(&host);
    let page = with_garbage(&repository);
    let all = pieces(&host);
    let copy = MemoryStore::new();
    for pair in host.snapshot().scan(KeySpan::FULL, Direction::Forward).unwrap() {
        let (key, row) = pair.unwrap();
        put_row(&copy, &key, &row);
    }
    open(&copy).page("test", PageId::ROOT).unwrap().collect().unwrap();
    let needed = pieces(&copy);
    // The last piece that is garbage.
    let key = all.iter().rfind(|key| !needed.contains(key)).unwrap();
    let right = host.snapshot().get(key).unwrap().unwrap().into_owned();
    let mut wrong = right.clone();
    wrong[5] ^= 1;
    put_row(&host, key, &wrong);

    let error = page.collect().unwrap_err();
    assert!(matches!(error, LedgerError::DamagedRow { .. }), "{error}");
    assert_eq!(phase(&host), 0);
    // Maintenance does not try again and again.
    let rows = host.snapshot();
    for _ in 0..3 {
        clock.advance(Duration::from_secs(600));
        repository.maintain().unwrap();
    }
    assert_eq!(host.snapshot().get(&[0x10, 1, 0x32]).unwrap(), rows.get(&[0x10, 1, 0x32]).unwrap());

    put_row(&host, key, &right);
    page.collect().unwrap();
    assert_eq!(pieces(&host), needed);
    check_clean(&page, "after it was made right");
    let page = with_garbage(&repository);
    for _ in 0..3 {
        clock.advance(Duration::from_secs(600));
        repository.maintain().unwrap();
    }
    assert!(pieces(&host).len() <= needed.len(), "nothing was collected");
    check_clean(&page, "after that");
}

#[test]
fn a_lazy_value_that_is_not_at_the_remote_yet_is_never_taken_for_one_that_is_there_alone() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = builder(&host, &clock).exclusive().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    page.remote().attach().unwrap();
    let mut value = page.write_value(None).unwrap();
    let bytes: Vec<u8> = (0..200_000_u64).map(|at| ((at * at) >> 5) as u8).collect();
    value.write_all(&bytes).unwrap();
    let value = value.finish().unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"film", value.lazy().as_bytes()).unwrap();
    tx.commit().unwrap();
    drop(value);
    page.collect().unwrap();
    // The row of its index piece is lost.
    let before = pieces(&host);
    let is_index = |key: &&Vec<u8>| host.snapshot().get(key).unwrap().unwrap()[0] == 3;
    let index = before.iter().find(is_index).unwrap();
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    tx.remove(index).unwrap();
    tx.commit().unwrap();
    let error = page.collect().unwrap_err();
    assert!(matches!(error, LedgerError::Missing { .. }), "{error}");
    assert_eq!(pieces(&host).len(), before.len() - 1);
}

#[test]
fn a_page_says_why_it_keeps_a_commit() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = builder(&host, &clock).exclusive().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let reasons = |id: &CommitId| page.keep_reasons(id).unwrap();
    let name = |name: &str| name.to_owned();
    let first = put(&page, MAIN, b"a", b"0");
    // One branch leaves at the beginning and is merged, another one leaves after that.
    page.create_branch("early", &first).unwrap();
    let early = put(&page, "early", b"early", b"");
    let mut commits: Vec<_> = (0..20).map(|value| put(&page, MAIN, b"a", &[value])).collect();
    page.merge(MAIN, &early, &mut LastWriterWins).unwrap();
    commits.extend((20..40).map(|value| put(&page, MAIN, b"a", &[value])));
    page.create_branch("late", &commits[25]).unwrap();
    let rule = KeepReason::ByRuleForBranch;
    let merging = |branch: &str| KeepReason::NeededToMergeBranch(branch.to_owned());
    // All that a branch leads to is kept. Merging needs it, too.
    assert_eq!(
        reasons(&first),
        [rule(name("early")), rule(name("late")), rule(name(MAIN)), merging("early")]
    );
    page.set_retention(Retention::Last(5)).unwrap();
    page.collect().unwrap();
    assert_eq!(page.log(page.head(MAIN).unwrap()).unwrap().count(), 43);
    assert_eq!(reasons(&commits[39]), [KeepReason::IsHead(name(MAIN)), rule(name(MAIN))]);
    assert_eq!(reasons(&commits[36]), [rule(name(MAIN)), merging("early"), merging("late")]);
    assert_eq!(reasons(&commits[30]), [merging("early"), merging("late")]);
    assert_eq!(reasons(&commits[3]), [merging("early")]);
    let reason = reasons(&commits[3])[0].to_string();
    assert_eq!(reason, "merging branch early with the others needs it");
    // The remedy: let the branch stand at a later commit, or remove it.
    page.merge("early", &commits[39], &mut LastWriterWins).unwrap();
    assert_eq!(reasons(&commits[3]), []);
    assert_eq!(reasons(&commits[30]), [merging("late")]);
    assert_eq!(reasons(&commits[25]), [KeepReason::IsHead(name("late")), rule(name("late"))]);
    page.remove_branch("late").unwrap();
    let snapshot = page.snapshot(&commits[9]).unwrap();
    page.set_tag("tag", &commits[12]).unwrap();
    assert_eq!(reasons(&commits[9]), [KeepReason::IsRead]);
    assert_eq!(reasons(&commits[12]), [KeepReason::HasTag(name("tag"))]);
    drop(snapshot);
    assert_eq!(reasons(&commits[9]), []);
    // A transaction that is open needs all since its base, as a branch does.
    let db = page.branching_database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"b", b"").unwrap();
    commits.extend((40..50).map(|value| put(&page, MAIN, b"a", &[value])));
    assert_eq!(
        reasons(&commits[39]),
        [KeepReason::IsHead(name("early")), KeepReason::IsBase, rule(name("early"))]
    );
    page.merge("early", &commits[49], &mut LastWriterWins).unwrap();
    assert_eq!(reasons(&commits[42]), [KeepReason::NeededToMergeBase]);
    drop(tx);
    assert_eq!(reasons(&commits[42]), []);
    page.collect().unwrap();
    assert!(matches!(page.keep_reasons(&commits[42]), Err(LedgerError::NoCommit { .. })));
    assert_eq!(page.verify().unwrap().commits, 6);
    // Beside a remote.
    page.remote().attach().unwrap();
    let ids: Vec<_> =
        page.remote().unsynced_commits().unwrap().iter().map(|commit| commit.id).collect();
    page.remote().mark_synced(&ids, &[], &[]).unwrap();
    commits.extend((50..60).map(|value| put(&page, MAIN, b"a", &[value])));
    page.merge("early", &commits[59], &mut LastWriterWins).unwrap();
    assert_eq!(reasons(&commits[52]), [KeepReason::IsUnsynced(commits[52])]);
    assert_eq!(reasons(&commits[49]), [KeepReason::IsUnsynced(commits[50])]);
    assert_eq!(reasons(&commits[48]), []);
    page.set_retention(Retention::Age(Duration::from_secs(60))).unwrap();
    assert_eq!(reasons(&commits[48])[0], rule(name("early")));
    clock.advance(Duration::from_secs(61));
    assert_eq!(reasons(&commits[48]), []);
}

/// After a squash nothing keeps the old commits, so they are no reason to keep their parents.
#[test]
fn an_unsynced_commit_that_nothing_leads_to_is_no_reason() {
    let page = Repository::open_or_create(MemoryStore::new()).unwrap();
    let page = page.create_page("test", PageId::ROOT).unwrap();
    let remote = page.remote();
    remote.attach().unwrap();
    let base = put(&page, MAIN, b"a", b"0");
    remote.mark_synced(&[base], &[], &[]).unwrap();
    let old = [put(&page, MAIN, b"a", b"1"), put(&page, MAIN, b"a", b"2")];
    assert!(page.keep_reasons(&base).unwrap().contains(&KeepReason::IsUnsynced(old[0])));
    let new = page.squash(MAIN, &base, None).unwrap();
    assert!(page.keep_reasons(&base).unwrap().contains(&KeepReason::IsUnsynced(new)));
    remote.mark_synced(&[new], &[], &[]).unwrap();
    assert!(remote.unsynced_commits().unwrap().is_empty());
    assert_eq!(page.keep_reasons(&old[0]).unwrap(), []);
    assert_eq!(page.keep_reasons(&base).unwrap(), [KeepReason::ByRuleForBranch(MAIN.to_owned())]);
}
