//! Who makes a commit, and why.

use std::cell::RefCell;

use super::Page;
use crate::commit::encoding::MAX_WORDS_LEN;
use crate::error::{LedgerError, Result};

/// What commits of a page say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    pub(crate) author: String,
    pub(crate) message: String,
}

thread_local! {
    /// For the pages with these names, the innermost last.
    static WORDS: RefCell<Vec<([u8; 16], Words)>> = const { RefCell::new(Vec::new()) };
}

/// Takes the words back, also after a panic.
struct Said;

impl Drop for Said {
    fn drop(&mut self) {
        WORDS.with_borrow_mut(|words| drop(words.pop()));
    }
}

/// What a commit that this thread makes on the page says.
pub(super) fn words(page: &[u8; 16]) -> Words {
    WORDS.with_borrow(|words| {
        let found = words.iter().rev().find(|(name, _)| name == page);
        found.map(|(_, words)| words.clone()).unwrap_or_default()
    })
}

impl Page {
    /// Runs a function; what this thread commits on the page meanwhile has this author and message.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{MAIN, Origin, PageId, Repository};
    ///
    /// let page = Repository::create(MemoryStore::new())?.create_page("contacts", PageId::ROOT)?;
    /// let db = page.database(MAIN)?;
    /// page.with_words("Ann", "the new colleagues", || {
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
    /// [`LedgerError::InvalidArgument`] if both have more than 4,096 bytes together. The function is not
    /// called then. Its own errors are in what it returns.
    pub fn with_words<T>(&self, author: &str, message: &str, run: impl FnOnce() -> T) -> Result<T> {
        check_words(author, message)?;
        let words = Words { author: author.to_owned(), message: message.to_owned() };
        WORDS.with_borrow_mut(|all| all.push((self.shared.name(), words)));
        let _said = Said;
        Ok(run())
    }
}

/// Refuses words that are too long for a commit.
pub(crate) fn check_words(author: &str, message: &str) -> Result<()> {
    if author.len() + message.len() > MAX_WORDS_LEN {
        let words = "author and message of a commit have at most 4,096 bytes together";
        return Err(LedgerError::InvalidArgument(words.to_owned()));
    }
    Ok(())
}
