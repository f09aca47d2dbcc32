//! Values that are written in parts, and taken by transactions.

use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, CommitId, Conflict, LastWriterWins, LedgerError, MAIN, Merger, Page, PageDatabases,
    PageId, Repository, RepositoryBuilder, Resolution, Retention, Secret, ValueRef, ValueWriter,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::clock::TestClock;
use crate::support::faults;
use crate::support::page::{assert_clean_when, get, noise};

const MINUTE: Duration = Duration::from_secs(60);

fn builder(host: impl KvDatabase + 'static, clock: &Arc<TestClock>) -> RepositoryBuilder {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    Repository::builder(host).manual_maintenance().clock(clock).cache_bytes(1)
}

/// A process that has the page open.
struct Process {
    repository: Repository,
    page: Page,
}

fn process(host: impl KvDatabase + 'static, clock: &Arc<TestClock>) -> Process {
    let repository = builder(host, clock).open_or_create().unwrap();
    let page = match repository.page("test", PageId::ROOT) {
        Ok(page) => page,
        Err(_) => repository.create_page_with("test", PageId::ROOT, Secret::new([1; 32])).unwrap(),
    };
    Process { repository, page }
}

/// One process on a host of its own.
fn setting() -> (MemoryStore, Arc<TestClock>, Process) {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let process = process(host.clone(), &clock);
    (host, clock, process)
}

fn write(page: &Page, value: &[u8], portion: usize) -> ValueRef {
    let mut writer = page.write_value(Some(value.len() as u64)).unwrap();
    value.chunks(portion).for_each(|portion| writer.write_all(portion).unwrap());
    writer.finish().unwrap()
}

fn put(page: &Page, branch: &str, pairs: &[(&[u8], &[u8])]) -> Result<CommitId, LedgerError> {
    let db = page.database(branch)?;
    let mut tx = db.begin(&TxOptions::writing())?;
    for (key, value) in pairs {
        tx.put(key, value)?;
    }
    tx.commit()?;
    page.head(branch)
}

/// The keys of the rows of the page with this first byte, without the prefix of the page.
fn rows(host: &MemoryStore, first: u8) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (min, max) = ([0x10, 1, first], [0x10, 1, first + 1]);
    let snapshot = host.snapshot();
    let pairs = snapshot.scan(KeySpan::new(&min, Some(&max)), Direction::Forward).unwrap();
    pairs.map(|pair| pair.map(|(k, v)| (k[2..].to_vec(), v.to_vec())).unwrap()).collect()
}

/// Nothing is left of streams, and nothing that no commit leads to.
fn check_nothing_left(host: &MemoryStore, page: &Page, clock: &TestClock, what: &str) {
    for _ in 0..2 {
        clock.advance(3 * MINUTE);
        page.collect().unwrap();
    }
    let found = page.verify().unwrap();
    assert!(found.findings.is_empty(), "{what}: {:?}", found.findings);
    assert_eq!(found.unreachable_pieces, 0, "{what}");
    assert_eq!(rows(host, 0x26).len(), 0, "{what}");
    assert_eq!(rows(host, 0x31).len(), 0, "{what}");
}

#[test]
fn a_value_that_was_written_in_parts_is_as_one_that_was_put() {
    for len in [0, 1, 511, 512, 513, 4_096, 65_536, 65_537, 1 << 20, 3_000_000] {
        for value in [noise(len, len as u64), vec![0; len]] {
            let (host, clock, Process { page, repository }) = setting();
            let (_, _, other) = setting();
            let reference = write(&page, &value, 70_000);
            assert_eq!(reference.value_len(), len as u64);
            put(&page, MAIN, &[(b"a", b"1"), (b"film", reference.as_bytes())]).unwrap();
            put(&other.page, MAIN, &[(b"a", b"1"), (b"film", &value)]).unwrap();
            let root = |page: &Page| page.snapshot(&page.head(MAIN).unwrap()).unwrap().root();
            assert_eq!(root(&page), root(&other.page), "{len} bytes");
            assert!(get(&page, b"film").unwrap() == value);
            // Again, whole: that changes nothing.
            let head = page.head(MAIN).unwrap();
            assert_eq!(put(&page, MAIN, &[(b"film", &value)]).unwrap(), head);
            assert_clean_when(&page, "with a value");
            repository.maintain().unwrap();
            assert_eq!(rows(&host, 0x26).len() + rows(&host, 0x31).len(), 0);
            check_nothing_left(&host, &page, &clock, "with a value");
            assert!(get(&page, b"film").unwrap() == value);
        }
    }
}

#[test]
fn a_value_is_taken_under_several_keys_and_by_several_commits() {
    let (host, clock, Process { page, repository }) = setting();
    let value = noise(100_000, 1);
    let film = write(&page, &value, 9_999);
    let (long, short) = (film.as_bytes().to_vec(), write(&page, b"short", 2));
    let first = put(&page, MAIN, &[(b"a", &long), (b"b", &long), (b"c", short.as_bytes())]);
    page.create_branch("other", &CommitId::FIRST).unwrap();
    put(&page, "other", &[(b"d", &long), (b"e", short.as_bytes())]).unwrap();
    repository.maintain().unwrap();
    put(&page, MAIN, &[(b"f", &long)]).unwrap();
    for key in [b"a", b"b", b"f"] {
        assert!(get(&page, key).unwrap() == value);
    }
    assert_eq!(get(&page, b"c").unwrap(), b"short");
    assert_clean_when(&page, "with two commits");

    // It is there as long as a commit that has taken it.
    page.reset(MAIN, &CommitId::FIRST).unwrap();
    page.remove_branch("other").unwrap();
    check_nothing_left(&host, &page, &clock, "without commits");
    assert!(page.snapshot(&first.unwrap()).is_err());
    let error = put(&page, MAIN, &[(b"a", &long)]).unwrap_err();
    assert!(matches!(error, LedgerError::ValueGone { .. }), "{error}");
    // A value that lies in a leaf needs no commit.
    put(&page, MAIN, &[(b"c", short.as_bytes())]).unwrap();
}

