//! A persistent B+tree. A clone costs one reference count; a change copies only the shared nodes on
//! its path.
//!
//! All leaves have the same depth. No node is empty, except an empty root. A node that a snapshot
//! still holds is copied before it is changed. A node that nothing else holds is changed in place,
//! so a transaction copies a path only once. Readers touch no reference count.

mod block;
#[cfg(test)]
mod block_model;
#[cfg(test)]
mod check;
mod node;
mod walk;

use std::ops::Range;
use std::sync::Arc;

use self::node::{Branch, Leaf, Node, Split};
use self::walk::TreeCursor;
pub(super) use self::walk::{Ascend, Descend};
use crate::{Hex, KvError};

/// An ordered map of byte strings with cheap clones.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    root: Arc<Node>,
    len: usize,
    bytes: usize,
    /// Names the transaction that changes the tree; a later one has a greater number.
    stamp: u64,
}

impl Default for Tree {
    fn default() -> Self {
        Tree { root: Arc::new(Node::empty()), len: 0, bytes: 0, stamp: 0 }
    }
}

impl Tree {
    /// Number of pairs.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of all keys and values together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether both are the same version of the map.
    pub(super) fn same_as(&self, other: &Tree) -> bool {
        Arc::ptr_eq(&self.root, &other.root)
    }

    /// The same map, for a transaction with this number to change.
    pub(super) fn for_changes(self, stamp: u64) -> Tree {
        Tree { stamp, ..self }
    }

    /// Whether the transaction that changes this map has written `key` since the map was `before`.
    pub(super) fn has_written(&self, before: &Tree, key: &[u8]) -> bool {
        match TreeCursor::find(&self.root, key) {
            Some((cursor, true)) => cursor.leaf.has_written(self.stamp, cursor.at),
            _ => before.get(key).is_some(),
        }
    }

    /// The value of `key`.
    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let mut node = &*self.root;
        loop {
            match node {
                Node::Leaf(leaf) => return leaf.get(key),
                Node::Branch(branch) => node = branch.kids.get(branch.child_of(key))?,
            }
        }
    }

    /// The value of `key`, and that of `near` if `key` is there.
    pub(super) fn get_near(&self, key: &[u8], near: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
        let (cursor, true) = TreeCursor::find(&self.root, key)? else { return None };
        let (_, value) = cursor.next(&self.root)?;
        let pairs = &cursor.leaf.pairs;
        let near = match pairs.find(near) {
            Ok(at) => pairs.pair(at).map(|(_, value)| value),
            // Between two keys of this leaf.
            Err(at) if 0 < at && at < pairs.len() => None,
            Err(_) => self.get(near),
        };
        Some((value, near))
    }

    /// The first pair whose key is `min` or greater.
    pub(super) fn at_least(&self, min: &[u8]) -> Option<(&[u8], &[u8])> {
        TreeCursor::find(&self.root, min)?.0.next(&self.root)
    }

    /// The last pair whose key is less than `max`; the last pair of all without a `max`.
    pub(super) fn below(&self, max: Option<&[u8]>) -> Option<(&[u8], &[u8])> {
        self.cursor(max)?.before(&self.root)
    }

    /// A cursor before the first key that is `bound` or greater; at the end without a bound.
    fn cursor(&self, bound: Option<&[u8]>) -> Option<TreeCursor<'_>> {
        match bound {
            Some(bound) => TreeCursor::find(&self.root, bound).map(|(cursor, _)| cursor),
            None => TreeCursor::end(&self.root),
        }
    }

    /// Cursors at the start and the end of `[min, max)`. Mostly both are in one leaf, and then
    /// there is one descent.
    fn cursors(&self, min: &[u8], max: Option<&[u8]>) -> Option<(TreeCursor<'_>, TreeCursor<'_>)> {
        let (min, _) = TreeCursor::find(&self.root, min)?;
        let pairs = &min.leaf.pairs;
        let near = max.map(|max| pairs.find(max).unwrap_or_else(|at| at));
        let max = match near.filter(|at| *at < pairs.len()) {
            Some(at) => TreeCursor { at, ..min },
            None => self.cursor(max)?,
        };
        Some((min, max))
    }

    /// The pairs of `[min, max)`, ascending.
    pub(super) fn ascend(&self, min: &[u8], max: Option<&[u8]>) -> Option<Ascend<'_>> {
        let (min, max) = self.cursors(min, max)?;
        Some(Ascend::new(&self.root, min, max))
    }

    /// The pairs of `[min, max)`, descending.
    pub(super) fn descend(&self, min: &[u8], max: Option<&[u8]>) -> Option<Descend<'_>> {
        let (min, max) = self.cursors(min, max)?;
        Some(Descend::new(&self.root, max, min))
    }

    /// Sets the value of `key`.
    ///
    /// # Errors
    /// [`KvError::Store`] if the tree is inconsistent; nothing was changed then.
    pub(super) fn insert(&mut self, key: &[u8], value: &[u8]) -> crate::Result<()> {
        let (split, old) = insert(&mut self.root, key, value, self.stamp)?;
        match old {
            Some(old) => self.bytes -= old,
            None => {
                self.len += 1;
                self.bytes += key.len();
            }
        }
        self.bytes += value.len();
        if let Some((sep, right)) = split {
            let left = Arc::clone(&self.root);
            self.root = Arc::new(Node::Branch(Branch::of_two(left, &sep, right)));
        }
        Ok(())
    }

    /// Removes `key` if it is there.
    pub(super) fn remove(&mut self, key: &[u8]) {
        // If there is nothing to remove, no node must be copied.
        if self.get(key).is_some() {
            let mut removed = Removed::default();
            remove_one(&mut self.root, key, self.stamp, &mut removed);
            self.settle(removed);
        }
    }

    /// Removes the keys of `[min, max)`.
    pub(super) fn remove_range(&mut self, min: &[u8], max: Option<&[u8]>) {
        match self.at_least(min) {
            Some((first, _)) if max.is_none_or(|max| first < max) => {}
            _ => return,
        }
        let mut removed = Removed::default();
        remove_range(&mut self.root, min, max, self.stamp, &mut removed);
        self.settle(removed);
    }

    /// Subtracts the removed pairs from the sums, and drops levels that have only one node.
    fn settle(&mut self, removed: Removed) {
        self.len -= removed.len;
        self.bytes -= removed.bytes;
        loop {
            let below = match &*self.root {
                Node::Branch(branch) if branch.kids.len() <= 1 => branch.kids.first().cloned(),
                _ => return,
            };
            self.root = below.unwrap_or_else(|| Arc::new(Node::empty()));
        }
    }
}

