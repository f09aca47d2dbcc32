//! One level of a tree: a cursor over its nodes, and a writer of new ones.

use std::ops::Range;
use std::sync::Arc;

use super::boundaries::{Boundaries, Group};
use super::nodes::{NewNode, NodeStore, child};
use crate::digest::Kind;
use crate::error::Result;
use crate::node::items::{Child, Items, Payload};
use crate::node::view::Node;
use crate::node::write;

/// A forward cursor over the nodes of one level.
#[derive(Debug)]
pub(crate) struct LevelCursor<'n, N> {
    nodes: &'n N,
    level: u8,
    root: Arc<Node>,
    /// The nodes above the level, from the root down, and in each the position of the next one.
    above: Vec<(Arc<Node>, usize)>,
}

impl<'n, N: NodeStore> LevelCursor<'n, N> {
    /// Starts before the first node of a level.
    pub(crate) fn new(nodes: &'n N, root: &Arc<Node>, level: u8) -> Self {
        LevelCursor { nodes, level, root: Arc::clone(root), above: Vec::new() }
    }

    /// The node that a key belongs to: the first whose last key is not less, or the last one. Keys
    /// must ascend from call to call.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<Arc<Node>> {
        let ends_before =
            |node: &Node| node.last_key().is_some_and(|last| last.cmp_key(key).is_lt());
        while self.above.len() > 1 && self.above.last().is_some_and(|(node, _)| ends_before(node)) {
            self.above.pop();
        }
        let mut node = match self.above.pop() {
            Some((node, _)) => node,
            None => Arc::clone(&self.root),
        };
        while node.level() > self.level {
            let at = node.search(key).0.min(node.len().saturating_sub(1));
            let below = child(self.nodes, &node, at)?;
            self.above.push((node, at));
            node = below;
        }
        Ok(node)
    }

    /// The node after the one that was returned last.
    pub(crate) fn next(&mut self) -> Result<Option<Arc<Node>>> {
        while self.above.last().is_some_and(|(node, at)| at + 1 == node.len()) {
            self.above.pop();
        }
        let Some((above, at)) = self.above.last_mut() else { return Ok(None) };
        *at += 1;
        let mut node = child(self.nodes, above, *at)?;
        while node.level() > self.level {
            let below = child(self.nodes, &node, 0)?;
            self.above.push((node, 0));
            node = below;
        }
        Ok(Some(node))
    }

    /// Whether the node that was returned last is the last of the level.
    pub(crate) fn is_at_end(&self) -> bool {
        self.above.iter().all(|(node, at)| at + 1 == node.len())
    }
}

/// Cuts the items of a level into nodes.
#[derive(Debug)]
pub(crate) struct LevelWriter<'b, B> {
    level: u8,
    boundaries: &'b B,
    /// The items since the last cut.
    group: Items,
    /// Their size.
    size: u64,
    /// How many entries they have below them.
    entries: u64,
    /// The nodes, as items of the level above.
    pub(crate) children: Items,
    pub(crate) nodes: Vec<NewNode>,
}

impl<'b, B: Boundaries> LevelWriter<'b, B> {
    pub(crate) fn new(level: u8, boundaries: &'b B) -> Self {
        LevelWriter {
            level,
            boundaries,
            group: Items::default(),
            size: 0,
            entries: 0,
            children: Items::default(),
            nodes: Vec::new(),
        }
    }

    /// Appends an item.
    pub(crate) fn push(&mut self, key: &[u8], payload: Payload<'_>) {
        self.group.push(key, payload);
        let group = self.grown(payload.size(key.len()), payload);
        if self.boundaries.cuts(self.level, &[key], group) {
            self.cut();
        }
    }

    /// Appends some items of an old node.
    pub(crate) fn push_old(&mut self, node: &Node, range: Range<usize>) {
        let prefix = node.prefix();
        for at in range {
            let item = node.item(at);
            self.group.push_from(prefix, item);
            let payload = item.payload();
            let group = self.grown(payload.size(prefix.len() + item.rest_len), payload);
            // The old node was not cut here, so a group that is no larger is not cut either, and
            // the key need not be hashed.
            let was_uncut = at + 1 < node.len();
            if was_uncut && group.total <= node.size_to(at) && group.count <= at + 1 {
                continue;
            }
            if self.boundaries.cuts(self.level, &[prefix, item.rest()], group) {
                self.cut();
            }
        }
    }

    /// Counts an item that was appended.
    fn grown(&mut self, item: u64, payload: Payload<'_>) -> Group {
        self.size += item;
        self.entries += match self.level {
            0 => 1,
            _ => payload.child().map_or(0, |child| child.entries),
        };
        Group { item, total: self.size, count: self.group.len() }
    }

    /// Whether the last item was the end of a node.
    pub(crate) fn is_aligned(&self) -> bool {
        self.group.is_empty()
    }

    /// Ends the level.
    pub(crate) fn finish(&mut self) {
        if !self.group.is_empty() {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let bytes = write::encode(self.level, &self.group);
        let digest = Kind::Node.digest(&bytes);
        let child = Child { digest, entries: self.entries }.to_bytes();
        let last = self.group.key(self.group.len() - 1);
        self.children.push(last, Payload::inline(&child));
        self.nodes.push(NewNode { digest, bytes, entries: self.entries });
        self.group.clear();
        (self.size, self.entries) = (0, 0);
    }
}