#[test]
fn the_length_is_what_was_announced() {
    let (host, clock, Process { page, repository }) = setting();
    let is_refused = |error: LedgerError| {
        assert!(matches!(error, LedgerError::InvalidArgument(_)), "{error}");
    };
    for (announced, len) in [(0, 1), (600, 599), (600, 601), (3_000_000, 2_000_000)] {
        let mut writer = page.write_value(Some(announced)).unwrap();
        match writer.write_all(&noise(len, 3)) {
            Ok(()) => is_refused(writer.finish().unwrap_err()),
            Err(error) => is_refused(*error.into_inner().unwrap().downcast().unwrap()),
        }
    }
    assert!(matches!(page.write_value(Some(1 << 48)), Err(LedgerError::ValueTooLong)));
    // The bytes that came are given up.
    assert!(!rows(&host, 0x26).is_empty());
    repository.maintain().unwrap();
    check_nothing_left(&host, &page, &clock, "after wrong lengths");
}

#[test]
fn references_mean_one_page_of_one_repository() {
    let (_, _, one) = setting();
    let (_, _, other) = setting();
    let second = one.repository.create_page("second", PageId::ROOT).unwrap();
    let value = write(&one.page, &noise(2_000, 4), 500);
    for page in [&other.page, &second] {
        let error = put(page, MAIN, &[(b"key", value.as_bytes())]).unwrap_err();
        assert!(matches!(error, LedgerError::WrongPage { .. }), "{error}");
        assert_eq!(get(page, b"key"), None);
    }
    let bytes = value.as_bytes();
    for wrong in [&bytes[..39], &bytes[..16], &[bytes, &[0]].concat()] {
        let error = put(&one.page, MAIN, &[(b"key", wrong)]).unwrap_err();
        assert!(matches!(error, LedgerError::InvalidArgument(_)), "{error}");
    }
    let mut unknown = bytes.to_vec();
    unknown[39] ^= 1;
    let error = put(&one.page, MAIN, &[(b"key", &unknown)]).unwrap_err();
    assert!(matches!(error, LedgerError::ValueGone { .. }), "{error}");
    put(&one.page, MAIN, &[(b"key", bytes)]).unwrap();
}

#[test]
fn a_transaction_that_conflicts_takes_the_value_when_it_runs_again() {
    let (_, _, Process { page, .. }) = setting();
    let (value, db) = (noise(50_000, 5), page.database(MAIN).unwrap());
    let film = write(&page, &value, 50_000);
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    assert!(tx.get(b"number").unwrap().is_none());
    tx.put(b"film", film.as_bytes()).unwrap();
    assert_eq!(tx.get(b"film").unwrap().unwrap(), film.as_bytes());
    put(&page, MAIN, &[(b"number", b"1")]).unwrap();
    assert!(tx.commit().unwrap_err().is_retryable());
    assert_eq!(get(&page, b"film"), None);
    // A transaction that has read the key conflicts with one that attaches the value.
    let mut reader = db.begin(&TxOptions::writing()).unwrap();
    assert!(reader.get(b"film").unwrap().is_none());
    reader.put(b"number", b"2").unwrap();
    put(&page, MAIN, &[(b"film", film.as_bytes())]).unwrap();
    assert!(reader.commit().unwrap_err().is_retryable());
    assert!(get(&page, b"film").unwrap() == value);
}

#[test]
fn branches_with_several_heads_take_values_too() {
    let (host, clock, Process { page, .. }) = setting();
    let value = noise(40_000, 60);
    let film = write(&page, &value, 40_000);
    let [one, other] = [b"one", b"two"].map(|key| (page.branching_database(MAIN).unwrap(), key));
    let [one, other] = [&one, &other].map(|(db, key)| {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(*key, film.as_bytes()).unwrap();
        tx
    });
    one.commit().unwrap();
    other.commit().unwrap();
    assert_eq!(page.heads(MAIN).unwrap().len(), 2);
    page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    assert!(get(&page, b"one").unwrap() == value && get(&page, b"two").unwrap() == value);
    check_nothing_left(&host, &page, &clock, "after a merge");
    assert!(get(&page, b"one").unwrap() == value);
}

/// The only page has a database of its own.
#[derive(Debug)]
struct OwnDatabase(MemoryStore);

impl PageDatabases for OwnDatabase {
    fn make(&self, _: u64) -> permazen_kv::Result<Arc<dyn KvDatabase>> {
        Ok(Arc::new(self.0.clone()))
    }

    fn open(&self, page: u64) -> permazen_kv::Result<Option<Arc<dyn KvDatabase>>> {
        self.make(page).map(Some)
    }

    fn remove(&self, _: u64) -> permazen_kv::Result<()> {
        Ok(())
    }

    fn list(&self) -> permazen_kv::Result<Vec<u64>> {
        Ok(vec![1])
    }
}

