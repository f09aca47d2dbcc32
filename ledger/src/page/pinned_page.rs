//! A page whose content is read at pinned commits.

use std::sync::Arc;

use bytes::Bytes;

use super::readable_draft::ReadableDraft;
use super::shared::Shared;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::view::Node;
use crate::process::pins::Pin;
use crate::tree::nodes::NodeStore;
use crate::value::read::PieceStore;

/// A page with pins of the commits that are read. This process does not remove them meanwhile;
/// another process does only if it takes this one for dead.
#[derive(Clone)]
pub(crate) struct PinnedPage {
    pub(crate) shared: Arc<Shared>,
    pins: Vec<Pin>,
    /// A draft that is read in addition to the stored pieces.
    drafted: Option<Arc<ReadableDraft>>,
}

impl PinnedPage {
    pub(crate) fn new(shared: Arc<Shared>, pins: Vec<Pin>) -> Self {
        PinnedPage { shared, pins, drafted: None }
    }

    /// Adds a draft that is made of these commits.
    pub(crate) fn with(self, drafted: ReadableDraft) -> Self {
        PinnedPage { drafted: Some(Arc::new(drafted)), ..self }
    }

    /// Explains an error as one of a read of these commits.
    fn explained(&self, error: LedgerError) -> LedgerError {
        let commits: Vec<CommitId> = self.pins.iter().map(Pin::commit).collect();
        self.shared.open.explained(error, &commits)
    }
}

impl NodeStore for PinnedPage {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
        if let Some(node) = self.drafted.as_ref().and_then(|drafted| drafted.node(digest)) {
            return Ok(node);
        }
        self.shared.load(digest).map_err(|error| self.explained(error))
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        self.explained(error)
    }
}

impl NodeStore for Arc<PinnedPage> {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
        PinnedPage::load(self, digest)
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        self.explained(error)
    }
}

impl PieceStore for PinnedPage {
    fn piece(&self, kind: Kind, digest: &Digest) -> Result<Bytes> {
        if let Some(bytes) = self.drafted.as_ref().and_then(|drafted| drafted.piece(kind, digest)) {
            return Ok(bytes);
        }
        self.shared.piece(kind, digest).map_err(|error| self.explained(error))
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        self.explained(error)
    }
}
