//! The reads of a transaction are compared with a later commit by the two trees.
//!
//! `PERMAZEN_COMPARISONS` sets how many random ones there are.

use std::sync::Arc;

use permazen_kv::counting::CountingStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{KeyRanges, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions, difference_by_scan};
use permazen_ledger::{MAIN, PageId, Repository, Secret};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::page::{new_page, pairs};

#[test]
fn contents_are_compared_by_their_trees_as_by_a_scan() {
    let page = new_page();
    let db = page.database(MAIN).unwrap();
    let mut random = StdRng::seed_from_u64(7);
    let key = |number: u16| number.to_be_bytes();
    let mut commits = Vec::new();
    for round in 0..40 {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        for _ in 0..random.random_range(0..if round == 0 { 3_000 } else { 12 }) {
            let at = key(random.random_range(0..4_000));
            match random.random_range(0..3) {
                0 => tx.remove(&at).unwrap(),
                _ => tx.put(&at, &[round; 100]).unwrap(),
            }
        }
        tx.commit().unwrap();
        let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
        let content = pairs(&snapshot);
        commits.push((snapshot, content));
    }
    let mut outcomes = [0; 2];
    let count = std::env::var("PERMAZEN_COMPARISONS").map_or(1_000, |count| count.parse().unwrap());
    for _ in 0..count {
        let mut pick = || &commits[random.random_range(0..commits.len())];
        let ((old, old_content), (new, new_content)) = (pick(), pick());
        let mut reads = KeyRanges::new();
        for _ in 0..random.random_range(0..6) {
            let min = random.random_range(0..4_000);
            match random.random_range(0..2) {
                0 => reads.add_key(&key(min)),
                _ => {
                    reads.add(KeySpan::new(&key(min), Some(&key(min + random.random_range(0..40)))))
                }
            }
        }
        let found = old.first_difference(&new, &reads).unwrap();
        assert_eq!(found, difference_by_scan(old, new, &reads).unwrap());
        outcomes[usize::from(found.is_some())] += 1;
        assert_eq!(old.content_name() == new.content_name(), old_content == new_content);
    }
    assert!(outcomes.iter().all(|found| *found > count / 10), "{outcomes:?}");
}

#[test]
fn a_check_of_what_was_read_loads_nothing_that_is_shared() {
    let host = Arc::new(CountingStore::new(MemoryStore::new()));
    // Nothing else reads from the host.
    let repository = || Repository::builder(Arc::clone(&host)).manual_maintenance();
    // The secret decides where nodes end, and so how deep the tree is.
    let secret = Secret::new([5; 32]);
    let created = repository().open_or_create().unwrap();
    let page = created.create_page_with("a", PageId::ROOT, secret).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    (0..20_000_u32).for_each(|key| tx.put(&key.to_be_bytes(), &[0; 40]).unwrap());
    tx.commit().unwrap();
    let old = page.head(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(&7_u32.to_be_bytes(), b"other").unwrap();
    tx.commit().unwrap();

    // Another handle has nothing in its cache.
    let page = repository().open().unwrap().page("a", PageId::ROOT).unwrap();
    let old = page.snapshot(&old).unwrap();
    let now = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    let mut reads = KeyRanges::new();
    reads.add(KeySpan::new(&100_u32.to_be_bytes(), None));
    host.counter().take();
    assert_eq!(old.first_difference(&now, &reads).unwrap(), None);
    let loaded = host.counter().take().gets;
    // A path in each tree; a scan would load some 300 leaves.
    assert!(loaded <= 8, "{loaded}");
}

/// The nodes that a commit has made are in the cache, also if the cache has evicted others before.
#[test]
fn what_was_committed_is_read_and_changed_again_without_loads() {
    let host = Arc::new(CountingStore::new(MemoryStore::new()));
    // The tree has 1.2 MB, so each commit replaces half of it, and there is no room for both.
    let builder = Repository::builder(Arc::clone(&host)).manual_maintenance();
    let repository = builder.cache_bytes(2 << 20).open_or_create().unwrap();
    // The secret decides which nodes there are, and so how they share the cache.
    let secret = Secret::new([5; 32]);
    let page = repository.create_page_with("a", PageId::ROOT, secret).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    (0..20_000_u32).for_each(|key| tx.put(&key.to_be_bytes(), &[0; 40]).unwrap());
    tx.commit().unwrap();
    let mut loads = Vec::new();
    for value in 1..30 {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        (0..10_000_u32).for_each(|key| tx.put(&key.to_be_bytes(), &[value; 40]).unwrap());
        tx.commit().unwrap();
        let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
        host.counter().take();
        for key in (0..10_000_u32).step_by(50) {
            assert_eq!(snapshot.get(&key.to_be_bytes()).unwrap(), Some(vec![value; 40].into()));
        }
        loads.push(host.counter().take().gets);
    }
    // The cache may choose otherwise now and then. Without these nodes in it, there are 145 each
    // time.
    let few = loads.iter().filter(|loads| **loads <= 15).count();
    assert!(few >= 25, "{loads:?}");
}