#[test]
fn a_reference_that_outlives_its_page_is_never_another_value() {
    let clock = TestClock::new();
    let own = OwnDatabase(MemoryStore::new());
    for builder in [
        builder(MemoryStore::new(), &clock),
        builder(MemoryStore::new(), &clock).page_databases(Arc::new(own)),
    ] {
        let repository = builder.open_or_create().unwrap();
        let page = repository.create_page("test", PageId::ROOT).unwrap();
        let old = write(&page, &noise(2_000, 70), 2_000);
        drop(page);
        let page = repository.page("test", PageId::ROOT).unwrap();
        let new = write(&page, &noise(2_000, 71), 2_000);
        assert_ne!(old.as_bytes(), new.as_bytes());
        match put(&page, MAIN, &[(b"film", old.as_bytes())]) {
            Ok(_) => assert!(get(&page, b"film").unwrap() == noise(2_000, 70)),
            Err(error) => assert!(matches!(error, LedgerError::ValueGone { .. }), "{error}"),
        }
        put(&page, MAIN, &[(b"film", new.as_bytes())]).unwrap();
        assert!(get(&page, b"film").unwrap() == noise(2_000, 71));
        repository.maintain().unwrap();
        page.collect().unwrap();
        assert_clean_when(&page, "after a page was closed");
    }
}

#[test]
fn a_merge_takes_no_value_that_was_written_in_parts() {
    struct Taking(Vec<u8>);
    impl Merger for Taking {
        fn resolve(&mut self, _: &Conflict<'_>) -> permazen_ledger::Result<Resolution> {
            Ok(Resolution::Value(self.0.clone()))
        }
    }
    let (_, _, Process { page, .. }) = setting();
    page.create_branch("other", &CommitId::FIRST).unwrap();
    put(&page, MAIN, &[(b"key", b"1")]).unwrap();
    let from = put(&page, "other", &[(b"key", b"2")]).unwrap();
    let film = write(&page, &noise(1_000, 61), 1_000);
    let error = page.merge(MAIN, &from, &mut Taking(film.as_bytes().to_vec())).unwrap_err();
    assert!(matches!(error, LedgerError::InvalidArgument(_)), "{error}");
    assert_eq!(get(&page, b"key").unwrap(), b"1");
}

#[test]
fn a_value_that_is_not_attached_goes_after_an_hour() {
    let (host, clock, Process { page, repository }) = setting();
    let kept = write(&page, &noise(20_000, 6), 20_000);
    let dropped = write(&page, &noise(20_000, 7), 20_000);
    let mark = dropped.as_bytes().to_vec();
    drop(dropped);
    let hour = |count: u64| {
        for _ in 0..6 * count {
            clock.advance(10 * MINUTE);
            repository.maintain().unwrap();
        }
    };
    repository.maintain().unwrap();
    clock.advance(50 * MINUTE);
    repository.maintain().unwrap();
    assert_eq!(rows(&host, 0x31).len(), 2);
    // A transaction that has it may be open all the time.
    put(&page, MAIN, &[(b"late", &mark)]).unwrap();
    put(&page, MAIN, &[]).unwrap();
    let dropped = write(&page, &noise(20_000, 8), 20_000);
    let mark = dropped.as_bytes().to_vec();
    drop(dropped);
    hour(2);
    let error = put(&page, MAIN, &[(b"later", &mark)]).unwrap_err();
    assert!(matches!(error, LedgerError::ValueGone { .. }), "{error}");
    assert_eq!(rows(&host, 0x31).len(), 1);
    put(&page, MAIN, &[(b"kept", kept.as_bytes())]).unwrap();
    hour(1);
    check_nothing_left(&host, &page, &clock, "after hours");
    assert_eq!(get(&page, b"kept").unwrap(), noise(20_000, 6));
    assert_eq!(get(&page, b"late").unwrap(), noise(20_000, 7));
}

#[test]
fn what_a_dead_process_has_written_goes() {
    let (host, clock, other) = setting();
    let dead = process(host.clone(), &clock);
    let mut unfinished = dead.page.write_value(None).unwrap();
    // Portions of 1 MiB are stored in the background, one at a time: when the third is sent, two
    // are stored.
    unfinished.write_all(&noise(4_000_000, 9)).unwrap();
    let unattached = write(&dead.page, &noise(100_000, 10), 100_000);
    let attached = write(&dead.page, &noise(100_000, 11), 100_000);
    put(&dead.page, MAIN, &[(b"film", attached.as_bytes())]).unwrap();
    let before = rows(&host, 0x26).len();
    assert!(before > 100, "{before} rows");
    clock.advance(30 * MINUTE);
    other.repository.maintain().unwrap();
    // An attached value needs no rows any more. The rest is protected by the lease.
    assert_eq!(rows(&host, 0x31).len(), 2);
    other.page.collect().unwrap();
    assert!(rows(&host, 0x26).len() > 100);
    assert_clean_when(&other.page, "with a process that is silent");
    clock.advance(31 * MINUTE);
    other.repository.maintain().unwrap();
    check_nothing_left(&host, &other.page, &clock, "after the end of a lease");
    assert_eq!(get(&other.page, b"film").unwrap(), noise(100_000, 11));
    // The process gets an error, and continues with another name.
    let error = unfinished.write_all(&noise(3_000_000, 9)).unwrap_err();
    let error: LedgerError = *error.into_inner().unwrap().downcast().unwrap();
    assert!(matches!(error, LedgerError::ValueGone { .. }), "{error}");
    assert!(matches!(unfinished.finish(), Err(LedgerError::ValueGone { .. })));
    let error = put(&dead.page, MAIN, &[(b"other", unattached.as_bytes())]).unwrap_err();
    assert!(matches!(error, LedgerError::ValueGone { .. }), "{error}");
    let again = write(&dead.page, &noise(100_000, 10), 100_000);
    put(&dead.page, MAIN, &[(b"other", again.as_bytes())]).unwrap();
    dead.repository.maintain().unwrap();
    check_nothing_left(&host, &other.page, &clock, "in the end");
}

