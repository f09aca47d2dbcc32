//! The operations that a child of a `fork` may make with pages and values that its parent has open.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen_ledger::{CommitId, LedgerError, MAIN, PageId, Repository};

#[path = "../../kv/tests/support/in_a_child.rs"]
mod in_a_child;

use in_a_child::holds_in_a_child;

/// Held by each test. A lock that another thread has at the moment of a fork stays taken in the
/// child, and threads of other tests take locks of the process when they open a store.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_forked_child_drops_a_repository() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let host = LmdbStore::open_or_create(dir.path().join("host")).unwrap();
    let mut repository = Some(Repository::open_or_create(host).unwrap());
    let mut page = repository.as_ref().map(|it| it.create_page("test", PageId::ROOT).unwrap());
    assert!(holds_in_a_child(60, || {
        drop((page.take(), repository.take()));
        true
    }));
    // The parent still has its lease.
    page.unwrap().set_tag("more", &CommitId::FIRST).unwrap();
}

/// A transaction that was open at the fork is that of a thread of the parent, and never ends in the
/// child.
#[test]
fn a_forked_child_does_not_wait_for_a_transaction_of_its_parent() {
    let _alone = alone();
    let page = Repository::open_or_create(MemoryStore::new()).unwrap();
    let page = page.create_page("test", PageId::ROOT).unwrap();
    let is_refused = |tx: permazen_kv::Result<_>| matches!(tx, Err(KvError::Forked { .. }));
    let handle = page.branching_database(MAIN).unwrap();
    let open = handle.begin(&TxOptions::writing()).unwrap();
    for ends_here in [false, true] {
        let mut options = TxOptions::writing();
        options.ends_here = ends_here;
        assert!(holds_in_a_child(60, || is_refused(handle.begin(&options).map(drop))));
    }
    open.rollback();
    handle.begin(&TxOptions::writing()).unwrap().rollback();
}

/// A value that was begun in the parent is refused in the child. The thread that stores the value
/// is in the parent only, and continues.
#[test]
fn a_forked_child_does_not_go_on_with_a_value_of_its_parent() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let on_disk = LmdbStore::open_or_create(dir.path().join("host")).unwrap();
    let hosts: [Box<dyn Fn() -> Repository>; 2] = [
        Box::new(|| Repository::open_or_create(MemoryStore::new()).unwrap()),
        Box::new(move || Repository::open_or_create(on_disk.clone()).unwrap()),
    ];
    for host in hosts {
        let page = host().create_page("test", PageId::ROOT).unwrap();
        // Of 0 or 400 bytes nothing is stored yet; of more, a thread stores them.
        for len in [0, 400, 5_000_000] {
            let value: Vec<u8> = (0..len).map(|at: u32| (at.wrapping_mul(at) >> 7) as u8).collect();
            let mut writer = page.write_value(None).unwrap();
            writer.write_all(&value).unwrap();
            let mut mine = Some(writer);
            let is_forked = |error: &LedgerError| {
                let text = error.to_string();
                matches!(error, LedgerError::Host(KvError::Forked { .. }))
                    && text.contains("was forked")
                    && text.starts_with("page 1: ")
            };
            assert!(holds_in_a_child(60, || mine
                .take()
                .unwrap()
                .finish()
                .is_err_and(|e| is_forked(&e))));
            assert!(holds_in_a_child(60, || {
                let mut writer = mine.take().unwrap();
                let refused = writer.write_all(b"more").unwrap_err();
                let inner = refused.get_ref().and_then(|it| it.downcast_ref::<LedgerError>());
                inner.is_some_and(is_forked)
            }));
            assert!(holds_in_a_child(60, || {
                drop(mine.take());
                page.write_value(None).is_err_and(|error| is_forked(&error))
            }));
            let mut writer = mine.unwrap();
            writer.write_all(b"the end").unwrap();
            let value = [value, b"the end".to_vec()].concat();
            let written = writer.finish().unwrap();
            let db = page.database(MAIN).unwrap();
            let mut tx = db.begin(&TxOptions::writing()).unwrap();
            tx.put(b"key", written.as_bytes()).unwrap();
            tx.commit().unwrap();
            let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
            assert!(snapshot.get(b"key").unwrap().as_deref() == Some(&*value));
        }
        let report = page.verify().unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}
