//! One entry, and counts.

use std::sync::Arc;

use super::nodes::{NodeStore, child};
use crate::error::Result;
use crate::node::view::Node;

/// The leaf with an entry, and its position there. Loads one node of each level.
pub(crate) fn find<N: NodeStore>(
    nodes: &N,
    root: &Arc<Node>,
    key: &[u8],
) -> Result<Option<(Arc<Node>, usize)>> {
    let mut node = Arc::clone(root);
    loop {
        let (at, is_there) = node.search(key);
        if node.level() == 0 {
            return Ok(is_there.then_some((node, at)));
        }
        if at == node.len() {
            return Ok(None);
        }
        node = child(nodes, &node, at)?;
    }
}

/// How many entries have a key below this one. Loads one node of each level.
pub(crate) fn count_below<N: NodeStore>(nodes: &N, root: &Arc<Node>, key: &[u8]) -> Result<u64> {
    let mut node = Arc::clone(root);
    let mut count = 0;
    loop {
        let (at, _) = node.search(key);
        if node.level() == 0 {
            return Ok(count + at as u64);
        }
        count += (0..at).filter_map(|at| node.child(at)).map(|child| child.entries).sum::<u64>();
        if at == node.len() {
            return Ok(count);
        }
        node = child(nodes, &node, at)?;
    }
}
