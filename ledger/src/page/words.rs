//! Who makes a commit, and why.

use std::cell::RefCell;

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

/// Runs a function; what this thread commits on the page meanwhile says this.
pub(super) fn say<T>(page: [u8; 16], words: Words, run: impl FnOnce() -> T) -> T {
    WORDS.with_borrow_mut(|all| all.push((page, words)));
    let _said = Said;
    run()
}

/// Refuses words that are too long for a commit.
pub(crate) fn check_words(author: &str, message: &str) -> Result<()> {
    if author.len() + message.len() > MAX_WORDS_LEN {
        let words = "author and message of a commit have at most 4,096 bytes together";
        return Err(LedgerError::InvalidArgument(words.to_owned()));
    }
    Ok(())
}
