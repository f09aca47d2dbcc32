//! Changes of a tree.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::boundaries::Boundaries;
use super::level::{LevelCursor, LevelWriter};
use super::nodes::{NewNode, NodeStore, child, root};
use crate::digest::Digest;
use crate::error::Result;
use crate::node::items::{Items, Payload};
use crate::node::view::{Node, SplitKey};

/// Changes of one level of a tree.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    /// The ranges to remove, by ascending keys. They do not overlap.
    pub(crate) drops: Vec<RemovedRange>,
    /// The items to put, by ascending keys. They stay, even in a range to remove.
    pub(crate) puts: Items,
}

/// A range of keys whose items are removed.
#[derive(Debug)]
pub(crate) struct RemovedRange {
    pub(crate) from: Vec<u8>,
    pub(crate) to: End,
}

/// Where a range of keys ends.
#[derive(Debug)]
pub(crate) enum End {
    Included(Vec<u8>),
    Excluded(Vec<u8>),
    Unbounded,
}

impl RemovedRange {
    fn begins_after(&self, key: SplitKey<'_>) -> bool {
        key.cmp_key(&self.from).is_lt()
    }

    fn ends_before(&self, key: SplitKey<'_>) -> bool {
        match &self.to {
            End::Included(to) => key.cmp_key(to).is_gt(),
            End::Excluded(to) => key.cmp_key(to).is_ge(),
            End::Unbounded => false,
        }
    }

    /// Whether no key after this one is in the range.
    fn ends_at(&self, key: SplitKey<'_>) -> bool {
        match &self.to {
            End::Included(to) | End::Excluded(to) => key.cmp_key(to).is_ge(),
            End::Unbounded => false,
        }
    }
}

/// A tree with changes.
#[derive(Debug)]
pub(crate) struct Edited {
    pub(crate) root: Digest,
    /// The nodes of the tree that the edit has made. Some may be in the old tree too.
    pub(crate) nodes: Vec<NewNode>,
}

impl Edited {
    /// A tree that is stored already.
    pub(crate) fn unchanged(root: Digest) -> Self {
        Edited { root, nodes: Vec::new() }
    }
}

/// The tree with this root and these changes.
///
/// Loads the nodes that the changes touch and those above them, and one more node of a level for
/// each place where the boundaries move.
///
/// # Errors
/// If a node cannot be loaded, or is damaged.
pub(crate) fn edit<N: NodeStore, B: Boundaries>(
    nodes: &N,
    boundaries: &B,
    digest: &Digest,
    edits: Edits,
) -> Result<Edited> {
    let old = root(nodes, digest)?;
    let mut new = Vec::new();
    let mut edits = edits;
    let mut level = 0;
    // The levels of the old tree.
    while level <= old.level() {
        let mut run = LevelEdit::new(nodes, &old, level, boundaries, &edits);
        run.apply()?;
        if run.drops.is_empty() && run.writer.nodes.is_empty() {
            // Nothing has changed at this level. Nodes of lower levels are those of the old tree.
            return Ok(Edited::unchanged(*digest));
        }
        new.append(&mut run.writer.nodes);
        edits = Edits { drops: run.drops, puts: run.writer.children };
        level += 1;
    }
    // The old root is replaced by all of these.
    let mut top = edits.puts;
    while top.len() > 1 {
        let mut writer = LevelWriter::new(level, boundaries);
        (0..top.len()).for_each(|at| writer.push(top.key(at), top.payload(at)));
        writer.finish();
        new.append(&mut writer.nodes);
        top = writer.children;
        level += 1;
    }
    let Some(child) = (!top.is_empty()).then(|| top.payload(0).child()).flatten() else {
        return Ok(Edited::unchanged(Node::empty().0));
    };
    lower(nodes, child.digest, new)
}

/// A root with one item is replaced by its child.
fn lower<N: NodeStore>(nodes: &N, mut root: Digest, mut new: Vec<NewNode>) -> Result<Edited> {
    let made: HashMap<Digest, usize> =
        new.iter().enumerate().map(|(at, node)| (node.digest, at)).collect();
    let mut gone = Vec::new();
    loop {
        let node = match made.get(&root) {
            Some(at) => Arc::new(Node::checked(&root, new[*at].bytes.clone())?),
            None => nodes.load(&root)?,
        };
        if node.level() == 0 || node.len() > 1 {
            break;
        }
        let below = match node.child(0) {
            Some(named) if made.contains_key(&named.digest) => named.digest,
            Some(named) => {
                child(nodes, &node, 0)?;
                named.digest
            }
            None => break,
        };
        gone.push(root);
        root = below;
    }
    new.retain(|node| !gone.contains(&node.digest));
    Ok(Edited { root, nodes: new })
}

/// The changes of one level, while they are made.
struct LevelEdit<'e, N, B> {
    cursor: LevelCursor<'e, N>,
    writer: LevelWriter<'e, B>,
    edits: &'e Edits,
    /// The first drop and put that are not done.
    drop: usize,
    put: usize,
    /// The old nodes that are removed, as changes of the level above.
    drops: Vec<RemovedRange>,
    /// The last keys of the first and the last old node that were removed since the writer met the
    /// boundaries of the old level.
    run: Option<(Vec<u8>, Vec<u8>)>,
}

/// A part of a node with its changes.
enum Segment {
    /// Items that stay.
    Old(Range<usize>),
    Put(usize),
}

