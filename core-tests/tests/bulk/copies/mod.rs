//! Named cascades, copies of objects that belong together, and typed transactions in memory.

mod cascades;
mod copying;
mod detached;
mod every_value;
mod extremes;
mod graph;
mod graph_of_all_encodings;
mod hooks;
mod restore;
#[path = "../../encodings/samples.rs"]
#[allow(dead_code, reason = "what the tests of encodings need")]
mod samples;

use std::collections::BTreeMap;

use permazen::kv::memory::MemoryStore;
use permazen::{Permazen, PermazenObject, Ref};

#[derive(PermazenObject, Default, Debug, PartialEq, Clone)]
pub(crate) struct Node {
    #[permazen(indexed)]
    pub(crate) name: String,
    #[permazen(cascade(forward = ["tree", "ancestors"], inverse = ["tree", "descendants"]))]
    pub(crate) parent: Option<Ref<Node>>,
    #[permazen(element(cascade(forward = ["links"])))]
    pub(crate) links: Vec<Ref<Node>>,
    #[permazen(cascade(forward = ["hops"]), allow_deleted, inverse_delete = "ignore")]
    pub(crate) hop: Option<Ref<Node>>,
}

/// It has a field like that of a node, but no cascade leads through it.
#[derive(PermazenObject, Default, Debug)]
pub(crate) struct Follower {
    pub(crate) parent: Option<Ref<Node>>,
    #[permazen(key(cascade(inverse = ["tree"])))]
    pub(crate) notes: BTreeMap<Ref<Node>, String>,
}

pub(crate) fn open() -> Permazen {
    Permazen::builder(MemoryStore::new()).model::<Node>().model::<Follower>().build().unwrap()
}

pub(crate) fn node(name: &str, parent: Option<Ref<Node>>) -> Node {
    Node { name: name.into(), parent, ..Node::default() }
}

/// All pairs of a transaction.
fn bytes(tx: &permazen::Tx) -> Vec<u8> {
    tx.snapshot().unwrap().to_bytes().unwrap()
}
