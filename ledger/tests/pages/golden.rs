//! Roots of fixed contents under a fixed secret. They must be the same on every machine and in
//! every version that knows format 1: equal contents have equal roots, so a changed root breaks
//! sync and merges between versions.
//!
//! Format 1 is frozen: a test that fails here has found a mistake in the code, and no new roots are
//! written.

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvWrite, TxOptions};
use permazen_ledger::{MAIN, PageId, Repository, Secret};

/// Numbers that are the same everywhere (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len + 8);
        while bytes.len() < len {
            bytes.extend_from_slice(&self.next().to_be_bytes());
        }
        bytes.truncate(len);
        bytes
    }
}

fn root(pairs: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) -> String {
    let secret = Secret::new(std::array::from_fn(|at| at as u8));
    let repository = Repository::open_or_create(MemoryStore::new()).unwrap();
    let page = repository.create_page_with("golden", PageId::ROOT, secret).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    for (key, value) in pairs {
        tx.put(&key, &value).unwrap();
    }
    tx.commit().unwrap();
    let found = page.verify().unwrap();
    assert!(found.findings.is_empty(), "{:?}", found.findings);
    page.snapshot(&page.head(MAIN).unwrap()).unwrap().root().to_string()
}

#[test]
fn small_entries() {
    let pair = |number: u32| {
        let square = u64::from(number) * u64::from(number);
        (number.to_be_bytes().to_vec(), square.to_be_bytes().to_vec())
    };
    assert_eq!(
        root((0..0).map(pair)),
        "746ae911890ad9d8602f23d2adde8f182eaf3801c95bf31bca24756ed9a0ca24"
    );
    assert_eq!(
        root((0..1).map(pair)),
        "17f5386605b6d44668d9fbdf3a042c862ec7629590e094fc7fb2e9b45a3bb9c7"
    );
    assert_eq!(
        root((0..100).map(pair)),
        "24cd80c8b39398868b448c7d14d67be812756575caa8e4d53c90b2b58f1efc4d"
    );
    assert_eq!(
        root((0..50_000).map(pair)),
        "5b45d775278a5985eb275534d63f0a1ec3de728b4f3d1d4199a3de895147cef7"
    );
}

#[test]
fn entries_of_all_sizes() {
    let mut numbers = Numbers(1);
    let pairs = std::iter::from_fn(|| {
        let (key, value) = (numbers.next() % 300, numbers.next() % 600);
        Some((numbers.bytes(key as usize), numbers.bytes(value as usize)))
    });
    assert_eq!(
        root(pairs.take(5_000)),
        "4692cecbe3f678cdd0655bece553644ed1e227b5d62196a3410797d5eac7318f"
    );
}

#[test]
fn long_keys() {
    let mut numbers = Numbers(2);
    let pairs = std::iter::from_fn(|| {
        let mut key = vec![7; 8_184];
        key.extend_from_slice(&numbers.next().to_be_bytes());
        Some((key, numbers.bytes(8)))
    });
    assert_eq!(
        root(pairs.take(300)),
        "2440d334a64e15db8de7726536595f8891c8cbe4718359e52bd6d797bd270ef7"
    );
}

#[test]
fn long_values() {
    let mut numbers = Numbers(3);
    let lengths = [513, 4_096, 4_097, 65_535, 65_536, 65_537, 1_000_000, 9_000_000];
    let pairs = lengths.iter().flat_map(|len| {
        let same = (format!("same {len}").into_bytes(), vec![7; *len]);
        [(format!("noise {len}").into_bytes(), numbers.bytes(*len)), same]
    });
    assert_eq!(
        root(pairs.collect::<Vec<_>>().into_iter()),
        "1406f78f31bb5179378f081b1e960d3e9f56c23d2c0b41f9fd7addb079b2a1a4"
    );
}
