//! Pages in a host that cannot be written: one that is open for reading only, and one on a full
//! disk.

use std::path::Path;
use std::sync::Arc;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{Capabilities, KvDatabase, KvError, KvRead, KvTransaction, KvWrite, TxOptions};
use permazen_ledger::{MAIN, PageId, Repository};

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
