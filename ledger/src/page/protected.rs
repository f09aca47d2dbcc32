//! Where what commits have is read, while they are protected.

use std::sync::Arc;

use bytes::Bytes;

use super::shared::Shared;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::view::Node;
use crate::process::pins::Pin;
use crate::tree::nodes::Nodes;
use crate::value::read::Pieces;

/// A page in which these commits are read. This process does not remove them meanwhile; another one does
/// if it has to take this one for dead.
#[derive(Clone)]
pub(crate) struct Protected {
    pub(crate) shared: Arc<Shared>,
    pins: Vec<Pin>,
}

impl Protected {
    pub(crate) fn new(shared: Arc<Shared>, pins: Vec<Pin>) -> Self {
        Protected { shared, pins }
    }

    /// What an error means to who reads these commits.
    fn explained(&self, error: LedgerError) -> LedgerError {
        let commits: Vec<CommitId> = self.pins.iter().map(Pin::commit).collect();
        self.shared.open.explained(error, &commits)
    }
}

impl Nodes for Protected {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
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
        self.shared.piece(kind, digest).map_err(|error| self.explained(error))
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        self.explained(error)
    }
}
