//! A page, and functions of tests for it and its host.

use std::collections::BTreeMap;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{
    Direction, KeySpan, KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, TxOptions,
};
use permazen_ledger::{
    CommitId, Conflict, MAIN, Merger, Origin, Page, PageId, Repository, Resolution, Result,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Keys and values, in the order of the keys.
pub(crate) type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// A page in a host of its own.
pub(crate) fn new_page() -> Page {
    let repository = Repository::open_or_create(MemoryStore::new()).unwrap();
    repository.create_page("test", PageId::ROOT).unwrap()
}

/// Commits a change of a branch. Returns its head.
pub(crate) fn write(page: &Page, branch: &str, change: impl FnOnce(&mut dyn KvWrite)) -> CommitId {
    let db = page.database(branch).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    change(&mut *tx);
    tx.commit().unwrap();
    page.head(branch).unwrap()
}

/// Commits a pair on a branch. Returns its head.
pub(crate) fn put(page: &Page, branch: &str, key: &[u8], value: &[u8]) -> CommitId {
    write(page, branch, |tx| tx.put(key, value).unwrap())
}

/// The value of a key at the head of the main branch.
pub(crate) fn get(page: &Page, key: &[u8]) -> Option<Vec<u8>> {
    let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    snapshot.get(key).unwrap().map(|value| value.into_owned())
}

/// Runs a function within a transaction of the page that has failed so often that it holds the
/// right to write to the host, and once more in an attempt that would hold it if the thread had not
/// been refused another transaction. The function gets whether it is held.
pub(crate) fn within_a_turn(page: &Page, mut run: impl FnMut(bool)) {
    let mut attempts = 0;
    let db = page.database(MAIN).unwrap();
    db.write(|_| {
        attempts += 1;
        if [7, 9].contains(&attempts) {
            run(attempts == 7);
        }
        if attempts < 9 {
            Err(KvError::Retry("again, as the test wants".to_owned()))
        } else {
            Ok(())
        }
    })
    .unwrap();
    assert_eq!(attempts, 9);
}

/// All pairs.
pub(crate) fn pairs(read: &dyn KvRead) -> Map {
    try_pairs(read).unwrap()
}

/// The same, or the error of the first one that cannot be read.
pub(crate) fn try_pairs(read: &dyn KvRead) -> permazen_kv::Result<Map> {
    let pairs = read.scan(KeySpan::FULL, Direction::Forward)?;
    pairs.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect()
}

/// The content of a commit.
pub(crate) fn content(page: &Page, at: &CommitId) -> Map {
    pairs(&page.snapshot(at).unwrap())
}

/// The commits that a commit was made from.
pub(crate) fn parents(origin: &Origin) -> Vec<CommitId> {
    match origin {
        Origin::Change { parent, .. } => vec![*parent],
        Origin::Merge { parents } => parents.to_vec(),
        other => panic!("{other:?}"),
    }
}

/// The older side wins.
pub(crate) struct OlderWins;

impl Merger for OlderWins {
    fn resolve(&mut self, _: &Conflict<'_>) -> Result<Resolution> {
        Ok(Resolution::Older)
    }
}

/// Another host with the same rows.
pub(crate) fn copy(host: &MemoryStore) -> MemoryStore {
    host_of(&pairs(&host.snapshot()))
}

/// A host with these rows.
pub(crate) fn host_of(rows: &Map) -> MemoryStore {
    let host = MemoryStore::new();
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    rows.iter().for_each(|(key, row)| tx.put(key, row).unwrap());
    tx.commit().unwrap();
    host
}

/// How many rows of the first page in its host begin with this byte.
pub(crate) fn count_rows(host: &dyn KvDatabase, first: u8) -> usize {
    let tx = host.begin(&TxOptions::reading()).unwrap();
    let (min, max) = ([0x10, 1, first], [0x10, 1, first + 1]);
    tx.scan(KeySpan::new(&min, Some(&max)), Direction::Forward).unwrap().count()
}

/// Bytes without order.
pub(crate) fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    StdRng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

/// `verify` finds nothing in the page.
#[track_caller]
pub(crate) fn assert_clean(page: &Page) {
    let found = page.verify().unwrap().findings;
    assert!(found.is_empty(), "{found:#?}");
}

/// The same, with a text that says at which point of a test.
#[track_caller]
pub(crate) fn assert_clean_when(page: &Page, when: &str) {
    let found = page.verify().unwrap().findings;
    assert!(found.is_empty(), "{when}: {found:#?}");
}

/// `verify` finds nothing in all of the repository.
#[track_caller]
pub(crate) fn assert_all_clean(repository: &Repository) {
    let found = repository.verify().unwrap().findings;
    assert!(found.is_empty(), "{found:#?}");
}