#[test]
fn a_value_is_read_to_the_end_in_parts() {
    let (_, _, Process { page, .. }) = setting();
    let value = noise(20_000_000, 12);
    put(&page, MAIN, &[(b"film", write(&page, &value, 1 << 20).as_bytes())]).unwrap();
    let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    let mut reader = snapshot.read_value(b"film").unwrap().unwrap();
    let (mut at, mut part) = (0, vec![0; 100_000]);
    loop {
        let len = reader.read(&mut part).unwrap();
        // Of one chunk.
        assert!(len <= 65_536);
        assert!(part[..len] == value[at..at + len]);
        at += len;
        if len == 0 {
            break;
        }
    }
    assert_eq!(at, value.len());
    reader.seek(SeekFrom::End(-5)).unwrap();
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).unwrap();
    assert!(rest == value[value.len() - 5..]);
}

#[test]
fn a_commit_says_how_many_pieces_its_values_have_stored() {
    let (host, clock, Process { page, repository }) = setting();
    let value = write(&page, &noise(500_000, 50), 100_000);
    let stored = rows(&host, 0x26).len();
    put(&page, MAIN, &[(b"film", value.as_bytes())]).unwrap();
    let commit = rows(&host, 0x22).remove(0).1;
    let (_, end) = commit.split_last_chunk::<8>().map(|(rest, end)| (rest, *end)).unwrap();
    let said = u32::from_be_bytes([end[0], end[1], end[2], end[3]]);
    // The root is new too.
    assert_eq!(said as usize, stored + 1);
    // So its removal makes enough garbage that the page is collected without being asked.
    page.reset(MAIN, &CommitId::FIRST).unwrap();
    drop(value);
    for _ in 0..30 {
        clock.advance(MINUTE / 2);
        repository.maintain().unwrap();
    }
    assert_eq!(rows(&host, 0x23).len(), 0);
}

#[test]
fn a_value_whose_commit_goes_just_before_a_round_is_garbage_after_it() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    // Both are so sure that they are alone that commits go at once.
    let [writer, collector] = [(); 2].map(|()| {
        let repository = builder(host.clone(), &clock).exclusive().open_or_create().unwrap();
        repository.page("test", PageId::ROOT).map_or_else(
            |_| Process {
                page: repository.create_page("test", PageId::ROOT).unwrap(),
                repository: repository.clone(),
            },
            |page| Process { page, repository: repository.clone() },
        )
    });
    put(&collector.page, MAIN, &[(b"a", b"1")]).unwrap();
    let first = collector.page.head(MAIN).unwrap();
    // The collector has searched for rows that streams have left, and begins its round with the
    // next slice.
    let phase = || rows(&host, 0x32)[0].1[47];
    let slices = (1..).find(|_| !collect(&collector.page, 1) || phase() != 0).unwrap();
    while collect(&collector.page, 1) {}
    collect(&collector.page, slices - 1);
    assert_eq!(phase(), 0);
    // Meanwhile a value is attached, and its commit goes.
    let value = write(&writer.page, &noise(50_000, 51), 50_000);
    put(&writer.page, MAIN, &[(b"film", value.as_bytes())]).unwrap();
    writer.page.reset(MAIN, &first).unwrap();
    let commits = rows(&host, 0x22).len();
    while rows(&host, 0x22).len() == commits {
        assert!(collect(&writer.page, 1));
    }
    assert!(!rows(&host, 0x26).is_empty());
    while collect(&collector.page, 1) {}
    assert_clean_when(&collector.page, "after the round");
    // Its rows go, and nothing else says that there is garbage.
    let other = process(host.clone(), &clock);
    other.repository.maintain().unwrap();
    assert_clean_when(&other.page, "after the rows went");
    assert!(rows(&host, 0x26).is_empty());
    for _ in 0..3 {
        other.repository.maintain().unwrap();
    }
    assert_eq!(other.page.verify().unwrap().unreachable_pieces, 0);
}

/// A host that does something else before one of its transactions for writing begins.
#[derive(Clone)]
struct Interrupted {
    host: MemoryStore,
    /// How many transactions begin before, and the step after them.
    todo: Arc<Mutex<Todo>>,
}

type Todo = Option<(usize, Box<dyn FnOnce() + Send>)>;

impl Interrupted {
    fn new(host: &MemoryStore) -> Self {
        Interrupted { host: host.clone(), todo: Arc::default() }
    }

    fn before(&self, transaction: usize, run: impl FnOnce() + Send + 'static) {
        *self.todo.lock().unwrap() = Some((transaction, Box::new(run)));
    }

    /// Whether it was done. It is not any more.
    fn is_done(&self) -> bool {
        self.todo.lock().unwrap().take().is_none()
    }
}

