//! Clocks and time limits at their ends, and code of the program that panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, CommitTime, Conflict, Digest, Kind, LedgerError, MAIN, MergeFactory, MergePolicy,
    MergeWait, Merger, Page, PageId, PieceSource, Repository, Resolution, Resolver, Result,
    TimeLimit,
};

use crate::support::clock::TestClock;
use crate::support::page::put;

const LONG: Duration = Duration::from_secs(60);

/// Two heads of which both change one key.
fn diverge(page: &Page) {
    let both = [(); 2].map(|()| page.branching_database(MAIN).unwrap());
    let open = both.each_ref().map(|db| db.begin(&TxOptions::writing()).unwrap());
    for (number, mut tx) in open.into_iter().enumerate() {
        tx.put(b"key", &[number as u8]).unwrap();
        tx.commit().unwrap();
    }
}

/// Panics the first time it is asked something.
struct Panics {
    at: &'static str,
    left: Arc<AtomicU64>,
}

impl Panics {
    fn come(&self, at: &str) {
        let is_first = || {
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
        };
        if self.at == at && is_first().is_ok() {
            panic!("as the test wants it, in {at}");
        }
    }
}

impl Merger for Panics {
    fn class(&self, _: &[u8]) -> permazen_ledger::KeyClass {
        self.come("class");
        permazen_ledger::KeyClass::Value
    }

    fn resolve(&mut self, _: &Conflict<'_>) -> Result<Resolution> {
        self.come("resolve");
        Ok(Resolution::Newer)
    }

    fn has_derived(&self) -> bool {
        true
    }

    fn finish(&mut self, _: &mut dyn KvWrite) -> Result<()> {
        self.come("finish");
        Ok(())
    }
}

/// A factory that panics this many times.
struct Factory {
    at: &'static str,
    left: Arc<AtomicU64>,
    policy: MergePolicy,
}

impl Factory {
    fn panics(&self) -> Panics {
        Panics { at: self.at, left: Arc::clone(&self.left) }
    }
}

impl MergeFactory for Factory {
    fn policy(&self, _: &str, _: &PageId) -> MergePolicy {
        self.panics().come("policy");
        self.policy
    }

    fn resolver(&self, _: &str, _: &PageId) -> Result<Arc<dyn Resolver>> {
        self.panics().come("resolver");
        Err(LedgerError::InvalidArgument("there is none".to_owned()))
    }

    fn time_limit(&self, _: &str, _: &PageId) -> TimeLimit {
        self.panics().come("time limit");
        TimeLimit::default()
    }

    fn merger(&self, _: &str, _: &PageId) -> Box<dyn Merger> {
        self.panics().come("merger");
        Box::new(self.panics())
    }
}

#[test]
fn a_merger_that_panics_once_is_asked_again() {
    for at in ["class", "resolve", "finish", "merger"] {
        let repository = Repository::open_or_create(MemoryStore::new()).unwrap();
        let page = repository.create_page("test", PageId::ROOT).unwrap();
        let left = Arc::new(AtomicU64::new(1));
        let factory = Factory { at, left: Arc::clone(&left), policy: MergePolicy::Merger };
        let _registration = repository.add_merge_factory(Arc::new(factory));
        diverge(&page);
        assert_ne!(page.wait_for_merges(LONG).unwrap(), MergeWait::TimedOut, "{at}");
        assert_eq!(left.load(Ordering::Relaxed), 0, "{at}");
        diverge(&page);
        assert_ne!(page.wait_for_merges(LONG).unwrap(), MergeWait::TimedOut, "{at}");
    }
}

#[test]
fn a_merger_that_panics_is_an_error_of_the_call_for_merges() {
    let repository =
        Repository::builder(MemoryStore::new()).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let left = Arc::new(AtomicU64::new(1));
    let factory = Factory { at: "resolve", left, policy: MergePolicy::Merger };
    let _registration = repository.add_merge_factory(Arc::new(factory));
    diverge(&page);
    let error = page.merge_by_policy().unwrap_err();
    assert!(matches!(error, LedgerError::Resolver { .. }), "{error}");
    assert!(error.to_string().contains("panicked"), "{error}");
    page.merge_by_policy().unwrap();
    assert_eq!(page.heads(MAIN).unwrap().len(), 1);
}

