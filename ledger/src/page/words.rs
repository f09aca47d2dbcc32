//! Author and message of the commits that a thread makes.

use std::cell::RefCell;

use crate::commit::encoding::MAX_WORDS_LEN;
use crate::error::{LedgerError, Result};

/// Author and message of commits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    pub(crate) author: String,
    pub(crate) message: String,
}

thread_local! {
    /// One for each nested call, the innermost last, each with the name of its page.
    static WORDS: RefCell<Vec<([u8; 16], Words)>> = const { RefCell::new(Vec::new()) };
}

/// Removes author and message at the end, also after a panic.
struct Said;

impl Drop for Said {
    fn drop(&mut self) {
        WORDS.with_borrow_mut(|words| drop(words.pop()));
    }
}

/// Author and message of a commit that this thread makes on the page.
pub(super) fn words(page: &[u8; 16]) -> Words {
    WORDS.with_borrow(|words| {
        let found = words.iter().rev().find(|(name, _)| name == page);
        found.map(|(_, words)| words.clone()).unwrap_or_default()
    })
}

/// Runs a function. Commits that this thread makes on the page meanwhile have this author and
/// message.
pub(super) fn say<T>(page: [u8; 16], words: Words, run: impl FnOnce() -> T) -> T {
    WORDS.with_borrow_mut(|all| all.push((page, words)));
    let _said = Said;
    run()
}

/// Refuses an author and message that are too long.
pub(crate) fn check_words(author: &str, message: &str) -> Result<()> {
    if author.len() + message.len() > MAX_WORDS_LEN {
        let words = "author and message of a commit have at most 4,096 bytes together";
        return Err(LedgerError::InvalidArgument(words.to_owned()));
    }
    Ok(())
}