impl KvDatabase for Interrupted {
    fn begin(
        &self,
        options: &TxOptions,
    ) -> permazen_kv::Result<Box<dyn permazen_kv::KvTransaction + Send>> {
        if !options.read_only {
            let mut todo = self.todo.lock().unwrap();
            let now = match &mut *todo {
                Some((0, _)) => todo.take(),
                Some((left, _)) => {
                    *left -= 1;
                    None
                }
                None => None,
            };
            drop(todo);
            if let Some((_, run)) = now {
                run();
            }
        }
        self.host.begin(options)
    }
}

/// Says which cases of a long list are tried: all if `PERMAZEN_STREAMS` is `all`, else one in
/// `every`. Each run tries the same ones, from all parts of the list.
struct Chosen {
    every: usize,
    at: usize,
    rows: usize,
}

impl Chosen {
    fn one_in(every: usize) -> Self {
        let all = std::env::var("PERMAZEN_STREAMS").is_ok_and(|which| which == "all");
        Chosen { every: if all { 1 } else { every }, at: 0, rows: 0 }
    }

    /// Begins a row of cases. Each row begins elsewhere, so that together the rows try cases of all
    /// numbers, although a row that goes on until nothing is left always ends with a case that is
    /// tried.
    fn begin_row(&mut self) {
        self.at = self.rows;
        self.rows += 1;
    }

    /// Whether the next case is tried.
    fn next(&mut self) -> bool {
        self.at += 1;
        self.at.is_multiple_of(self.every)
    }
}

/// A value that two transactions store, and that has few pieces.
fn film() -> Vec<u8> {
    [noise(30_000, 20), vec![0; 21 << 16], noise(30_000, 21)].concat()
}

/// The host of a page in which all pieces of the film are garbage.
struct Garbage {
    host: MemoryStore,
    time: u64,
    film: Arc<[u8]>,
}

fn with_garbage() -> Garbage {
    let (host, clock, Process { page, .. }) = setting();
    let film = film();
    page.set_retention(Retention::Heads).unwrap();
    put(&page, MAIN, &[(b"film", &film), (b"a", &[1; 100])]).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.remove(b"film").unwrap();
    tx.commit().unwrap();
    page.collect().unwrap();
    clock.advance(3 * MINUTE);
    Garbage { host, time: clock.millis(), film: film.into() }
}

/// The end of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Attached,
    GivenUp,
    /// It is attached, and its commit is gone soon after.
    Removed,
}

/// A process that writes a value and attaches it.
struct Writer {
    process: Process,
    film: Arc<[u8]>,
    fate: Fate,
    value: Option<ValueWriter>,
    reference: Option<ValueRef>,
    step: usize,
}

impl Writer {
    /// Stores a part of the value, stores the rest, attaches it, removes the rows that it no longer
    /// needs.
    const STEPS: usize = 4;

    fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            self.step();
        }
    }

    fn step(&mut self) {
        let (page, last) = (&self.process.page, self.film.len() - 1);
        match self.step {
            0 => {
                let mut value = page.write_value(None).unwrap();
                value.write_all(&self.film[..last]).unwrap();
                self.value = Some(value);
            }
            1 => {
                let mut value = self.value.take().unwrap();
                if self.fate != Fate::GivenUp {
                    value.write_all(&self.film[last..]).unwrap();
                    self.reference = Some(value.finish().unwrap());
                }
            }
            2 => {
                if let Some(reference) = self.reference.take() {
                    put(page, MAIN, &[(b"film", reference.as_bytes())]).unwrap();
                }
                if self.fate == Fate::Removed {
                    page.reset(MAIN, &CommitId::FIRST).unwrap();
                }
            }
            3 => self.process.repository.maintain().unwrap(),
            _ => {}
        }
        self.step += 1;
    }
}

/// Collects. `false` after the last slice.
fn collect(page: &Page, slices: usize) -> bool {
    (0..slices).all(|_| match page.collect_slice() {
        Ok(is_more) => is_more,
        // The maintenance of the writer collects too.
        Err(error) => {
            assert!(matches!(error, LedgerError::Busy { .. }), "{error}");
            false
        }
    })
}

/// A process that writes a value, while another one collects garbage.
struct Race {
    host: MemoryStore,
    clock: Arc<TestClock>,
    writer: Arc<Mutex<Writer>>,
    collector: Process,
    hosts: [Interrupted; 2],
}

impl Race {
    fn new(garbage: &Garbage, fate: Fate) -> Self {
        let (host, clock) = (MemoryStore::new(), TestClock::new());
        clock.set(garbage.time);
        let mut tx = host.begin(&TxOptions::writing()).unwrap();
        let snapshot = garbage.host.snapshot();
        for pair in snapshot.scan(KeySpan::FULL, Direction::Forward).unwrap() {
            let (key, value) = pair.unwrap();
            tx.put(&key, &value).unwrap();
        }
        tx.commit().unwrap();
        let hosts = [Interrupted::new(&host), Interrupted::new(&host)];
        let [writer, collector] = hosts.clone().map(|host| process(host, &clock));
        let (film, step) = (Arc::clone(&garbage.film), 0);
        let writer = Writer { process: writer, film, fate, value: None, reference: None, step };
        Race { host, clock, writer: Arc::new(Mutex::new(writer)), collector, hosts }
    }

    fn write(&self, steps: usize) {
        self.writer.lock().unwrap().run(steps);
    }

    fn collect(&self, slices: usize) -> bool {
        collect(&self.collector.page, slices)
    }

