//! Pages: sorted maps with all of their versions.
//!
//! | what | where |
//! |---|---|
//! | shared by all handles of a page | `shared.rs`; `cache.rs` caches nodes, `head_poller.rs` polls heads, `open_pages.rs` has the open pages |
//! | reading one version | `snapshot.rs`; `value.rs` reads a value in parts, `whole_value.rs` a whole one; `entries.rs` and `entry_value.rs` list entries; `pinned_page.rs` pins commits |
//! | making commits | `write.rs`; `author_and_message.rs` has author and message, `stream.rs` writes a value in parts, `readable_draft.rs` reads a draft, `heads.rs` makes several heads, `restore.rs` restores an old content, `retries.rs` pauses between attempts |
//! | refs and history | `branches.rs` has branches and tags, `history.rs` walks history, `differences.rs` diffs versions |
//! | garbage | `collection.rs` has retention and collection, `references.rs` the reference rows |
//! | absent values | `fetch/` fetches them, with `requests.rs` |
//! | commits from elsewhere | `receive/` |

pub(crate) mod author_and_message;
mod branches;
pub(crate) mod cache;
mod collection;
pub(crate) mod differences;
pub(crate) mod entries;
pub(crate) mod entry_value;
mod fetch;
pub(crate) mod head_poller;
mod heads;
pub(crate) mod history;
pub(crate) mod open_pages;
pub(crate) mod pinned_page;
pub(crate) mod readable_draft;
pub(crate) mod receive;
mod references;
mod requests;
mod restore;
mod retries;
pub(crate) mod shared;
pub(crate) mod snapshot;
pub(crate) mod stream;
pub(crate) mod value;
pub(crate) mod whole_value;
pub(crate) mod write;

use std::fmt;
use std::sync::Arc;

use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::{Direction, KeySpan};

use self::author_and_message::{
    AuthorAndMessage, check_author_and_message, with_author_and_message,
};
use self::differences::Differences;
use self::history::Log;
use self::pinned_page::PinnedPage;
use self::shared::Shared;
use self::snapshot::PageSnapshot;
use crate::commit::encoding::Commit;
use crate::error::Result;
use crate::ids::CommitId;
use crate::policy::merging::PageMerging;
use crate::secret::Secret;
use crate::store::at_commit::CommitDatabase;
use crate::store::branching::BranchingDatabase;
use crate::store::linear::PageStore;
use crate::verify::report::Verification;

/// A page of a [`Repository`](crate::Repository): a sorted map with all of its versions.
///
/// It is cheap to clone; clones are the same page.
#[derive(Clone)]
pub struct Page {
    pub(crate) shared: Arc<Shared>,
    pub(crate) merging: Arc<PageMerging>,
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("number", &self.shared.open.rows.number)
            .finish_non_exhaustive()
    }
}

impl Page {
    /// A branch as a database. Each transaction that changes something makes one commit.
    /// Transactions are serializable.
    ///
    /// # Errors
    /// If there is no such branch, it has several heads, or the host fails.
    pub fn database(&self, branch: &str) -> Result<OptimisticDatabase<PageStore>> {
        self.shared.state(branch)?;
        Ok(OptimisticDatabase::new(PageStore::new(Arc::clone(&self.shared), branch)))
    }

    /// A branch as a database whose commits never fail because of others: a transaction begins on
    /// the commit that this handle follows, and its own commit is made on that one. If others have
    /// committed there meanwhile, the branch gets a further head. Heads are merged by the policy of
    /// the page ([`Repository::add_merge_factory`](crate::Repository::add_merge_factory)), or with
    /// [`merge_heads`](Page::merge_heads).
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{LastWriterWins, MAIN, PageId, Repository};
    ///
    /// // Without threads, heads are merged only by `merge_heads`.
    /// let repository = Repository::builder(MemoryStore::new()).manual_maintenance().open_or_create()?;
    /// let page = repository.create_page("list", PageId::ROOT)?;
    /// let (ann, bob) = (page.branching_database(MAIN)?, page.branching_database(MAIN)?);
    /// let mut of_ann = ann.begin(&TxOptions::writing())?;
    /// let mut of_bob = bob.begin(&TxOptions::writing())?;
    /// of_ann.put(b"milk", b"2")?;
    /// of_bob.put(b"bread", b"1")?;
    /// of_ann.commit()?;
    /// of_bob.commit()?;
    /// assert_eq!(page.heads(MAIN)?.len(), 2);
    /// let merge = page.merge_heads(MAIN, &mut LastWriterWins)?;
    /// assert_eq!(page.heads(MAIN)?, [merge]);
    /// assert!(ann.begin(&TxOptions::reading())?.get(b"bread")?.is_some());
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such branch, or the host fails.
    pub fn branching_database(&self, branch: &str) -> Result<BranchingDatabase> {
        BranchingDatabase::new(Arc::clone(&self.shared), Arc::clone(&self.merging), branch)
    }

    /// The content at a commit.
    ///
    /// # Errors
    /// If there is no such commit, or the host fails.
    pub fn snapshot(&self, at: &CommitId) -> Result<PageSnapshot> {
        let (pin, root) = self.shared.pinned_root(at)?;
        PageSnapshot::new(Arc::clone(&self.shared), pin, &root)
    }

