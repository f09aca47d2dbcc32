//! Random transactions with keys and values of all sizes against a map, and against a page that is
//! filled at once.
//!
//! `PERMAZEN_HISTORIES` sets how many histories there are.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{CommitId, MAIN, Page, PageId, Repository, Secret};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

const ALL: KeySpan<'static> = KeySpan { min: b"", max: None };

/// Lengths around all limits of the format.
const LENGTHS: [usize; 18] = [
    0, 1, 8, 511, 512, 513, 4_095, 4_096, 4_097, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537,
    131_072, 200_000, 400_000,
];

struct History {
    random: StdRng,
    /// How many of the lengths values can have: few, so that trees grow, or all.
    lengths: usize,
    key_max: usize,
}

impl History {
    fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end)
    }

    fn key(&mut self) -> Vec<u8> {
        let number = self.below(2_000) as u16;
        let mut key = number.to_be_bytes().to_vec();
        // The length is a function of the number, so that keys are met again.
        if number.is_multiple_of(16) {
            key.resize(2 + usize::from(number) * 37 % self.key_max, number as u8);
        }
        key
    }

    fn value(&mut self) -> Vec<u8> {
        let len = LENGTHS[self.below(self.lengths)];
        let mut value = vec![0; len];
        match self.below(4) {
            0 => {}
            1 => value.fill(7),
            // Ends of chunks come again after each period.
            2 => {
                let mut period = vec![0; 5_000];
                self.random.fill_bytes(&mut period);
                value.iter_mut().zip(period.iter().cycle()).for_each(|(to, from)| *to = *from);
            }
            _ => self.random.fill_bytes(&mut value),
        }
        value
    }
}

fn content(read: &dyn KvRead, direction: Direction) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pairs = read.scan(ALL, direction).unwrap();
    pairs.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

/// The page of a handle that has nothing in memory.
fn cold(host: &MemoryStore) -> Page {
    Repository::open(host.clone()).unwrap().page("test", PageId::ROOT).unwrap()
}

fn check(page: &Page, commit: &CommitId, model: &Map, secret: &Secret) {
    let snapshot = page.snapshot(commit).unwrap();
    let forward: Map = content(&snapshot, Direction::Forward).into_iter().collect();
    assert!(forward == *model, "the contents differ");
    let mut reverse = content(&snapshot, Direction::Reverse);
    reverse.reverse();
    assert!(reverse.into_iter().eq(model.clone()), "in reverse, the contents differ");
    assert_eq!(snapshot.count(ALL).unwrap(), model.len() as u64);
    for (key, value) in model.iter().step_by(7) {
        assert_eq!(snapshot.get(key).unwrap().as_deref(), Some(&value[..]));
        assert_eq!(snapshot.value_len(key).unwrap(), Some(value.len() as u64));
    }
    // Equal contents have equal roots.
    let other = Repository::create(MemoryStore::new()).unwrap();
    let other = other.create_page_with("test", PageId::ROOT, secret.clone()).unwrap();
    let db = other.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    model.iter().for_each(|(key, value)| tx.put(key, value).unwrap());
    tx.commit().unwrap();
    let head = other.head(MAIN).unwrap();
    assert_eq!(other.snapshot(&head).unwrap().root(), snapshot.root());
}

fn history(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let lengths = [3, 6, LENGTHS.len()][random.random_range(0..3)];
    let key_max = [20, 300, 8_190][random.random_range(0..3)];
    let mut history = History { random, lengths, key_max };
    let host = MemoryStore::new();
    let secret = Secret::new([seed as u8; 32]);
    let repository = Repository::create(host.clone()).unwrap();
    let page = repository.create_page_with("test", PageId::ROOT, secret.clone()).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut model = Map::new();
    let mut commits = Vec::new();
    for _ in 0..history.below(25) + 5 {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        let most = [3, 40, if lengths > 6 { 60 } else { 1_500 }][history.below(3)];
        for _ in 0..history.below(most) + 1 {
            match history.below(12) {
                0..8 => {
                    let (key, value) = (history.key(), history.value());
                    tx.put(&key, &value).unwrap();
                    model.insert(key, value);
                }
                8..11 => {
                    let key = history.key();
                    tx.remove(&key).unwrap();
                    model.remove(&key);
                }
                _ => {
                    let (one, other) = (history.key(), history.key());
                    let (min, max) = if one < other { (one, other) } else { (other, one) };
                    tx.remove_span(KeySpan::new(&min, Some(&max))).unwrap();
                    model.retain(|key, _| *key < min || *key >= max);
                }
            }
        }
        tx.commit().unwrap();
        commits.push((page.head(MAIN).unwrap(), model.clone()));
    }
    let cold = cold(&host);
    let (last, others) = commits.split_last().unwrap();
    check(&cold, &last.0, &last.1, &secret);
    if !others.is_empty() {
        let (commit, model) = &others[history.below(others.len())];
        check(&cold, commit, model, &secret);
    }
    let found = cold.verify().unwrap();
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

#[test]
fn pages_have_what_was_put_whatever_its_size() {
    let count = std::env::var("PERMAZEN_HISTORIES").map_or(40, |count| count.parse().unwrap());
    for seed in 0..count {
        let run = std::panic::catch_unwind(|| history(seed));
        assert!(run.is_ok(), "history {seed}");
    }
}
