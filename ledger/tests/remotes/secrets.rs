//! Commits of a page with another secret.

use permazen_kv::KeySpan;
use permazen_kv::memory::MemoryStore;
use permazen_ledger::{LedgerError, MAIN, PageId, Repository, Secret};

use super::setting::{copy, noise, value, write};

#[test]
fn another_secret_is_named_as_a_cause() {
    let repository = Repository::open_or_create(MemoryStore::new()).unwrap();
    let other = Secret::new([99; 32]);
    let there = repository.create_page_with("other", PageId::ROOT, other).unwrap();
    let value = value(&there, &noise(200_000, 1));
    for (key, is_long) in [(0, false), (1, true)] {
        let here = copy();
        let head = write(&there, MAIN, |tx| match is_long {
            true => {
                tx.remove_span(KeySpan::new(b"", None)).unwrap();
                tx.put(b"long", value.as_bytes()).unwrap();
            }
            false => (0..3_000_u32)
                .for_each(|at| tx.put(&at.to_be_bytes(), &noise(30, key + 1)).unwrap()),
        });
        let id = there.commit(&head).unwrap().unwrap().parents()[0];
        let mut receiver = here.receive();
        if let Some(parent) = there.commit(&id).unwrap() {
            receiver.add_pruned(&id, parent.generation, parent.time).unwrap();
        }
        let commit = there.remote().commit_bytes(&head).unwrap().unwrap();
        let error = loop {
            match receiver.wanted(&commit) {
                Err(error) => break error,
                Ok(wanted) if wanted.is_empty() => {
                    break receiver.add_commit(&head, &commit).unwrap_err();
                }
                Ok(wanted) => wanted.into_iter().for_each(|(kind, digest)| {
                    let bytes = there.remote().piece_bytes(&digest).unwrap().unwrap();
                    receiver.add_piece(kind, bytes).unwrap();
                }),
            }
        };
        assert!(matches!(error, LedgerError::Integrity { .. }), "{error}");
        assert!(
            error.to_string().contains("the page of the sender may have another secret"),
            "{error}"
        );
    }
}
