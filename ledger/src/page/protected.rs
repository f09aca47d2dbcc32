//! Where what commits have is read, while they are protected.

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

/// A page in which these commits are read. This process does not remove them meanwhile; another one
/// does if it has to take this one for dead.
#[derive(Clone)]
pub(crate) struct Protected {
    pub(crate) shared: Arc<Shared>,
    pins: Vec<Pin>,
    /// What is read beside what is stored.
    drafted: Option<Arc<Drafted>>,
}

impl Protected {
    pub(crate) fn new(shared: Arc<Shared>, pins: Vec<Pin>) -> Self {
        Protected { shared, pins, drafted: None }
    }

    /// The same with what is new in a content that is made of these commits.
    pub(crate) fn with(self, drafted: Drafted) -> Self {
        Protected { drafted: Some(Arc::new(drafted)), ..self }
    }

    /// What an error means to who reads these commits.
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
