//! Restores an old content as a new commit.

use permazen_kv::TxOptions;

use super::Page;
use super::write::{Attempt, Draft};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;

/// How often it is tried again because the branch was changed meanwhile.
const ATTEMPTS: usize = 100;

impl Page {
    /// Makes a commit on a branch with the content of another commit of the page, such as an older
    /// one, and returns it. Later changes stay in the history. If the head has that content, no
    /// commit is made.
    ///
    /// Author and message come from [`with_author_and_message`](Page::with_author_and_message).
    /// Open transactions on the branch that have read a changed entry run again. Loads and writes
    /// no node.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{MAIN, PageId, Repository};
    ///
    /// let page = Repository::open_or_create(MemoryStore::new())?.create_page("draft", PageId::ROOT)?;
    /// let db = page.database(MAIN)?;
    /// let mut heads = Vec::new();
    /// for word in ["good", "bad"] {
    ///     let mut tx = db.begin(&TxOptions::writing())?;
    ///     tx.put(b"word", word.as_bytes())?;
    ///     tx.commit()?;
    ///     heads.push(page.head(MAIN)?);
    /// }
    /// let restored = page.with_author_and_message("Ann", "as it was", || page.restore(MAIN, &heads[0]))??;
    /// assert_eq!(page.snapshot(&restored)?.root(), page.snapshot(&heads[0])?.root());
    /// assert_eq!(page.log(restored)?.count(), 3);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such branch or commit, the branch has several heads, it is changed again and
    /// again meanwhile, or the host fails. The branch is then as it was.
    pub fn restore(&self, branch: &str, to: &CommitId) -> Result<CommitId> {
        let shared = &self.shared;
        let (_pin, root) = shared.pinned_root(to)?;
        let conflicts = shared.commit(to)?.and_then(|commit| commit.conflicts);
        for _ in 0..ATTEMPTS {
            let state = shared.state(branch)?;
            let head = shared.commit(&state.head)?;
            if state.root == root && head.and_then(|commit| commit.conflicts) == conflicts {
                return Ok(state.head);
            }
            let mut commit = shared.change(&state, root)?;
            commit.conflicts = conflicts;
            let mut tx = shared.begin(&TxOptions::writing())?;
            shared.open.rows.check_exists(&tx)?;
            // Another process may have pruned it meanwhile.
            shared.commit_in(&tx, to)?;
            shared.open.rows.keep(&mut tx, to)?;
            let draft = Draft::unchanged(root);
            let attempt = shared.commit_draft_in(tx, (branch, &state), &commit, &draft)?;
            if let Attempt::Committed(id) = attempt {
                return Ok(id);
            }
        }
        Err(LedgerError::moved(shared.number(), branch))
    }
}
