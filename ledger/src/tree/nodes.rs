//! Where trees get their nodes.

use std::sync::Arc;

use bytes::Bytes;

use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::node::view::Node;

/// Where trees get their nodes.
pub(crate) trait Nodes {
    /// The node with this digest, which is not the empty one.
    fn load(&self, digest: &Digest) -> Result<Arc<Node>>;
}

impl<N: Nodes + ?Sized> Nodes for &N {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
        N::load(self, digest)
    }
}

/// A node that is not stored yet.
#[derive(Debug, Clone)]
pub(crate) struct NewNode {
    pub(crate) digest: Digest,
    pub(crate) bytes: Bytes,
    /// How many entries it has, or are below it.
    pub(crate) entries: u64,
}

/// The root of a tree.
///
/// # Errors
/// If it cannot be loaded, or cannot be a root.
pub(crate) fn root<N: Nodes>(nodes: &N, digest: &Digest) -> Result<Arc<Node>> {
    let (empty, node) = Node::empty();
    if digest == empty {
        return Ok(Arc::clone(node));
    }
    let root = nodes.load(digest)?;
    if root.level() > 0 && root.len() < 2 {
        let found = "it is a root, and above the leaves a root has at least two items";
        return Err(LedgerError::integrity(Kind::Node, digest, found));
    }
    Ok(root)
}

/// The child at a position of an inner node, which has such an item.
///
/// # Errors
/// If it cannot be loaded, or is not what the parent says.
pub(crate) fn child<N: Nodes>(nodes: &N, parent: &Node, at: usize) -> Result<Arc<Node>> {
    let Some(named) = parent.child(at) else {
        let digest = Kind::Node.digest(parent.as_bytes());
        let found = format!("it has no child {at}, although it is at level {}", parent.level());
        return Err(LedgerError::integrity(Kind::Node, &digest, found));
    };
    let node = nodes.load(&named.digest)?;
    if parent.is_known(at) {
        return Ok(node);
    }
    let same_last = node.last_key().is_some_and(|last| last.cmp(&parent.key(at)).is_eq());
    if node.level() + 1 != parent.level() || node.entries() != named.entries || !same_last {
        let found = "its level, last key or number of entries is not what its parent says";
        return Err(LedgerError::integrity(Kind::Node, &named.digest, found));
    }
    parent.set_known(at);
    Ok(node)
}
