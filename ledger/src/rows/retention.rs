//! The rows of commits that are not kept: expiring ones, and pruned parents.

use std::ops::ControlFlow;

use permazen_kv::{KvRead, KvWrite};

use super::page::{Rows, commit_key, merge_key};
use crate::commit::time::CommitTime;
use crate::digest::Digest;
use crate::error::Result;
use crate::ids::CommitId;

pub(super) const PRUNED: u8 = 0x30;
pub(super) const EXPIRING: u8 = 0x34;

/// The most commits whose grace time one transaction clears; older ones keep theirs.
const ANEW: usize = 1_024;

/// The record of a pruned commit that is a parent of a stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pruned {
    pub(crate) generation: u64,
    pub(crate) time: CommitTime,
}

impl Pruned {
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let (generation, time) = value.split_first_chunk()?;
        let time = CommitTime(u64::from_be_bytes(time.try_into().ok()?));
        let pruned = Pruned { generation: u64::from_be_bytes(*generation), time };
        pruned.is_valid().then_some(pruned)
    }

    /// Whether there can be such a commit.
    pub(crate) fn is_valid(&self) -> bool {
        let limits = 1..CommitTime::LIMIT;
        limits.contains(&self.generation) && limits.contains(&self.time.0)
    }
}

/// The key of the row of a pruned parent, without the prefix of the page.
pub(crate) fn pruned_key(id: &CommitId) -> Vec<u8> {
    [&[PRUNED][..], &id.0.0].concat()
}

fn expiring_key(id: &CommitId) -> Vec<u8> {
    [&[EXPIRING][..], &id.0.0].concat()
}

impl Rows {
    /// The record of a pruned parent. `None` if the commit is not one.
    pub(crate) fn pruned(&self, tx: &dyn KvRead, id: &CommitId) -> Result<Option<Pruned>> {
        let key = pruned_key(id);
        let Some(value) = self.get(tx, &key)? else { return Ok(None) };
        match Pruned::parse(&value) {
            Some(pruned) => Ok(Some(pruned)),
            None => Err(self.damaged(&key, "it is no generation and time")),
        }
    }

    pub(crate) fn put_pruned(
        &self,
        tx: &mut dyn KvWrite,
        id: &CommitId,
        pruned: Pruned,
    ) -> Result<()> {
        let mut value = pruned.generation.to_be_bytes().to_vec();
        value.extend_from_slice(&pruned.time.0.to_be_bytes());
        self.put(tx, &pruned_key(id), value)
    }

    pub(crate) fn remove_pruned(&self, tx: &mut dyn KvWrite, id: &CommitId) -> Result<()> {
        self.remove(tx, &pruned_key(id))
    }

    /// The expiring commits, each with the end of its grace time in milliseconds.
    pub(crate) fn expiring(&self, tx: &dyn KvRead) -> Result<Vec<(CommitId, u64)>> {
        let mut expiring = Vec::new();
        self.visit(tx, &[EXPIRING], |id, value| {
            match (Digest::from_slice(id), value.try_into()) {
                (Some(id), Ok(after)) => {
                    expiring.push((CommitId(id), u64::from_be_bytes(after)));
                }
                _ => return Err(self.damaged(&[&[EXPIRING][..], id].concat(), "it is no time")),
            }
            Ok(())
        })?;
        Ok(expiring)
    }

    pub(crate) fn put_expiring(
        &self,
        tx: &mut dyn KvWrite,
        id: &CommitId,
        after: u64,
    ) -> Result<()> {
        self.put(tx, &expiring_key(id), after.to_be_bytes().to_vec())
    }

    pub(crate) fn remove_expiring(&self, tx: &mut dyn KvWrite, id: &CommitId) -> Result<()> {
        self.remove(tx, &expiring_key(id))
    }

    /// Whether a commit is expiring: it is not kept, and has a grace time.
    pub(crate) fn is_expiring(&self, tx: &dyn KvRead, id: &CommitId) -> Result<bool> {
        Ok(tx.get(&self.stored(&expiring_key(id)))?.is_some())
    }

    /// Adds an older commit to the keep set: raises its version, so that collectors compute it
    /// again, and clears the grace time of the commit and of its ancestors, so that it begins anew
    /// when they are not kept any more.
    pub(crate) fn keep(&self, tx: &mut dyn KvWrite, id: &CommitId) -> Result<()> {
        self.raise_keep_version(tx)?;
        let mut ahead = vec![*id];
        for _ in 0..ANEW {
            let Some(id) = ahead.pop() else { break };
            if self.is_expiring(tx, &id)? {
                self.remove_expiring(tx, &id)?;
                let commit = self.commit(tx, &id)?;
                ahead.extend(commit.iter().flat_map(|commit| commit.parents()));
            }
        }
        Ok(())
    }

    /// Removes a commit, and the row of a merge with these parents.
    pub(crate) fn remove_commit(
        &self,
        tx: &mut dyn KvWrite,
        id: &CommitId,
        parents: &[CommitId],
    ) -> Result<()> {
        if let [first, second] = parents {
            self.remove(tx, &merge_key(&[*first, *second], id))?;
        }
        self.remove_expiring(tx, id)?;
        self.remove(tx, &commit_key(id))
    }

    /// Calls `each` with the commits after this one, by their IDs, until it breaks: with the ID,
    /// the commit, and how many pieces it was the first to write.
    pub(crate) fn visit_commits(
        &self,
        tx: &dyn KvRead,
        after: Option<&CommitId>,
        mut each: impl FnMut(CommitId, crate::commit::encoding::Commit, u32) -> ControlFlow<()>,
    ) -> Result<()> {
        let after = after.map(|id| id.0);
        self.visit_digests(tx, super::page::COMMIT, after.as_ref(), |id, key, row| {
            let id = CommitId(id);
            let value = super::sealed::open(self.number, key, row)?;
            let (commit, pieces) = self.parse_commit(&id, key, value)?;
            Ok(each(id, commit, pieces))
        })
    }
}
