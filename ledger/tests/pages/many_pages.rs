//! Thousands of pages in one repository, and evictions at once.
//!
//! `PERMAZEN_PAGES` sets how many pages there are.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvRead, TxOptions};
use permazen_ledger::{CommitId, Evictions, LedgerError, MAIN, Page, PageId, Repository};

use crate::support::page::{assert_all_clean, put};

type Names = BTreeSet<(String, PageId)>;

fn process(host: &Arc<dyn KvDatabase>) -> Repository {
    Repository::shared_builder(Arc::clone(host)).manual_maintenance().open_or_create().unwrap()
}

fn set(page: &Page, value: &[u8]) {
    put(page, MAIN, b"key", value);
}

/// The name of a page: ten ledgers.
fn name(number: u32) -> (String, PageId) {
    let mut id = [0; 16];
    id[..4].copy_from_slice(&number.to_be_bytes());
    (format!("ledger {}", number % 10), PageId(id))
}

fn names(repository: &Repository) -> Names {
    let pages = repository.pages().unwrap();
    let names: Names = pages.iter().cloned().collect();
    assert_eq!(names.len(), pages.len());
    names
}

#[test]
fn thousands_of_pages_are_made_listed_and_deleted() {
    let count = std::env::var("PERMAZEN_PAGES").map_or(2_000, |count| count.parse().unwrap());
    let host: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let repository = process(&host);
    let mut open = Vec::new();
    for number in 0..count {
        let (ledger, id) = name(number);
        let page = repository.create_page(&ledger, id).unwrap();
        if number % 3 == 0 {
            set(&page, &number.to_be_bytes());
        }
        if number % 4 == 0 {
            open.push(page);
        }
    }
    repository.maintain().unwrap();
    let mut expected: Names = (0..count).map(name).collect();
    assert_eq!(names(&repository), expected);
    let usage = repository.usage().unwrap();
    assert_eq!(usage.iter().filter(|page| page.is_open).count(), open.len());
    // All are open at once, in another process too.
    let other = process(&host);
    let all: Vec<_> = expected.iter().map(|(name, id)| other.page(name, *id).unwrap()).collect();
    other.maintain().unwrap();
    assert!(repository.usage().unwrap().iter().all(|page| page.is_open));
    drop(all);
    drop(open);
    repository.maintain().unwrap();
    other.maintain().unwrap();
    for number in (0..count).filter(|number| number % 5 == 1) {
        let (ledger, id) = name(number);
        other.delete_page(&ledger, id).unwrap();
        assert!(expected.remove(&(ledger, id)));
    }
    assert_eq!(names(&repository), expected);
    assert!(repository.usage().unwrap().iter().all(|page| !page.is_open));
    for number in (0..count).filter(|number| number % 5 != 1) {
        let (ledger, id) = name(number);
        let page = repository.page(&ledger, id).unwrap();
        let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
        let found = snapshot.get(b"key").unwrap().map(|found| found.into_owned());
        assert_eq!(found, (number % 3 == 0).then(|| number.to_be_bytes().to_vec()));
    }
    assert_all_clean(&repository);
}

/// Makes a page that is wholly at a remote.
fn sync(page: &Page) {
    set(page, b"there");
    let remote = page.remote();
    remote.attach().unwrap();
    let ids = |page: &Page| page.remote().unsynced_commits().unwrap();
    let commits: Vec<CommitId> = ids(page).iter().map(|commit| commit.id).collect();
    let pieces = remote.local_pieces(None, 100).unwrap();
    let pieces: Vec<_> = pieces.iter().map(|piece| piece.digest).collect();
    remote.mark_synced(&commits, &pieces, &[]).unwrap();
}

