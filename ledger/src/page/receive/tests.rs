//! Taking commits while no thread merges.
#![allow(clippy::unwrap_used)]

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvWrite, TxOptions};

use crate::{CommitId, MAIN, PageId, Repository};

/// The merge does not wait for the next look at what other processes have done.
#[test]
fn heads_that_come_are_merged_at_once() {
    let repository = Repository::builder(MemoryStore::new()).manual_maintenance();
    let page = repository.create().unwrap().create_page("test", PageId::ROOT).unwrap();
    page.create_branch("other", &CommitId::FIRST).unwrap();
    for branch in [MAIN, "other"] {
        let db = page.database(branch).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(branch.as_bytes(), b"").unwrap();
        tx.commit().unwrap();
    }
    for receiver in [page.receive(), page.remote().receive()] {
        assert!(!page.merging.is_called());
        receiver.add_head(MAIN, &page.head("other").unwrap()).unwrap();
        assert!(page.merging.is_called());
        page.merging.maintain().unwrap();
        page.head(MAIN).unwrap();
        let db = page.database("other").unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(b"more", b"").unwrap();
        tx.commit().unwrap();
    }
}