    /// In each case, the value is there, and nothing else is left.
    fn check(self, what: &str) {
        while self.collect(1) {}
        let mut writer = self.writer.lock().unwrap();
        writer.run(Writer::STEPS);
        let page = &self.collector.page;
        assert_clean_when(page, what);
        let expected = (writer.fate == Fate::Attached).then_some(&writer.film[..]);
        assert!(get(page, b"film").as_deref() == expected, "{what}");
        check_nothing_left(&self.host, page, &self.clock, what);
        assert!(get(page, b"film").as_deref() == expected, "{what}");
    }
}

/// How many slices a collection has.
fn slices(garbage: &Garbage) -> usize {
    let race = Race::new(garbage, Fate::Attached);
    (1..).find(|_| !race.collect(1)).unwrap()
}

#[test]
fn an_attached_value_is_kept_in_all_orders_of_writing_and_collecting() {
    let garbage = with_garbage();
    let slices = slices(&garbage);
    assert!(slices >= 6, "{slices} slices");
    let mut chosen = Chosen::one_in(11);
    for fate in [Fate::Attached, Fate::GivenUp] {
        // After how many slices each step comes.
        let mut before = [0; Writer::STEPS];
        loop {
            if chosen.next() {
                let race = Race::new(&garbage, fate);
                let mut done = 0;
                for slices in before {
                    race.collect(slices - done);
                    race.write(1);
                    done = slices;
                }
                race.check(&format!("{fate:?}, steps after {before:?} slices"));
            }
            // The next of the ascending numbers.
            let Some(at) = before.iter().rposition(|before| *before < slices) else { break };
            let next = before[at] + 1;
            before[at..].fill(next);
        }
    }
}

#[test]
fn an_attached_value_is_kept_if_it_is_written_in_the_middle_of_a_slice() {
    let garbage = with_garbage();
    let mut chosen = Chosen::one_in(3);
    for fate in [Fate::Attached, Fate::GivenUp, Fate::Removed] {
        for (first, then) in (0..Writer::STEPS)
            .flat_map(|first| (1..=Writer::STEPS - first).map(move |n| (first, n)))
        {
            chosen.begin_row();
            for transaction in 0.. {
                if !chosen.next() {
                    continue;
                }
                let race = Race::new(&garbage, fate);
                race.write(first);
                let writer = Arc::clone(&race.writer);
                let run = move || writer.lock().unwrap().run(then);
                race.hosts[1].before(transaction, run);
                while race.collect(1) {}
                let is_done = race.hosts[1].is_done();
                let steps = format!("{first} steps before, {then} before transaction");
                race.check(&format!("{fate:?}, {steps} {transaction} of the collector"));
                if !is_done {
                    assert!(transaction >= 5, "{transaction} transactions");
                    break;
                }
            }
        }
    }
}

#[test]
fn an_attached_value_is_kept_if_slices_come_in_the_middle_of_its_steps() {
    let garbage = with_garbage();
    let slices = slices(&garbage);
    let (mut pairs, mut chosen) = (Chosen::one_in(2), Chosen::one_in(5));
    for fate in [Fate::Attached, Fate::GivenUp, Fate::Removed] {
        pairs.begin_row();
        for (first, then) in
            (0..slices).flat_map(|first| (1..=slices - first).map(move |then| (first, then)))
        {
            if !pairs.next() {
                continue;
            }
            chosen.begin_row();
            for transaction in 0.. {
                if !chosen.next() {
                    continue;
                }
                let race = Race::new(&garbage, fate);
                race.collect(first);
                let collector = race.collector.page.clone();
                race.hosts[0].before(transaction, move || {
                    collect(&collector, then);
                });
                race.write(Writer::STEPS);
                let is_done = race.hosts[0].is_done();
                let slices = format!("{first} slices before, {then} before transaction");
                race.check(&format!("{fate:?}, {slices} {transaction} of the writer"));
                if !is_done {
                    assert!(transaction >= 2, "{transaction} transactions");
                    break;
                }
            }
        }
    }
}

/// A process of a random history.
struct Actor {
    process: Process,
    writers: Vec<(usize, ValueWriter)>,
    references: Vec<(usize, ValueRef)>,
}

impl Actor {
    fn new(host: &MemoryStore, clock: &Arc<TestClock>) -> Self {
        let process = process(host.clone(), clock);
        Actor { process, writers: Vec::new(), references: Vec::new() }
    }
}

