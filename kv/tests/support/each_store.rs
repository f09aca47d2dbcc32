//! One store of each kind, and a conflict.

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::remote::{RemoteDatabase, SimulatedServer};
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{KvDatabase, KvDatabaseExt, KvRead, KvWrite, TxOptions};

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

/// One transaction reads a key that another one writes before it commits.
pub(crate) fn conflict_once(store: &dyn KvDatabase) {
    let mut attempts = 0;
    store
        .write(|tx| {
            attempts += 1;
            tx.get(b"key")?;
            if attempts == 1 {
                let mut other = store.begin(&TxOptions::writing())?;
                other.put(b"key", b"other")?;
                other.commit()?;
            }
            tx.put(b"other", b"")
        })
        .unwrap();
    assert_eq!(attempts, 2);
}
