//! Databases of objects on a page of a ledger, where each commit can be checked afterwards.

use std::sync::Arc;

use permazen_jsck::{Finding, Options};
use permazen_kv::KvDatabase;
use permazen_kv::memory::MemoryStore;
use permazen_ledger::{LedgerError, MAIN, Page, PageId, Repository};

/// A new page of a ledger in memory.
///
/// # Errors
///
/// The errors of the ledger.
pub fn new_page() -> Result<Page, LedgerError> {
    Repository::open_or_create(MemoryStore::new())?.create_page("objects", PageId::ROOT)
}

/// The main branch of a page as a store.
///
/// # Errors
///
/// The errors of the ledger.
pub fn main_branch(page: &Page) -> Result<Arc<dyn KvDatabase>, LedgerError> {
    Ok(Arc::new(page.database(MAIN)?))
}

/// How many commits were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// Those that are heads no more.
    pub old: u64,
    /// All that the main branch has.
    pub all: u64,
}

/// Checks objects as they are at the head of the main branch and as they were at older commits, of
/// which one in `one_in` is taken, and then the page itself.
///
/// # Errors
///
/// The findings, as text.
pub fn check_commits(page: &Page, one_in: usize) -> Result<Checked, String> {
    let words = |error: LedgerError| error.to_string();
    let mut found = Vec::new();
    let mut checked = Checked { old: 0, all: 0 };
    let head = page.head(MAIN).map_err(words)?;
    for (at, commit) in page.log(head).map_err(words)?.enumerate() {
        let (id, _) = commit.map_err(words)?;
        checked.all += 1;
        if !at.is_multiple_of(one_in.max(1)) {
            continue;
        }
        checked.old += u64::from(at > 0);
        let snapshot = page.snapshot(&id).map_err(words)?;
        let mut sink = |finding: &Finding| found.push(format!("commit {id}: {finding}"));
        permazen_jsck::check(&snapshot, &Options::default(), &mut sink)
            .map_err(|error| format!("commit {id}: {error}"))?;
    }
    found.extend(page.verify().map_err(words)?.findings.iter().map(ToString::to_string));
    if found.is_empty() { Ok(checked) } else { Err(found.join("\n")) }
}