/// Evicts on two threads while a third one opens pages, and changes some of them.
fn evict_at_once(host: &Arc<dyn KvDatabase>, repositories: [Repository; 3]) {
    let count = 60;
    for number in 0..count {
        let (ledger, id) = name(number);
        let page = repositories[0].create_page(&ledger, id).unwrap();
        match number % 3 {
            0 => {}
            1 => sync(&page),
            _ => set(&page, b"only here"),
        }
    }
    repositories[0].maintain().unwrap();
    let (evicted, changed, is_over) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
    let all = |found: Evictions| match found.failed.into_iter().next() {
        Some((.., error)) if found.evicted.is_empty() => Err(error),
        _ => Ok(found.evicted),
    };
    std::thread::scope(|scope| {
        let evictors = [0, 1].map(|which| {
            let (repository, evicted) = (&repositories[which], &evicted);
            scope.spawn(move || {
                for turn in 0.. {
                    let gone = match (which + turn) % 2 {
                        0 => repository
                            .evict_least_recently_closed()
                            .map(|gone| gone.into_iter().collect()),
                        _ => repository.evict_unused(Duration::ZERO).and_then(all),
                    };
                    let gone: Vec<(String, PageId)> = match gone {
                        Ok(gone) => gone,
                        Err(error) if error.is_retryable() => continue,
                        Err(error) => panic!("{error}"),
                    };
                    if gone.is_empty() {
                        break;
                    }
                    let mut evicted: std::sync::MutexGuard<'_, Vec<_>> = evicted.lock().unwrap();
                    evicted.extend(gone);
                }
            })
        });
        let (repository, changed, is_over) = (&repositories[2], &changed, &is_over);
        scope.spawn(move || {
            for turn in 0.. {
                // Some pages in any case.
                if turn >= 20 && is_over.load(Ordering::Relaxed) {
                    break;
                }
                let number = turn * 7 % count;
                // Otherwise this thread may change all pages before another one evicts any.
                if number % 15 == 0 {
                    continue;
                }
                let (ledger, id) = name(number);
                let page = match repository.page(&ledger, id) {
                    Ok(page) => page,
                    Err(LedgerError::NoSuch { .. }) => continue,
                    Err(error) if error.is_retryable() => continue,
                    Err(error) => panic!("{error}"),
                };
                // No process evicts it while it is open, or after it has changed.
                set(&page, &number.to_be_bytes());
                let mut changed: std::sync::MutexGuard<'_, Names> = changed.lock().unwrap();
                changed.insert((ledger, id));
            }
        });
        for evictor in evictors {
            evictor.join().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    repositories.iter().for_each(|repository| repository.maintain().unwrap());
    while let Some(gone) = repositories[0].evict_least_recently_closed().unwrap() {
        evicted.lock().unwrap().push(gone);
    }
    let (evicted, changed) = (evicted.into_inner().unwrap(), changed.into_inner().unwrap());
    // Each page is evicted once, and a page with something that is only here stays.
    let gone: Names = evicted.iter().cloned().collect();
    assert_eq!(gone.len(), evicted.len());
    assert!(!gone.is_empty() && changed.len() >= 6, "{} and {}", gone.len(), changed.len());
    let left = names(&repositories[1]);
    assert!(gone.is_disjoint(&left));
    assert_eq!(gone.len() + left.len(), count as usize);
    let mut expected = changed.clone();
    expected.extend((0..count).filter(|number| number % 3 == 2).map(name));
    assert_eq!(left, expected);
    for (number, (ledger, id)) in (0..count).map(|number| (number, name(number))) {
        if !left.contains(&(ledger.clone(), id)) {
            continue;
        }
        let page = repositories[1].page(&ledger, id).unwrap();
        let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
        let found = snapshot.get(b"key").unwrap().unwrap().into_owned();
        match changed.contains(&(ledger, id)) {
            true => assert_eq!(found, number.to_be_bytes()),
            false => assert_eq!(found, b"only here"),
        }
    }
    assert_all_clean(&process(host));
}

#[test]
fn two_threads_evict_at_once() {
    let host: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let repository = process(&host);
    evict_at_once(&host, [repository.clone(), repository.clone(), repository]);
}

#[test]
fn two_processes_evict_at_once() {
    let host: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    evict_at_once(&host, [process(&host), process(&host), process(&host)]);
    let folder = tempfile::tempdir().unwrap();
    let host: Arc<dyn KvDatabase> = Arc::new(LmdbStore::open_or_create(folder.path()).unwrap());
    evict_at_once(&host, [process(&host), process(&host), process(&host)]);
}

/// Another process has the right to write to the host for long.
#[test]
fn opening_an_open_page_does_not_wait_for_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let host: Arc<dyn KvDatabase> = Arc::new(LmdbStore::open_or_create(folder.path()).unwrap());
    let repository = process(&host);
    let [one, two, three] = [1, 2, 3].map(name);
    let page = |(ledger, id): &(String, PageId)| repository.page(ledger, *id);
    let open = repository.create_page(&one.0, one.1).unwrap();
    let last = repository.create_page(&two.0, two.1).unwrap();
    drop(process(&host).create_page(&three.0, three.1).unwrap());
    let other = host.begin(&TxOptions::writing()).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| page(&three).map(drop));
        // Most probably it waits now.
        std::thread::sleep(Duration::from_millis(50));
        let (done, is_done) = std::sync::mpsc::channel();
        scope.spawn(move || {
            drop(last);
            done.send(page(&one).is_ok()).unwrap();
        });
        let opened = is_done.recv_timeout(Duration::from_secs(20));
        other.rollback();
        assert_eq!(opened, Ok(true));
        waiting.join().unwrap().unwrap();
    });
    drop(open);
    assert_all_clean(&repository);
}
