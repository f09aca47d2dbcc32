//! The refs of a page: branches, tags, pins, and commits that are not at the remote yet.

use std::collections::HashSet;

use permazen_kv::KvRead;

use crate::error::Result;
use crate::ids::CommitId;
use crate::process::open_page::OpenPage;
use crate::rows::process::{PinReason, leases};
use crate::rows::statuses::Remote;

/// The refs that keep commits from being garbage.
#[derive(Debug, Default)]
pub(super) struct Refs {
    /// The branches with their heads.
    pub(super) branches: Vec<(String, Vec<CommitId>)>,
    pub(super) tags: Vec<(String, CommitId)>,
    /// The commits that snapshots, transactions and watchers read.
    pub(super) pins: Vec<CommitId>,
    /// The commits on which a transaction is about to make a head.
    pub(super) bases: Vec<CommitId>,
    pub(super) remote: Remote,
    /// The commits that are not at the remote yet, once the page is attached to one.
    pub(super) unsynced: Vec<CommitId>,
}

impl Refs {
    pub(super) fn read(page: &OpenPage, tx: &dyn KvRead) -> Result<Self> {
        let rows = &page.rows;
        let branches = rows.branches(tx)?.into_iter();
        let branches =
            branches.map(|(name, heads)| (name, heads.iter().map(|head| head.id).collect()));
        let living: HashSet<_> = leases(tx)?.into_iter().map(|(id, _)| id).collect();
        let pins = rows.pins(tx)?.into_iter().filter(|pin| living.contains(&pin.process));
        let pins = pins.map(|pin| (pin.commit, pin.reason)).chain(page.pins.commits());
        let (bases, pins): (Vec<_>, Vec<_>) =
            pins.partition(|(_, reason)| *reason == PinReason::Base);
        let remote = rows.remote(tx)?;
        let unsynced = match remote {
            Remote::Attached => rows.all_unsynced(tx)?,
            _ => Vec::new(),
        };
        Ok(Refs {
            branches: branches.collect(),
            tags: rows.tags(tx)?.into_iter().collect(),
            pins: pins.into_iter().map(|(id, _)| id).collect(),
            bases: bases.into_iter().map(|(id, _)| id).collect(),
            remote,
            unsynced,
        })
    }

    /// The heads of all branches.
    pub(super) fn heads(&self) -> impl Iterator<Item = &CommitId> {
        self.branches.iter().flat_map(|(_, heads)| heads)
    }

    /// The heads of all branches, and the commits with a tag.
    pub(super) fn heads_and_tags(&self) -> impl Iterator<Item = &CommitId> {
        self.heads().chain(self.tags.iter().map(|(_, id)| id))
    }

    /// All commits that are named.
    pub(super) fn all(&self) -> impl Iterator<Item = &CommitId> {
        self.heads_and_tags().chain(&self.pins).chain(&self.bases)
    }
}
