//! Trees in memory, and the tree that is built from scratch.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use permazen_kv::Direction;

use crate::Kind;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::node::items::{Items, Payload};
use crate::node::view::Node;
use crate::tree::boundaries::{Boundaries, Group};
use crate::tree::cursor::Cursor;
use crate::tree::level::LevelWriter;
use crate::tree::nodes::{NewNode, NodeStore, root};

pub(super) type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Nodes in memory, which counts loads.
#[derive(Default)]
pub(super) struct Counted {
    nodes: Mutex<HashMap<Digest, Arc<Node>>>,
    loads: Mutex<u64>,
}

impl Counted {
    pub(super) fn add(&self, new: Vec<NewNode>) -> usize {
        let mut nodes = self.nodes.lock().unwrap();
        let before = nodes.len();
        for NewNode { digest, bytes, entries } in new {
            let node = Node::checked(&digest, bytes).unwrap();
            assert_eq!(node.entries(), entries);
            nodes.insert(digest, Arc::new(node));
        }
        nodes.len() - before
    }

    /// Forgets all nodes but these, which are there.
    pub(super) fn keep(&self, these: &HashSet<Digest>) {
        let mut nodes = self.nodes.lock().unwrap();
        nodes.retain(|digest, _| these.contains(digest));
        let missing = these.iter().filter(|digest| !nodes.contains_key(*digest)).count();
        assert_eq!(missing, 0, "nodes of the tree are missing");
    }

    pub(super) fn forget(&self, these: &[Digest]) {
        let mut nodes = self.nodes.lock().unwrap();
        these.iter().for_each(|digest| drop(nodes.remove(digest)));
    }

    pub(super) fn loads(&self) -> u64 {
        std::mem::take(&mut *self.loads.lock().unwrap())
    }
}

impl NodeStore for Counted {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
        *self.loads.lock().unwrap() += 1;
        let nodes = self.nodes.lock().unwrap();
        let missing = || LedgerError::missing(Kind::Node, digest);
        nodes.get(digest).cloned().ok_or_else(missing)
    }
}

pub(super) fn items<'a>(entries: impl IntoIterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>) -> Items {
    let mut items = Items::default();
    for (key, value) in entries {
        items.push(key, Payload::inline(value));
    }
    items
}

/// The definition: all levels from the sorted entries.
pub(super) fn from_scratch<B: Boundaries>(boundaries: &B, map: &Map) -> (Digest, Vec<NewNode>) {
    let (mut level, mut list, mut all) = (0, items(map), Vec::new());
    loop {
        let mut writer = LevelWriter::new(level, boundaries);
        (0..list.len()).for_each(|at| writer.push(list.key(at), list.payload(at)));
        writer.finish();
        all.append(&mut writer.nodes);
        list = writer.children;
        if list.len() <= 1 {
            break;
        }
        level += 1;
    }
    let root =
        if list.is_empty() { Node::empty().0 } else { list.payload(0).child().unwrap().digest };
    (root, all)
}

/// Cuts by the key alone, and so often that trees are high.
pub(super) struct Artificial {
    pub(super) one_in: u64,
    pub(super) least: usize,
}

impl Boundaries for Artificial {
    fn cuts(&self, level: u8, key: &[&[u8]], group: Group) -> bool {
        let mut bytes = key.concat();
        bytes.push(level);
        let least = if level == 0 { 1 } else { self.least };
        group.count >= least
            && u64::from(Kind::Chunk.digest(&bytes).0[7]).is_multiple_of(self.one_in)
    }
}

pub(super) fn entries(
    nodes: &Counted,
    digest: &Digest,
    direction: Direction,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut cursor = Cursor::new(nodes, root(&nodes, digest).unwrap(), direction);
    let mut all = Vec::new();
    loop {
        cursor.enter_leaf().unwrap();
        let Some((key, payload)) = cursor.item() else { return all };
        all.push((key.to_vec(), payload.bytes.to_vec()));
        cursor.step();
    }
}