/// Random steps of writers among random slices of collections, by three processes.
fn history(seed: u64, values: &[Vec<u8>]) {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let mut random = StdRng::seed_from_u64(seed);
    let mut actors: Vec<_> = (0..3).map(|_| Actor::new(&host, &clock)).collect();
    actors[0].process.page.set_retention(Retention::Heads).unwrap();
    let mut model: Option<usize> = None;
    for _ in 0..250 {
        clock.advance(Duration::from_secs(random.random_range(0..25)));
        let index = random.random_range(0..actors.len());
        let Actor { process: Process { repository, page }, writers, references } =
            &mut actors[index];
        let which = random.random_range(0..values.len());
        match random.random_range(0..22) {
            0..8 => {
                collect(page, 1);
            }
            8..11 => {
                let mut writer = page.write_value(None).unwrap();
                let value = &values[which];
                writer.write_all(&value[..value.len() - 1]).unwrap();
                writers.push((which, writer));
            }
            11..14 => {
                if let Some((which, mut writer)) = writers.pop() {
                    writer.write_all(&values[which][values[which].len() - 1..]).unwrap();
                    references.push((which, writer.finish().unwrap()));
                }
            }
            14..17 => {
                if let Some((which, reference)) = references.last() {
                    match put(page, MAIN, &[(b"film", reference.as_bytes())]) {
                        Ok(_) => model = Some(*which),
                        // A commit has taken it, and is gone.
                        Err(error) => {
                            assert!(matches!(error, LedgerError::ValueGone { .. }), "{error}")
                        }
                    }
                }
            }
            17 => {
                put(page, MAIN, &[(b"film", &values[which])]).unwrap();
                model = Some(which);
            }
            18 => {
                page.reset(MAIN, &CommitId::FIRST).unwrap();
                model = None;
            }
            19 => drop((writers.pop(), references.pop())),
            20 => {
                // It ends without a word.
                std::mem::forget(repository.clone());
                writers.drain(..).for_each(std::mem::forget);
                references.drain(..).for_each(std::mem::forget);
                actors[index] = Actor::new(&host, &clock);
            }
            _ => repository.maintain().unwrap(),
        }
        let page = &actors[index].process.page;
        assert_clean_when(page, "in between");
        assert!(get(page, b"film").as_ref() == model.map(|which| &values[which]));
    }
    let Actor { process: Process { repository, page }, .. } = actors.remove(0);
    drop(actors);
    for _ in 0..13 {
        clock.advance(10 * MINUTE);
        repository.maintain().unwrap();
    }
    check_nothing_left(&host, &page, &clock, "in the end");
    assert!(get(&page, b"film").as_ref() == model.map(|which| &values[which]));
}

#[test]
fn writers_and_collectors_of_several_processes_come_in_any_order() {
    // They share chunks, with each other and within themselves.
    let parts = [noise(20_000, 30), noise(20_000, 31), vec![0; 5 << 18]];
    let values = [
        parts.concat(),
        [&parts[1][..], &parts[0], &parts[2], &parts[2]].concat(),
        parts[0].clone(),
        parts[1][..600].to_vec(),
    ];
    let count = std::env::var("PERMAZEN_HISTORIES").map_or(3, |count| count.parse().unwrap());
    for seed in 0..count {
        let run = std::panic::catch_unwind(|| history(seed, &values));
        assert!(run.is_ok(), "history {seed}");
    }
}

#[test]
fn damaged_rows_of_values_are_found() {
    let (host, _, Process { page, repository }) = setting();
    let mut writer = page.write_value(None).unwrap();
    writer.write_all(&film()).unwrap();
    let finished = write(&page, &noise(50_000, 40), 50_000);
    let attached = write(&page, &noise(50_000, 41), 50_000);
    put(&page, MAIN, &[(b"film", attached.as_bytes())]).unwrap();
    assert_clean_when(&page, "with values");
    let change = |key: &[u8], row: Option<&[u8]>| {
        let key = [&[0x10, 1], key].concat();
        let mut tx = host.begin(&TxOptions::writing()).unwrap();
        match row {
            Some(row) => tx.put(&key, row).unwrap(),
            None => tx.remove(&key).unwrap(),
        }
        tx.commit().unwrap();
    };
    for first in [0x26, 0x31] {
        let rows = rows(&host, first);
        assert!(rows.len() >= 3, "{} rows", rows.len());
        for (key, row) in &rows {
            for at in 0..row.len() {
                let mut damaged = row.clone();
                damaged[at] ^= 4;
                change(key, Some(&damaged));
                assert_eq!(page.verify().unwrap().findings.len(), 1, "{key:02x?}");
            }
            for at in 1..key.len() {
                // The other key must have no row. Other tests of this process write values too, so
                // the numbers of two values of this test can differ in any bit.
                let with = |bit: u32| {
                    let mut other = key.clone();
                    other[at] ^= 1 << bit;
                    other
                };
                let is_free = |other: &Vec<u8>| rows.iter().all(|(key, _)| key != other);
                let other = (0..8).map(with).find(is_free).unwrap();
                change(key, None);
                change(&other, Some(row));
                assert!(!page.verify().unwrap().is_clean(), "{key:02x?}");
                change(&other, None);
            }
            change(key, Some(row));
        }
    }
    // A piece that a row protects is there.
    for (key, _) in rows(&host, 0x26) {
        let piece = [&[0x23], &key[1..33]].concat();
        let row = rows(&host, 0x23).into_iter().find(|(key, _)| *key == piece).unwrap().1;
        change(&piece, None);
        let found = page.verify().unwrap().findings;
        assert!(found.iter().any(|found| found.row[0] == 0x26), "{found:?}");
        change(&piece, Some(&row));
    }
    assert_clean_when(&page, "with all rows");
    drop((writer, finished, repository));
}

/// Writes values and attaches them, and collects.
fn script(
    host: impl KvDatabase + 'static,
    clock: &Arc<TestClock>,
    told: &mut Vec<u64>,
) -> permazen_ledger::Result<()> {
    let repository = builder(host, clock).open_or_create()?;
    let page = repository.create_page("test", PageId::ROOT)?;
    page.set_retention(Retention::Heads)?;
    for number in 0..2 {
        let mut writer = page.write_value(None)?;
        let value = [noise(5_000, number), vec![0; 21 << 16]].concat();
        for portion in value.chunks(1 << 20) {
            if let Err(error) = writer.write_all(portion) {
                return Err(*error.into_inner().unwrap().downcast().unwrap());
            }
        }
        put(&page, MAIN, &[(b"film", writer.finish()?.as_bytes())])?;
        told.push(number);
        if number == 1 {
            let _ = page.write_value(None)?.write_all(&value);
        }
        repository.maintain()?;
        page.collect()?;
        clock.advance(3 * MINUTE);
        page.collect()?;
    }
    Ok(())
}

