//! Openings, closings, deletions and evictions of pages that were not completed, and what the next
//! process or the same one finds.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use permazen_kv::fault::{FaultStore, Faults};
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::read_only::ReadOnly;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{Capabilities, KvDatabase, KvError, KvRead, KvTransaction, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, LedgerError, LmdbPages, MAIN, Page, PageDatabases, PageId, Repository,
};

use super::separate::{CannotWrite, Disk, Pages, process, sync};
use crate::support::clock::TestClock;
use crate::support::page::{assert_all_clean, get, put};

const ROOT: PageId = PageId::ROOT;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// Runs a function that must end.
fn ends<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, result) = mpsc::channel();
    std::thread::spawn(move || sender.send(run()));
    result.recv_timeout(Duration::from_secs(60)).unwrap()
}

/// Makes the page `remote`, all of which is at a remote, so that it can be evicted.
fn make_synced(repository: &Repository) {
    let page = repository.create_page("remote", ROOT).unwrap();
    put(&page, MAIN, b"at", b"the remote");
    sync(&page);
    drop(page);
    repository.maintain().unwrap();
}

#[track_caller]
fn assert_is_there(page: &Page) {
    assert_eq!(get(page, b"at").as_deref(), Some(&b"the remote"[..]));
}

/// Whether the page is in use, whatever its own database says.
fn is_in_use(repository: &Repository) -> bool {
    repository.pages().unwrap().contains(&("remote".to_owned(), ROOT))
}

/// Whether the first page has the mark of an eviction or a deletion.
fn has_mark(disk: &Disk) -> bool {
    let own = disk.pages.lock().unwrap()[&1].snapshot();
    let row = own.get(&[PARAMETERS]).unwrap().unwrap().into_owned();
    row[36] == 2
}

/// A process that can read everything and write nothing.
fn reader(disk: &Disk, clock: &Arc<TestClock>) -> Repository {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    let builder = Repository::builder(ReadOnly(disk.repository.clone()));
    let builder = builder.manual_maintenance().clock(clock);
    builder.page_databases(Arc::new(CannotWrite(disk.clone()))).open().unwrap()
}

/// The row of the device on which a page was opened first.
const FIRST_OPENED: u8 = 0x2b;

/// The row of the parameters of a page.
const PARAMETERS: u8 = 0x2f;

#[test]
fn each_opening_writes_what_an_earlier_one_could_not() {
    let errors: [fn() -> KvError; 3] = [
        || KvError::Stale("broken".into()),
        || KvError::Retry("busy".into()),
        || KvError::IllegalState("the disk is full for a moment".into()),
    ];
    for error in errors {
        for nth in 1.. {
            let (disk, clock) = (Disk::default(), TestClock::new());
            let (repository, faults) = process(&disk, &clock);
            faults.fail_nth(nth, error);
            drop(repository.create_page("films", ROOT));
            let is_over = faults.hits() == 0;
            faults.stop();
            // No maintenance comes in between.
            let page = repository.page_or_create("films", ROOT).unwrap();
            put(&page, MAIN, b"name", b"films");
            let number = *disk.numbers().last().unwrap();
            let own = disk.pages.lock().unwrap()[&number].clone();
            assert!(own.snapshot().get(&[FIRST_OPENED]).unwrap().is_some(), "operation {nth}");
            if is_over {
                assert!(nth > 10);
                break;
            }
        }
    }
}

#[test]
fn a_page_whose_closing_may_have_been_made_is_recorded_as_open_when_it_is_opened_again() {
    let mut made = 0;
    for loses in [false, true] {
        for nth in 1.. {
            let host = FaultStore::new(MemoryStore::new());
            let open = |host: Arc<dyn KvDatabase>| {
                Repository::shared_builder(host).manual_maintenance().open_or_create().unwrap()
            };
            let (one, two) = (open(Arc::new(host.clone())), open(Arc::new(host.inner().clone())));
            drop(one.create_page("films", ROOT).unwrap());
            let faults = host.faults();
            faults.lose_commits(loses);
            faults.fail_nth(nth, || KvError::OutcomeUnknown("cut".into()));
            let _ = one.maintain();
            let is_over = faults.hits() == 0;
            faults.stop();
            made += usize::from(!two.usage().unwrap()[0].is_open && !is_over);
            let page = one.page("films", ROOT).unwrap();
            let error = two.delete_page("films", ROOT).unwrap_err();
            assert!(matches!(error, LedgerError::PageInUse { .. }), "operation {nth}: {error}");
            drop(page);
            if is_over {
                break;
            }
        }
    }
    assert!(made > 0);
}

