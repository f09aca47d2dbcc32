//! Finds the missing pieces of a received commit.

use std::collections::HashSet;
use std::sync::Arc;

use super::tree::Tree;
use super::values::{ValuePiece, Visited};
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::node::items::{Priority, REFERENCE};
use crate::node::view::Node;
use crate::page::whole_value::reference;
use crate::tree::nodes::{child, root};
use crate::value::read::PieceStore;

/// A resumable search for missing pieces, from the roots of the trees. Visited pieces are not
/// visited again, so a commit that arrives in many portions is searched once.
#[derive(Default)]
pub(super) struct WantedSearch {
    /// Missing pieces, and pieces that are still to be visited.
    ahead: Vec<Ahead>,
    /// The nodes of each tree that were added to `ahead`. Each is visited once, however many
    /// references it has.
    seen: HashSet<(usize, Digest)>,
    visited: Visited,
}

enum Ahead {
    /// The root of a tree, or a child of a node.
    Node(usize, Option<(Arc<Node>, usize)>),
    Part(ValuePiece),
}

impl WantedSearch {
    /// Begins at the roots of this number of trees.
    pub(super) fn new(trees: usize) -> Self {
        let ahead = (0..trees).rev().map(|tree| Ahead::Node(tree, None)).collect();
        WantedSearch { ahead, ..WantedSearch::default() }
    }

    /// The next missing pieces, at most `at_most`. Skips pieces that a parent has. Lazy values may
    /// be absent unless `needs_lazy`.
    ///
    /// # Errors
    /// If a piece does not match its reference, or the host fails.
    pub(super) fn next(
        &mut self,
        trees: &[Tree<'_>],
        needs_lazy: bool,
        at_most: usize,
    ) -> Result<Vec<(Kind, Digest)>> {
        let (mut wanted, mut once, mut missing) = (Vec::new(), HashSet::new(), Vec::new());
        while wanted.len() < at_most {
            let Some(next) = self.ahead.pop() else { break };
            let found = match &next {
                Ahead::Node(tree, parent) => {
                    self.enter_node(*tree, &trees[*tree], parent.as_ref(), needs_lazy)?
                }
                // The trees read the same pieces, so any of them will do.
                Ahead::Part(piece) => self.enter_part(&trees[0], piece)?,
            };
            if let Some(piece) = found {
                if once.insert(piece) {
                    wanted.push(piece);
                }
                missing.push(next);
            }
        }
        self.ahead.extend(missing);
        Ok(wanted)
    }

    /// Adds the children of a node. If the node itself is missing, returns it.
    fn enter_node(
        &mut self,
        number: usize,
        tree: &Tree<'_>,
        parent: Option<&(Arc<Node>, usize)>,
        needs_lazy: bool,
    ) -> Result<Option<(Kind, Digest)>> {
        let (digest, found) = match parent {
            None if tree.root == Node::empty().0 => return Ok(None),
            None => (tree.root, root(&tree.from, &tree.root)),
            Some((above, at)) => {
                let Some(below) = above.child(*at) else { return Ok(None) };
                (below.digest, child(&tree.from, above, *at))
            }
        };
        let node = match found {
            Err(LedgerError::Missing { .. }) => return Ok(Some((Kind::Node, digest))),
            node => node?,
        };
        // A parent has this tree.
        if tree.parents.iter().any(|parent| parent.as_bytes() == node.as_bytes()) {
            return Ok(None);
        }
        for at in 0..node.len() {
            let payload = node.payload(at);
            if let Some(below) = node.child(at) {
                let key = node.key(at).to_vec();
                if !tree.has_node(node.level() - 1, &key, &below.digest)?
                    && self.seen.insert((number, below.digest))
                {
                    self.ahead.push(Ahead::Node(number, Some((Arc::clone(&node), at))));
                }
            } else if payload.flags & REFERENCE != 0
                && (needs_lazy || payload.priority() == Priority::Eager)
                && !tree.has_value(&node.key(at).to_vec(), payload)?
            {
                self.add_part(ValuePiece::top(&reference(payload)?));
            }
        }
        Ok(None)
    }

    fn add_part(&mut self, piece: ValuePiece) {
        if self.visited.insert(&piece) {
            self.ahead.push(Ahead::Part(piece));
        }
    }

    /// Adds the children of a piece of a value. If the piece itself is missing, returns it.
    fn enter_part(
        &mut self,
        tree: &Tree<'_>,
        piece: &ValuePiece,
    ) -> Result<Option<(Kind, Digest)>> {
        let (kind, digest) = (piece.kind(), piece.digest());
        if kind == Kind::Chunk {
            return Ok((!tree.from.has(&digest)?).then_some((kind, digest)));
        }
        match tree.from.piece(kind, &digest) {
            Err(LedgerError::Missing { .. }) => return Ok(Some((kind, digest))),
            bytes => piece.below(bytes?)?.into_iter().for_each(|piece| self.add_part(piece)),
        }
        Ok(None)
    }
}