impl<'e, N: NodeStore, B: Boundaries> LevelEdit<'e, N, B> {
    fn new(nodes: &'e N, root: &Arc<Node>, level: u8, boundaries: &'e B, edits: &'e Edits) -> Self {
        LevelEdit {
            cursor: LevelCursor::new(nodes, root, level),
            writer: LevelWriter::new(level, boundaries),
            edits,
            drop: 0,
            put: 0,
            drops: Vec::new(),
            run: None,
        }
    }

    fn apply(&mut self) -> Result<()> {
        let mut next = match self.next_key() {
            Some(key) => Some(self.cursor.seek(key)?),
            None => return Ok(()),
        };
        while let Some(node) = next {
            let Some(last) = node.last_key() else {
                // The tree is empty.
                self.put_rest();
                break;
            };
            let is_last = self.cursor.is_at_end();
            let (parts, changes) = self.merged(&node, is_last);
            if !changes && self.writer.is_aligned() {
                // The node stays. The removed range before it ends before this node.
                if let Some((from, _)) = self.run.take() {
                    self.drops.push(RemovedRange { from, to: End::Excluded(last.to_vec()) });
                }
            } else {
                self.write(&node, parts);
                let last = last.to_vec();
                match &mut self.run {
                    Some((_, to)) => *to = last,
                    None => self.run = Some((last.clone(), last)),
                }
            }
            if is_last {
                break;
            }
            next = self.after(last)?;
        }
        self.writer.finish();
        self.end_run();
        Ok(())
    }

    /// The next node that must be visited after the one with this last key.
    fn after(&mut self, last: SplitKey<'_>) -> Result<Option<Arc<Node>>> {
        let edits = self.edits;
        while edits.drops.get(self.drop).is_some_and(|drop| drop.ends_at(last)) {
            self.drop += 1;
        }
        // Nodes that lie inside of a removed range are never loaded.
        if let Some(drop) = edits.drops.get(self.drop).filter(|drop| !drop.begins_after(last)) {
            return match &drop.to {
                End::Included(to) | End::Excluded(to) => self.cursor.seek(to).map(Some),
                End::Unbounded => {
                    self.put_rest();
                    if let Some((from, _)) = self.run.take() {
                        self.drops.push(RemovedRange { from, to: End::Unbounded });
                    }
                    Ok(None)
                }
            };
        }
        if !self.writer.is_aligned() {
            return self.cursor.next();
        }
        self.end_run();
        match self.next_key() {
            Some(key) => self.cursor.seek(key).map(Some),
            None => Ok(None),
        }
    }

    fn end_run(&mut self) {
        if let Some((from, to)) = self.run.take() {
            self.drops.push(RemovedRange { from, to: End::Included(to) });
        }
    }

    /// Where the next change begins.
    fn next_key(&self) -> Option<&'e [u8]> {
        let edits = self.edits;
        let drop = edits.drops.get(self.drop).map(|drop| &*drop.from);
        let put = (self.put < edits.puts.len()).then(|| edits.puts.key(self.put));
        match (drop, put) {
            (Some(drop), Some(put)) => Some(drop.min(put)),
            (one, other) => one.or(other),
        }
    }

    /// The items of a node with its changes, and whether there are changes.
    fn merged(&mut self, node: &Node, is_last: bool) -> (Vec<Segment>, bool) {
        let Edits { drops, puts } = self.edits;
        let mut parts = Vec::new();
        let mut changes = false;
        let mut at = 0;
        while at < node.len() {
            let key = node.key(at);
            // Advanced also before an item that is put again, because the check after the last item
            // needs the range that continues after the node.
            while drops.get(self.drop).is_some_and(|drop| drop.ends_before(key)) {
                self.drop += 1;
            }
            while self.put < puts.len() && key.cmp_key(puts.key(self.put)).is_gt() {
                parts.push(Segment::Put(self.put));
                (self.put, changes) = (self.put + 1, true);
            }
            if self.put < puts.len() && key.cmp_key(puts.key(self.put)).is_eq() {
                parts.push(Segment::Put(self.put));
                changes |= puts.payload(self.put) != node.payload(at);
                (self.put, at) = (self.put + 1, at + 1);
                continue;
            }
            if drops.get(self.drop).is_some_and(|drop| !drop.begins_after(key)) {
                (changes, at) = (true, at + 1);
                continue;
            }
            // Up to the next change, items stay.
            let to = match self.next_key() {
                Some(next) => node.search_from(at + 1, next),
                None => node.len(),
            };
            parts.push(Segment::Old(at..to));
            at = to;
        }
        // A range that continues after the node removes the node from the level above.
        let keep_going =
            |drop: &RemovedRange, last| !drop.begins_after(last) && !drop.ends_at(last);
        let drop = drops.get(self.drop);
        changes |= drop.zip(node.last_key()).is_some_and(|(drop, last)| keep_going(drop, last));
        if is_last {
            changes |= self.put < puts.len();
            parts.extend((self.put..puts.len()).map(Segment::Put));
            self.put = puts.len();
        }
        (parts, changes)
    }

    fn write(&mut self, node: &Node, parts: Vec<Segment>) {
        let puts = &self.edits.puts;
        for part in parts {
            match part {
                Segment::Old(range) => self.writer.push_old(node, range),
                Segment::Put(at) => self.writer.push(puts.key(at), puts.payload(at)),
            }
        }
    }

    fn put_rest(&mut self) {
        let puts = &self.edits.puts;
        for at in self.put..puts.len() {
            let payload: Payload<'_> = puts.payload(at);
            self.writer.push(puts.key(at), payload);
        }
        self.put = puts.len();
    }
}
