//! Cursors in a tree, and walks from one to another.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::node::{Branch, Leaf, Node};

/// A cursor, which stands before or after a pair of a leaf.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeCursor<'a> {
    /// The branch above the leaf, and the index of the leaf in it.
    pub(super) above: Option<(&'a Branch, usize)>,
    pub(super) leaf: &'a Leaf,
    /// The number of pairs of the leaf before the cursor.
    pub(super) at: usize,
}

type Pair<'a> = (&'a [u8], &'a [u8]);

impl<'a> TreeCursor<'a> {
    /// A cursor before the first key that is `key` or greater; and whether that key is `key`.
    #[inline]
    pub(super) fn find(root: &'a Node, key: &[u8]) -> Option<(Self, bool)> {
        let (mut node, mut above) = (root, None);
        loop {
            match node {
                Node::Leaf(leaf) => {
                    let found = leaf.pairs.find(key);
                    let at = found.unwrap_or_else(|at| at);
                    return Some((TreeCursor { above, leaf, at }, found.is_ok()));
                }
                Node::Branch(branch) => {
                    let at = branch.child_of(key);
                    above = Some((branch, at));
                    node = branch.kids.get(at)?;
                }
            }
        }
    }

    /// A cursor before the first pair below child `at` of a branch, or after the `last` one.
    fn edge(branch: &'a Branch, at: usize, last: bool) -> Option<Self> {
        let (mut branch, mut at) = (branch, at);
        loop {
            match &**branch.kids.get(at)? {
                Node::Leaf(leaf) => {
                    let above = Some((branch, at));
                    return Some(TreeCursor {
                        above,
                        leaf,
                        at: if last { leaf.pairs.len() } else { 0 },
                    });
                }
                Node::Branch(below) => {
                    branch = below;
                    at = if last { below.kids.len().checked_sub(1)? } else { 0 };
                }
            }
        }
    }

    /// A cursor after the last key.
    pub(super) fn end(root: &'a Node) -> Option<Self> {
        match root {
            Node::Leaf(leaf) => Some(TreeCursor { above: None, leaf, at: leaf.pairs.len() }),
            Node::Branch(branch) => {
                TreeCursor::edge(branch, branch.kids.len().checked_sub(1)?, true)
            }
        }
    }

    /// A cursor at the start of the next leaf.
    fn next_leaf(&self, root: &'a Node) -> Option<Self> {
        let (branch, at) = self.above?;
        if at + 1 < branch.kids.len() {
            return TreeCursor::edge(branch, at + 1, false);
        }
        // This is rare, so it searches from the root again. So a cursor need not hold its whole
        // path.
        let (branch, at) =
            turn(root, self.leaf.pairs.key(0), |branch, at| at + 1 < branch.kids.len())?;
        TreeCursor::edge(branch, at + 1, false)
    }

    /// A cursor at the end of the leaf before.
    fn leaf_before(&self, root: &'a Node) -> Option<Self> {
        let (branch, at) = self.above?;
        if at > 0 {
            return TreeCursor::edge(branch, at - 1, true);
        }
        let (branch, at) = turn(root, self.leaf.pairs.key(0), |_, at| at > 0)?;
        TreeCursor::edge(branch, at - 1, true)
    }

    /// The pair after the cursor.
    #[inline]
    pub(super) fn next(&self, root: &'a Node) -> Option<Pair<'a>> {
        match self.leaf.pairs.pair(self.at) {
            Some(pair) => Some(pair),
            None => self.next_leaf(root)?.leaf.pairs.pair(0),
        }
    }

    /// The pair before the cursor.
    pub(super) fn before(&self, root: &'a Node) -> Option<Pair<'a>> {
        match self.at.checked_sub(1) {
            Some(at) => self.leaf.pairs.pair(at),
            None => self.leaf_before(root)?.leaf.pairs.last(),
        }
    }

    fn same_leaf(&self, other: &TreeCursor<'_>) -> bool {
        std::ptr::eq(self.leaf, other.leaf)
    }
}

/// The lowest branch on the way to `key` that satisfies `suits`, with the index of the child that
/// leads to the key.
fn turn<'a>(
    root: &'a Node,
    key: &[u8],
    suits: impl Fn(&Branch, usize) -> bool,
) -> Option<(&'a Branch, usize)> {
    let (mut node, mut lowest) = (root, None);
    while let Node::Branch(branch) = node {
        let at = branch.child_of(key);
        if suits(branch, at) {
            lowest = Some((branch, at));
        }
        node = branch.kids.get(at)?;
    }
    lowest
}

/// The pairs from one cursor to another, ascending.
#[derive(Debug)]
pub(crate) struct Ascend<'a> {
    root: &'a Node,
    /// Nothing is left without one.
    here: Option<TreeCursor<'a>>,
    end: TreeCursor<'a>,
    /// Where to leave the leaf.
    stop: usize,
}