#[test]
fn a_page_whose_opening_has_an_unknown_outcome_is_closed_by_the_same_process() {
    for loses in [false, true] {
        for nth in 1.. {
            let host = FaultStore::new(MemoryStore::new());
            let open =
                || Repository::builder(host.clone()).manual_maintenance().open_or_create().unwrap();
            let (one, two) = (open(), open());
            drop(one.create_page("films", ROOT).unwrap());
            one.maintain().unwrap();
            let faults = host.faults();
            faults.lose_commits(loses);
            faults.fail_nth(nth, || KvError::OutcomeUnknown("cut".into()));
            drop(one.page("films", ROOT));
            let is_over = faults.hits() == 0;
            faults.stop();
            // No handle is left, and no maintenance comes in between.
            one.rename_page(("films", ROOT), ("books", ROOT)).unwrap();
            drop(one.page("books", ROOT).unwrap());
            one.maintain().unwrap();
            two.delete_page("books", ROOT).unwrap();
            if is_over {
                break;
            }
        }
    }
}

#[test]
fn a_page_whose_opening_was_not_made_has_no_closing_time() {
    for (loses, separate) in [(false, false), (true, false), (false, true), (true, true)] {
        for nth in 1.. {
            let (disk, clock) = (Disk::default(), TestClock::new());
            let (repository, faults) = match separate {
                true => process(&disk, &clock),
                false => {
                    let host = FaultStore::new(disk.repository.clone());
                    let builder = Repository::builder(host.clone()).manual_maintenance();
                    (builder.open_or_create().unwrap(), host.faults())
                }
            };
            faults.lose_commits(loses);
            faults.fail_nth(nth, || KvError::OutcomeUnknown("cut".into()));
            drop(repository.create_page("films", ROOT));
            let is_over = faults.hits() == 0;
            faults.stop();
            repository.maintain().unwrap();
            let found = repository.verify().unwrap().findings;
            assert!(found.is_empty(), "operation {nth}: {found:#?}");
            if is_over {
                break;
            }
        }
    }
}

/// A host that calls a function before one of its transactions begins.
struct Interrupted {
    host: FaultStore<MemoryStore>,
    before: Before,
}

/// How many transactions begin until the function is called, and the function.
#[derive(Clone, Default)]
struct Before(Arc<Mutex<Option<(u64, Happening)>>>);

type Happening = Box<dyn FnOnce() + Send>;

impl fmt::Debug for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Before").finish_non_exhaustive()
    }
}

impl Before {
    fn is_called_at(&self, nth: u64, happening: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap() = Some((nth, Box::new(happening)));
    }

    fn count(&self) {
        let due = {
            let mut waiting = self.0.lock().unwrap();
            if let Some((left, _)) = &mut *waiting {
                *left -= 1;
            }
            waiting.take_if(|(left, _)| *left == 0)
        };
        due.into_iter().for_each(|(_, happening)| happening());
    }
}

impl KvDatabase for Interrupted {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        self.before.count();
        self.host.begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        self.host.capabilities()
    }
}

/// A process with such a host.
fn interrupted(disk: &Disk, clock: &Arc<TestClock>) -> (Repository, Faults, Before) {
    let (faults, before) = (FaultStore::new(disk.repository.clone()), Before::default());
    let pages = Pages { disk: disk.clone(), faults: faults.clone() };
    let host = Interrupted { host: faults.clone(), before: before.clone() };
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    let builder = Repository::builder(host).manual_maintenance().clock(clock);
    let repository = builder.page_databases(Arc::new(pages)).open_or_create().unwrap();
    (repository, faults.faults(), before)
}

