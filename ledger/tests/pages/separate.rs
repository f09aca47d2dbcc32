//! Repositories with a database for each page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use permazen_kv::fault::{FaultStore, Faults};
use permazen_kv::memory::MemoryStore;
use permazen_kv::read_only::ReadOnly;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, LastWriterWins, LedgerError, MAIN, Page, PageDatabases, PageId, Repository, Retention,
};

use crate::support::clock::TestClock;
use crate::support::page::{assert_all_clean, get, put};

const ROOT: PageId = PageId::ROOT;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// Databases in memory, which survive the processes.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
    pub(super) repository: MemoryStore,
    pub(super) pages: Arc<Mutex<BTreeMap<u64, MemoryStore>>>,
    /// Those that cannot be opened.
    pub(super) closed: Arc<Mutex<BTreeSet<u64>>>,
}

impl Disk {
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.pages.lock().unwrap().keys().copied().collect()
    }

    /// How many rows of the repository begin with this byte.
    fn rows(&self, first: u8) -> usize {
        let (min, max) = ([first], [first + 1]);
        let snapshot = self.repository.snapshot();
        snapshot.scan(KeySpan::new(&min, Some(&max)), Direction::Forward).unwrap().count()
    }
}

/// The disk as one process has it: all of its databases fail together.
#[derive(Debug, Clone)]
pub(super) struct Pages {
    pub(super) disk: Disk,
    pub(super) faults: FaultStore<MemoryStore>,
}

/// A database of a page, whose transactions count as those of the repository.
struct Together {
    page: MemoryStore,
    faults: FaultStore<MemoryStore>,
}

impl PageDatabases for Pages {
    fn make(&self, page: u64) -> permazen_kv::Result<Arc<dyn KvDatabase>> {
        self.disk.pages.lock().unwrap().entry(page).or_default();
        self.open(page).map(Option::unwrap)
    }

    fn open(&self, page: u64) -> permazen_kv::Result<Option<Arc<dyn KvDatabase>>> {
        // A look at the other store fails if this process is to fail.
        self.faults.begin(&TxOptions::reading())?.get(b"")?;
        if self.disk.closed.lock().unwrap().contains(&page) {
            return Err(KvError::IllegalState("it is no database".into()));
        }
        let page = self.disk.pages.lock().unwrap().get(&page).cloned();
        Ok(page.map(|page| Arc::new(Together { page, faults: self.faults.clone() }) as _))
    }

    fn list(&self) -> permazen_kv::Result<Vec<u64>> {
        self.faults.begin(&TxOptions::reading())?.get(b"")?;
        Ok(self.disk.numbers())
    }

    fn remove(&self, page: u64) -> permazen_kv::Result<()> {
        self.faults.begin(&TxOptions::reading())?.get(b"")?;
        self.disk.pages.lock().unwrap().remove(&page);
        Ok(())
    }
}

impl KvDatabase for Together {
    fn begin(
        &self,
        options: &TxOptions,
    ) -> permazen_kv::Result<Box<dyn permazen_kv::KvTransaction + Send>> {
        self.faults.begin(&TxOptions::reading())?.get(b"")?;
        self.page.begin(options)
    }

    fn capabilities(&self) -> permazen_kv::Capabilities {
        self.page.capabilities()
    }
}

/// A process, and the faults of its operations.
pub(super) fn process(disk: &Disk, clock: &Arc<TestClock>) -> (Repository, Faults) {
    let faults = FaultStore::new(disk.repository.clone());
    let pages = Pages { disk: disk.clone(), faults: faults.clone() };
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    let builder = Repository::builder(faults.clone()).manual_maintenance().clock(clock);
    (builder.page_databases(Arc::new(pages)).open_or_create().unwrap(), faults.faults())
}

