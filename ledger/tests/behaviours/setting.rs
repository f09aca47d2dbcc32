//! A page, and the steps of tests with it.

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{CommitId, Digest, LastWriterWins, MAIN, Page, PageId, Repository, Secret};

pub(crate) use crate::support::page::{Map, content, noise};

pub(crate) const ALL: KeySpan<'static> = KeySpan { min: b"", max: None };

/// A page in a host of its own.
pub(crate) struct Setting {
    pub(crate) host: MemoryStore,
    pub(crate) page: Page,
}

impl Setting {
    pub(crate) fn new() -> Self {
        Self::with_secret(1)
    }

    pub(crate) fn with_secret(secret: u8) -> Self {
        let host = MemoryStore::new();
        let repository = Repository::builder(host.clone())
            .exclusive()
            .manual_maintenance()
            .open_or_create()
            .unwrap();
        let secret = Secret::new([secret; 32]);
        let page = repository.create_page_with("test", PageId::ROOT, secret).unwrap();
        Setting { host, page }
    }

    /// The page as another process sees it, with nothing in memory.
    pub(crate) fn cold(&self) -> Page {
        Repository::builder(self.host.clone())
            .manual_maintenance()
            .open()
            .unwrap()
            .page("test", PageId::ROOT)
            .unwrap()
    }

    pub(crate) fn head(&self) -> CommitId {
        self.page.head(MAIN).unwrap()
    }

    /// Changes a branch, and returns its head.
    pub(crate) fn write(&self, branch: &str, change: impl FnOnce(&mut dyn KvWrite)) -> CommitId {
        let db = self.page.database(branch).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        change(&mut tx);
        tx.commit().unwrap();
        self.page.head(branch).unwrap()
    }

    pub(crate) fn put(&self, key: &[u8], value: &[u8]) -> CommitId {
        self.put_on(MAIN, key, value)
    }

    pub(crate) fn put_on(&self, branch: &str, key: &[u8], value: &[u8]) -> CommitId {
        self.write(branch, |tx| tx.put(key, value).unwrap())
    }

    pub(crate) fn put_all(&self, map: &Map) -> CommitId {
        self.write(MAIN, |tx| map.iter().for_each(|(key, value)| tx.put(key, value).unwrap()))
    }

    pub(crate) fn remove(&self, key: &[u8]) -> CommitId {
        self.write(MAIN, |tx| tx.remove(key).unwrap())
    }

    pub(crate) fn branch(&self, name: &str) {
        self.page.create_branch(name, &self.head()).unwrap();
    }

    pub(crate) fn merge(&self, branch: &str) -> CommitId {
        let from = self.page.head(branch).unwrap();
        self.page.merge(MAIN, &from, &mut LastWriterWins).unwrap()
    }

    pub(crate) fn root(&self) -> Digest {
        self.page.snapshot(&self.head()).unwrap().root()
    }

    pub(crate) fn content(&self) -> Map {
        content(&self.page, &self.head())
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.content().get(key).cloned()
    }

    /// The rows of the page whose keys begin like this: without the prefix of the page.
    pub(crate) fn rows(&self, begin: &[u8]) -> Map {
        let min = [&[0x10, 1], begin].concat();
        let max = permazen_kv::key::after_prefix(&min);
        let snapshot = self.host.snapshot();
        let pairs = snapshot.scan(KeySpan::new(&min, max.as_deref()), Direction::Forward).unwrap();
        pairs
            .map(|pair| pair.map(|(key, row)| (key[2..].to_vec(), row.to_vec())).unwrap())
            .collect()
    }

    /// The bytes of all pieces of a kind: 1 nodes, 2 chunks, 3 index pieces.
    pub(crate) fn pieces(&self, kind: u8) -> Vec<Vec<u8>> {
        let rows = self.rows(&[0x23]).into_values();
        rows.filter(|row| row[0] == kind).map(|row| row[12..].to_vec()).collect()
    }
}

pub(crate) fn pairs(
    read: &dyn KvRead,
    span: KeySpan<'_>,
    direction: Direction,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pairs = read.scan(span, direction).unwrap();
    pairs.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

/// Many entries with short values.
pub(crate) fn many(count: u32) -> Map {
    let key = |number: u32| number.wrapping_mul(2_654_435_761).to_be_bytes().to_vec();
    (0..count).map(|number| (key(number), number.to_be_bytes().to_vec())).collect()
}