#[test]
fn what_was_told_survives_each_failure_of_the_host() {
    let errors: [(fn() -> KvError, bool); 3] = [
        (|| KvError::Stale("broken".into()), false),
        (|| KvError::OutcomeUnknown("cut".into()), false),
        (|| KvError::OutcomeUnknown("cut".into()), true),
    ];
    let distance = Chosen::one_in(17).every as u64;
    for (row, (error, loses)) in (0..).zip(errors) {
        let mut early = 0;
        for n in faults::failing(6 * row, distance) {
            let (host, clock) = (MemoryStore::new(), TestClock::new());
            let failing = FaultStore::new(host.clone());
            let faults = failing.faults();
            faults.lose_commits(loses);
            faults.fail_nth(n, error);
            let mut told = Vec::new();
            let result = script(failing, &clock, &mut told);
            let what = format!("operation {n}, commits are lost: {loses}");
            if faults.hits() == 0 {
                result.unwrap();
                assert!(n > 500, "{n} operations are too few for this script");
                break;
            }
            let opened = builder(host.clone(), &clock).open().and_then(|repository| {
                let page = repository.page("test", PageId::ROOT)?;
                Ok((repository, page))
            });
            let (repository, page) = match opened {
                Err(LedgerError::NoRepository { .. } | LedgerError::NoSuch { .. })
                    if told.is_empty() =>
                {
                    early += 1;
                    continue;
                }
                opened => opened.unwrap_or_else(|error| panic!("{what}: {error}")),
            };
            assert_clean_when(&page, &what);
            let found = get(&page, b"film").map(|film| film[..5_000].to_vec());
            let last = told.last().map(|last| noise(5_000, *last));
            // One step more may have been made than was acknowledged.
            assert!(found == last || found == Some(noise(5_000, told.len() as u64)), "{what}");
            clock.advance(90 * MINUTE);
            repository.maintain().unwrap();
            clock.advance(MINUTE);
            repository.maintain().unwrap();
            page.collect().unwrap();
            check_nothing_left(&host, &page, &clock, &what);
        }
        assert!(early < 40 / distance + 2, "after {early} failures there was no page to check");
    }
}

#[test]
fn a_value_is_written_although_others_hold_the_host_for_a_while() {
    let value = noise(2_500_000, 70);
    let mut chosen = Chosen::one_in(7);
    for nth in 1.. {
        if !chosen.next() {
            continue;
        }
        let host = FaultStore::new(MemoryStore::new());
        let Process { repository, page } = process(host.clone(), &TestClock::new());
        let mut writer = page.write_value(None).unwrap();
        // Each portion, and the end of the value.
        host.faults().fail_nth(nth, || KvError::Retry("others write".to_owned()));
        value.chunks(700_000).for_each(|portion| writer.write_all(portion).unwrap());
        let film = writer.finish().unwrap();
        let is_all = host.faults().operations() < nth;
        host.faults().stop();
        put(&page, MAIN, &[(b"film", film.as_bytes())]).unwrap();
        assert!(get(&page, b"film").unwrap() == value, "{nth}");
        assert_clean_when(&page, &nth.to_string());
        drop(repository);
        if is_all {
            assert!(nth > 100, "{nth}");
            break;
        }
    }
}

#[test]
fn an_error_of_what_is_stored_in_the_background_comes_with_a_later_write() {
    let value = noise(4_500_000, 71);
    let (mut at_writes, mut at_ends) = (0, 0);
    for nth in (1..).step_by(17) {
        let (host, clock) = (MemoryStore::new(), TestClock::new());
        let failing = FaultStore::new(host.clone());
        let Process { repository, page } = process(failing.clone(), &clock);
        let mut writer = page.write_value(None).unwrap();
        // From there on: while the background still stores, a write asks the host whether it may
        // wait for that, and such a question has no error of its own.
        failing.faults().fail_from(nth, || KvError::Stale("broken".to_owned()));
        let failed = value.chunks(200_000).find_map(|portion| writer.write_all(portion).err());
        if let Some(error) = failed {
            at_writes += 1;
            let text = error.to_string();
            assert!(text.contains("broken"), "{nth}: {text}");
            let error = writer.write_all(b"more").unwrap_err();
            let error: LedgerError = *error.into_inner().unwrap().downcast().unwrap();
            assert!(matches!(error, LedgerError::ValueGone { .. }), "{nth}: {error}");
            assert!(matches!(writer.finish(), Err(LedgerError::ValueGone { .. })), "{nth}");
        } else {
            let end = writer.finish();
            if failing.faults().hits() == 0 {
                end.unwrap();
                break;
            }
            at_ends += 1;
            let text = end.unwrap_err().to_string();
            assert!(text.contains("broken"), "{nth}: {text}");
        }
        drop((repository, page));
        let Process { repository, page } = process(host.clone(), &clock);
        clock.advance(90 * MINUTE);
        repository.maintain().unwrap();
        page.collect().unwrap();
        check_nothing_left(&host, &page, &clock, &nth.to_string());
    }
    assert!(at_writes > 5 && at_ends > 5, "{at_writes} at writes, {at_ends} at ends");
}
