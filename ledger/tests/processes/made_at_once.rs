//! Processes that open a repository at once, which none of them has made before: all get the same
//! one.

use std::path::Path;
use std::sync::Arc;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{MAIN, Page, PageId, Repository};

use crate::support::children::{Worker, task};

/// The test that a process runs which another one has started.
const CHILD: &str = concat!(module_path!(), "::child");

fn open(store: &str, path: &Path) -> Page {
    let host: Arc<dyn KvDatabase> = match store {
        "lmdb" => Arc::new(LmdbStore::open_or_create(path).unwrap()),
        _ => Arc::new(SqliteStore::open_or_create(path).unwrap()),
    };
    let repository = Repository::shared_builder(host).open_or_create().unwrap();
    repository.page_or_create("test", PageId::ROOT).unwrap()
}

/// Puts a key.
fn put(page: &Page, key: u32) {
    let db = page.database(MAIN).unwrap();
    loop {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(&key.to_be_bytes(), b"").unwrap();
        match tx.commit() {
            Err(error) if error.is_retryable() => {}
            done => return done.unwrap(),
        }
    }
}

#[test]
fn child() {
    let Some(what) = task() else { return };
    let [store, path, key] = what.split(' ').collect::<Vec<_>>()[..] else { panic!("{what}") };
    put(&open(store, Path::new(path)), key.parse().unwrap());
}

#[test]
fn processes_that_make_a_repository_at_once_share_it() {
    for store in ["lmdb", "sqlite"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host");
        let start = |key| Worker::start(CHILD, &format!("{store} {} {key}", path.display()));
        let workers: Vec<_> = (0..4).map(start).collect();
        workers.into_iter().for_each(|worker| drop(worker.end()));
        let page = open(store, &path);
        let all = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
        for key in 0..4_u32 {
            assert!(all.get(&key.to_be_bytes()).unwrap().is_some(), "{store}: {key}");
        }
    }
}

/// Where transactions do not take turns, the second one fails to commit. It opens the repository
/// that the first one has made.
#[test]
fn threads_on_an_optimistic_store_share_it() {
    for _ in 0..20 {
        let host: Arc<dyn KvDatabase> = Arc::new(OptimisticDatabase::new(MemoryStore::new()));
        let open = || {
            let builder = Repository::shared_builder(Arc::clone(&host)).manual_maintenance();
            builder.open_or_create().unwrap()
        };
        std::thread::scope(|scope| {
            let opening: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            opening.into_iter().for_each(|one| drop(one.join().unwrap()));
        });
        assert!(open().pages().unwrap().is_empty());
    }
}