    /// The content at a commit as a read-only database. An object database opens on it without
    /// writing, with any of the schemas that were recorded in it then.
    ///
    /// ```
    /// use permazen::{Permazen, PermazenObject};
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_ledger::{MAIN, PageId, Repository};
    ///
    /// #[derive(PermazenObject, Default)]
    /// struct Note {
    ///     text: String,
    /// }
    ///
    /// let page = Repository::open_or_create(MemoryStore::new())?.create_page("notes", PageId::ROOT)?;
    /// let db = Permazen::builder(page.database(MAIN)?).model::<Note>().build()?;
    /// db.write(|tx| tx.create(Note { text: "one".into() }).map(drop))?;
    /// let before = page.head(MAIN)?;
    /// db.write(|tx| tx.create(Note { text: "two".into() }).map(drop))?;
    ///
    /// let then = Permazen::builder(page.database_at(&before)?).model::<Note>().build()?;
    /// assert_eq!(then.read(|tx| tx.all::<Note>()?.count())?, 1);
    /// assert!(then.write(|tx| tx.create(Note::default()).map(drop)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such commit, or the host fails.
    pub fn database_at(&self, at: &CommitId) -> Result<CommitDatabase> {
        Ok(CommitDatabase::new(self.snapshot(at)?))
    }

    /// The secret of the page, for copies of it elsewhere
    /// ([`Repository::create_page_with`](crate::Repository::create_page_with)).
    pub fn secret(&self) -> &Secret {
        &self.shared.secret
    }

    /// How many nodes and parts of values the page has, garbage included. Reads one row.
    ///
    /// # Errors
    /// If the host fails.
    pub fn piece_count(&self) -> Result<u64> {
        Ok(self.shared.open.rows.counts(&self.shared.read()?)?.pieces)
    }

    /// A commit. `None` for the first one, which is not stored.
    ///
    /// # Errors
    /// If there is no such commit, or the host fails.
    pub fn commit(&self, id: &CommitId) -> Result<Option<Commit>> {
        self.shared.commit(id)
    }

    /// The ancestors of this commit, itself included, without the first one: each before its
    /// parents.
    ///
    /// # Errors
    /// If there is no such commit, or the host fails.
    pub fn log(&self, from: CommitId) -> Result<Log> {
        Log::new(Arc::clone(&self.shared), from)
    }

    /// Whether a commit is another one or an ancestor of it. Gets the commits between them.
    ///
    /// # Errors
    /// If one of them is not in the page,
    /// [`LedgerError::BaseMissing`](crate::LedgerError::BaseMissing) if pruned history hides it, or
    /// the host fails.
    pub fn is_ancestor(&self, ancestor: &CommitId, commit: &CommitId) -> Result<bool> {
        history::is_ancestor(&self.shared, ancestor, commit)
    }

    /// The entries of a span that differ between two commits, by their keys.
    ///
    /// Loads only the nodes that both do not share, and the values.
    /// [`diff_entries`](Page::diff_entries) loads no values, and returns priorities.
    ///
    /// # Errors
    /// [`LedgerError::NeedsFetch`](crate::LedgerError::NeedsFetch) if a value is absent. If one of
    /// the commits is not in the page, or the host fails.
    pub fn diff(
        &self,
        old: &CommitId,
        new: &CommitId,
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<Differences> {
        let commits = [*old, *new];
        let (old, new) = (self.shared.pinned_root(old)?, self.shared.pinned_root(new)?);
        let page = PinnedPage::new(Arc::clone(&self.shared), vec![old.0, new.0]);
        Differences::new(Arc::new(page), commits, (&old.1, &new.1), span, direction)
    }

    /// Runs a function. Commits that this thread makes on the page meanwhile have this author and
    /// message.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{MAIN, Origin, PageId, Repository};
    ///
    /// let page = Repository::open_or_create(MemoryStore::new())?.create_page("contacts", PageId::ROOT)?;
    /// let db = page.database(MAIN)?;
    /// page.with_author_and_message("Ann", "the new colleagues", || {
    ///     let mut tx = db.begin(&TxOptions::writing())?;
    ///     tx.put(b"Bob", b"555-0101")?;
    ///     tx.commit()
    /// })??;
    /// match page.commit(&page.head(MAIN)?)?.unwrap().origin {
    ///     Origin::Change { author, message, .. } => {
    ///         assert_eq!((&*author, &*message), ("Ann", "the new colleagues"));
    ///     }
    ///     other => panic!("{other:?}"),
    /// }
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// [`LedgerError::InvalidArgument`](crate::LedgerError::InvalidArgument) if both have more than
    /// 4,096 bytes together. The function is not called then. Its own errors are in its result.
    pub fn with_author_and_message<T>(
        &self,
        author: &str,
        message: &str,
        run: impl FnOnce() -> T,
    ) -> Result<T> {
        check_author_and_message(author, message)?;
        let author_and_message =
            AuthorAndMessage { author: author.to_owned(), message: message.to_owned() };
        Ok(with_author_and_message(self.shared.name(), author_and_message, run))
    }

    /// Checks all that must hold of the page, as [`Repository::verify`](crate::Repository::verify)
    /// does for all pages. Changes nothing.
    ///
    /// # Errors
    /// If the host fails.
    pub fn verify(&self) -> Result<Verification> {
        crate::verify::page::verify(&self.shared)
    }
}
