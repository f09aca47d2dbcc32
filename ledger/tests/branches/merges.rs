//! Merges of branches.
//!
//! `PERMAZEN_MERGES` sets how many random histories each test makes.

use std::collections::BTreeSet;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvRead, KvWrite, Writes};
use permazen_ledger::{
    Conflict, KeyClass, LastWriterWins, LedgerError, MAIN, Merger, Origin, Page, PageId,
    Repository, Resolution, Result,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::page::{Map, content, copy, put, write};

fn new_page(host: &MemoryStore) -> Page {
    Repository::open_or_create(host.clone()).unwrap().create_page("test", PageId::ROOT).unwrap()
}

fn page(host: &MemoryStore) -> Page {
    Repository::open(host.clone()).unwrap().page("test", PageId::ROOT).unwrap()
}

#[test]
fn changes_of_both_sides_are_in_a_merge() {
    let host = MemoryStore::new();
    let page = new_page(&host);
    let base = write(&page, MAIN, |tx| {
        (b'a'..=b'z').for_each(|key| tx.put(&[key], b"base").unwrap());
    });
    page.create_branch("other", &base).unwrap();
    put(&page, MAIN, b"a", b"ours");
    let older = write(&page, MAIN, |tx| {
        tx.remove(b"b").unwrap();
        tx.put(b"both", b"ours").unwrap();
        tx.put(b"same", b"same").unwrap();
    });
    // Times of commits within a millisecond count from that of the base.
    put(&page, "other", b"c", b"1");
    put(&page, "other", b"c", b"2");
    let newer = write(&page, "other", |tx| {
        tx.put(b"c", &[3; 5_000]).unwrap();
        tx.remove(b"d").unwrap();
        tx.put(b"both", b"theirs").unwrap();
        tx.put(b"same", b"same").unwrap();
    });
    let merge = page.merge(MAIN, &newer, &mut LastWriterWins).unwrap();
    let mut expected = content(&page, &base);
    expected.insert(b"a".to_vec(), b"ours".to_vec());
    expected.remove(&b"b"[..]);
    expected.insert(b"c".to_vec(), vec![3; 5_000]);
    expected.remove(&b"d"[..]);
    expected.insert(b"both".to_vec(), b"theirs".to_vec());
    expected.insert(b"same".to_vec(), b"same".to_vec());
    assert!(content(&page, &merge) == expected);
    let commit = page.commit(&merge).unwrap().unwrap();
    let mut parents = [older, newer];
    parents.sort();
    assert_eq!(commit.origin, Origin::Merge { parents });
    assert_eq!(commit.time, page.commit(&newer).unwrap().unwrap().time);
    // An ancestor of the head is merged already, and a branch that only lags behind is
    // fast-forwarded.
    assert_eq!(page.merge(MAIN, &base, &mut LastWriterWins).unwrap(), merge);
    assert_eq!(page.merge(MAIN, &merge, &mut LastWriterWins).unwrap(), merge);
    assert_eq!(page.merge("other", &merge, &mut LastWriterWins).unwrap(), merge);
    assert_eq!(page.head("other").unwrap(), merge);
    let log: BTreeSet<_> = page.log(merge).unwrap().map(|commit| commit.unwrap().0).collect();
    assert!(log.is_superset(&BTreeSet::from([base, older, newer, merge])));
    assert_eq!(log.len(), 7);
}

/// Joins texts, and adds counters up.
struct Joining {
    asked: Vec<Vec<u8>>,
}

impl Merger for Joining {
    fn class(&self, key: &[u8]) -> KeyClass {
        if key.starts_with(b"#") { KeyClass::Counter } else { KeyClass::Value }
    }

    fn resolve(&mut self, conflict: &Conflict<'_>) -> Result<Resolution> {
        self.asked.push(conflict.key.to_vec());
        Ok(match (conflict.key, conflict.older, conflict.newer) {
            (b"older", ..) => Resolution::Older,
            (b"newer", ..) => Resolution::Newer,
            (b"gone", ..) => Resolution::Remove,
            (b"fails", ..) => return Err(LedgerError::InvalidArgument("cannot".into())),
            (_, Some(older), Some(newer)) => Resolution::Value([older, b"+", newer].concat()),
            (_, older, newer) => Resolution::Value(older.or(newer).unwrap_or_default().to_vec()),
        })
    }
}

#[test]
fn a_merger_decides_conflicts() {
    let host = MemoryStore::new();
    let page = new_page(&host);
    let number = |n: i64| n.to_be_bytes();
    let base = write(&page, MAIN, |tx| {
        tx.put(b"#sum", &number(10)).unwrap();
        tx.put(b"#gone", &number(1)).unwrap();
        tx.put(b"removed", b"base").unwrap();
        tx.put(b"clean", b"base").unwrap();
    });
    page.create_branch("other", &base).unwrap();
    for (branch, by) in [(MAIN, 5), ("other", -2)] {
        write(&page, branch, |tx| {
            tx.put(b"#sum", &number(10 + by)).unwrap();
            tx.put(b"#new", &number(by)).unwrap();
            for key in [&b"older"[..], b"newer", b"gone", b"text"] {
                tx.put(key, branch.as_bytes()).unwrap();
            }
        });
    }
    write(&page, MAIN, |tx| {
        tx.remove(b"#gone").unwrap();
        tx.remove(b"removed").unwrap();
        tx.put(b"clean", b"main").unwrap();
    });
    put(&page, "other", b"last", b"1");
    put(&page, "other", b"last", b"2");
    let newer = write(&page, "other", |tx| {
        tx.remove(b"last").unwrap();
        tx.put(b"#gone", &number(2)).unwrap();
        tx.put(b"removed", b"changed").unwrap();
    });
    let mut merger = Joining { asked: Vec::new() };
    let merge = page.merge(MAIN, &newer, &mut merger).unwrap();
    let asked = [&b"#gone"[..], b"gone", b"newer", b"older", b"removed", b"text"];
    assert_eq!(merger.asked, asked);
    let found = content(&page, &merge);
    let expected = [
        (&b"#gone"[..], number(2).to_vec()),
        (b"#new", number(3).to_vec()),
        (b"#sum", number(13).to_vec()),
        (b"clean", b"main".to_vec()),
        (b"newer", b"other".to_vec()),
        (b"older", b"main".to_vec()),
        (b"removed", b"changed".to_vec()),
        (b"text", b"main+other".to_vec()),
    ];
    assert_eq!(found, expected.map(|(key, value)| (key.to_vec(), value)).into());
    // An error of the merger changes nothing.
    let other = put(&page, "other", b"fails", b"other");
    let head = put(&page, MAIN, b"fails", b"main");
    let error = page.merge(MAIN, &other, &mut merger).unwrap_err();
    assert!(matches!(error, LedgerError::InvalidArgument(_)));
    assert_eq!(page.head(MAIN).unwrap(), head);
}

/// Random histories of three branches that merge each other, until all have the same content.
/// Counters have the sum of all additions, in every order of merges; the same merge in a copy is
/// the same commit.
fn random_history(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let host = MemoryStore::new();
    let page_here = new_page(&host);
    let branches = [MAIN, "b", "c"];
    let base = write(&page_here, MAIN, |tx| tx.put(b"#sum", &0_i64.to_be_bytes()).unwrap());
    page_here.create_branch("b", &base).unwrap();
    page_here.create_branch("c", &base).unwrap();
    let (mut sum, mut written) = (0, Map::new());
    for round in 0..random.random_range(5..40_u32) {
        let branch = branches[random.random_range(0..3)];
        if random.random_range(0..3) > 0 {
            let by = random.random_range(1..100);
            sum += by;
            let key = format!("{branch} {}", round % 5).into_bytes();
            let value = round.to_be_bytes().to_vec();
            written.insert(key.clone(), value.clone());
            let db = page_here.database(branch).unwrap();
            let mut writes = Writes::default();
            writes.adjusts.insert(b"#sum".to_vec(), by);
            writes.puts.insert(key, value);
            permazen_kv::AtomicKvStore::apply(db.store(), &writes, true).unwrap();
            continue;
        }
        let other = branches[random.random_range(0..3)];
        let from = page_here.head(other).unwrap();
        let copied = copy(&host);
        let here = page_here.merge(branch, &from, &mut Joining { asked: Vec::new() }).unwrap();
        let there = page(&copied).merge(branch, &from, &mut Joining { asked: Vec::new() }).unwrap();
        assert_eq!(here, there, "seed {seed}, round {round}");
    }
    for _ in 0..2 {
        for (branch, other) in [(MAIN, "b"), (MAIN, "c"), ("b", MAIN), ("c", MAIN)] {
            let from = page_here.head(other).unwrap();
            page_here.merge(branch, &from, &mut Joining { asked: Vec::new() }).unwrap();
        }
    }
    let heads = branches.map(|branch| page_here.head(branch).unwrap());
    assert_eq!(heads[0], heads[1], "seed {seed}");
    assert_eq!(heads[0], heads[2], "seed {seed}");
    // Each key is written on only one branch, so nothing of it is a conflict.
    let mut found = content(&page_here, &heads[0]);
    let total = found.remove(&b"#sum"[..]).unwrap();
    assert_eq!(total, i64::to_be_bytes(sum), "seed {seed}");
    assert_eq!(found, written, "seed {seed}");
}

#[test]
fn histories_end_in_one_head_with_all_changes() {
    let count = std::env::var("PERMAZEN_MERGES").map_or(300, |count| count.parse().unwrap());
    for seed in 0..count {
        random_history(seed);
    }
}

/// Entries `v` ‖ key have values, and entries `i` ‖ value ‖ key are made of them.
struct Indexing;

impl Indexing {
    fn index(values: &dyn KvRead) -> Map {
        let pairs = values.scan(KeySpan::new(b"v", Some(b"w")), Direction::Forward).unwrap();
        let entry = |pair: permazen_kv::Result<permazen_kv::Pair<'_>>| {
            let (key, value) = pair.unwrap();
            ([b"i", &value[..], &key[1..]].concat(), Vec::new())
        };
        pairs.map(entry).collect()
    }
}

