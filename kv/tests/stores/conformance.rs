//! The conformance suite on every store and on everything over stores that can write; `wrappers.rs`
//! tests the read-only wrapper.

#![cfg(feature = "testsuite")]

use std::path::PathBuf;
use std::sync::Arc;

use permazen_kv::counting::CountingStore;
use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::prefix::Prefixed;
use permazen_kv::remote::{RemoteDatabase, SimulatedServer};
use permazen_kv::testsuite::{Fixture, one_change_each};
use permazen_kv::{KvDatabase, conformance};

/// A store in a temporary directory, which `open` opens.
#[allow(dead_code)]
fn on_disk<D: KvDatabase + 'static>(open: fn(PathBuf) -> D) -> Fixture {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("store");
    Fixture::new(open(path.clone())).reopening(move || open(path.clone())).keeping(dir)
}

conformance!(memory, || Fixture::new(MemoryStore::new()));
conformance!(memory_optimistic, || Fixture::new(OptimisticDatabase::new(MemoryStore::new())));
conformance!(counting, || Fixture::new(CountingStore::new(MemoryStore::new())));
conformance!(prefixed, || {
    let db = OptimisticDatabase::new(MemoryStore::new());
    Fixture::new(Prefixed::new(db, b"prefix"))
});
conformance!(prefixed_by_ff, || {
    let db: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    Fixture::new(Prefixed::new(db, &[0xff, 0xff]))
});
conformance!(fault, || Fixture::new(FaultStore::new(OptimisticDatabase::new(MemoryStore::new()))));

conformance!(remote, || Fixture::new(RemoteDatabase::new(SimulatedServer::new())));
conformance!(remote_checking_reads, || {
    Fixture::new(RemoteDatabase::new(SimulatedServer::checking_reads()))
});

#[cfg(feature = "lmdb")]
fn lmdb(path: PathBuf) -> permazen_kv::lmdb::LmdbStore {
    permazen_kv::lmdb::LmdbStore::open_or_create(path).expect("a new environment")
}

#[cfg(feature = "lmdb")]
conformance!(lmdb_direct, || on_disk(lmdb));
#[cfg(feature = "lmdb")]
conformance!(lmdb_optimistic, || on_disk(|path| OptimisticDatabase::new(lmdb(path))));

#[cfg(feature = "lmdb")]
conformance!(lmdb_prefixed, || on_disk(|path| Prefixed::new(lmdb(path), &[0])));

#[cfg(feature = "sqlite")]
fn sqlite(path: PathBuf) -> permazen_kv::sqlite::SqliteStore {
    permazen_kv::sqlite::SqliteStore::open_or_create(path).expect("a new database")
}

#[cfg(feature = "sqlite")]
conformance!(sqlite_direct, || on_disk(sqlite));
#[cfg(feature = "sqlite")]
conformance!(sqlite_late_lock, || on_disk(|path| {
    drop(sqlite(path.clone()));
    let builder = permazen_kv::sqlite::SqliteStore::builder().late_lock(true);
    builder.open(path).expect("a new database")
}));
#[cfg(feature = "sqlite")]
conformance!(sqlite_optimistic, || on_disk(|path| OptimisticDatabase::new(sqlite(path))));

/// How many transactions with one change the tests below make.
fn changes(unless_set: usize) -> usize {
    let given = std::env::var("PERMAZEN_CHANGES");
    given.map_or(unless_set, |given| given.parse().expect("a number"))
}

#[test]
fn the_store_in_memory_stands_many_small_transactions() {
    one_change_each(&MemoryStore::new(), changes(50_000), 2);
}

#[test]
fn optimistic_transactions_stand_that_they_are_many_and_small() {
    one_change_each(&OptimisticDatabase::new(MemoryStore::new()), changes(50_000), 3);
}

#[cfg(feature = "lmdb")]
#[test]
fn lmdb_stands_many_small_transactions() {
    use permazen_kv::lmdb::{Durability, LmdbStore};
    let dir = tempfile::tempdir().expect("a temporary directory");
    let builder = LmdbStore::builder().durability(Durability::MayLoseEverything);
    let store = builder.create(true).open(dir.path().join("store")).expect("a new environment");
    one_change_each(&store, changes(10_000), 4);
}