/// Attaches the page to a remote, and says that all is there.
pub(super) fn sync(page: &Page) {
    let remote = page.remote();
    remote.attach().unwrap();
    let commits = remote.unsynced_commits().unwrap();
    let commits: Vec<_> = commits.iter().map(|commit| commit.id).collect();
    let pieces = remote.local_pieces(None, 100).unwrap();
    let pieces: Vec<_> = pieces.iter().map(|piece| piece.digest).collect();
    remote.mark_synced(&commits, &pieces, &[]).unwrap();
}

#[test]
fn each_page_has_a_database() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    let (repository, _) = process(&disk, &clock);
    let names = ["films", "books", "songs"];
    let pages = names.map(|name| repository.create_page(name, ROOT).unwrap());
    for (page, name) in pages.iter().zip(names) {
        put(page, MAIN, b"name", name.as_bytes());
        let base = page.head(MAIN).unwrap();
        page.create_branch("other", &base).unwrap();
        put(page, MAIN, b"name", b"changed");
        page.merge("other", &page.head(MAIN).unwrap(), &mut LastWriterWins).unwrap();
        page.set_retention(Retention::Heads).unwrap();
        clock.advance(HOUR / 10);
        page.collect().unwrap();
        clock.advance(HOUR / 10);
        page.collect().unwrap();
        put(page, MAIN, b"name", name.as_bytes());
    }
    // Nothing of a page is in the database of the repository.
    assert_eq!((disk.rows(0x10), disk.rows(0x05), disk.numbers()), (0, 3, vec![1, 2, 3]));
    assert_all_clean(&repository);
    assert!(matches!(repository.create_page("films", ROOT), Err(LedgerError::Exists { .. })));
    assert_eq!(disk.numbers(), [1, 2, 3]);
    drop(pages);
    drop(repository);
    let (repository, _) = process(&disk, &clock);
    for name in names {
        assert_eq!(
            get(&repository.page(name, ROOT).unwrap(), b"name"),
            Some(name.as_bytes().to_vec())
        );
    }
    repository.delete_page("books", ROOT).unwrap();
    assert_eq!(disk.numbers(), [1, 3]);
    assert!(matches!(repository.page("books", ROOT), Err(LedgerError::NoSuch { .. })));
    assert_eq!(repository.pages().unwrap().len(), 2);
    assert_all_clean(&repository);
    // A number is never used again.
    drop(repository.create_page("books", ROOT).unwrap());
    assert_eq!(disk.numbers(), [1, 3, 4]);
}

#[test]
fn t147_equal_contents_have_equal_roots_in_both_hosts() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    let (separate, _) = process(&disk, &clock);
    let together = Repository::open_or_create(MemoryStore::new()).unwrap();
    let secret = || permazen_ledger::Secret::new([7; 32]);
    let pages = [&separate, &together]
        .map(|repository| repository.create_page_with("films", ROOT, secret()).unwrap());
    let roots = pages.each_ref().map(|page| {
        for number in 0..500_u32 {
            put(page, MAIN, &(number * 7919 % 1_000).to_be_bytes(), &[number as u8; 90]);
        }
        page.snapshot(&page.head(MAIN).unwrap()).unwrap().root()
    });
    assert_eq!(roots[0], roots[1]);
}

#[test]
fn a_repository_is_opened_in_the_way_in_which_it_was_made() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    drop(process(&disk, &clock));
    let error = Repository::open(disk.repository.clone()).unwrap_err();
    assert!(error.to_string().contains("page_databases"), "{error}");
    let together = MemoryStore::new();
    drop(Repository::open_or_create(together.clone()).unwrap());
    let pages = Pages { disk: disk.clone(), faults: FaultStore::new(MemoryStore::new()) };
    let builder = Repository::builder(together).page_databases(Arc::new(pages));
    assert!(matches!(builder.open(), Err(LedgerError::InvalidArgument(_))));
    // A database of a page is no repository.
    let (repository, _) = process(&disk, &clock);
    drop(repository.create_page("films", ROOT).unwrap());
    let page = disk.pages.lock().unwrap()[&1].clone();
    assert!(matches!(Repository::open_or_create(page), Err(LedgerError::NoRepository { .. })));
}