impl Merger for Indexing {
    fn class(&self, key: &[u8]) -> KeyClass {
        if key.starts_with(b"i") { KeyClass::Derived } else { KeyClass::Value }
    }

    fn resolve(&mut self, conflict: &Conflict<'_>) -> Result<Resolution> {
        assert!(!conflict.key.starts_with(b"i"), "a resolver is not asked about derived entries");
        Ok(Resolution::Older)
    }

    fn has_derived(&self) -> bool {
        true
    }

    fn finish(&mut self, merged: &mut dyn KvWrite) -> Result<()> {
        let index = Indexing::index(merged);
        merged.remove_span(KeySpan::new(b"i", Some(b"j")))?;
        for (key, value) in index {
            merged.put(&key, &value)?;
        }
        Ok(())
    }
}

#[test]
fn derived_entries_are_made_anew() {
    let count = std::env::var("PERMAZEN_MERGES").map_or(100, |count| count.parse().unwrap());
    for seed in 0..count {
        let mut random = StdRng::seed_from_u64(seed);
        let host = MemoryStore::new();
        let page_here = new_page(&host);
        let base = write(&page_here, MAIN, |tx| {
            tx.put(b"v", b"0").unwrap();
            tx.put(b"i0", b"").unwrap();
        });
        page_here.create_branch("b", &base).unwrap();
        for _ in 0..20 {
            let branch = [MAIN, "b"][random.random_range(0..2)];
            if random.random_bool(0.7) {
                write(&page_here, branch, |tx| {
                    let key = [b'v', random.random_range(0..20)];
                    match random.random_bool(0.7) {
                        // Some values are long, so they lie outside of the tree.
                        true => tx.put(&key, &vec![key[1]; random.random_range(0..700)]).unwrap(),
                        false => tx.remove(&key).unwrap(),
                    }
                    // Each branch keeps its own index.
                    let index = Indexing::index(&*tx);
                    tx.remove_span(KeySpan::new(b"i", Some(b"j"))).unwrap();
                    index.iter().for_each(|(key, value)| tx.put(key, value).unwrap());
                });
                continue;
            }
            let from = page_here.head([MAIN, "b"][random.random_range(0..2)]).unwrap();
            let copied = page(&copy(&host));
            let merge = page_here.merge(branch, &from, &mut Indexing).unwrap();
            assert_eq!(copied.merge(branch, &from, &mut Indexing).unwrap(), merge, "seed {seed}");
            let snapshot = page_here.snapshot(&merge).unwrap();
            let mut found = content(&page_here, &merge);
            found.retain(|key, _| key.starts_with(b"i"));
            assert_eq!(found, Indexing::index(&snapshot), "seed {seed}");
        }
        let found = page_here.verify().unwrap();
        assert!(found.findings.is_empty(), "{:?}", found.findings);
    }
}
