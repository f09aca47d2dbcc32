//! Iterates the items of a tree, in either direction and at any level.

use std::sync::Arc;

use permazen_kv::Direction;

use super::nodes::{NodeStore, child};
use crate::error::Result;
use crate::node::items::Payload;
use crate::node::view::{Node, SplitKey};

/// A position in a tree: an item of a leaf or of an inner node, or the end.
#[derive(Debug)]
pub(crate) struct Cursor<N> {
    nodes: N,
    direction: Direction,
    /// The nodes from the root down, and the position in each. It is empty at the end.
    path: Vec<(Arc<Node>, usize)>,
}

impl<N: NodeStore> Cursor<N> {
    /// At the first item of the root.
    pub(crate) fn new(nodes: N, root: Arc<Node>, direction: Direction) -> Self {
        let mut cursor = Cursor { nodes, direction, path: Vec::new() };
        cursor.push(root);
        cursor
    }

    /// At the first entry: forward the one of this key or the next one, in reverse the one before
    /// this key.
    pub(crate) fn at(nodes: N, root: Arc<Node>, key: &[u8], direction: Direction) -> Result<Self> {
        let mut cursor = Cursor { nodes, direction, path: Vec::new() };
        let mut node = root;
        loop {
            let (at, _) = node.search(key);
            let is_leaf = node.level() == 0;
            // Above the leaves, an item has the keys up to its own.
            let found = match (direction, is_leaf) {
                (Direction::Forward, _) => Some(at).filter(|at| *at < node.len()),
                (Direction::Reverse, true) => at.checked_sub(1),
                (Direction::Reverse, false) => Some(at.min(node.len() - 1)),
            };
            let Some(at) = found else {
                cursor.step();
                return Ok(cursor);
            };
            if is_leaf {
                cursor.path.push((node, at));
                return Ok(cursor);
            }
            let below = child(&cursor.nodes, &node, at)?;
            cursor.path.push((node, at));
            node = below;
        }
    }

    /// The level of the item. `None` at the end.
    pub(crate) fn level(&self) -> Option<u8> {
        self.path.last().map(|(node, _)| node.level())
    }

    /// The key and the payload of the item. `None` at the end.
    pub(crate) fn item(&self) -> Option<(SplitKey<'_>, Payload<'_>)> {
        self.path.last().map(|(node, at)| (node.key(*at), node.payload(*at)))
    }

    /// The node of the item and its position there. `None` at the end.
    pub(crate) fn position(&self) -> Option<(&Arc<Node>, usize)> {
        self.path.last().map(|(node, at)| (node, *at))
    }

    /// Skips the rest of the node of the item.
    pub(crate) fn skip_node(&mut self) {
        self.path.pop();
        self.step();
    }

    /// Steps over this number of items of the node, which has at least as many in this direction.
    pub(crate) fn step_over(&mut self, count: usize) {
        let Some(more) = count.checked_sub(1) else { return };
        if let Some((_, at)) = self.path.last_mut() {
            match self.direction {
                Direction::Forward => *at += more,
                Direction::Reverse => *at -= more,
            }
        }
        self.step();
    }

    /// Goes to the next item, above if it was the last one of its node.
    pub(crate) fn step(&mut self) {
        while let Some((node, at)) = self.path.last_mut() {
            let next = match self.direction {
                Direction::Forward => Some(*at + 1).filter(|next| *next < node.len()),
                Direction::Reverse => at.checked_sub(1),
            };
            if let Some(next) = next {
                *at = next;
                return;
            }
            self.path.pop();
        }
    }

    /// Goes from an inner item to the first one of its node.
    pub(crate) fn enter(&mut self) -> Result<()> {
        if let Some((node, at)) = self.path.last() {
            let below = child(&self.nodes, node, *at)?;
            self.push(below);
        }
        Ok(())
    }

    /// Goes to the first entry of the item.
    pub(crate) fn enter_leaf(&mut self) -> Result<()> {
        while self.level().is_some_and(|level| level > 0) {
            self.enter()?;
        }
        Ok(())
    }

    fn push(&mut self, node: Arc<Node>) {
        let Some(last) = node.len().checked_sub(1) else { return };
        let at = match self.direction {
            Direction::Forward => 0,
            Direction::Reverse => last,
        };
        self.path.push((node, at));
    }
}
