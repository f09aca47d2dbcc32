//! Trees with other parameters than those of the format, for the benchmark of these parameters.

use std::collections::HashMap;
use std::sync::Arc;

use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::node::items::{Items, Payload};
use crate::node::view::Node;
use crate::tree::boundaries::ByHash;
use crate::tree::edit::{Edits, edit};
use crate::tree::lookup::find;
use crate::tree::nodes::{NodeStore, root};
use crate::{Kind, Secret};

/// A tree in memory.
#[derive(Debug)]
pub struct Tree {
    boundaries: ByHash,
    root: Digest,
    nodes: HashMap<Digest, Arc<Node>>,
}

struct InMemory<'n>(&'n HashMap<Digest, Arc<Node>>);

impl NodeStore for InMemory<'_> {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
        let missing = || LedgerError::missing(Kind::Node, digest);
        self.0.get(digest).cloned().ok_or_else(missing)
    }
}

struct Loaded<F>(F);

impl<F: Fn(&Digest) -> Vec<u8>> NodeStore for Loaded<F> {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
        Node::checked(digest, (self.0)(digest).into()).map(Arc::new)
    }
}

impl Tree {
    /// A tree without entries, whose nodes will have about `mean` bytes.
    pub fn new(mean: u64) -> Self {
        let boundaries = ByHash::with_mean(&Secret::new([0; 32]), mean);
        Tree { boundaries, root: Node::empty().0, nodes: HashMap::new() }
    }

    /// The root.
    pub fn root(&self) -> Digest {
        self.root
    }

    /// How many nodes are at each level, from the leaves up.
    pub fn levels(&self) -> Vec<usize> {
        let mut levels = Vec::new();
        for node in self.nodes.values() {
            let level = usize::from(node.level());
            levels.resize(levels.len().max(level + 1), 0);
            levels[level] += 1;
        }
        levels
    }

    /// Puts entries, whose keys ascend, and returns the new nodes.
    ///
    /// # Errors
    /// Never, for trees in memory.
    pub fn put<'a>(
        &mut self,
        entries: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
        keep: bool,
    ) -> Result<Vec<(Digest, Vec<u8>)>> {
        let mut puts = Items::default();
        for (key, value) in entries {
            puts.push(key, Payload::inline(value));
        }
        let edits = Edits { puts, ..Edits::default() };
        let edited = edit(&InMemory(&self.nodes), &self.boundaries, &self.root, edits)?;
        let new: Vec<_> =
            edited.nodes.iter().map(|node| (node.digest, node.bytes.to_vec())).collect();
        if keep {
            for node in edited.nodes {
                let view = Node::checked(&node.digest, node.bytes)?;
                self.nodes.insert(node.digest, Arc::new(view));
            }
            self.root = edited.root;
        }
        Ok(new)
    }
}

/// Whether a tree whose nodes `load` gives has this key. Checks each node as one that comes from
/// the host.
///
/// # Errors
/// If a node is damaged.
pub fn read(load: impl Fn(&Digest) -> Vec<u8>, digest: &Digest, key: &[u8]) -> Result<bool> {
    let nodes = Loaded(load);
    let root = root(&nodes, digest)?;
    Ok(find(&nodes, &root, key)?.is_some())
}