#[test]
fn a_database_in_the_place_of_another_is_refused() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    let (repository, _) = process(&disk, &clock);
    for name in ["films", "books"] {
        put(&repository.create_page(name, ROOT).unwrap(), MAIN, b"name", name.as_bytes());
    }
    repository.maintain().unwrap();
    let pages = disk.pages.lock().unwrap().clone();
    let swapped = BTreeMap::from([(1, pages[&2].clone()), (2, pages[&1].clone())]);
    *disk.pages.lock().unwrap() = swapped;
    for name in ["films", "books"] {
        let error = repository.page(name, ROOT).unwrap_err();
        assert!(matches!(error, LedgerError::DamagedRow { .. }), "{error}");
    }
    assert_eq!(repository.verify().unwrap().findings.len(), 2);
    // One that is gone is not made anew without a word.
    *disk.pages.lock().unwrap() = BTreeMap::from([(1, pages[&1].clone())]);
    assert!(repository.page("books", ROOT).is_err());
    assert_eq!(get(&repository.page("films", ROOT).unwrap(), b"name"), Some(b"films".to_vec()));
    *disk.pages.lock().unwrap() = pages;
    assert_all_clean(&repository);
}

#[test]
fn databases_that_are_lost_or_too_many_are_found_and_none_is_made() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    let (repository, _) = process(&disk, &clock);
    for name in ["films", "books", "songs", "games"] {
        put(&repository.create_page(name, ROOT).unwrap(), MAIN, b"name", name.as_bytes());
    }
    repository.maintain().unwrap();
    assert_all_clean(&repository);
    let found = || {
        let findings = repository.verify().unwrap().findings.into_iter();
        findings.map(|finding| (finding.page, finding.to_string())).collect::<Vec<_>>()
    };
    // One is lost, one cannot be opened, and all others are checked.
    let lost = disk.pages.lock().unwrap().remove(&1).unwrap();
    disk.closed.lock().unwrap().insert(2);
    let fourth = disk.pages.lock().unwrap()[&4].clone();
    let mut tx = fourth.begin(&TxOptions::writing()).unwrap();
    tx.put(b"\x20other", b"no head").unwrap();
    tx.commit().unwrap();
    let all = found();
    let pages: Vec<u64> = all.iter().map(|(page, _)| *page).collect();
    assert_eq!(pages, [1, 2, 4], "{all:?}");
    assert!(all[0].1.contains("the database of the page is not there"), "{all:?}");
    assert!(all[1].1.contains("it is no database"), "{all:?}");
    assert_eq!(disk.numbers(), [2, 3, 4]);
    // It is not made by opening the page either.
    let error = repository.page("films", ROOT).unwrap_err();
    assert!(matches!(error, LedgerError::DamagedRow { page: 1, .. }), "{error}");
    assert!(repository.page("books", ROOT).is_err());
    assert_eq!(disk.numbers(), [2, 3, 4]);
    disk.closed.lock().unwrap().clear();
    disk.pages.lock().unwrap().insert(1, lost);
    let mut tx = fourth.begin(&TxOptions::writing()).unwrap();
    tx.remove(b"\x20other").unwrap();
    tx.commit().unwrap();
    assert_all_clean(&repository);
    // One that no page has.
    for number in [7, u64::MAX] {
        disk.pages.lock().unwrap().insert(number, MemoryStore::new());
        let all = found();
        assert!(all.len() == 1 && all[0].1.contains(&format!("page {number};")), "{all:?}");
        disk.pages.lock().unwrap().remove(&number);
    }
    // A page that is lost can be deleted.
    disk.pages.lock().unwrap().remove(&1);
    repository.delete_page("films", ROOT).unwrap();
    assert_all_clean(&repository);
}