#[test]
fn a_page_whose_eviction_failed_is_opened_by_the_same_process() {
    for opened_meanwhile in [false, true] {
        let mut marked = 0;
        for nth in 1.. {
            let (disk, clock) = (Disk::default(), TestClock::new());
            let (repository, faults, before) = interrupted(&disk, &clock);
            make_synced(&repository);
            if opened_meanwhile {
                // After the maintenance, with which an eviction begins.
                let other = repository.clone();
                before.is_called_at(2, move || {
                    let _ = other.page("remote", ROOT);
                });
            }
            faults.fail_from(nth, || KvError::Stale("broken".into()));
            let result = repository.evict("remote", ROOT);
            let is_over = faults.hits() == 0;
            faults.stop();
            *before.0.lock().unwrap() = None;
            if is_in_use(&repository) {
                marked += usize::from(has_mark(&disk));
                let page = repository.page("remote", ROOT);
                assert_is_there(&page.unwrap_or_else(|error| panic!("operation {nth}: {error}")));
            }
            let other = repository.clone();
            drop(ends(move || other.page_or_create("remote", ROOT)).unwrap());
            assert_all_clean(&repository);
            if is_over {
                result.unwrap();
                break;
            }
        }
        assert!(marked > 0);
    }
}

#[test]
fn a_page_whose_eviction_failed_is_in_use_for_a_process_that_cannot_write() {
    let mut refused = 0;
    for nth in 1.. {
        let (disk, clock) = (Disk::default(), TestClock::new());
        let (repository, faults) = process(&disk, &clock);
        make_synced(&repository);
        faults.fail_from(nth, || KvError::IllegalState("killed".to_owned()));
        let _ = repository.evict("remote", ROOT);
        let is_over = faults.hits() == 0;
        std::mem::forget(repository);
        let full = reader(&disk, &clock);
        let is_in_use = is_in_use(&full);
        match full.page("remote", ROOT) {
            Ok(page) => assert_is_there(&page),
            Err(error) if is_in_use => {
                assert!(matches!(error, LedgerError::Host(_)), "operation {nth}: {error}");
                refused += 1;
                let other = full.clone();
                let error = ends(move || other.page_or_create("remote", ROOT)).unwrap_err();
                assert!(matches!(error, LedgerError::Host(_)), "operation {nth}: {error}");
            }
            Err(error) => {
                assert!(matches!(error, LedgerError::NoSuch { .. }), "operation {nth}: {error}");
            }
        }
        drop(full);
        // All of it is still there.
        let (other, _) = process(&disk, &clock);
        if is_in_use {
            assert_is_there(&other.page("remote", ROOT).unwrap());
            assert_is_there(&reader(&disk, &clock).page("remote", ROOT).unwrap());
        }
        assert_all_clean(&other);
        if is_over {
            break;
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_page_whose_eviction_by_others_failed_is_opened_by_a_process_that_was_taken_for_dead() {
    let mut marked = 0;
    for nth in 1.. {
        let (disk, clock) = (Disk::default(), TestClock::new());
        let ((stalled, _), (other, faults)) = (process(&disk, &clock), process(&disk, &clock));
        make_synced(&other);
        drop(stalled.page("remote", ROOT).unwrap());
        clock.advance(2 * HOUR);
        other.maintain().unwrap();
        clock.advance(HOUR);
        other.maintain().unwrap();
        faults.fail_from(nth, || KvError::IllegalState("killed".to_owned()));
        let _ = other.evict("remote", ROOT);
        let is_over = faults.hits() == 0;
        std::mem::forget(other);
        let (next, _) = process(&disk, &clock);
        if is_in_use(&next) {
            marked += usize::from(has_mark(&disk));
            let page = stalled.page("remote", ROOT);
            assert_is_there(&page.unwrap_or_else(|error| panic!("operation {nth}: {error}")));
        } else {
            let error = stalled.page("remote", ROOT).unwrap_err();
            assert!(matches!(error, LedgerError::NoSuch { .. }), "operation {nth}: {error}");
        }
        if is_over {
            break;
        }
    }
    assert!(marked > 0);
}

/// A process that was taken for dead, and that has a page open with the mark of a failed eviction.
fn stalled_with_mark(reopens: impl Fn(&Repository)) {
    let mut marked = 0;
    for nth in 1.. {
        let (disk, clock) = (Disk::default(), TestClock::new());
        let ((stalled, _), (other, faults)) = (process(&disk, &clock), process(&disk, &clock));
        make_synced(&other);
        let held = stalled.page("remote", ROOT).unwrap();
        clock.advance(2 * HOUR);
        other.maintain().unwrap();
        clock.advance(HOUR);
        other.maintain().unwrap();
        faults.fail_from(nth, || KvError::IllegalState("killed".to_owned()));
        let _ = other.evict("remote", ROOT);
        let is_over = faults.hits() == 0;
        std::mem::forget(other);
        if is_in_use(&process(&disk, &clock).0) && has_mark(&disk) {
            marked += 1;
            reopens(&stalled);
            assert_is_there(&held);
            put(&held, MAIN, b"more", b"of it");
            assert!(!has_mark(&disk), "operation {nth}");
            let (next, _) = process(&disk, &clock);
            let error = next.delete_page("remote", ROOT).unwrap_err();
            assert!(matches!(error, LedgerError::PageInUse { .. }), "operation {nth}: {error}");
            drop(held);
            drop((stalled, next));
            assert_all_clean(&process(&disk, &clock).0);
        }
        if is_over {
            break;
        }
    }
    assert!(marked > 0);
}

#[test]
fn a_page_with_handles_whose_eviction_by_others_failed_is_opened_again() {
    stalled_with_mark(|stalled| {
        put(&stalled.page("remote", ROOT).unwrap(), MAIN, b"again", b"open");
    });
}

#[test]
fn a_page_whose_eviction_by_others_failed_is_written_through_the_handles_that_are_left() {
    stalled_with_mark(|stalled| stalled.maintain().unwrap());
}

/// The databases of pages in memory, which call a function before one of their transactions for
/// writing begins.
#[derive(Debug)]
struct InterruptedPages {
    disk: Disk,
    before: Before,
}

impl InterruptedPages {
    fn of(&self, page: MemoryStore) -> Arc<dyn KvDatabase> {
        Arc::new(InterruptedPage { page, before: self.before.clone() })
    }
}

impl PageDatabases for InterruptedPages {
    fn make(&self, page: u64) -> permazen_kv::Result<Arc<dyn KvDatabase>> {
        Ok(self.of(self.disk.pages.lock().unwrap().entry(page).or_default().clone()))
    }

    fn open(&self, page: u64) -> permazen_kv::Result<Option<Arc<dyn KvDatabase>>> {
        Ok(self.disk.pages.lock().unwrap().get(&page).map(|page| self.of(page.clone())))
    }

    fn remove(&self, page: u64) -> permazen_kv::Result<()> {
        self.disk.pages.lock().unwrap().remove(&page);
        Ok(())
    }

    fn list(&self) -> permazen_kv::Result<Vec<u64>> {
        Ok(self.disk.numbers())
    }
}

struct InterruptedPage {
    page: MemoryStore,
    before: Before,
}

impl KvDatabase for InterruptedPage {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        if !options.read_only {
            self.before.count();
        }
        self.page.begin(options)
    }
}

/// On SQLite, a transaction can take the right to write with its first write. While a process takes
/// the mark of its failed eviction back, no other one evicts the page nevertheless.
#[test]
fn a_mark_is_not_taken_back_while_another_process_evicts_the_page() {
    for nth in 1.. {
        let (folder, disk) = (tempfile::tempdir().unwrap(), Disk::default());
        let sqlite = SqliteStore::builder().create(true).late_lock(true);
        let path = folder.path().join("repository");
        let (one, two) = (sqlite.open(&path).unwrap(), sqlite.open(&path).unwrap());
        let (one, before) = (FaultStore::new(one), Before::default());
        let process = |host: Arc<dyn KvDatabase>, before: &Before| {
            let pages = InterruptedPages { disk: disk.clone(), before: before.clone() };
            let builder = Repository::shared_builder(host).manual_maintenance();
            builder.page_databases(Arc::new(pages)).open_or_create().unwrap()
        };
        let faults = one.faults();
        let one = process(Arc::new(one), &before);
        let two = process(Arc::new(two), &Before::default());
        make_synced(&one);
        let seen = Arc::new(Mutex::new(None));
        let tell = Arc::clone(&seen);
        // The first transaction sets the mark.
        before.is_called_at(2, move || {
            *tell.lock().unwrap() = Some(ends(move || two.evict("remote", ROOT)));
        });
        faults.fail_nth(nth, || KvError::Stale("broken".into()));
        let evicted = one.evict("remote", ROOT);
        assert!(faults.hits() > 0, "no eviction has failed after its mark");
        faults.stop();
        let seen = seen.lock().unwrap().take();
        if let (Err(_), Some(seen)) = (evicted, seen) {
            let error = seen.unwrap_err();
            assert!(matches!(&error, LedgerError::Host(error) if error.is_retryable()), "{error}");
            assert!(!has_mark(&disk));
            assert_is_there(&one.page("remote", ROOT).unwrap());
            break;
        }
    }
}

/// LMDB environments of pages that a process can only read.
#[derive(Debug)]
struct CannotWriteLmdb(LmdbPages);

impl PageDatabases for CannotWriteLmdb {
    fn open(&self, page: u64) -> permazen_kv::Result<Option<Arc<dyn KvDatabase>>> {
        Ok(self.0.open(page)?.map(|page| Arc::new(ReadOnly(page)) as _))
    }

    fn make(&self, _: u64) -> permazen_kv::Result<Arc<dyn KvDatabase>> {
        Err(KvError::Unsupported("writing"))
    }

    fn list(&self) -> permazen_kv::Result<Vec<u64>> {
        self.0.list()
    }

    fn remove(&self, _: u64) -> permazen_kv::Result<()> {
        Err(KvError::Unsupported("writing"))
    }
}

/// Writers of LMDB take turns, so a process knows that no other one evicts the page.
#[test]
fn an_eviction_that_fails_leaves_the_page_as_it_was_where_writers_take_turns() {
    let errors: [fn() -> KvError; 2] = [
        || KvError::Stale("broken".into()),
        || KvError::Full { path: Path::new("disk").into(), reason: "no space is left".into() },
    ];
    for error in errors {
        for nth in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let host = LmdbStore::open_or_create(folder.path().join("repository")).unwrap();
            let pages = LmdbPages::new(folder.path().join("pages"));
            let (failing, own) = (FaultStore::new(host.clone()), Arc::new(pages.clone()));
            let builder = Repository::builder(failing.clone()).manual_maintenance();
            let repository = builder.page_databases(own).open_or_create().unwrap();
            make_synced(&repository);
            let closed = repository.usage().unwrap();
            let faults = failing.faults();
            faults.fail_nth(nth, error);
            let result = repository.evict("remote", ROOT);
            let is_over = faults.hits() == 0;
            faults.stop();
            if is_in_use(&repository) {
                assert_eq!(repository.usage().unwrap(), closed, "operation {nth}");
                let builder = Repository::builder(ReadOnly(host)).manual_maintenance();
                let builder = builder.page_databases(Arc::new(CannotWriteLmdb(pages)));
                let page = builder.open().unwrap().page("remote", ROOT);
                assert_is_there(&page.unwrap_or_else(|error| panic!("operation {nth}: {error}")));
            }
            if is_over {
                result.unwrap();
                assert!(nth > 10);
                break;
            }
        }
    }
}

#[test]
fn a_page_that_lost_its_parameters_is_not_made_again() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    let (separate, _) = process(&disk, &clock);
    let host = MemoryStore::new();
    let together = Repository::builder(host.clone()).manual_maintenance().open_or_create().unwrap();
    for repository in [&separate, &together] {
        make_synced(repository);
    }
    let own = disk.pages.lock().unwrap()[&1].clone();
    let lost: [(&Repository, MemoryStore, &[u8]); 2] =
        [(&separate, own, &[PARAMETERS]), (&together, host, &[0x10, 1, PARAMETERS])];
    for (repository, host, key) in lost {
        let mut tx = host.begin(&TxOptions::writing()).unwrap();
        assert!(tx.get(key).unwrap().is_some());
        tx.remove(key).unwrap();
        tx.commit().unwrap();
        let repository = repository.clone();
        let error = ends(move || repository.page_or_create("remote", ROOT)).unwrap_err();
        assert!(matches!(error, LedgerError::PageGone { page: 1 }), "{error}");
    }
}

