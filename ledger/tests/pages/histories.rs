//! Random transactions with keys and values of all sizes against a map, and against a page that is
//! filled at once.
//!
//! `PERMAZEN_HISTORIES` sets how many histories there are, `PERMAZEN_CHANGES` how many transactions
//! that change one thing each.

use permazen_kv::memory::MemoryStore;
use permazen_kv::testsuite::one_change_each;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{CommitId, MAIN, Page, PageId, PageSnapshot, Repository, Retention, Secret};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

use crate::support::page::Map;

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
    let pairs = read.scan(KeySpan::FULL, direction).unwrap();
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
    assert_eq!(snapshot.count(KeySpan::FULL).unwrap(), model.len() as u64);
    for (key, value) in model.iter().step_by(7) {
        assert_eq!(snapshot.get(key).unwrap().as_deref(), Some(&value[..]));
        assert_eq!(snapshot.value_len(key).unwrap(), Some(value.len() as u64));
    }
    // Equal contents have equal roots.
    let other = Repository::open_or_create(MemoryStore::new()).unwrap();
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
    let repository = Repository::open_or_create(host.clone()).unwrap();
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
    let count = std::env::var("PERMAZEN_HISTORIES").map_or(16, |count| count.parse().unwrap());
    for seed in 0..count {
        let run = std::panic::catch_unwind(|| history(seed));
        assert!(run.is_ok(), "history {seed}");
    }
}

/// The shape of the keys and values of a stretch of transactions.
struct Shape {
    /// How many different keys there are.
    keys: u16,
    /// How many bytes all keys have in common.
    prefix: usize,
    /// How long values are: from the first one to the second one, which is left out.
    lengths: (usize, usize),
}

/// Few keys and many; values that stay in leaves, that are at the limit, and that have pieces of
/// their own.
const SHAPES: [Shape; 7] = [
    Shape { keys: 1, prefix: 0, lengths: (40, 42) },
    Shape { keys: 3, prefix: 0, lengths: (509, 516) },
    Shape { keys: 60, prefix: 3, lengths: (0, 60) },
    Shape { keys: 300, prefix: 200, lengths: (0, 140) },
    Shape { keys: 12, prefix: 8_000, lengths: (0, 513) },
    Shape { keys: 5, prefix: 1, lengths: (4_000, 9_000) },
    Shape { keys: 4_000, prefix: 16, lengths: (0, 30) },
];

/// A page that is changed by one key after the other, and a map with the same content.
struct Small {
    random: StdRng,
    host: MemoryStore,
    page: Page,
    secret: Secret,
    model: Map,
    /// Commits that are read for a while.
    snapshots: Vec<(PageSnapshot, Map)>,
}

impl Small {
    fn new(shape: u8, retention: Retention) -> Self {
        let (host, secret) = (MemoryStore::new(), Secret::new([shape; 32]));
        let repository = Repository::builder(host.clone()).exclusive().manual_maintenance();
        let repository = repository.open_or_create().unwrap();
        let page = repository.create_page_with("test", PageId::ROOT, secret.clone()).unwrap();
        page.set_retention(retention).unwrap();
        let random = StdRng::seed_from_u64(u64::from(shape));
        Small { random, host, page, secret, model: Map::new(), snapshots: Vec::new() }
    }

    fn key(&mut self, shape: &Shape) -> Vec<u8> {
        let number = self.random.random_range(0..shape.keys).to_be_bytes();
        [vec![7; shape.prefix], number.to_vec()].concat()
    }

    fn head(&self) -> PageSnapshot {
        self.page.snapshot(&self.page.head(MAIN).unwrap()).unwrap()
    }

    /// Puts or removes one key, in a transaction of its own.
    fn change(&mut self, shape: &Shape, removes: bool) {
        let mut key = self.key(shape);
        if removes && let Some((next, _)) = self.model.range(key.clone()..).next() {
            // Mostly one that is there.
            key.clone_from(next);
        }
        let db = self.page.database(MAIN).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        if removes {
            tx.remove(&key).unwrap();
            self.model.remove(&key);
        } else {
            let len = self.random.random_range(shape.lengths.0..shape.lengths.1);
            let mut value = vec![self.random.random(); len];
            self.random.fill_bytes(&mut value[..len.min(8)]);
            tx.put(&key, &value).unwrap();
            self.model.insert(key.clone(), value);
        }
        tx.commit().unwrap();
        self.check_beside(&key);
    }

    /// Compares a key and the pairs on both sides of it.
    fn check_beside(&self, key: &[u8]) {
        let (head, model) = (self.head(), &self.model);
        assert_eq!(head.get(key).unwrap().as_deref(), model.get(key).map(|value| &value[..]));
        let owned = |pair: permazen_kv::Pair<'_>| (pair.0.into_owned(), pair.1.into_owned());
        let own = |pair: (&Vec<u8>, &Vec<u8>)| (pair.0.clone(), pair.1.clone());
        let above = [key, &[0]].concat();
        let next = head.at_least(&above, None).unwrap().map(owned);
        assert_eq!(next, model.range(above..).next().map(own));
        let before = head.at_most(&[], Some(key)).unwrap().map(owned);
        assert_eq!(before, model.range(..key.to_vec()).next_back().map(own));
    }

    fn read_or_compare(&mut self) {
        if self.snapshots.len() == 3 {
            let at = self.random.random_range(0..3);
            let (snapshot, model) = self.snapshots.swap_remove(at);
            assert!(content(&snapshot, Direction::Forward).into_iter().eq(model));
        }
        self.snapshots.push((self.head(), self.model.clone()));
    }

    /// Compares everything, also without the caches in memory, and collects.
    fn check_all(&mut self) {
        self.page.collect().unwrap();
        for (snapshot, model) in &self.snapshots {
            assert!(content(snapshot, Direction::Reverse).into_iter().rev().eq(model.clone()));
        }
        check(&cold(&self.host), &self.page.head(MAIN).unwrap(), &self.model, &self.secret);
        let report = self.page.verify().unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        assert_eq!(report.unreachable_pieces, 0);
    }
}

/// Transactions that change one thing each, a great number of them: `PERMAZEN_CHANGES`. Each makes
/// a new path of nodes, and removes the old one with the next collection.
#[test]
fn small_transactions_are_as_in_a_map() {
    let count = std::env::var("PERMAZEN_CHANGES").map_or(5_000, |count| count.parse().unwrap());
    let changes = usize::div_ceil(count, SHAPES.len());
    for (number, shape) in SHAPES.iter().enumerate() {
        // Of every other one all history stays.
        let retention = [Retention::Heads, Retention::All][number % 2];
        let mut small = Small::new(number as u8, retention);
        // In some stretches more comes than goes; then nodes are split, and joined in the others.
        let stretch = 2 * usize::from(shape.keys) + 50;
        for step in 0..changes {
            let of_ten = if step / stretch % 2 == 0 { 2 } else { 6 };
            let removes = small.random.random_range(0..10) < of_ten;
            small.change(shape, removes);
            if step % 100 == 99 {
                small.read_or_compare();
            }
            if step % 1_000 == 499 {
                small.check_all();
            }
        }
        small.check_all();
    }
}

/// The test that each store runs, on a page. Its host gets many small changes itself.
#[test]
fn a_page_is_a_store_of_small_transactions() {
    let changes = std::env::var("PERMAZEN_CHANGES").map_or(4_000, |count| count.parse().unwrap());
    let repository =
        Repository::builder(MemoryStore::new()).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    page.set_retention(Retention::Last(50)).unwrap();
    one_change_each(&page.database(MAIN).unwrap(), changes, 7);
    let report = page.verify().unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}
