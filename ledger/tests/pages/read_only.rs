//! Pages in a host that cannot be written: one that is open for reading only, and one on a full
//! disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use permazen_kv::fault::FaultStore;
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{Capabilities, KvDatabase, KvError, KvRead, KvTransaction, KvWrite, TxOptions};
use permazen_ledger::{CommitId, LedgerError, MAIN, PageId, Repository};

use super::separate::{Disk, Pages};
use crate::support::page::{assert_all_clean, get, put};

fn make(host: Arc<dyn KvDatabase>) {
    let repository = Repository::open_or_create_shared(host).unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"value").unwrap();
    tx.commit().unwrap();
}

/// Reads a page, and fails to write it.
fn read(host: Arc<dyn KvDatabase>) {
    let repository = Repository::shared_builder(host).manual_maintenance().open().unwrap();
    let page = repository.page("test", PageId::ROOT).unwrap();
    let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    assert_eq!(snapshot.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    assert!(repository.verify().unwrap().findings.is_empty());
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"other").unwrap();
    tx.commit().unwrap_err();
    // A second handle, after the first was dropped.
    drop((snapshot, db, page));
    repository.page("test", PageId::ROOT).unwrap().head(MAIN).unwrap();
}

#[test]
fn pages_can_be_read_where_the_host_is_open_for_reading_only() {
    let dir = tempfile::tempdir().unwrap();
    let (lmdb, sqlite) = (dir.path().join("lmdb"), dir.path().join("sqlite.db"));
    make(Arc::new(LmdbStore::open_or_create(&lmdb).unwrap()));
    make(Arc::new(SqliteStore::open_or_create(&sqlite).unwrap()));
    let lmdb = LmdbStore::builder().create(false).read_only(true).open(&lmdb).unwrap();
    read(Arc::new(lmdb));
    let sqlite = SqliteStore::builder().create(false).read_only(true).open(&sqlite).unwrap();
    read(Arc::new(sqlite));
}

/// A store whose disk is full.
struct Full(MemoryStore);