#[test]
fn a_factory_that_panics_is_asked_again_and_pages_can_be_made() {
    for (at, policy) in [
        ("policy", MergePolicy::LastWriterWins),
        ("resolver", MergePolicy::Custom),
        ("time limit", MergePolicy::LastWriterWins),
    ] {
        let repository =
            Repository::builder(MemoryStore::new()).manual_maintenance().open_or_create().unwrap();
        let before = repository.create_page("before", PageId::ROOT).unwrap();
        let factory = Factory { at, left: Arc::new(AtomicU64::new(2)), policy };
        let _registration = repository.add_merge_factory(Arc::new(factory));
        let after = repository.create_page("after", PageId::ROOT).unwrap();
        for page in [&before, &after] {
            diverge(page);
            let result = page.merge_by_policy();
            assert_eq!(result.is_ok(), policy == MergePolicy::LastWriterWins, "{at}: {result:?}");
        }
    }
}

/// Has nothing, not even a name.
struct Nameless;

impl PieceSource for Nameless {
    fn name(&self) -> String {
        panic!("as the test wants it")
    }

    fn fetch(
        &self,
        _: PageId,
        wanted: &[(Kind, Digest)],
        _: Instant,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        Ok(vec![None; wanted.len()])
    }
}

#[test]
fn a_source_can_have_any_time_limit_and_a_name_that_panics() {
    let copy = || {
        let builder = Repository::builder(MemoryStore::new()).manual_maintenance();
        let secret = permazen_ledger::Secret::new([7; 32]);
        builder.open_or_create().unwrap().create_page_with("test", PageId::ROOT, secret).unwrap()
    };
    let (there, here) = (copy(), copy());
    let mut value = there.write_value(None).unwrap();
    std::io::Write::write_all(&mut value, &[1; 2_000]).unwrap();
    let value = value.finish().unwrap().lazy();
    put(&there, MAIN, b"lazy", value.as_bytes());
    here.remote().attach().unwrap();
    let (id, remote) = (there.head(MAIN).unwrap(), there.remote());
    let commit = remote.commit_bytes(&id).unwrap().unwrap();
    let mut receiver = here.remote().receive();
    for (kind, digest) in receiver.wanted(&commit).unwrap() {
        receiver.add_piece(kind, remote.piece_bytes(&digest).unwrap().unwrap()).unwrap();
    }
    receiver.add_commit(&id, &commit).unwrap();
    receiver.add_head(MAIN, &id).unwrap();
    let snapshot = here.snapshot(&id).unwrap();
    here.set_source(Arc::new(Nameless), Duration::MAX);
    let error = snapshot.fetch(b"lazy").unwrap_err();
    assert!(matches!(error, LedgerError::NotAtSource { .. }), "{error}");
}

#[test]
fn a_clock_at_the_end_of_its_numbers_panics_nowhere() {
    let clock = TestClock::at(u64::MAX);
    let builder = Repository::builder(MemoryStore::new()).manual_maintenance();
    let repository = builder.clock(Arc::clone(&clock) as _).open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    put(&page, MAIN, b"key", b"1");
    let mut value = page.write_value(None).unwrap();
    std::io::Write::write_all(&mut value, &[1; 200_000]).unwrap();
    repository.maintain().unwrap();
    page.collect().unwrap();
    drop(value);
    repository.maintain().unwrap();
    clock.set(1);
    repository.maintain().unwrap();
    assert!(page.verify().unwrap().findings.is_empty());
}

#[test]
fn a_clock_that_is_too_late_makes_no_commit_that_cannot_be_read() {
    let last = (1 << 47) - 1;
    let clock = TestClock::at(last);
    let builder = Repository::builder(MemoryStore::new()).manual_maintenance();
    let repository = builder.clock(Arc::clone(&clock) as _).open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    // As a copy of the page with such a clock has made it: two times are left.
    let root = page.snapshot(&CommitId::FIRST).unwrap().root();
    let fields = [0; 4];
    let parts: [&[u8]; 8] = [
        &[1, 1],
        &((1_u64 << 63) - 3).to_be_bytes(),
        &1_u64.to_be_bytes(),
        &root.0,
        &[1],
        &CommitId::FIRST.0.0,
        &[9; 32],
        &fields,
    ];
    let commit = parts.concat();
    let id = CommitId(Kind::Commit.digest(&commit));
    let mut receiver = page.receive();
    receiver.add_commit(&id, &commit).unwrap();
    receiver.add_head(MAIN, &id).unwrap();
    put(&page, MAIN, b"key", b"1");
    put(&page, MAIN, b"key", b"2");
    let mut tx = page.database(MAIN).unwrap().begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"3").unwrap();
    let error = LedgerError::from(tx.commit().unwrap_err());
    assert!(matches!(error, LedgerError::LastCommit { .. }), "{error}");
    let head = page.commit(&page.head(MAIN).unwrap()).unwrap().unwrap();
    assert_eq!(head.time, CommitTime::from_bits((1 << 63) - 1));
    let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    assert_eq!(snapshot.get(b"key").unwrap().as_deref(), Some(&b"2"[..]));
}
