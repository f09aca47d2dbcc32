//! Random histories of a page that is attached to a remote at any instant, by processes that end
//! between two slices, next to commits, streams, resets and collections. The statuses are those of
//! a naive model.
//!
//! `PERMAZEN_STATUSES` sets how many histories there are, `PERMAZEN_STATUS` the first one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use permazen_kv::fault::FaultStore;
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, Digest, LastWriterWins, LedgerError, MAIN, Origin, Page, PageId, RemoteState,
    Repository, Retention, Secret, Status, ValueRef,
};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

use crate::support::clock::TestClock;
use crate::support::faults;

const MINUTE: u64 = 60_000;

/// A process that has the page open.
struct Process {
    repository: Repository,
    page: Page,
}

impl Process {
    fn new(host: &Arc<dyn KvDatabase>, clock: &Arc<TestClock>) -> Self {
        let builder = Repository::shared_builder(Arc::clone(host)).manual_maintenance();
        let repository = builder.clock(clock.clone()).open_or_create().unwrap();
        let page = repository
            .page("test", PageId::ROOT)
            .or_else(|_| repository.create_page_with("test", PageId::ROOT, Secret::new([5; 32])));
        Process { page: page.unwrap(), repository }
    }
}

/// The digests in the keys of the rows of the page with this first byte.
fn digests(host: &dyn KvDatabase, first: u8) -> BTreeSet<Digest> {
    let tx = host.begin(&TxOptions::reading()).unwrap();
    let (min, max) = ([0x10, 1, first], [0x10, 1, first + 1]);
    let pairs = tx.scan(KeySpan::new(&min, Some(&max)), Direction::Forward).unwrap();
    let keys = pairs.map(|pair| pair.unwrap().0[3..35].to_vec());
    keys.map(|key| Digest(key.try_into().unwrap())).collect()
}

/// A long value of a few: several commits have the same one.
fn value(number: usize) -> Vec<u8> {
    let mut value = vec![0; 600 + number * 9_000];
    StdRng::seed_from_u64(number as u64 % 3).fill_bytes(&mut value);
    value
}

/// How many values there are.
const VALUES: usize = 8;

/// The pieces of each value.
fn pieces_of_values() -> Vec<BTreeSet<Digest>> {
    let pieces = |number| {
        let host: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
        let process = Process::new(&host, &TestClock::at(0));
        let stream = stream(&process.page, number);
        let pieces = digests(&*host, 0x26);
        drop(stream);
        pieces
    };
    (0..VALUES).map(pieces).collect()
}

fn stream(page: &Page, number: usize) -> ValueRef {
    let mut writer = page.write_value(None).unwrap();
    writer.write_all(&value(number)).unwrap();
    writer.finish().unwrap()
}

fn write(page: &Page, branch: &str, change: impl FnOnce(&mut dyn KvWrite)) {
    let db = page.database(branch).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    change(&mut *tx);
    tx.commit().unwrap();
}

/// The expected state.
#[derive(Default)]
struct Model {
    parents: BTreeMap<CommitId, Vec<CommitId>>,
    generations: BTreeMap<CommitId, u64>,
    is_attached: bool,
    unsynced: BTreeSet<CommitId>,
    local: BTreeSet<Digest>,
    transient: BTreeSet<Digest>,
    /// The pieces that had a row at the last look.
    pieces: BTreeSet<Digest>,
}

struct History {
    random: StdRng,
    host: Arc<dyn KvDatabase>,
    clock: Arc<TestClock>,
    processes: [Process; 2],
    /// The streams of each process, with their values.
    streams: [Vec<(ValueRef, usize)>; 2],
    values: Vec<BTreeSet<Digest>>,
    model: Model,
}

const BRANCHES: [&str; 2] = [MAIN, "side"];

impl History {
    fn new(seed: u64, host: Arc<dyn KvDatabase>, values: &[BTreeSet<Digest>]) -> Self {
        let clock = TestClock::new();
        let processes = [(); 2].map(|()| Process::new(&host, &clock));
        processes[0].page.create_branch("side", &CommitId::FIRST).unwrap();
        History {
            random: StdRng::seed_from_u64(seed),
            clock,
            processes,
            streams: Default::default(),
            values: values.to_vec(),
            model: Model::default(),
            host,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end)
    }

    /// A commit of the page.
    fn any_commit(&mut self) -> CommitId {
        let all: Vec<_> = digests(&*self.host, 0x22).into_iter().collect();
        match all.len() {
            0 => CommitId::FIRST,
            len => CommitId(all[self.below(len)]),
        }
    }

    /// Changes a branch, and takes the pieces of these values from the streams.
    fn commit(
        &mut self,
        index: usize,
        change: impl FnOnce(&mut dyn KvWrite),
        value: Option<usize>,
    ) {
        let branch = BRANCHES[self.below(2)];
        write(&self.processes[index].page, branch, change);
        if let Some(value) = value {
            let pieces = &self.values[value];
            self.model.transient.retain(|digest| !pieces.contains(digest));
        }
    }

