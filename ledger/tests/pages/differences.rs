//! Differences between versions of a page that is damaged.

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{LedgerError, MAIN, PageId, Repository};

#[test]
fn differences_end_after_an_error() {
    let host = MemoryStore::new();
    let page =
        Repository::open_or_create(host.clone()).unwrap().create_page("a", PageId::ROOT).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut heads = Vec::new();
    for value in 0..2 {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        (0..2_000_u16).for_each(|key| tx.put(&key.to_be_bytes(), &[value; 40]).unwrap());
        tx.commit().unwrap();
        heads.push(page.head(MAIN).unwrap());
    }
    let roots = [0, 1].map(|at: usize| page.snapshot(&heads[at]).unwrap().root());
    // All pieces but the roots are lost.
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    let span = KeySpan::new(b"\x10\x01\x23", Some(b"\x10\x01\x24"));
    let keys = tx.scan(span, Direction::Forward).unwrap().map(|pair| pair.unwrap().0.into_owned());
    let lost: Vec<_> = keys.filter(|key| roots.iter().all(|root| key[3..] != root.0)).collect();
    assert!(lost.len() > 10);
    lost.iter().for_each(|key| tx.remove(key).unwrap());
    tx.commit().unwrap();

    // Another handle has nothing in its cache.
    let page = Repository::open(host).unwrap().page("a", PageId::ROOT).unwrap();
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut found = page.diff(&heads[0], &heads[1], KeySpan::FULL, direction).unwrap();
        assert!(matches!(found.next(), Some(Err(LedgerError::Missing { .. }))));
        assert!(found.next().is_none());
    }
}
