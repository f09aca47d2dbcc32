//! Author and message of the commits that a thread makes.

use std::cell::RefCell;

use crate::commit::encoding::MAX_AUTHOR_AND_MESSAGE_LEN;
use crate::error::{LedgerError, Result};

/// Author and message of commits.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuthorAndMessage {
    pub(crate) author: String,
    pub(crate) message: String,
}

thread_local! {
    /// One for each nested call, the innermost last, each with the name of its page.
    static CURRENT: RefCell<Vec<([u8; 16], AuthorAndMessage)>> = const { RefCell::new(Vec::new()) };
}

/// Removes author and message at the end, also after a panic.
struct Reset;

impl Drop for Reset {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|all| drop(all.pop()));
    }
}

/// Author and message of a commit that this thread makes on the page.
pub(super) fn author_and_message(page: &[u8; 16]) -> AuthorAndMessage {
    CURRENT.with_borrow(|all| {
        let found = all.iter().rev().find(|(name, _)| name == page);
        found.map(|(_, pair)| pair.clone()).unwrap_or_default()
    })
}

/// Runs a function. Commits that this thread makes on the page meanwhile have this author and
/// message.
pub(super) fn with_author_and_message<T>(
    page: [u8; 16],
    pair: AuthorAndMessage,
    run: impl FnOnce() -> T,
) -> T {
    CURRENT.with_borrow_mut(|all| all.push((page, pair)));
    let _reset = Reset;
    run()
}

/// Refuses an author and message that are too long.
pub(crate) fn check_author_and_message(author: &str, message: &str) -> Result<()> {
    if author.len() + message.len() > MAX_AUTHOR_AND_MESSAGE_LEN {
        let what = "author and message of a commit have at most 4,096 bytes together";
        return Err(LedgerError::InvalidArgument(what.to_owned()));
    }
    Ok(())
}
