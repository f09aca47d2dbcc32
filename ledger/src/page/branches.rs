//! Branches and tags: names of commits.

use permazen_kv::TxOptions;

use super::Page;
use crate::commit::time::CommitTime;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::rows::page::{Head, check_name};

impl Page {
    /// The head of a branch.
    ///
    /// # Errors
    /// If there is no such branch, it has several heads, or the host fails.
    pub fn head(&self, branch: &str) -> Result<CommitId> {
        Ok(self.shared.state(branch)?.head)
    }

    /// The heads of a branch, the oldest first. A branch has several heads if [branching
    /// databases](Page::branching_database) have committed at the same time, and the heads are not
    /// merged yet.
    ///
    /// # Errors
    /// If there is no such branch, or the host fails.
    pub fn heads(&self, branch: &str) -> Result<Vec<CommitId>> {
        let heads = self.shared.open.rows.heads(&self.shared.read()?, branch)?;
        if heads.is_empty() {
            return Err(LedgerError::no_branch(self.shared.number(), branch));
        }
        Ok(heads.iter().map(|head| head.id).collect())
    }

    /// The branches with their heads, by their names. A branch has several heads if they are not
    /// merged yet; the oldest is the first.
    ///
    /// # Errors
    /// If the host fails.
    pub fn branches(&self) -> Result<Vec<(String, Vec<CommitId>)>> {
        let branches = self.shared.open.rows.branches(&self.shared.read()?)?;
        let ids = |heads: Vec<Head>| heads.into_iter().map(|head| head.id).collect();
        Ok(branches.into_iter().map(|(name, heads)| (name, ids(heads))).collect())
    }

    /// Makes a branch, whose head is this commit. Writes two rows.
    ///
    /// # Errors
    /// If there is such a branch, if the name is empty, has more than 255 bytes or a zero byte, if
    /// there is no such commit, or if the host fails.
    pub fn create_branch(&self, name: &str, at: &CommitId) -> Result<()> {
        check_name(name)?;
        let (shared, rows) = (&self.shared, &self.shared.open.rows);
        let mut tx = shared.begin(&TxOptions::writing())?;
        rows.check_exists(&tx)?;
        if !rows.heads(&tx, name)?.is_empty() {
            return Err(LedgerError::Exists {
                page: rows.number,
                what: "branch",
                name: name.to_owned(),
            });
        }
        let time = shared.commit_in(&tx, at)?.map_or(CommitTime::default(), |commit| commit.time);
        rows.put_head(&mut tx, name, &Head { id: *at, time })?;
        rows.keep(&mut tx, at)?;
        Ok(tx.commit()?)
    }

    /// Makes a commit the only head of a branch. An open transaction of
    /// [`database`](Page::database) conflicts if an entry that it has read is now another one; one
    /// of a [branching database](Page::branching_database) fails with [`LedgerError::BranchMoved`].
    ///
    /// # Errors
    /// If there is no such branch or commit, or if the host fails.
    pub fn reset(&self, branch: &str, to: &CommitId) -> Result<()> {
        self.replace_heads(branch, Some(to))
    }

    /// Removes a branch. Its commits stay until a collection removes those that nothing else keeps.
    ///
    /// # Errors
    /// If there is no such branch, or if the host fails.
    pub fn remove_branch(&self, branch: &str) -> Result<()> {
        self.replace_heads(branch, None)
    }

    fn replace_heads(&self, branch: &str, to: Option<&CommitId>) -> Result<()> {
        let (shared, rows) = (&self.shared, &self.shared.open.rows);
        let mut tx = shared.begin(&TxOptions::writing())?;
        rows.check_exists(&tx)?;
        let heads = rows.heads(&tx, branch)?;
        if heads.is_empty() {
            return Err(LedgerError::no_branch(self.shared.number(), branch));
        }
        for head in heads {
            rows.remove_head(&mut tx, branch, &head.id)?;
        }
        if let Some(to) = to {
            let commit = shared.commit_in(&tx, to)?;
            let time = commit.map_or(CommitTime::default(), |commit| commit.time);
            rows.put_head(&mut tx, branch, &Head { id: *to, time })?;
            rows.keep(&mut tx, to)?;
        }
        let resets = rows.resets(&tx, branch)?;
        rows.put_resets(&mut tx, branch, resets + 1)?;
        tx.commit()?;
        shared.head_poller.wake();
        Ok(())
    }

    /// The tags with their commits, by their names.
    ///
    /// # Errors
    /// If the host fails.
    pub fn tags(&self) -> Result<Vec<(String, CommitId)>> {
        let (rows, tx) = (&self.shared.open.rows, self.shared.read()?);
        rows.check_exists(&tx)?;
        rows.tags(&tx)
    }

    /// The commit with this tag.
    ///
    /// # Errors
    /// If there is no such tag, or if the host fails.
    pub fn tag(&self, name: &str) -> Result<CommitId> {
        let (rows, tx) = (&self.shared.open.rows, self.shared.read()?);
        rows.check_exists(&tx)?;
        let tag = rows.tag(&tx, name)?;
        tag.ok_or_else(|| self.no_tag(name))
    }

    fn no_tag(&self, name: &str) -> LedgerError {
        LedgerError::NoSuch { page: self.shared.number(), what: "tag", name: name.to_owned() }
    }

    /// Sets a tag at a commit. If another commit has the tag, it is moved. Writes two rows.
    ///
    /// # Errors
    /// If the name is empty, has more than 255 bytes or a zero byte, if there is no such commit, or
    /// if the host fails.
    pub fn set_tag(&self, name: &str, at: &CommitId) -> Result<()> {
        check_name(name)?;
        let mut tx = self.shared.begin(&TxOptions::writing())?;
        self.shared.open.rows.check_exists(&tx)?;
        self.shared.commit_in(&tx, at)?;
        self.shared.open.rows.put_tag(&mut tx, name, at)?;
        self.shared.open.rows.keep(&mut tx, at)?;
        Ok(tx.commit()?)
    }

    /// Removes a tag.
    ///
    /// # Errors
    /// If there is no such tag, or if the host fails.
    pub fn remove_tag(&self, name: &str) -> Result<()> {
        let mut tx = self.shared.begin(&TxOptions::writing())?;
        self.shared.open.rows.check_exists(&tx)?;
        if self.shared.open.rows.tag(&tx, name)?.is_none() {
            return Err(self.no_tag(name));
        }
        self.shared.open.rows.remove_tag(&mut tx, name)?;
        Ok(tx.commit()?)
    }
}