#[test]
fn what_another_process_has_open_stays() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    let ((one, _), (two, _)) = (process(&disk, &clock), process(&disk, &clock));
    let page = one.create_page("films", ROOT).unwrap();
    put(&page, MAIN, b"name", b"films");
    let first = page.head(MAIN).unwrap();
    let old = page.snapshot(&first).unwrap();
    clock.advance(2 * Duration::from_secs(60));
    one.maintain().unwrap();
    // The pin of the snapshot and its lease are in the database of the page.
    let other = two.page("films", ROOT).unwrap();
    put(&other, MAIN, b"name", b"changed");
    other.set_retention(Retention::Heads).unwrap();
    for _ in 0..3 {
        clock.advance(3 * Duration::from_secs(60));
        one.maintain().unwrap();
        other.collect().unwrap();
    }
    assert_eq!(old.get(b"name").unwrap().as_deref(), Some(&b"films"[..]));
    assert!(matches!(two.delete_page("films", ROOT), Err(LedgerError::PageInUse { .. })));
    drop((old, other));
    two.maintain().unwrap();
    assert!(matches!(two.delete_page("films", ROOT), Err(LedgerError::PageInUse { .. })));
    drop(page);
    one.maintain().unwrap();
    two.delete_page("films", ROOT).unwrap();
    assert_eq!(disk.numbers(), [0; 0]);
    assert_all_clean(&one);
}

#[test]
fn a_process_taken_for_dead_protects_what_is_left() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    let ((one, _), (two, _)) = (process(&disk, &clock), process(&disk, &clock));
    let page = one.create_page("films", ROOT).unwrap();
    put(&page, MAIN, b"name", b"films");
    let first = page.head(MAIN).unwrap();
    let old = page.snapshot(&first).unwrap();
    clock.advance(HOUR / 30);
    one.maintain().unwrap();
    let other = two.page("films", ROOT).unwrap();
    // It sleeps long enough that others take its lease, but not the commits that it reads.
    for _ in 0..3 {
        clock.advance(HOUR);
        other.collect().unwrap();
    }
    one.maintain().unwrap();
    put(&other, MAIN, b"name", b"changed");
    other.set_retention(Retention::Heads).unwrap();
    for _ in 0..3 {
        clock.advance(HOUR / 20);
        other.collect().unwrap();
    }
    // Its nodes are also in memory.
    assert!(other.commit(&first).is_ok());
    assert_eq!(old.get(b"name").unwrap().as_deref(), Some(&b"films"[..]));
    assert!(matches!(two.delete_page("films", ROOT), Err(LedgerError::PageInUse { .. })));
    drop((old, other, page));
    one.maintain().unwrap();
    two.maintain().unwrap();
    assert_all_clean(&one);
}

#[test]
fn making_deleting_and_evicting_survive_each_failure() {
    type Work = fn(&Repository) -> Result<(), LedgerError>;
    let works: [(&str, Work); 5] = [
        ("make", |repository| repository.create_page("new", ROOT).map(drop)),
        ("delete", |repository| repository.delete_page("films", ROOT)),
        ("evict", |repository| repository.evict("empty", ROOT).map(drop)),
        ("evict what is at a remote", |repository| repository.evict("remote", ROOT).map(drop)),
        ("evict what is not empty", |repository| repository.evict("films", ROOT).map(drop)),
    ];
    for (name, work) in works {
        for nth in 1.. {
            let (disk, clock) = (Disk::default(), TestClock::new());
            let (repository, faults) = process(&disk, &clock);
            put(&repository.create_page("films", ROOT).unwrap(), MAIN, b"name", b"films");
            drop(repository.create_page("empty", ROOT).unwrap());
            let page = repository.create_page("remote", ROOT).unwrap();
            put(&page, MAIN, b"at", b"the remote");
            sync(&page);
            drop(page);
            repository.maintain().unwrap();
            faults.fail_from(nth, || KvError::IllegalState("killed".to_owned()));
            let result = work(&repository);
            let is_over = faults.hits() == 0;
            // Other processes repeat work that fails after it is done.
            assert!(result.is_ok() || !is_over, "{name}, operation {nth}");
            // The process ends, and its leases and pins end some time later.
            std::mem::forget(repository);
            let (other, _) = process(&disk, &clock);
            assert_all_clean(&other);
            clock.advance(2 * HOUR);
            other.maintain().unwrap();
            clock.advance(HOUR);
            other.maintain().unwrap();
            assert_all_clean(&other);
            // Each database is that of a page.
            let pages = other.pages().unwrap();
            assert_eq!(disk.numbers().len(), pages.len(), "{name}, operation {nth}");
            assert_eq!((disk.rows(0x04), disk.rows(0x05)), (pages.len(), pages.len()));
            for (ledger, id) in pages {
                let page = other.page(&ledger, id).unwrap();
                let expected = (ledger == "films").then(|| b"films".to_vec());
                assert_eq!(get(&page, b"name"), expected, "{name}, operation {nth}");
                let expected = (ledger == "remote").then(|| b"the remote".to_vec());
                assert_eq!(get(&page, b"at"), expected, "{name}, operation {nth}");
                put(&page, MAIN, b"more", b"written");
            }
            let is_gone = other.page("remote", ROOT).is_err();
            assert!(name == "evict what is at a remote" || !is_gone, "{name}, operation {nth}");
            assert!(!is_over || is_gone == (name == "evict what is at a remote"), "{name}");
            if name != "delete" {
                assert!(other.page("films", ROOT).is_ok(), "{name}, operation {nth}");
            }
            drop(other.page_or_create("new", ROOT).unwrap());
            assert_all_clean(&other);
            if is_over {
                assert!(nth > 5, "{name}");
                break;
            }
        }
    }
}