#[test]
fn a_database_that_cannot_be_opened_for_a_moment_is_removed_only_with_its_mark() {
    let (disk, clock) = (Disk::default(), TestClock::new());
    let ((stalled, _), (other, _)) = (process(&disk, &clock), process(&disk, &clock));
    let page = stalled.create_page("films", ROOT).unwrap();
    let head = put(&page, MAIN, b"name", b"films");
    // It sleeps, and others take it for dead.
    clock.advance(2 * HOUR);
    other.maintain().unwrap();
    clock.advance(HOUR);
    other.maintain().unwrap();
    disk.closed.lock().unwrap().insert(1);
    assert!(other.delete_page("films", ROOT).is_err());
    // The deletion is decided, and waits.
    assert_eq!(disk.numbers(), [1]);
    assert!(matches!(other.page("films", ROOT), Err(LedgerError::NoSuch { .. })));
    clock.advance(HOUR);
    assert!(other.maintain().is_err());
    disk.closed.lock().unwrap().clear();
    clock.advance(HOUR);
    other.maintain().unwrap();
    assert!(disk.numbers().is_empty());
    // The process that has slept is not told that it has written.
    let error = page.set_tag("tag", &head).unwrap_err();
    assert!(matches!(error, LedgerError::PageGone { .. }), "{error}");
    assert_all_clean(&other);
}

