//! Replaces commits by one with the same content.

use permazen_kv::TxOptions;

use super::merge_bases::{CommitRange, RangeCommit, commits_after};
use super::squash_blockers::Replaced;
use crate::commit::encoding::{Commit, Origin};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::Page;
use crate::page::author_and_message::check_author_and_message;
use crate::page::shared::BranchState;
use crate::page::write::Draft;
use crate::rows::page::Head;

impl Page {
    /// Replaces the commits of a branch after `onto` by one with the content of the head, and
    /// returns that commit, which is then the head. `None` as message keeps that of the head.
    ///
    /// `onto` is the first commit ([`CommitId::FIRST`]) or another ancestor of the head. The old
    /// commits are no longer part of the branch; a program that has their IDs can read them until
    /// they are collected. If the content is that of `onto`, the branch is reset to `onto`, and no
    /// commit is made. Open transactions of [`database`](Page::database) are not disturbed, because
    /// the content stays. Commits that [retention](Page::set_retention) has removed do not forbid a
    /// squash onto the first commit, unless the page is attached to a remote, which may have them.
    ///
    /// No replaced commit may be reachable from anything else: no other branch, even one with the
    /// same head, no tag, no open transaction of a [connection](Page::connect) or [branching
    /// database](Page::branching_database), nothing that a [`Receiver`](crate::Receiver) has added;
    /// and no other copy of the page may have it. Otherwise these would have the replaced changes
    /// as their own, and a merge with them would bring old values back. Transactions and receivers
    /// of another process are known here only after about a minute: before that, they do not forbid
    /// the squash. The error names the ref, and the commit onto which the branch can be squashed
    /// instead: where the ref forks from the branch, or a later commit if more refs forbid the
    /// squash.
    ///
    /// A page knows that other copies have commits that are at its [remote](Page::remote), and
    /// changes that were made on another device. For other copies, give each a branch at the commit
    /// that it had last. While commits are being sent to a remote or to another copy, no row says
    /// so: set a tag at the newest one before they are sent, which forbids the squash, and remove
    /// it once they are [marked](crate::PageRemote::mark_synced).
    ///
    /// Reads all refs, the replaced commits, and those ancestors of `onto` and of the refs that are
    /// not older, by generation, than the oldest replaced commit. Writes one transaction, and no
    /// node.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{CommitId, MAIN, PageId, Repository};
    ///
    /// let page = Repository::open_or_create(MemoryStore::new())?.create_page("draft", PageId::ROOT)?;
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
    /// [`LedgerError::CannotSquash`] if `onto` is no ancestor of the head, or if a commit that
    /// would be replaced is reachable from anything else. If there is no such branch or commit, the
    /// branch has several heads or is changed at the same time, the message is longer than 4,096
    /// bytes with the author, or the host fails. Nothing is changed then.
    pub fn squash(&self, branch: &str, onto: &CommitId, message: Option<&str>) -> Result<CommitId> {
        let shared = &self.shared;
        // The device tells which changes came from elsewhere, so its row must be there.
        shared.complete_opening(None)?;
        let keep_version = shared.open.rows.keep_version(&shared.read()?)?;
        let state = shared.state(branch)?;
        let base = shared.commit(onto)?;
        let mut is_cut_off = false;
        let range = match *onto {
            CommitId::FIRST => {
                let mut log = self.log(state.head)?;
                let range =
                    log.by_ref().map(|found| found.map(|(id, of)| (id, RangeCommit::from(&of))));
                let range = range.collect::<Result<CommitRange>>()?;
                is_cut_off = log.pruned().is_some();
                range
            }
            _ => commits_after(shared, onto, &state.head)?.ok_or_else(|| {
                LedgerError::CannotSquash {
                    page: shared.number(),
                    commit: *onto,
                    reason: "it is no ancestor of the head of the branch".to_owned(),
                    onto: None,
                }
            })?,
        };
        let Some(head) = shared.commit(&state.head)?.filter(|_| !range.is_empty()) else {
            return Ok(state.head);
        };
        let replaced = Replaced { shared, branch, head: state.head, range };
        let moved = || LedgerError::moved(shared.number(), branch);
        if let Err(error) = replaced.check(&shared.read()?, is_cut_off) {
            return Err(match shared.open.rows.keep_version(&shared.read()?)? == keep_version {
                true => error,
                // The keep set has changed: a commit of a ref may have been pruned meanwhile.
                false => moved(),
            });
        }
        let onto_state = BranchState {
            head: *onto,
            time: base.as_ref().map_or_else(Default::default, |base| base.time),
            generation: base.as_ref().map_or(0, |base| base.generation),
            root: shared.root_of(onto)?,
            resets: state.resets,
        };
        let new = self.replacement(&onto_state, base.as_ref(), &head, message)?;

        let mut tx = shared.begin(&TxOptions::writing())?;
        shared.open.rows.check_exists(&tx)?;
        if shared.state_in(&tx, branch)? != state
            || shared.open.rows.keep_version(&tx)? != keep_version
        {
            return Err(moved());
        }
        // The keep set has not changed, so no ref has begun to reach the commits since they were
        // checked, and no commit was marked as synced.
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
            shared.finish_commit(tx, &head.id)?;
        } else {
            shared.finish_without_commit(tx, &head.id)?;
        }
        shared.head_poller.wake();
        Ok(head.id)
    }

    /// The commit with the content of `head` on `onto`. `None` if `onto` has that content.
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
        check_author_and_message(&author, &message)?;
        let mut new = self.shared.change(onto, head.root)?;
        new.conflicts = head.conflicts;
        if let Origin::Change { author: new_author, message: new_message, .. } = &mut new.origin {
            (*new_author, *new_message) = (author, message);
        }
        Ok(Some(new))
    }
}