/// The databases of pages of a process that is interrupted before it opens one, or that cannot
/// remove one.
#[derive(Debug)]
struct HookedPages {
    pages: Pages,
    before_open: Hook,
    stays: Option<u64>,
}

/// An event before the next database is opened.
#[derive(Clone, Default)]
struct Hook(Arc<Mutex<Option<Happening>>>);

type Happening = Box<dyn FnOnce() + Send>;

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hook")
    }
}

impl PageDatabases for HookedPages {
    fn open(&self, page: u64) -> permazen_kv::Result<Option<Arc<dyn KvDatabase>>> {
        let hook = self.before_open.0.lock().unwrap().take();
        hook.into_iter().for_each(|hook| hook());
        self.pages.open(page)
    }

    fn make(&self, page: u64) -> permazen_kv::Result<Arc<dyn KvDatabase>> {
        self.pages.make(page)
    }

    fn list(&self) -> permazen_kv::Result<Vec<u64>> {
        self.pages.list()
    }

    fn remove(&self, page: u64) -> permazen_kv::Result<()> {
        match self.stays == Some(page) {
            true => Err(KvError::IllegalState("it cannot be removed".to_owned())),
            false => self.pages.remove(page),
        }
    }
}

fn hooked(disk: &Disk, clock: &Arc<TestClock>, stays: Option<u64>) -> (Repository, Hook) {
    let (faults, before_open) = (FaultStore::new(disk.repository.clone()), Hook::default());
    let pages = Pages { disk: disk.clone(), faults };
    let pages = HookedPages { pages, before_open: before_open.clone(), stays };
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    let builder = Repository::builder(disk.repository.clone()).manual_maintenance().clock(clock);
    (builder.page_databases(Arc::new(pages)).open_or_create().unwrap(), before_open)
}

#[test]
fn a_page_that_is_being_deleted_is_not_there_whatever_is_left_of_it() {
    for nth in 1.. {
        let (disk, clock) = (Disk::default(), TestClock::new());
        let (repository, faults) = process(&disk, &clock);
        put(&repository.create_page("films", ROOT).unwrap(), MAIN, b"name", b"films");
        repository.maintain().unwrap();
        faults.fail_from(nth, || KvError::IllegalState("killed".to_owned()));
        let _ = repository.delete_page("films", ROOT);
        let is_over = faults.hits() == 0;
        std::mem::forget(repository);
        let (other, _) = process(&disk, &clock);
        if other.pages().unwrap().is_empty() {
            let error = other.page("films", ROOT).unwrap_err();
            assert!(matches!(error, LedgerError::NoSuch { .. }), "{nth}: {error}");
            let error = other.eviction_obstacle("films", ROOT).unwrap_err();
            assert!(matches!(error, LedgerError::NoSuch { .. }), "{nth}: {error}");
            assert_all_clean(&other);
        }
        drop(other.page_or_create("films", ROOT).unwrap());
        assert_eq!(disk.numbers().len(), 1, "{nth}");
        assert_all_clean(&other);
        if is_over {
            assert!(nth > 5);
            break;
        }
    }
}