#[derive(Default)]
struct Removed {
    len: usize,
    bytes: usize,
}

impl Removed {
    fn count(&mut self, leaf: &Leaf, range: Range<usize>) {
        self.len += range.len();
        let pairs = range.filter_map(|at| leaf.pairs.pair(at));
        self.bytes += pairs.map(|(key, value)| key.len() + value.len()).sum::<usize>();
    }

    fn count_all(&mut self, node: &Node) {
        match node {
            Node::Leaf(leaf) => self.count(leaf, 0..leaf.pairs.len()),
            Node::Branch(branch) => branch.kids.iter().for_each(|kid| self.count_all(kid)),
        }
    }
}

/// Returns the part that was split off, and the length of the value that was replaced.
fn insert(
    node: &mut Arc<Node>,
    key: &[u8],
    value: &[u8],
    stamp: u64,
) -> crate::Result<(Split, Option<usize>)> {
    Ok(match Arc::make_mut(node) {
        Node::Leaf(leaf) => {
            leaf.change(stamp);
            match leaf.pairs.find(key) {
                Ok(at) => (None, Some(leaf.set_value(at, value))),
                Err(at) => (leaf.insert(at, key, value), None),
            }
        }
        Node::Branch(branch) => {
            let at = branch.child_of(key);
            let kid = branch.kids.get_mut(at).ok_or_else(|| no_child(key))?;
            match insert(kid, key, value, stamp)? {
                (Some((sep, right)), old) => (branch.insert(at, &sep, right), old),
                done => done,
            }
        }
    })
}

fn no_child(key: &[u8]) -> KvError {
    KvError::Store {
        context: format!("memory store: cannot put key {}", Hex(key)).into(),
        source: "its tree has no child for the key; copy what can be read to another store".into(),
    }
}

fn remove_one(node: &mut Arc<Node>, key: &[u8], stamp: u64, removed: &mut Removed) {
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => {
            if let Ok(at) = leaf.pairs.find(key) {
                removed.count(leaf, at..at + 1);
                leaf.change(stamp);
                leaf.remove(at..at + 1);
            }
        }
        Node::Branch(branch) => {
            let at = branch.child_of(key);
            if let Some(kid) = branch.kids.get_mut(at) {
                remove_one(kid, key, stamp, removed);
                mend(branch, at);
            }
        }
    }
}

fn remove_range(
    node: &mut Arc<Node>,
    min: &[u8],
    max: Option<&[u8]>,
    stamp: u64,
    removed: &mut Removed,
) {
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => {
            let from = leaf.pairs.find(min).unwrap_or_else(|at| at);
            let to = match max {
                Some(max) => leaf.pairs.find(max).unwrap_or_else(|at| at),
                None => leaf.pairs.len(),
            };
            let range = from..to.max(from);
            removed.count(leaf, range.clone());
            leaf.change(stamp);
            leaf.remove(range);
        }
        Node::Branch(branch) => {
            let first = branch.child_of(min);
            let last = match max {
                Some(max) => branch.child_of(max),
                None => branch.kids.len().saturating_sub(1),
            };
            if let Some(kid) = branch.kids.get_mut(first) {
                remove_range(kid, min, max, stamp, removed);
            }
            if last > first {
                if let Some(kid) = branch.kids.get_mut(last) {
                    remove_range(kid, min, max, stamp, removed);
                }
                for kid in branch.kids.drain(first + 1..last) {
                    removed.count_all(&kid);
                }
                branch.seps.remove(first + 1..last);
                mend(branch, first + 1);
            }
            mend(branch, first);
        }
    }
}

/// After removals, merges child `at` with a neighbour if it has become too small.
fn mend(branch: &mut Branch, at: usize) {
    let Some(kid) = branch.kids.get(at).filter(|kid| kid.is_small()) else { return };
    if kid.size() == 0 {
        branch.remove(at);
        return;
    }
    // Without a neighbour, the child stays small until its parent is merged.
    if branch.kids.len() < 2 {
        return;
    }
    let left = at.min(branch.kids.len() - 2);
    let sep = branch.seps.key(left).to_vec();
    branch.seps.remove(left..left + 1);
    let pair = (branch.kids.remove(left), branch.kids.remove(left));
    let (one, split) = Node::join(Arc::unwrap_or_clone(pair.0), &sep, Arc::unwrap_or_clone(pair.1));
    branch.kids.insert(left, Arc::new(one));
    if let Some((sep, right)) = split {
        branch.seps.insert(left, &sep, &[]);
        branch.kids.insert(left + 1, right);
    }
}
