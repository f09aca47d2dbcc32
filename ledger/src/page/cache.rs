//! Nodes in memory, which all pages of a repository share.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

use crate::digest::Digest;
use crate::node::view::Node;
use crate::tree::nodes::NewNode;

/// Nodes that were checked, up to a number of bytes.
pub(crate) struct NodeCache {
    nodes: Cache<Digest, Arc<Node>, Bytes, ByDigest>,
    number: u64,
}

/// The share of the cache for nodes that were loaded again since they were inserted. The rest is
/// for new nodes: the next commit, merge or reader loads many nodes of the last commit, while the
/// nodes that it has replaced were loaded often and are not needed any more.
const HOT: f64 = 0.3;

/// The number of the next cache of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl NodeCache {
    pub(crate) fn new(bytes: u64) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity((bytes / 4_096) as usize)
            .weight_capacity(bytes)
            .hot_allocation(HOT)
            .build();
        let cache = match options {
            Ok(options) => {
                Cache::with_options(options, Bytes, ByDigest, DefaultLifecycle::default())
            }
            // Cannot happen: the options above are complete.
            Err(_) => Cache::with(1_024, bytes, Bytes, ByDigest, DefaultLifecycle::default()),
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        NodeCache { nodes: cache, number }
    }

    /// A number that no other cache of this process has. So it tells repositories apart.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn get(&self, digest: &Digest) -> Option<Arc<Node>> {
        self.nodes.get(digest)
    }

    pub(crate) fn insert(&self, digest: Digest, node: Arc<Node>) {
        self.nodes.insert(digest, node);
    }

    /// Inserts nodes that a commit has made.
    pub(crate) fn insert_new(&self, nodes: &[NewNode]) {
        for node in nodes {
            if let Ok(made) = Node::trusted(node.bytes.clone(), node.entries) {
                self.insert(node.digest, Arc::new(made));
            }
        }
    }
}

impl fmt::Debug for NodeCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeCache").field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Digest, Arc<Node>> for Bytes {
    fn weight(&self, _: &Digest, node: &Arc<Node>) -> u64 {
        node.as_bytes().len() as u64 + 128
    }
}

/// A digest is a hash already.
#[derive(Clone)]
struct ByDigest;

impl BuildHasher for ByDigest {
    type Hasher = Start;

    fn build_hasher(&self) -> Start {
        Start(0)
    }
}

/// The first eight bytes of a digest.
struct Start(u64);

impl Hasher for Start {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(start) = bytes.first_chunk() {
            self.0 = u64::from_be_bytes(*start);
        }
    }

    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}
