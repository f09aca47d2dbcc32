//! A page whose content is read at pinned commits.

use std::sync::Arc;

use bytes::Bytes;

use super::drafted::Drafted;
use super::shared::Shared;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::view::Node;
use crate::process::pins::Pin;
use crate::tree::nodes::Nodes;
use crate::value::read::Pieces;

/// A page with pins of the commits that are read. This process does not remove them meanwhile;
/// another process does only if it takes this one for dead.
#[derive(Clone)]
pub(crate) struct Protected {
    pub(crate) shared: Arc<Shared>,
    pins: Vec<Pin>,
    /// A draft that is read in addition to what is stored.
    drafted: Option<Arc<Drafted>>,
}

impl Protected {
    pub(crate) fn new(shared: Arc<Shared>, pins: Vec<Pin>) -> Self {
        Protected { shared, pins, drafted: None }
    }

    /// Adds a draft that is made of these commits.
    pub(crate) fn with(self, drafted: Drafted) -> Self {
        Protected { drafted: Some(Arc::new(drafted)), ..self }
    }

    /// Explains an error as one of a read of these commits.
    fn explained(&self, error: LedgerError) -> LedgerError {
        let commits: Vec<CommitId> = self.pins.iter().map(Pin::commit).collect();
        self.shared.open.explained(error, &commits)
    }
}

impl Nodes for Protected {
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

impl Nodes for Arc<Protected> {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
        Protected::load(self, digest)
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        self.explained(error)
    }
}

impl Pieces for Protected {
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
