//! The interface of the code that decides the content of a merge.

use std::sync::Arc;

use crate::digest::Digest;
use crate::error::Result;
use crate::ids::CommitId;
use crate::page::shared::Shared;
use crate::page::write::Draft;
use crate::process::pins::Pin;

/// A state that takes part in a merge, pinned.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) commit: CommitId,
    pub(crate) root: Digest,
    pub(crate) pin: Pin,
}

/// Two versions that both have changes, and their base.
#[derive(Debug, Clone)]
pub(crate) struct ThreeVersions {
    pub(crate) base: Version,
    pub(crate) older: Version,
    pub(crate) newer: Version,
}

impl ThreeVersions {
    /// The commits that are merged: the older one last.
    pub(crate) fn commits(&self) -> Vec<CommitId> {
        vec![self.newer.commit, self.older.commit]
    }
}

/// Decides the content of a merge.
pub(crate) trait Strategy {
    /// The content of the merge. Nothing is written yet.
    fn content(&mut self, shared: &Arc<Shared>, versions: &ThreeVersions) -> Result<Draft>;
}
