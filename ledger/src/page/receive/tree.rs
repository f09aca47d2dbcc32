//! The trees of received commits.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use permazen_kv::{Direction, KeySpan};

use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::node::items::{Payload, REFERENCE};
use crate::node::view::Node;
use crate::page::shared::Shared;
use crate::tree::diff::{Diff, Stored};
use crate::tree::edit::{Edited, Edits, End, RemovedRange, edit};
use crate::tree::lookup::find;
use crate::tree::nodes::{NodeStore, child, root};
use crate::value::read::PieceStore;

/// The error text for a piece that was cut with another secret.
pub(super) const OTHER_CUTS: &str = "other cuts; the page of the sender may have another secret";

/// Reads received pieces that are not stored yet, and stored ones.
#[derive(Clone)]
pub(super) struct Arriving<'a> {
    pub(super) page: &'a Shared,
    pub(super) nodes: &'a HashMap<Digest, Arc<Node>>,
    pub(super) value_pieces: &'a HashMap<Digest, (Kind, Bytes)>,
}

/// The error about a reference to a piece of another kind.
fn other_kind(kind: Kind, digest: &Digest, of: Kind) -> LedgerError {
    LedgerError::integrity(kind, digest, format!("a {kind}"), format!("a {of}"))
}

impl NodeStore for Arriving<'_> {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
        match self.nodes.get(digest) {
            Some(node) => Ok(Arc::clone(node)),
            None => match self.value_pieces.get(digest) {
                Some((of, _)) => Err(other_kind(Kind::Node, digest, *of)),
                None => self.page.load(digest),
            },
        }
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        NodeStore::explain(self.page, error)
    }
}

impl PieceStore for Arriving<'_> {
    fn piece(&self, kind: Kind, digest: &Digest) -> Result<Bytes> {
        match self.value_pieces.get(digest) {
            Some((of, bytes)) if *of == kind => Ok(bytes.clone()),
            Some((of, _)) => Err(other_kind(kind, digest, *of)),
            None if self.nodes.contains_key(digest) => Err(other_kind(kind, digest, Kind::Node)),
            None => self.page.piece(kind, digest),
        }
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        NodeStore::explain(self.page, error)
    }
}

impl Arriving<'_> {
    /// Whether a part of a value is stored here or was received.
    pub(super) fn has(&self, digest: &Digest) -> Result<bool> {
        Ok(self.value_pieces.contains_key(digest)
            || self.page.open.rows.number_of(&self.page.read()?, digest)?.is_some())
    }
}

/// A received tree, and the trees of its stored parents.
pub(super) struct Tree<'a> {
    pub(super) from: Arriving<'a>,
    pub(super) root: Digest,
    pub(super) parents: Vec<Arc<Node>>,
}

/// A tree that was rebuilt.
pub(super) struct Rebuilt {
    pub(super) edited: Edited,
    /// The long values that its first parent does not have, by their keys.
    pub(super) values: Vec<(Vec<u8>, Stored)>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(from: Arriving<'a>, digest: Digest, parents: &[Digest]) -> Result<Self> {
        let parents =
            parents.iter().map(|parent| root(from.page, parent)).collect::<Result<_>>()?;
        Ok(Tree { from, root: digest, parents })
    }

    /// Whether a parent has this node at this level, with this last key.
    pub(super) fn has_node(&self, level: u8, last: &[u8], digest: &Digest) -> Result<bool> {
        for parent in &self.parents {
            let mut node = Arc::clone(parent);
            while node.level() > level {
                let (at, is_last) = node.search(last);
                match node.child(at) {
                    Some(below) if is_last && below.digest == *digest => return Ok(true),
                    Some(_) if node.level() > level + 1 => node = child(self.from.page, &node, at)?,
                    _ => break,
                }
            }
        }
        Ok(false)
    }

    /// Whether a parent has this value with this priority under the same key.
    pub(super) fn has_value(&self, key: &[u8], payload: Payload<'_>) -> Result<bool> {
        for parent in &self.parents {
            if let Some((leaf, at)) = find(self.from.page, parent, key)?
                && leaf.payload(at) == payload
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Rebuilds the tree from its differences to its first parent. So it is cut as every page with
    /// this secret cuts it.
    ///
    /// # Errors
    /// [`LedgerError::Integrity`] if the rebuilt tree has another root.
    pub(super) fn rebuild(&self) -> Result<Rebuilt> {
        let base = self.parents.first().map_or_else(|| Arc::clone(&Node::empty().1), Arc::clone);
        let wrong = |expected: &str, found: &str| {
            let error = LedgerError::integrity(Kind::Node, &self.root, expected, found);
            NodeStore::explain(&self.from, error)
        };
        let new = root(&self.from, &self.root)?;
        let (all, mut edits) = (KeySpan::new(b"", None), Edits::default());
        let mut diff = Diff::new(&self.from, (&base, &new), all, Direction::Forward)?;
        let (mut values, mut last) = (Vec::new(), None::<Vec<u8>>);
        while let Some(found) = diff.next()? {
            if last.as_ref().is_some_and(|last| *last >= found.key) {
                return Err(wrong("a tree whose keys ascend", "keys that do not"));
            }
            match found.new {
                Some(stored) => {
                    edits.puts.push(&found.key, stored.payload());
                    if stored.flags & REFERENCE != 0 {
                        values.push((found.key.clone(), stored));
                    }
                }
                None => {
                    let to = End::Included(found.key.clone());
                    edits.drops.push(RemovedRange { from: found.key.clone(), to });
                }
            }
            last = Some(found.key);
        }
        let base = match base.len() {
            0 => Node::empty().0,
            _ => Kind::Node.digest(base.as_bytes()),
        };
        let edited = edit(&self.from, &self.from.page.boundaries, &base, edits)?;
        if edited.root != self.root {
            return Err(wrong("a tree that is cut as the secret of this page says", OTHER_CUTS));
        }
        Ok(Rebuilt { edited, values })
    }
}
