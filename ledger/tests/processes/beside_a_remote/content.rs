//! The pages, and their content: the content of a branch is a function of how many commits it has.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, LedgerError, MAIN, Page, PageId, PageSnapshot, Repository, RepositoryBuilder, Result,
    Retention, Secret, ValueRef,
};

pub(crate) use crate::support::page::{Map, noise};

/// The branch of the commits from the remote, if the page has also own commits.
pub(crate) const NEWS: &str = "news";

/// The pages.
pub(crate) const PAGES: [&str; 3] = ["both", "own", "news"];

/// A branch of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) page: usize,
    pub(crate) branch: &'static str,
    /// Its commits are made here and brought to the remote. The commits of other lines are made
    /// there.
    pub(crate) is_own: bool,
}

pub(crate) const LINES: [Line; 4] = [
    Line { page: 0, branch: MAIN, is_own: true },
    Line { page: 0, branch: NEWS, is_own: false },
    // These pages have one branch, so they can be evicted.
    Line { page: 1, branch: MAIN, is_own: true },
    Line { page: 2, branch: MAIN, is_own: false },
];

/// The repository, and the one that is its remote.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side {
    Here,
    There,
}

pub(crate) fn builder(store: &str, folder: &Path, side: Side) -> RepositoryBuilder {
    let path = folder.join(format!("{side:?}"));
    let host: Arc<dyn KvDatabase> = match store {
        "lmdb" => Arc::new(LmdbStore::open_or_create(path).unwrap()),
        _ => Arc::new(SqliteStore::open_or_create(path).unwrap()),
    };
    Repository::shared_builder(host)
}

/// A page, which is made if it is not there.
pub(crate) fn page(repository: &Repository, page: usize, side: Side) -> Result<Page> {
    let made = loop {
        match repository.page(PAGES[page], PageId::ROOT) {
            Err(LedgerError::NoSuch { .. }) => {}
            result => break result?,
        }
        // The two have one secret, so that equal contents are equal commits.
        match repository.create_page_with(PAGES[page], PageId::ROOT, Secret::new([5; 32])) {
            Err(LedgerError::Exists { .. }) => {}
            result => break result?,
        }
    };
    if page == 0 {
        match made.create_branch(NEWS, &CommitId::FIRST) {
            Ok(()) | Err(LedgerError::Exists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    // Here few commits are kept, and the remote has all.
    if let Side::Here = side {
        made.set_retention(Retention::Last(3))?;
    }
    Ok(made)
}

/// How many lazy values there are.
const LAZY: u64 = 6;

/// The writes of commit `number`: few contents, so that garbage comes back to life, and pieces that
/// came once come again.
fn writes(number: u64) -> Map {
    let value = |key: u8| vec![(number % 4) as u8; if key == 7 { 20_000 } else { 60 }];
    let from = (number % 5) as u8 * 20;
    let mut writes: Map = (from..from + 60).map(|key| (vec![key], value(key))).collect();
    writes.insert(b"number".to_vec(), number.to_be_bytes().to_vec());
    writes
}

/// The lazy value that commit `number` writes.
fn lazy(number: u64) -> (Vec<u8>, Vec<u8>) {
    let key = vec![b'z', (number % LAZY) as u8];
    (key, VALUES[(number % 15) as usize].clone())
}

/// All begin with the same pieces.
static VALUES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let value = |number: u64| {
        [noise(30_000, 1), noise(600 + 12_000 * (number % 5) as usize, number % 3)].concat()
    };
    (0..15).map(value).collect()
});

/// The content of a branch after this many commits: the values that are here with the commit, and
/// the lazy ones.
pub(crate) fn content(number: u64) -> (Map, Map) {
    let (mut content, mut lazies) = (Map::new(), Map::new());
    for number in number.saturating_sub(LAZY - 1).max(1)..=number {
        content.extend(writes(number));
        lazies.extend([lazy(number)]);
    }
    (content, lazies)
}

/// How many commits led to this content.
pub(crate) fn number(read: &dyn KvRead) -> Result<u64> {
    let number = read.get(b"number")?.map(|number| number.into_owned());
    Ok(number.map_or(0, |number| u64::from_be_bytes(number.try_into().unwrap())))
}

/// The head of a branch.
pub(crate) fn head(page: &Page, branch: &str) -> Result<PageSnapshot> {
    page.snapshot(&page.head(branch)?)
}

fn stream(page: &Page, value: &[u8]) -> Result<ValueRef> {
    let mut writer = page.write_value(None)?;
    if let Err(error) = writer.write_all(value) {
        return Err(*error.into_inner().unwrap().downcast().unwrap());
    }
    writer.finish()
}

/// Adds the next commit to a branch, and says which it is.
pub(crate) fn commit_next(page: &Page, branch: &str) -> Result<u64> {
    let db = page.database(branch)?;
    let mut tx = db.begin(&TxOptions::writing())?;
    let number = number(&*tx)? + 1;
    for (key, value) in writes(number) {
        tx.put(&key, &value)?;
    }
    let (key, value) = lazy(number);
    tx.put(&key, stream(page, &value)?.lazy().as_bytes())?;
    tx.commit()?;
    Ok(number)
}
