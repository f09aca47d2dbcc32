//! Receives commits without a merging thread.
#![allow(clippy::unwrap_used)]

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvError, KvWrite, TxOptions};

use crate::{CommitId, Kind, MAIN, PageId, Repository};

/// A received head is merged without waiting for the next maintenance.
#[test]
fn heads_that_come_are_merged_at_once() {
    let repository = Repository::builder(MemoryStore::new()).manual_maintenance();
    let page = repository.open_or_create().unwrap().create_page("test", PageId::ROOT).unwrap();
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

#[test]
fn bytes_that_are_refused_are_not_called_damage_of_the_page() {
    let repository = Repository::builder(MemoryStore::new()).manual_maintenance();
    let page = repository.open_or_create().unwrap().create_page("test", PageId::ROOT).unwrap();
    let mut receiver = page.receive();
    let pieces = [Kind::Node, Kind::Index].map(|kind| receiver.add_piece(kind, vec![1; 9]));
    for error in pieces.into_iter().map(Result::unwrap_err).chain([
        receiver.add_piece(Kind::Chunk, Vec::new()).unwrap_err(),
        receiver.add_commit(&CommitId::FIRST, b"none").unwrap_err(),
        receiver.wanted(b"\x01").unwrap_err(),
    ]) {
        let text = error.to_string();
        assert!(
            text.starts_with("received ") && text.contains(" of page 1 is refused: "),
            "{text}"
        );
        assert!(!KvError::from(error).is_damage(), "{text}");
    }
}
