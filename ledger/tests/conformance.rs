//! A branch of a page does what every store must do, on every host.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::testsuite::Fixture;
use permazen_kv::{Durability, KvDatabase, conformance};
use permazen_ledger::{MAIN, PageId, PageStore, Repository};

/// The main branch of a page in this host, which is made unless it is there.
fn branch(host: impl KvDatabase + 'static) -> OptimisticDatabase<PageStore> {
    let repository = Repository::create(host).unwrap();
    let page = repository.page("test", PageId::ROOT);
    let page = page.or_else(|_| repository.create_page("test", PageId::ROOT)).unwrap();
    page.database(MAIN).unwrap()
}

fn on_disk<D: KvDatabase + 'static>(open: fn(&Path) -> D) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let store = branch(open(&path));
    Fixture::new(store).reopening(move || branch(open(&path))).keeping(dir)
}

fn lmdb(path: &Path) -> LmdbStore {
    let builder = LmdbStore::builder().create(true).map_size(64 << 20);
    builder.durability(Durability::MayLoseEverything).open(path).unwrap()
}

fn sqlite(path: &Path) -> SqliteStore {
    SqliteStore::open_or_create(path).unwrap()
}

conformance!(on_memory, || Fixture::new(branch(MemoryStore::new())));
conformance!(on_lmdb, || on_disk(lmdb));
conformance!(on_sqlite, || on_disk(sqlite));
