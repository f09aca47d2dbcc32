//! Random histories of several copies of a page, each with several handles that commit at the same
//! time: exchanged commits are merged, in one direction and then the other, until all copies have
//! one head. Then it is the same one everywhere, and it has all changes.
//!
//! A branch stands for a copy: it gets commits of the others as heads, and merges them by itself.
//! Merges are made again in another repository with the same rows, where they must be the same
//! commits.
//!
//! `PERMAZEN_MERGE_HISTORIES` sets how many histories there are, `PERMAZEN_MERGE_HISTORY` the first
//! one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvTransaction, KvWrite, TxOptions};
use permazen_ledger::{
    BranchingDatabase, Clock, CommitId, Conflict, EntryValue, KeyClass, MergeFactory, MergePolicy,
    MergeResult, Merged, Merger, Page, PageId, PageSnapshot, Repository, Resolution, Resolver,
    Result, Retention,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::page::{Map, content, copy};

/// A clock that moves forward by itself, and sometimes stands still.
#[derive(Debug)]
struct Steps(AtomicU64);

impl Clock for Steps {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.fetch_add(1, Ordering::Relaxed) / 3)
    }
}

/// Keys with `#` are counters. Of two values the larger one is taken.
struct Larger;

impl Merger for Larger {
    fn class(&self, key: &[u8]) -> KeyClass {
        if key.starts_with(b"#") { KeyClass::Counter } else { KeyClass::Value }
    }

    fn resolve(&mut self, conflict: &Conflict<'_>) -> Result<Resolution> {
        let newer = conflict.newer > conflict.older;
        Ok(if newer { Resolution::Newer } else { Resolution::Older })
    }
}

/// Keys with `#` are counters, and the newer side wins.
struct Newer;

impl Merger for Newer {
    fn class(&self, key: &[u8]) -> KeyClass {
        Larger.class(key)
    }
}

/// Decides as [`Larger`] does, but is asked for whole merges.
struct WholeMerges;

impl Resolver for WholeMerges {
    fn resolve(
        &self,
        _: &PageSnapshot,
        _: &PageSnapshot,
        _: &PageSnapshot,
        result: &MergeResult,
    ) -> Result<()> {
        for conflict in result.conflicts(b"")? {
            let conflict = conflict?;
            let bytes = |side: Option<EntryValue>| side.and_then(|value| value.bytes);
            if bytes(conflict.older) > bytes(conflict.newer) {
                result.set(&conflict.key, Merged::Older)?;
            }
        }
        result.take_rest()?;
        result.done()
    }
}

struct Policy(MergePolicy);

impl MergeFactory for Policy {
    fn policy(&self, _: &str, _: &PageId) -> MergePolicy {
        self.0
    }

    fn resolver(&self, _: &str, _: &PageId) -> Result<Arc<dyn Resolver>> {
        Ok(Arc::new(WholeMerges))
    }

    fn merger(&self, _: &str, _: &PageId) -> Box<dyn Merger> {
        Box::new(Larger)
    }
}

fn open(host: &MemoryStore) -> (Repository, Page) {
    // No other process has it open, so commits that are not kept are removed at once.
    let builder =
        Repository::builder(host.clone()).exclusive().manual_maintenance().cache_bytes(1 << 20);
    let repository =
        builder.clock(Arc::new(Steps(AtomicU64::new(3_000)))).open_or_create().unwrap();
    let page = repository.page("test", PageId::ROOT);
    let page = page.or_else(|_| repository.create_page("test", PageId::ROOT)).unwrap();
    (repository, page)
}

/// How heads are merged.
#[derive(Debug, Clone, Copy)]
enum How {
    Newer,
    Larger,
    Policy(MergePolicy),
}

