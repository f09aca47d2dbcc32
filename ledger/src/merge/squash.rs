//! Replaces commits by one with the same content.

use std::collections::BTreeSet;

use permazen_kv::{KvRead, TxOptions};

use super::relation::after;
use crate::commit::encoding::{Commit, Origin};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::Page;
use crate::page::shared::BranchState;
use crate::page::words::check_words;
use crate::page::write::Draft;
use crate::rows::page::{Head, Rows};
use crate::rows::statuses::Remote;

impl Page {
    /// Replaces the commits of a branch after `onto` by one with the content of the head, and gives
    /// that commit, which is then the head. `None` as message keeps that of the head.
    ///
    /// `onto` is the first commit ([`CommitId::FIRST`]) or one that leads to the head. The old commits
    /// lose their place in the branch; who has their IDs can still read them. If the content
    /// is that of `onto`, the branch is reset to `onto`, and no commit is made. Transactions
    /// of a linear database that are open on the branch are not disturbed, because its content stays; a commit of a
    /// branching one that began before is refused with [`LedgerError::BranchMoved`].
    /// Commits that are no longer [kept](Page::set_retention) are in nobody's way if `onto` is the first commit.
    ///
    /// Gets the commits that are replaced, and those that lead to `onto` and are as new as these, then
    /// the names of all branches and tags, and writes one transaction. Loads and writes no node.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{CommitId, MAIN, PageId, Repository};
    ///
    /// let page = Repository::create(MemoryStore::new())?.create_page("draft", PageId::ROOT)?;
    /// let db = page.database(MAIN)?;
    /// for word in ["one", "two", "three"] {
    ///     let mut tx = db.begin(&TxOptions::writing())?;
    ///     tx.put(word.as_bytes(), b"")?;
    ///     tx.commit()?;
    /// }
    /// assert_eq!(page.log(page.head(MAIN)?)?.count(), 3);
    /// let all = page.squash(MAIN, &CommitId::FIRST, Some("three words"))?;
    /// assert_eq!(page.log(all)?.count(), 1);
    /// assert!(page.snapshot(&all)?.get(b"two")?.is_some());
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// [`LedgerError::CannotSquash`] if `onto` does not lead to the head, or if a commit that would be
    /// replaced has another branch or a tag, or is at the remote. If there is no such branch or commit, the branch has
    /// several heads or is changed at the same time, the message is longer than 4,096 bytes with the
    /// author, or the host fails. Nothing is changed then.
    pub fn squash(&self, branch: &str, onto: &CommitId, message: Option<&str>) -> Result<CommitId> {
        let shared = &self.shared;
        let keeps = shared.open.rows.keeps(&shared.read()?)?;
        let state = shared.state(branch)?;
        let base = shared.commit(onto)?;
        let refused = |reason: &str| LedgerError::CannotSquash {
            page: shared.page(),
            commit: *onto,
            reason: reason.to_owned(),
        };
        let mut is_cut_off = false;
        let range = match *onto {
            CommitId::FIRST => {
                let mut log = self.log(state.head)?;
                let range = log.by_ref().map(|found| found.map(|(id, _)| id));
                let range = range.collect::<Result<BTreeSet<_>>>()?;
                is_cut_off = log.pruned().is_some();
                range
            }
            _ => after(shared, onto, &state.head)?
                .ok_or_else(|| refused("it does not lead to the head of the branch"))?,
        };
        let Some(head) = shared.commit(&state.head)?.filter(|_| !range.is_empty()) else {
            return Ok(state.head);
        };
        let onto_state = BranchState {
            head: *onto,
            time: base.as_ref().map_or_else(Default::default, |base| base.time),
            generation: base.as_ref().map_or(0, |base| base.generation),
            root: shared.root_of(onto)?,
            resets: state.resets,
        };
        let new = self.replacement(&onto_state, base.as_ref(), &head, message)?;

        let mut tx = shared.open.host.begin(&TxOptions::writing())?;
        shared.open.rows.check_there(&tx)?;
        let moved = || LedgerError::moved(shared.page(), branch);
        if shared.state_in(&tx, branch)? != state || shared.open.rows.keeps(&tx)? != keeps {
            return Err(moved());
        }
        self.check_names(&tx, &range, &state.head, branch)?;
        check_unsynced(&self.shared.open.rows, &tx, &range)?;
        if is_cut_off && self.shared.open.rows.remote(&tx)? == Remote::Attached {
            return Err(refused("commits before it are no longer kept, and may be at the remote"));
        }
        shared.commit_in(&tx, onto)?;
        shared.open.rows.remove_head(&mut tx, branch, &state.head)?;
        let head = match &new {
            None => Head { id: *onto, time: onto_state.time },
            Some(commit) => Head { id: Commit::id(&commit.to_bytes()), time: commit.time },
        };
        shared.open.rows.put_head(&mut tx, branch, &head)?;
        shared.open.rows.put_resets(&mut tx, branch, state.resets + 1)?;
        shared.open.rows.keep(&mut tx, onto)?;
        if let Some(commit) = &new {
            let draft = Draft::unchanged(commit.root);
            shared.put_draft(&mut tx, (&head.id, commit), &draft)?;
            shared.end(tx, &head.id)?;
        } else {
            shared.end_without_new(tx, &head.id)?;
        }
        shared.lookout.call();
        Ok(head.id)
    }

    /// The commit with the content of `head` on `onto`. `None` if it has that content.
    fn replacement(
        &self,
        onto: &BranchState,
        base: Option<&Commit>,
        head: &Commit,
        message: Option<&str>,
    ) -> Result<Option<Commit>> {
        let conflicts = base.and_then(|base| base.conflicts);
        if head.root == onto.root && head.conflicts == conflicts {
            return Ok(None);
        }
        let (author, old) = match &head.origin {
            Origin::Change { author, message, .. } => (author.clone(), message.clone()),
            _ => Default::default(),
        };
        let message = message.map_or(old, str::to_owned);
        check_words(&author, &message)?;
        let mut new = self.shared.change(onto, head.root)?;
        new.conflicts = head.conflicts;
        if let Origin::Change { author: new_author, message: new_message, .. } = &mut new.origin {
            (*new_author, *new_message) = (author, message);
        }
        Ok(Some(new))
    }

    /// Fails if a commit that would be replaced has another name.
    fn check_names(
        &self,
        host: &dyn KvRead,
        range: &BTreeSet<CommitId>,
        head: &CommitId,
        branch: &str,
    ) -> Result<()> {
        let refused = |commit: CommitId, reason: String| {
            Err(LedgerError::CannotSquash { page: self.shared.page(), commit, reason })
        };
        for (name, heads) in self.shared.open.rows.branches(host)? {
            let hit = heads.iter().find(|other| range.contains(&other.id) && other.id != *head);
            if let Some(hit) = hit.filter(|_| name != branch) {
                return refused(hit.id, format!("branch {name} has it"));
            }
        }
        for (name, commit) in self.shared.open.rows.tags(host)? {
            if range.contains(&commit) && commit != *head {
                return refused(commit, format!("tag {name} has it"));
            }
        }
        Ok(())
    }
}

/// Fails if a commit that would be replaced is at the remote, where others may have it.
fn check_unsynced(rows: &Rows, host: &dyn KvRead, range: &BTreeSet<CommitId>) -> Result<()> {
    if rows.remote(host)? != Remote::Attached {
        return Ok(());
    }
    for commit in range {
        if rows.unsynced(host, commit)?.is_none() {
            let reason = "it is at the remote".to_owned();
            return Err(LedgerError::CannotSquash { page: rows.page, commit: *commit, reason });
        }
    }
    Ok(())
}
