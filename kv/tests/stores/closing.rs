//! The files of a store are closed with the last of its handles and transactions.

use std::path::Path;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{KvDatabase, TxOptions};

use crate::support::{open_or_create, put};

/// Whether this process has files open in `directory`.
fn has_open_files(directory: &Path) -> bool {
    let files = std::fs::read_dir("/proc/self/fd").unwrap();
    // A file that another test closes meanwhile cannot be read.
    let mut targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    targets.any(|target| target.starts_with(directory))
}

#[test]
fn files_are_closed_when_the_last_transaction_ends() {
    let dir = tempfile::tempdir().unwrap();
    let directory = dir.path().canonicalize().unwrap();
    let (lmdb, sqlite) = (directory.join("lmdb"), directory.join("sqlite"));
    type Open<'o> = Box<dyn Fn() -> Box<dyn KvDatabase> + 'o>;
    let stores: [Open<'_>; 4] = [
        Box::new(|| open_or_create("lmdb", &lmdb)),
        Box::new(|| open_or_create("sqlite", &sqlite)),
        Box::new(|| Box::new(OptimisticDatabase::new(LmdbStore::open(&lmdb).unwrap()))),
        Box::new(|| Box::new(OptimisticDatabase::new(SqliteStore::open(&sqlite).unwrap()))),
    ];
    let writing = TxOptions::writing();
    // Optimistic ones that have failed so often have their turn, and the right to write to the
    // store.
    let all = [TxOptions::reading(), writing.clone(), writing.with_failed(6)];
    for open in stores {
        put(&*open(), b"key", b"");
        for (options, commits) in all.iter().flat_map(|options| [(options, true), (options, false)])
        {
            let store = open();
            let mut tx = store.begin(options).unwrap();
            drop(store);
            tx.put(b"other", b"").unwrap();
            assert!(has_open_files(&directory));
            if commits {
                tx.commit().unwrap()
            } else {
                drop(tx)
            }
            assert!(!has_open_files(&directory), "{options:?}");
        }
    }
}