impl<'a> Ascend<'a> {
    pub(super) fn new(root: &'a Arc<Node>, here: TreeCursor<'a>, end: TreeCursor<'a>) -> Self {
        let mut walk = Ascend { root, here: None, end, stop: 0 };
        walk.enter(Some(here));
        walk
    }

    fn enter(&mut self, here: Option<TreeCursor<'a>>) {
        self.here = here;
        if let Some(here) = here {
            self.stop = if here.same_leaf(&self.end) { self.end.at } else { here.leaf.pairs.len() };
        }
    }

    fn next_leaf(&mut self) {
        let here = self.here.filter(|here| !here.same_leaf(&self.end));
        self.enter(here.and_then(|here| here.next_leaf(self.root)));
    }

    /// Shows the pairs that are left.
    pub(crate) fn show(
        mut self,
        mut show: impl FnMut(&'a [u8], &'a [u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while let Some(here) = self.here {
            for (key, value) in (here.at..self.stop).filter_map(|at| here.leaf.pairs.pair(at)) {
                show(key, value)?;
            }
            self.next_leaf();
        }
        ControlFlow::Continue(())
    }
}

impl<'a> Iterator for Ascend<'a> {
    type Item = Pair<'a>;

    fn next(&mut self) -> Option<Pair<'a>> {
        loop {
            let here = self.here.as_mut()?;
            if here.at < self.stop {
                here.at += 1;
                return here.leaf.pairs.pair(here.at - 1);
            }
            self.next_leaf();
        }
    }
}

/// The pairs from one cursor back to another, descending.
#[derive(Debug)]
pub(crate) struct Descend<'a> {
    root: &'a Node,
    /// Nothing is left without one.
    here: Option<TreeCursor<'a>>,
    end: TreeCursor<'a>,
    /// Where to leave the leaf.
    stop: usize,
}

impl<'a> Descend<'a> {
    pub(super) fn new(root: &'a Arc<Node>, here: TreeCursor<'a>, end: TreeCursor<'a>) -> Self {
        let mut walk = Descend { root, here: None, end, stop: 0 };
        walk.enter(Some(here));
        walk
    }

    fn enter(&mut self, here: Option<TreeCursor<'a>>) {
        self.here = here;
        if let Some(here) = here {
            self.stop = if here.same_leaf(&self.end) { self.end.at } else { 0 };
        }
    }

    fn leaf_before(&mut self) {
        let here = self.here.filter(|here| !here.same_leaf(&self.end));
        self.enter(here.and_then(|here| here.leaf_before(self.root)));
    }

    /// Shows the pairs that are left.
    pub(crate) fn show(
        mut self,
        mut show: impl FnMut(&'a [u8], &'a [u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while let Some(here) = self.here {
            for (key, value) in (self.stop..here.at).rev().filter_map(|at| here.leaf.pairs.pair(at))
            {
                show(key, value)?;
            }
            self.leaf_before();
        }
        ControlFlow::Continue(())
    }
}

impl<'a> Iterator for Descend<'a> {
    type Item = Pair<'a>;

    fn next(&mut self) -> Option<Pair<'a>> {
        loop {
            let here = self.here.as_mut()?;
            if here.at > self.stop {
                here.at -= 1;
                return here.leaf.pairs.pair(here.at);
            }
            self.leaf_before();
        }
    }
}
