//! One store of each kind.

use permazen_kv::KvDatabase;
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::remote::{RemoteDatabase, SimulatedServer};
use permazen_kv::sqlite::SqliteStore;

/// A store, with its name and whether it can have conflicts.
pub(crate) type Store = (&'static str, Box<dyn KvDatabase>, bool);

/// One of each kind.
pub(crate) fn stores() -> (Vec<Store>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let late = SqliteStore::builder().create(true).late_lock(true);
    let stores: Vec<Store> = vec![
        ("memory", Box::new(MemoryStore::new()), false),
        ("lmdb", Box::new(LmdbStore::open_or_create(dir.path().join("lmdb")).unwrap()), false),
        (
            "sqlite",
            Box::new(SqliteStore::open_or_create(dir.path().join("sqlite")).unwrap()),
            false,
        ),
        ("sqlite, late", Box::new(late.open(dir.path().join("late")).unwrap()), true),
        ("optimistic", Box::new(OptimisticDatabase::new(MemoryStore::new())), true),
        ("remote", Box::new(RemoteDatabase::new(SimulatedServer::new())), true),
        ("remote, checked", Box::new(RemoteDatabase::new(SimulatedServer::checking_reads())), true),
    ];
    (stores, dir)
}