#[test]
fn opening_a_page_while_it_is_deleted_leaves_no_database() {
    type Use = fn(&Repository) -> LedgerError;
    let uses: [Use; 2] = [
        |repository| repository.page("films", ROOT).unwrap_err(),
        |repository| repository.eviction_obstacle("films", ROOT).unwrap_err(),
    ];
    for with in uses {
        let (disk, clock) = (Disk::default(), TestClock::new());
        let ((one, _), (two, before_open)) = (process(&disk, &clock), hooked(&disk, &clock, None));
        drop(one.create_page("films", ROOT).unwrap());
        one.maintain().unwrap();
        let other = one.clone();
        *before_open.0.lock().unwrap() = Some(Box::new(move || {
            other.delete_page("films", ROOT).unwrap();
        }));
        let error = with(&two);
        assert!(matches!(error, LedgerError::NoSuch { .. }), "{error}");
        assert!(disk.numbers().is_empty());
        assert_all_clean(&two);
    }
}

/// Flips a bit of a row of a page.
fn damage(disk: &Disk, page: u64, key: &[u8]) {
    let store = disk.pages.lock().unwrap()[&page].clone();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    let mut row = tx.get(key).unwrap().unwrap().into_owned();
    row[1] ^= 1;
    tx.put(key, &row).unwrap();
    tx.commit().unwrap();
}

#[test]
fn a_page_that_could_not_be_opened_is_not_open() {
    for row in [0x2b, 0x2f] {
        let (disk, clock) = (Disk::default(), TestClock::new());
        let ((one, _), (two, _)) = (process(&disk, &clock), process(&disk, &clock));
        put(&one.create_page("films", ROOT).unwrap(), MAIN, b"name", b"films");
        one.maintain().unwrap();
        damage(&disk, 1, &[row]);
        assert!(KvError::from(two.page("films", ROOT).unwrap_err()).is_damage());
        // At once in the process itself, after maintenance in others.
        two.rename_page(("films", ROOT), ("damaged films", ROOT)).unwrap();
        assert!(KvError::from(two.page("damaged films", ROOT).unwrap_err()).is_damage());
        two.maintain().unwrap();
        one.delete_page("damaged films", ROOT).unwrap();
        assert!(disk.numbers().is_empty());
        assert_all_clean(&one);
    }
}

/// The databases of pages of a process that cannot write them.
#[derive(Debug)]
pub(super) struct CannotWrite(pub(super) Disk);

impl PageDatabases for CannotWrite {
    fn open(&self, page: u64) -> permazen_kv::Result<Option<Arc<dyn KvDatabase>>> {
        let page = self.0.pages.lock().unwrap().get(&page).cloned();
        Ok(page.map(|page| Arc::new(ReadOnly(page)) as _))
    }
    fn make(&self, _: u64) -> permazen_kv::Result<Arc<dyn KvDatabase>> {
        Err(KvError::Unsupported("writing"))
    }
    fn list(&self) -> permazen_kv::Result<Vec<u64>> {
        Ok(self.0.numbers())
    }
    fn remove(&self, _: u64) -> permazen_kv::Result<()> {
        Err(KvError::Unsupported("writing"))
    }
}

