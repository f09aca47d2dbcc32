//! Walks through a tree, entry by entry.

use std::sync::Arc;

use super::node::{Entry, Node, Sought, find};

/// A place between two entries, with the path from the root to it.
#[derive(Debug)]
pub(super) struct Path<'a> {
    above: Vec<(&'a [Arc<Node>], usize)>,
    leaf: &'a [Entry],
    /// The number of entries of the leaf before this place.
    at: usize,
}

impl<'a> Path<'a> {
    /// The place before the first key that is `key` or greater.
    pub(super) fn seek(root: &'a Node, key: &[u8]) -> Self {
        let mut above = Vec::new();
        let mut node = root;
        let key = Sought::new(key);
        loop {
            match node {
                Node::Leaf(leaf) => {
                    let at = find(leaf, key).unwrap_or_else(|at| at);
                    return Path { above, leaf, at };
                }
                Node::Branch(branch) => {
                    let at = branch.child_of(key);
                    let Some(kid) = branch.kids.get(at) else {
                        return Path { above, leaf: &[], at: 0 };
                    };
                    above.push((&branch.kids[..], at));
                    node = kid;
                }
            }
        }
    }

    /// The place after the last key.
    pub(super) fn end(root: &'a Node) -> Self {
        let mut path = Path { above: Vec::new(), leaf: &[], at: 0 };
        path.down(root, false);
        path
    }

    /// Continues down to the first or the last place below `node`.
    fn down(&mut self, mut node: &'a Node, to_first: bool) {
        loop {
            match node {
                Node::Leaf(leaf) => {
                    self.leaf = leaf;
                    self.at = if to_first { 0 } else { leaf.len() };
                    return;
                }
                Node::Branch(branch) => {
                    let at = if to_first { 0 } else { branch.kids.len().saturating_sub(1) };
                    let Some(kid) = branch.kids.get(at) else { return };
                    self.above.push((&branch.kids[..], at));
                    node = kid;
                }
            }
        }
    }

    fn next(&mut self) -> Option<&'a Entry> {
        loop {
            if let Some(entry) = self.leaf.get(self.at) {
                self.at += 1;
                return Some(entry);
            }
            let kid = loop {
                let (kids, at) = self.above.last_mut()?;
                *at += 1;
                match kids.get(*at) {
                    Some(kid) => break kid,
                    None => self.above.pop(),
                };
            };
            self.down(kid, true);
        }
    }

    fn prev(&mut self) -> Option<&'a Entry> {
        loop {
            if let Some(at) = self.at.checked_sub(1) {
                self.at = at;
                return self.leaf.get(at);
            }
            let kid = loop {
                let (kids, at) = self.above.last_mut()?;
                match at.checked_sub(1) {
                    Some(left) => {
                        *at = left;
                        break kids.get(left)?;
                    }
                    None => self.above.pop(),
                };
            };
            self.down(kid, false);
        }
    }
}

impl<'a> Path<'a> {
    /// Returns `entry`, unless it is `end`; then the walk is over.
    #[inline]
    fn unless_at(&mut self, end: Option<&Entry>, entry: Option<&'a Entry>) -> Option<&'a Entry> {
        let entry = entry.filter(|entry| !end.is_some_and(|end| std::ptr::eq(end, *entry)));
        if entry.is_none() {
            *self = Path { above: Vec::new(), leaf: &[], at: 0 };
        }
        entry
    }
}

/// Ascending entries, up to a known one or to the last.
#[derive(Debug)]
pub(crate) struct Ascend<'a> {
    pub(super) path: Path<'a>,
    /// The entry before which it stops.
    pub(super) end: Option<&'a Entry>,
}

impl<'a> Iterator for Ascend<'a> {
    type Item = &'a Entry;

    fn next(&mut self) -> Option<&'a Entry> {
        let entry = self.path.next();
        self.path.unless_at(self.end, entry)
    }
}

/// Descending entries, down to a known one or to the first.
#[derive(Debug)]
pub(crate) struct Descend<'a> {
    pub(super) path: Path<'a>,
    /// The entry before which it stops.
    pub(super) end: Option<&'a Entry>,
}

impl<'a> Iterator for Descend<'a> {
    type Item = &'a Entry;

    fn next(&mut self) -> Option<&'a Entry> {
        let entry = self.path.prev();
        self.path.unless_at(self.end, entry)
    }
}