/// The first time, it makes a file without content and fails.
#[derive(Debug)]
struct MadeByHalf {
    pages: LmdbPages,
    directory: PathBuf,
    is_first: AtomicBool,
}

impl PageDatabases for MadeByHalf {
    fn make(&self, page: u64) -> permazen_kv::Result<Arc<dyn KvDatabase>> {
        if self.is_first.swap(false, Ordering::Relaxed) {
            let directory = self.directory.join(page.to_string());
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("data.mdb"), b"").unwrap();
            return Err(KvError::IllegalState("the disk is full for a moment".to_owned()));
        }
        self.pages.make(page)
    }

    fn open(&self, page: u64) -> permazen_kv::Result<Option<Arc<dyn KvDatabase>>> {
        self.pages.open(page)
    }

    fn remove(&self, page: u64) -> permazen_kv::Result<()> {
        self.pages.remove(page)
    }

    fn list(&self) -> permazen_kv::Result<Vec<u64>> {
        self.pages.list()
    }
}

#[test]
fn a_database_whose_making_was_interrupted_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("pages");
    let (pages, is_first) = (LmdbPages::new(&directory), AtomicBool::new(true));
    let pages = MadeByHalf { pages, directory: directory.clone(), is_first };
    let builder = Repository::builder(MemoryStore::new()).manual_maintenance();
    let repository = builder.page_databases(Arc::new(pages)).open_or_create().unwrap();
    let error = repository.create_page("films", ROOT).unwrap_err();
    assert!(error.to_string().contains("full for a moment"), "{error}");
    repository.maintain().unwrap();
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    put(&repository.create_page("films", ROOT).unwrap(), MAIN, b"name", b"films");
    assert_all_clean(&repository);
}