#[test]
fn a_page_that_cannot_be_written_is_closed_like_others() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    let (one, _) = process(&disk, &clock);
    put(&one.create_page("films", ROOT).unwrap(), MAIN, b"name", b"films");
    one.maintain().unwrap();
    let clock: Arc<dyn Clock> = Arc::clone(&clock) as _;
    let builder = Repository::builder(disk.repository.clone()).manual_maintenance().clock(clock);
    let two = builder.page_databases(Arc::new(CannotWrite(disk.clone()))).open().unwrap();
    let page = two.page("films", ROOT).unwrap();
    assert_eq!(get(&page, b"name"), Some(b"films".to_vec()));
    assert!(matches!(one.delete_page("films", ROOT), Err(LedgerError::PageInUse { .. })));
    drop(page);
    two.maintain().unwrap();
    one.delete_page("films", ROOT).unwrap();
    assert_all_clean(&one);
}

#[test]
fn damaged_parameters_and_databases_that_stay_hold_up_no_deletion() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    let (repository, _) = hooked(&disk, &clock, Some(2));
    for ledger in ["one", "two", "three"] {
        put(&repository.create_page(ledger, ROOT).unwrap(), MAIN, b"name", ledger.as_bytes());
    }
    repository.maintain().unwrap();
    damage(&disk, 1, &[0x2f]);
    // A handle that writes to it gets the error that it is gone.
    let open = disk.pages.lock().unwrap()[&1].clone();
    repository.delete_page("one", ROOT).unwrap();
    assert_eq!(disk.numbers(), [2, 3]);
    let row = open.snapshot().get(&[0x2f]).unwrap().unwrap().into_owned();
    assert_eq!(row[36], 2);

    // It is deleted, and its database is still there; the next one goes.
    assert!(repository.delete_page("two", ROOT).is_err());
    let (other, faults) = process(&disk, &clock);
    faults.fail_from(20, || KvError::IllegalState("killed".to_owned()));
    let _ = other.delete_page("three", ROOT);
    std::mem::forget(other);
    assert_eq!((disk.numbers(), disk.rows(0x05)), (vec![2, 3], 2));
    clock.advance(HOUR / 6);
    assert!(repository.maintain().is_err());
    assert_eq!((disk.numbers(), disk.rows(0x05)), (vec![2], 1));
    let (other, _) = process(&disk, &clock);
    other.maintain().unwrap();
    assert!(disk.numbers().is_empty());
    assert_all_clean(&other);
}

#[test]
fn many_processes_make_a_page_of_one_name() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    let processes: Vec<_> = (0..4).map(|_| process(&disk, &clock).0).collect();
    std::thread::scope(|scope| {
        for (number, repository) in processes.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..10_u8 {
                    let page = repository.page_or_create(&format!("{}", round % 5), ROOT).unwrap();
                    put(&page, MAIN, &[number as u8, round], b"");
                }
            });
        }
    });
    assert_eq!(disk.numbers().len(), 5);
    assert_all_clean(&processes[0]);
    let count = |name: usize| {
        let page = processes[0].page(&name.to_string(), ROOT).unwrap();
        page.log(page.head(MAIN).unwrap()).unwrap().count()
    };
    assert_eq!((0..5).map(count).sum::<usize>(), 40);
}

#[test]
fn a_page_that_is_first_opened_after_another_was_deleted_is_no_finding_of_a_check_that_runs() {
    let mut opened = 0;
    for nth in 1.. {
        let (disk, clock) = (Disk::default(), TestClock::new());
        let ((one, faults), (two, before_open)) =
            (process(&disk, &clock), hooked(&disk, &clock, None));
        drop(one.create_page("old", ROOT).unwrap());
        one.maintain().unwrap();
        // At some point it is there, and no process has opened it.
        faults.fail_from(nth, || KvError::IllegalState("killed".to_owned()));
        let is_over = one.create_page("films", ROOT).is_ok();
        faults.stop();
        let other = one.clone();
        *before_open.0.lock().unwrap() = Some(Box::new(move || {
            one.delete_page("old", ROOT).unwrap();
            let _ = one.page("films", ROOT);
        }));
        assert_all_clean(&two);
        opened += usize::from(other.page("films", ROOT).is_ok());
        if is_over {
            break;
        }
    }
    assert!(opened > 1);
}