impl KvDatabase for Full {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        match options.read_only {
            true => self.0.begin(options),
            false => Err(KvError::Full {
                path: Path::new("disk").into(),
                reason: "no space is left".into(),
            }),
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
}

#[test]
fn pages_can_be_read_where_the_disk_is_full() {
    let host = MemoryStore::new();
    make(Arc::new(host.clone()));
    read(Arc::new(Full(host)));
}

/// SQLite has no room for its `-shm` file: it can be read, and the outcome of commits is unknown.
struct WithoutIndex(FaultStore<MemoryStore>);

impl KvDatabase for WithoutIndex {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        match options.read_only {
            true => self.0.inner().begin(options),
            false => self.0.begin(options),
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
}

#[test]
fn pages_can_be_read_where_the_outcome_of_commits_is_unknown() {
    for loses in [false, true] {
        for n in 1.. {
            let store = MemoryStore::new();
            make(Arc::new(store.clone()));
            let host = FaultStore::new(store.clone());
            let faults = host.faults();
            let builder = Repository::builder(WithoutIndex(host)).manual_maintenance();
            let repository = builder.open().unwrap();
            faults.lose_commits(loses);
            faults.fail_from(n, || KvError::OutcomeUnknown("no room for db-shm".into()));
            let page = repository.page("test", PageId::ROOT).unwrap();
            assert_eq!(get(&page, b"key").as_deref(), Some(&b"value"[..]), "operation {n}");
            let is_over = faults.hits() == 0;
            faults.stop();
            // Once there is room again, others are told that it is open.
            put(&page, MAIN, b"key", b"other");
            let other = Repository::open(store).unwrap();
            let error = other.delete_page("test", PageId::ROOT).unwrap_err();
            assert!(matches!(error, LedgerError::PageInUse { .. }), "operation {n}: {error}");
            drop(page);
            drop((repository, other.page("test", PageId::ROOT).unwrap()));
            assert_all_clean(&other);
            if is_over {
                break;
            }
        }
    }
}

#[test]
fn a_page_that_others_may_not_know_to_be_open_says_why_it_does_not_change() {
    let store = MemoryStore::new();
    make(Arc::new(store.clone()));
    let host = FaultStore::new(store);
    let faults = host.faults();
    let builder = Repository::builder(WithoutIndex(host)).manual_maintenance();
    let repository = builder.open().unwrap();
    faults.fail_from(1, || KvError::OutcomeUnknown("no room for db-shm".into()));
    let page = repository.page("test", PageId::ROOT).unwrap();
    let error = page.squash(MAIN, &CommitId::FIRST, None).unwrap_err();
    assert!(matches!(error, LedgerError::Busy { .. }), "{error}");
    assert!(error.to_string().contains("no room for db-shm"), "{error}");
}

/// A store whose disk has room for some transactions only.
struct Filling {
    host: FaultStore<MemoryStore>,
    left: Arc<AtomicU64>,
}

impl KvDatabase for Filling {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        let less = |left: u64| left.checked_sub(1);
        let relaxed = Ordering::Relaxed;
        if !options.read_only && self.left.fetch_update(relaxed, relaxed, less).is_err() {
            let reason = "no space is left".into();
            return Err(KvError::Full { path: Path::new("disk").into(), reason });
        }
        self.host.begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        self.host.capabilities()
    }
}

#[test]
fn a_page_that_was_opened_on_a_full_disk_is_recorded_as_open_when_it_is_written() {
    // How many transactions the making takes.
    for (is_separate, made) in [(false, 1), (true, 3)] {
        let (disk, left) = (Disk::default(), Arc::new(AtomicU64::new(u64::MAX)));
        let host = FaultStore::new(disk.repository.clone());
        let open = |left: &Arc<AtomicU64>| {
            let left = Arc::clone(left);
            let builder = Repository::builder(Filling { host: host.clone(), left });
            let builder = builder.manual_maintenance();
            let pages = Pages { disk: disk.clone(), faults: host.clone() };
            let builder = match is_separate {
                true => builder.page_databases(Arc::new(pages)),
                false => builder,
            };
            builder.open_or_create().unwrap()
        };
        let (repository, other) = (open(&left), open(&Arc::new(AtomicU64::new(u64::MAX))));
        left.store(made, Ordering::Relaxed);
        let page = repository.create_page("test", PageId::ROOT).unwrap();
        assert!(!other.usage().unwrap()[0].is_open);
        // Others could delete it meanwhile, so it does not change before they are told.
        let mut tx = page.database(MAIN).unwrap().begin(&TxOptions::writing()).unwrap();
        tx.put(b"key", b"early").unwrap();
        let error = tx.commit().unwrap_err();
        assert!(matches!(error, KvError::Full { .. }), "separate: {is_separate}: {error}");
        let error = page.squash(MAIN, &CommitId::FIRST, None).unwrap_err();
        assert!(matches!(error, LedgerError::Host(KvError::Full { .. })), "{error}");
        assert_eq!(get(&page, b"key"), None);
        left.store(u64::MAX, Ordering::Relaxed);
        put(&page, MAIN, b"key", b"value");
        assert!(other.usage().unwrap()[0].is_open);
        let error = other.delete_page("test", PageId::ROOT).unwrap_err();
        assert!(matches!(error, LedgerError::PageInUse { .. }), "{error}");
        // The row of the device on which it was opened first.
        let key: &[u8] = if is_separate { &[0x2b] } else { &[0x10, 1, 0x2b] };
        let rows = match is_separate {
            true => disk.pages.lock().unwrap()[&1].snapshot(),
            false => disk.repository.snapshot(),
        };
        assert!(rows.get(key).unwrap().is_some(), "separate: {is_separate}");
        drop((page, repository));
        assert_all_clean(&other);
    }
}