    fn step(&mut self) {
        let index = self.below(2);
        let page = self.processes[index].page.clone();
        let branch = BRANCHES[self.below(2)];
        match self.below(34) {
            0..9 => {
                let (key, short) = (self.below(500) as u16, vec![7; self.below(400)]);
                let count = self.below(60) as u16;
                let puts = |tx: &mut dyn KvWrite| {
                    (key..=key + count).for_each(|key| tx.put(&key.to_be_bytes(), &short).unwrap());
                };
                self.commit(index, puts, None);
            }
            9..12 => {
                let (key, number) = ([self.below(9) as u8], self.below(VALUES));
                self.commit(index, |tx| tx.put(&key, &value(number)).unwrap(), Some(number));
            }
            12..14 => {
                let key = self.below(500) as u16;
                let max = (key + 200).to_be_bytes();
                let span = (key.to_be_bytes(), max);
                let change = |tx: &mut dyn KvWrite| {
                    tx.remove_span(KeySpan::new(&span.0, Some(&span.1))).unwrap();
                };
                self.commit(index, change, None);
            }
            14..16 => {
                let number = self.below(VALUES);
                let before = digests(&*self.host, 0x23);
                self.streams[index].push((stream(&page, number), number));
                let new = self.values[number].difference(&before);
                self.model.transient.extend(new);
            }
            16..18 => {
                if let Some((stream, number)) = self.streams[index].pop() {
                    let key = [self.below(9) as u8];
                    self.commit(index, |tx| tx.put(&key, stream.as_bytes()).unwrap(), Some(number));
                }
            }
            18 => {
                let from = page.head(branch).unwrap();
                match page.merge(BRANCHES[self.below(2)], &from, &mut LastWriterWins) {
                    // A branch may have been reset to a commit that nothing has kept.
                    Ok(_) | Err(LedgerError::BaseMissing { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            19 => {
                let to = self.any_commit();
                page.reset(branch, &to).unwrap();
            }
            20 => {
                let to = self.any_commit();
                match self.below(3) {
                    0 => drop(page.remove_tag("tag")),
                    _ => page.set_tag("tag", &to).unwrap(),
                }
            }
            21 => self.squash(&page, branch),
            22 => {
                let rules = [Retention::All, Retention::Heads, Retention::Last(3)];
                page.set_retention(rules[self.below(3)]).unwrap();
            }
            23..25 => {
                self.clock.advance(Duration::from_millis(MINUTE));
                if let Err(error) = page.collect() {
                    assert!(matches!(error, LedgerError::Busy { .. }), "{error}");
                }
            }
            25..28 => {
                for _ in 0..self.below(20) {
                    match page.collect_slice() {
                        Ok(true) => {}
                        Ok(false) | Err(LedgerError::Busy { .. }) => break,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            28..31 => self.attach_slice(&page),
            31 if self.below(4) == 0 => self.detach(&page),
            31..33 => self.mark(&page),
            _ => self.kill(index),
        }
        self.note_new();
    }

    fn squash(&mut self, page: &Page, branch: &str) {
        let onto = self.any_commit();
        let state = page.remote().state().unwrap();
        let (old, head) = (self.model.unsynced.clone(), page.head(branch).unwrap());
        match page.squash(branch, &onto, None) {
            // Nothing that is at the remote was replaced.
            Ok(_) if state == RemoteState::Attached && head != onto => {
                assert!(head == CommitId::FIRST || old.contains(&head));
            }
            Ok(_) | Err(LedgerError::CannotSquash { .. } | LedgerError::BaseMissing { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn attach_slice(&mut self, page: &Page) {
        if !page.remote().attach_slice().unwrap() && !self.model.is_attached {
            self.model.is_attached = true;
            self.model.unsynced = digests(&*self.host, 0x22).into_iter().map(CommitId).collect();
            self.model.local = digests(&*self.host, 0x23);
        }
    }

    fn detach(&mut self, page: &Page) {
        let to_the_end = self.below(2) == 0;
        while page.remote().detach_slice().unwrap() && to_the_end {}
        self.model.is_attached = false;
    }

    /// Brings a part of the commits and pieces that are only here to the remote.
    fn mark(&mut self, page: &Page) {
        if !self.model.is_attached {
            let error = page.remote().mark_synced(&[], &[], &[]).unwrap_err();
            assert!(matches!(error, LedgerError::InvalidArgument(_)), "{error}");
            return;
        }
        let commits = page.remote().unsynced_commits().unwrap();
        let count = self.below(commits.len() + 1);
        let commits: Vec<_> = commits[..count].iter().map(|commit| commit.id).collect();
        let pieces = page.remote().local_pieces(None, usize::MAX).unwrap();
        let pieces: Vec<_> =
            pieces.iter().map(|piece| piece.digest).filter(|digest| digest.0[0] % 4 > 0).collect();
        page.remote().mark_synced(&commits, &pieces, &[(b"at", &[1])]).unwrap();
        self.model.unsynced.retain(|id| !commits.contains(id));
        self.model.local.retain(|digest| !pieces.contains(digest));
    }

    /// A process ends at once, and another one begins.
    fn kill(&mut self, index: usize) {
        let new = Process::new(&self.host, &self.clock);
        let Process { repository, page } = std::mem::replace(&mut self.processes[index], new);
        std::mem::forget((repository, page, std::mem::take(&mut self.streams[index])));
    }

    /// Notes new commits and pieces.
    fn note_new(&mut self) {
        let (page, model) = (&self.processes[0].page, &mut self.model);
        for id in digests(&*self.host, 0x22).into_iter().map(CommitId) {
            if model.parents.contains_key(&id) {
                continue;
            }
            let commit = page.commit(&id).unwrap().unwrap();
            let parents = match commit.origin {
                Origin::Change { parent, .. } => vec![parent],
                Origin::Merge { parents } => parents.to_vec(),
                other => panic!("{other:?}"),
            };
            model.parents.insert(id, parents);
            model.generations.insert(id, commit.generation);
            model.unsynced.insert(id);
        }
        let pieces = digests(&*self.host, 0x23);
        model.local.extend(pieces.difference(&model.pieces));
        model.transient.retain(|digest| pieces.contains(digest));
        model.pieces = pieces;
    }

    fn check(&self, what: &str) {
        let (page, model) = (&self.processes[1].page, &self.model);
        let expected = match page.remote().state().unwrap() {
            RemoteState::Attached => model.is_attached,
            _ => !model.is_attached,
        };
        assert!(expected, "{what}");
        for digest in &model.pieces {
            let expected = match model.is_attached {
                _ if model.transient.contains(digest) => Status::Transient,
                true if !model.local.contains(digest) => Status::Synced,
                _ => Status::Local,
            };
            assert_eq!(page.piece_status(digest).unwrap(), expected, "{what}: {digest}");
        }
        for id in digests(&*self.host, 0x22).into_iter().map(CommitId) {
            let is_synced = model.is_attached && !model.unsynced.contains(&id);
            let expected = if is_synced { Status::Synced } else { Status::Local };
            assert_eq!(page.commit_status(&id).unwrap(), expected, "{what}: {id}");
        }
        if model.is_attached {
            self.check_lists(what);
        }
        let found = page.verify().unwrap().findings;
        assert!(found.is_empty(), "{what}: {found:#?}");
    }

    fn check_lists(&self, what: &str) {
        let (page, model) = (&self.processes[1].page, &self.model);
        let heads = page.branches().unwrap().into_iter().flat_map(|(_, heads)| heads);
        let mut ahead: Vec<_> = heads.collect();
        ahead.extend(page.tags().unwrap().into_iter().map(|(_, id)| id));
        let mut expected = BTreeSet::new();
        while let Some(id) = ahead.pop() {
            if model.unsynced.contains(&id) && expected.insert((model.generations[&id], id)) {
                ahead.extend(&model.parents[&id]);
                // Nothing takes it away.
                assert!(page.commit(&id).is_ok(), "{what}: {id}");
            }
        }
        let listed = page.remote().unsynced_commits().unwrap();
        let listed: Vec<_> = listed.iter().map(|commit| (commit.generation, commit.id)).collect();
        assert!(listed.iter().eq(&expected), "{what}: {listed:?}, {expected:?}");
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let portion = page.remote().local_pieces(after.as_ref(), 100).unwrap();
            let Some(last) = portion.last() else { break };
            after = Some(last.digest);
            listed.extend(portion.iter().map(|piece| piece.digest));
        }
        let expected = model
            .pieces
            .iter()
            .filter(|digest| model.local.contains(*digest) && !model.transient.contains(*digest));
        assert!(listed.iter().eq(expected), "{what}");
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |number| number.parse().unwrap())
}

#[test]
fn statuses_are_those_of_the_model() {
    let values = pieces_of_values();
    let first = number("PERMAZEN_STATUS", 0);
    for seed in first..first + number("PERMAZEN_STATUSES", 12) {
        let dir = tempfile::tempdir().unwrap();
        let host: Arc<dyn KvDatabase> = match seed % 5 {
            0 => Arc::new(
                LmdbStore::builder().create(true).map_size(1 << 28).open(dir.path()).unwrap(),
            ),
            _ => Arc::new(MemoryStore::new()),
        };
        let mut history = History::new(seed, host, &values);
        for step in 0..160 {
            history.step();
            if step % 8 == 7 {
                history.check(&format!("history {seed}, step {step}"));
            }
        }
    }
}

/// Two processes attach the page while one commits, one streams and one collects.
fn attach_among_others(host: &Arc<dyn KvDatabase>) {
    let clock = TestClock::new();
    let [writer, streamer, collector, one, two] = [(); 5].map(|()| Process::new(host, &clock));
    writer.page.set_retention(Retention::Last(50)).unwrap();
    for number in 0..400_u32 {
        write(&writer.page, MAIN, |tx| tx.put(&number.to_be_bytes(), &[1; 600]).unwrap());
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..u32::MAX {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                write(&writer.page, MAIN, |tx| tx.put(&number.to_be_bytes(), &[2; 700]).unwrap());
            }
        });
        scope.spawn(|| {
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                drop(stream(&streamer.page, number % VALUES));
                number += 1;
            }
        });
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                clock.advance(Duration::from_millis(1_000));
                match collector.page.collect_slice() {
                    Ok(_) | Err(LedgerError::Busy { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let others: Vec<_> = [one.page.remote(), two.page.remote()]
            .map(|remote| scope.spawn(move || remote.attach()))
            .into();
        let results: Vec<_> = others.into_iter().map(|other| other.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        results.into_iter().for_each(Result::unwrap);
    });
    assert_eq!(two.page.remote().state().unwrap(), RemoteState::Attached);
    assert_eq!(digests(&**host, 0x22), digests(&**host, 0x25));
    assert_eq!(digests(&**host, 0x23), digests(&**host, 0x27));
    let found = two.page.verify().unwrap().findings;
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn two_processes_attach_a_page_among_others() {
    attach_among_others(&(Arc::new(MemoryStore::new()) as Arc<dyn KvDatabase>));
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::builder().create(true).map_size(1 << 28).open(dir.path()).unwrap();
    attach_among_others(&(Arc::new(lmdb) as Arc<dyn KvDatabase>));
}

type MakeError = fn() -> KvError;

#[test]
fn attaching_marking_and_detaching_survive_each_failure_of_the_host() {
    let errors: [(&str, MakeError, bool); 4] = [
        ("failure", || KvError::Stale("broken".into()), false),
        ("retry", || KvError::Retry("busy".into()), false),
        ("unknown, done", || KvError::OutcomeUnknown("cut".into()), false),
        ("unknown, not done", || KvError::OutcomeUnknown("cut".into()), true),
    ];
    for (row, (name, error, loses)) in (0..).zip(errors) {
        for nth in faults::failing(row, faults::distance(3)) {
            let what = format!("{name}, operation {nth}");
            let host = MemoryStore::new();
            let failing = FaultStore::new(host.clone());
            let clock = TestClock::new();
            let process = Process::new(&(Arc::new(failing.clone()) as Arc<dyn KvDatabase>), &clock);
            for number in 0..10_u32 {
                write(&process.page, MAIN, |tx| tx.put(&number.to_be_bytes(), &[1; 600]).unwrap());
            }
            let faults = failing.faults();
            faults.lose_commits(loses);
            faults.fail_nth(nth, error);
            let remote = process.page.remote();
            let result = remote.attach().and_then(|()| {
                let commits = remote.unsynced_commits()?;
                let commits: Vec<_> = commits[..5].iter().map(|commit| commit.id).collect();
                let pieces = remote.local_pieces(None, 5)?;
                let pieces: Vec<_> = pieces.iter().map(|piece| piece.digest).collect();
                remote.mark_synced(&commits, &pieces, &[(b"at", b"1")])?;
                remote.detach()
            });
            let is_over = faults.hits() == 0;
            assert_eq!(result.is_ok(), is_over, "{what}: {result:?}");
            drop(process);
            let host: Arc<dyn KvDatabase> = Arc::new(host);
            let page = Process::new(&host, &clock).page;
            assert!(page.verify().unwrap().is_clean(), "{what}");
            let is_marked = page.remote().note(b"at").unwrap().is_some();
            if page.remote().state().unwrap() == RemoteState::Attached {
                let count = page.remote().unsynced_commits().unwrap().len();
                assert_eq!(count, if is_marked { 5 } else { 10 }, "{what}");
            }
            // Either is continued.
            if nth % 2 == 0 {
                page.remote().detach().unwrap();
                assert!(digests(&*host, 0x25).is_empty() && digests(&*host, 0x27).is_empty());
            } else {
                page.remote().attach().unwrap();
                let count = page.remote().unsynced_commits().unwrap().len();
                assert!(count == 10 || count == 5 && is_marked, "{what}: {count}");
            }
            assert!(page.verify().unwrap().is_clean(), "{what}");
            if is_over {
                assert!(nth > 20, "{name}");
                break;
            }
        }
    }
}