struct History {
    random: StdRng,
    host: MemoryStore,
    repository: Repository,
    page: Page,
    copies: Vec<String>,
    /// The handles of each copy.
    handles: Vec<Vec<BranchingDatabase>>,
    how: How,
    /// The commits that were sent to a copy and have not arrived.
    mail: Vec<(usize, Vec<CommitId>)>,
    /// History is removed now and then.
    prunes: bool,
    sum: i64,
    /// The entries that each handle has written under keys of its own.
    written: Map,
    step: u32,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let host = MemoryStore::new();
        let (repository, page) = open(&host);
        let copies: Vec<String> =
            (0..random.random_range(1..5)).map(|n| format!("copy {n}")).collect();
        copies.iter().for_each(|name| page.create_branch(name, &CommitId::FIRST).unwrap());
        // All copies begin with the same commit.
        let first = page.branching_database(&copies[0]).unwrap();
        let mut tx = first.begin(&TxOptions::writing()).unwrap();
        tx.put(b"#sum", &0_i64.to_be_bytes()).unwrap();
        tx.commit().unwrap();
        copies.iter().for_each(|name| page.add_head(name, &first.commit()).unwrap());
        let handles = |name: &String| {
            (0..3).map(|_| page.branching_database(name).unwrap()).collect::<Vec<_>>()
        };
        let handles = copies.iter().map(handles).collect();
        let policies =
            [MergePolicy::Merger, MergePolicy::AutomaticWithFallback, MergePolicy::Custom];
        let how = match seed % 5 {
            0 | 1 => How::Newer,
            2 => How::Larger,
            _ => How::Policy(policies[random.random_range(0..3)]),
        };
        let prunes = seed % 3 == 1;
        if prunes {
            let rules = [Retention::Heads, Retention::Last(3)];
            page.set_retention(rules[random.random_range(0..2)]).unwrap();
        }
        let (mail, sum, written, step) = (Vec::new(), 0, Map::new(), 0);
        History {
            random,
            host,
            repository,
            page,
            copies,
            handles,
            how,
            mail,
            prunes,
            sum,
            written,
            step,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end)
    }

    /// Some handles of a copy commit at the same time, and after each other.
    fn commit(&mut self) {
        let at = self.below(self.copies.len());
        let count = self.below(3) + 1;
        let handles = self.handles[at].clone();
        let mut open: Vec<Box<dyn KvTransaction + Send>> =
            handles[..count].iter().map(|db| db.begin(&TxOptions::writing()).unwrap()).collect();
        for (n, tx) in open.iter_mut().enumerate() {
            self.step += 1;
            let own = format!("{at} {n} {}", self.below(4)).into_bytes();
            if self.random.random_bool(0.2) {
                tx.remove(&own).unwrap();
                self.written.remove(&own);
            } else {
                let value = vec![self.step as u8; [1, 20, 600][self.below(3)]];
                tx.put(&own, &value).unwrap();
                self.written.insert(own, value);
            }
            let by = self.random.random_range(-50..100);
            self.sum += by;
            tx.adjust_counter(b"#sum", by).unwrap();
            // All copies write these.
            let shared = format!("shared {}", self.below(3)).into_bytes();
            match self.below(4) {
                0 => tx.remove(&shared).unwrap(),
                1 => tx.put(&shared, b"the same").unwrap(),
                _ => tx.put(&shared, &self.step.to_be_bytes()).unwrap(),
            }
        }
        open.into_iter().for_each(|tx| tx.commit().unwrap());
    }

    /// A copy sends its heads to another one.
    fn send(&mut self) {
        let (from, to) = (self.below(self.copies.len()), self.below(self.copies.len()));
        self.mail.push((to, self.page.heads(&self.copies[from]).unwrap()));
    }

    /// Something that was sent arrives. Letters overtake each other, and both sides may have gone
    /// on meanwhile.
    fn receive(&mut self) {
        if !self.mail.is_empty() {
            let at = self.below(self.mail.len());
            let (to, heads) = self.mail.swap_remove(at);
            heads.iter().for_each(|head| self.page.add_head(&self.copies[to], head).unwrap());
        }
    }

    fn merge(&self, page: &Page, name: &str) -> CommitId {
        match self.how {
            How::Newer => page.merge_heads(name, &mut Newer).unwrap(),
            _ => page.merge_heads(name, &mut Larger).unwrap(),
        }
    }

    /// All copies merge their heads.
    fn merge_all(&self, repository: &Repository, page: &Page) {
        match self.how {
            How::Policy(policy) => {
                let _factory = repository.add_merge_factory(Arc::new(Policy(policy)));
                assert!(page.merge_by_policy().unwrap());
            }
            _ => self.copies.iter().for_each(|name| {
                self.merge(page, name);
            }),
        }
    }

    /// Removes history that merges do not need.
    fn collect(&mut self) {
        // Handles go along first: they would not find their way without the commits in between.
        self.handles.iter().flatten().for_each(|db| drop(db.begin(&TxOptions::reading()).unwrap()));
        self.page.collect().unwrap();
    }

    /// A copy merges its heads, or all do, and another repository comes to the same.
    fn merge_some(&mut self) {
        let other = (self.below(4) == 0).then(|| copy(&self.host));
        let at = self.below(self.copies.len());
        let name = self.copies[at].clone();
        if matches!(self.how, How::Policy(_)) {
            self.merge_all(&self.repository, &self.page);
        } else {
            self.merge(&self.page, &name);
        }
        let Some(other) = other else { return };
        let (repository, page) = open(&other);
        if matches!(self.how, How::Policy(_)) {
            self.merge_all(&repository, &page);
        } else {
            self.merge(&page, &name);
        }
        assert_eq!(page.branches().unwrap(), self.page.branches().unwrap());
        assert!(page.verify().unwrap().findings.is_empty());
    }

    /// The first copy gets everything and merges it, the others get that. Or all get everything.
    fn end(&mut self) -> CommitId {
        let all: Vec<CommitId> =
            self.copies.iter().flat_map(|name| self.page.heads(name).unwrap()).collect();
        let first_only = self.random.random_bool(0.5);
        let count = if first_only { 1 } else { self.copies.len() };
        for name in &self.copies[..count] {
            all.iter().for_each(|head| self.page.add_head(name, head).unwrap());
        }
        self.merge_all(&self.repository, &self.page);
        if first_only {
            let head = self.page.head(&self.copies[0]).unwrap();
            for name in &self.copies[1..] {
                self.page.add_head(name, &head).unwrap();
            }
            // Copies that had merged heads of their own have something new.
            let all: Vec<CommitId> =
                self.copies.iter().flat_map(|name| self.page.heads(name).unwrap()).collect();
            for name in &self.copies {
                all.iter().for_each(|head| self.page.add_head(name, head).unwrap());
            }
            self.merge_all(&self.repository, &self.page);
        }
        let heads: Vec<CommitId> =
            self.copies.iter().map(|name| self.page.head(name).unwrap()).collect();
        assert!(heads.iter().all(|head| *head == heads[0]), "{heads:?}");
        heads[0]
    }

    fn run(mut self) {
        for _ in 0..self.below(30) + 3 {
            match self.below(9) {
                0..3 => self.commit(),
                3..5 => {
                    self.send();
                    // Commits on their way to a copy are not kept.
                    if self.prunes {
                        self.receive();
                    }
                }
                5 if self.prunes => self.collect(),
                5..7 => self.receive(),
                _ => self.merge_some(),
            }
        }
        let head = self.end();
        let mut found = content(&self.page, &head);
        let sum = found.remove(&b"#sum"[..]).unwrap();
        assert_eq!(sum, self.sum.to_be_bytes());
        found.retain(|key, _| !key.starts_with(b"shared"));
        assert!(found == self.written, "{found:?}\nand not\n{:?}", self.written);
        // Handles that followed their own commits have come there too.
        for db in self.handles.iter().flatten() {
            drop(db.begin(&TxOptions::reading()).unwrap());
            assert_eq!(db.commit(), head);
        }
        let report = self.page.verify().unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}

#[test]
fn all_copies_end_with_one_head() {
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |number| number.parse().unwrap());
    let (first, count): (u64, u64) =
        (number("PERMAZEN_MERGE_HISTORY", 0), number("PERMAZEN_MERGE_HISTORIES", 200));
    for seed in first..first + count {
        let run = std::panic::catch_unwind(|| History::new(seed).run());
        assert!(run.is_ok(), "history {seed}");
    }
}
