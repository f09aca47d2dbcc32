//! Loads the nodes of trees.

use std::sync::Arc;

use bytes::Bytes;

use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::node::view::Node;

/// Loads the nodes of trees.
pub(crate) trait NodeStore {
    /// The node with this digest, which is not the empty one.
    fn load(&self, digest: &Digest) -> Result<Arc<Node>>;

    /// Adds to an error where the node was needed.
    fn explain(&self, error: LedgerError) -> LedgerError {
        error
    }
}

impl<N: NodeStore + ?Sized> NodeStore for &N {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
        N::load(self, digest)
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        N::explain(self, error)
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

/// Loads the root of a tree.
///
/// # Errors
/// If it cannot be loaded, or cannot be a root.
pub(crate) fn root<N: NodeStore>(nodes: &N, digest: &Digest) -> Result<Arc<Node>> {
    let (empty, node) = Node::empty();
    if digest == empty {
        return Ok(Arc::clone(node));
    }
    let root = nodes.load(digest)?;
    if root.level() > 0 && root.len() < 2 {
        let expected = "a root, which has at least two items above the leaves";
        let error = LedgerError::integrity(Kind::Node, digest, expected, "a node with one item");
        return Err(nodes.explain(error));
    }
    Ok(root)
}

/// Loads the child at a position of an inner node, which has such an item.
///
/// # Errors
/// If it cannot be loaded, or does not match the parent.
pub(crate) fn child<N: NodeStore>(nodes: &N, parent: &Node, at: usize) -> Result<Arc<Node>> {
    let Some(named) = parent.child(at) else {
        let digest = Kind::Node.digest(parent.as_bytes());
        let expected = format!("a child {at}");
        let found = format!("{} items at level {}", parent.len(), parent.level());
        return Err(nodes.explain(LedgerError::integrity(Kind::Node, &digest, expected, found)));
    };
    let node = nodes.load(&named.digest)?;
    if parent.is_known(at) {
        return Ok(node);
    }
    let same_last = node.last_key().is_some_and(|last| last.cmp(&parent.key(at)).is_eq());
    if node.level() + 1 != parent.level() || node.entries() != named.entries || !same_last {
        let expected = format!(
            "a node of level {} with {} entries and the last key that its parent says",
            parent.level().saturating_sub(1),
            named.entries
        );
        let found = format!(
            "level {}, {} entries and {} last key",
            node.level(),
            node.entries(),
            if same_last { "that" } else { "another" }
        );
        let error = LedgerError::integrity(Kind::Node, &named.digest, expected, found);
        return Err(nodes.explain(error));
    }
    parent.set_known(at);
    Ok(node)
}
