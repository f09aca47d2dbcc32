//! The nodes of a tree and what they hold.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::Hex;
use crate::key::head_of;

/// The largest number of entries in a leaf and of children in a branch.
pub(super) const MAX: usize = 48;
/// A node with fewer entries or children is merged with a neighbour.
pub(super) const MIN: usize = MAX / 4;

/// A key that is looked for.
#[derive(Clone, Copy)]
pub(super) struct Sought<'k> {
    pub(super) head: u64,
    pub(super) key: &'k [u8],
}

impl<'k> Sought<'k> {
    pub(super) fn new(key: &'k [u8]) -> Self {
        Sought { head: head_of(key), key }
    }

    /// How a key with this `head` compares with the sought one. Needs `key` only if the heads are
    /// equal.
    pub(super) fn order_of<'a>(&self, head: u64, key: impl FnOnce() -> &'a [u8]) -> Ordering {
        head.cmp(&self.head).then_with(|| key().cmp(self.key))
    }
}

/// One key with its value; clones share both.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(super) head: u64,
    /// The key, then the value.
    pub(super) pair: Arc<[u8]>,
    key_len: usize,
}

impl Entry {
    pub(super) fn new(key: &[u8], value: &[u8]) -> Self {
        let pair = [key, value].concat().into();
        Entry { head: head_of(key), pair, key_len: key.len() }
    }

    pub(crate) fn key(&self) -> &[u8] {
        self.pair.get(..self.key_len).unwrap_or_default()
    }

    pub(crate) fn value(&self) -> &[u8] {
        self.pair.get(self.key_len..).unwrap_or_default()
    }

    /// Whether both are the same entry: neither was written after the other.
    pub(crate) fn is_same(one: Option<&Entry>, other: Option<&Entry>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(&one.pair, &other.pair),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", Hex(self.key()), Hex(self.value()))
    }
}

/// The key between two children of a branch.
#[derive(Debug, Clone)]
pub(super) struct Separator {
    pub(super) head: u64,
    pub(super) key: Arc<[u8]>,
}

impl Separator {
    pub(super) fn new(key: &[u8]) -> Self {
        Separator { head: head_of(key), key: key.into() }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    Leaf(Vec<Entry>),
    Branch(Branch),
}

/// Children in key order. `seps[i]` is greater than every key below `kids[i]`, and not greater than
/// any key below `kids[i + 1]`.
#[derive(Debug, Clone)]
pub(super) struct Branch {
    pub(super) seps: Vec<Separator>,
    pub(super) kids: Vec<Arc<Node>>,
}

/// What a changed node returns to its parent: the right half that was split off.
pub(super) type Split = Option<(Separator, Arc<Node>)>;

pub(super) fn find(entries: &[Entry], key: Sought<'_>) -> Result<usize, usize> {
    entries.binary_search_by(|entry| key.order_of(entry.head, || entry.key()))
}

impl Branch {
    /// The index of the child that `key` belongs to.
    pub(super) fn child_of(&self, key: Sought<'_>) -> usize {
        self.seps.partition_point(|sep| key.order_of(sep.head, || &sep.key).is_le())
    }
}

impl Node {
    pub(super) fn size(&self) -> usize {
        match self {
            Node::Leaf(entries) => entries.len(),
            Node::Branch(branch) => branch.kids.len(),
        }
    }

    /// Splits off the right half if this node has grown too large.
    ///
    /// A leaf that grew at its very end keeps most of its entries, so that keys that arrive in
    /// order leave full leaves.
    pub(super) fn split(&mut self, grew_at_end: bool) -> Split {
        if self.size() <= MAX {
            return None;
        }
        let at = if grew_at_end { MAX - MAX / 8 } else { self.size() / 2 };
        self.split_at(at)
    }

    pub(super) fn split_at(&mut self, at: usize) -> Split {
        match self {
            Node::Leaf(entries) => {
                let right = entries.split_off(at);
                let sep = Separator::new(right.first()?.key());
                Some((sep, Arc::new(Node::Leaf(right))))
            }
            Node::Branch(branch) => {
                let kids = branch.kids.split_off(at);
                let seps = branch.seps.split_off(at);
                let sep = branch.seps.pop()?;
                Some((sep, Arc::new(Node::Branch(Branch { seps, kids }))))
            }
        }
    }

    /// Appends the content of the right neighbour. `sep` is the key between the two.
    pub(super) fn append(&mut self, sep: Separator, right: Arc<Node>) {
        match (self, Arc::unwrap_or_clone(right)) {
            (Node::Leaf(left), Node::Leaf(mut right)) => left.append(&mut right),
            (Node::Branch(left), Node::Branch(mut right)) => {
                // A separator belongs between two children. After removals one of the two branches
                // can be empty, and then there is nothing to separate.
                if !left.kids.is_empty() && !right.kids.is_empty() {
                    left.seps.push(sep);
                }
                left.seps.append(&mut right.seps);
                left.kids.append(&mut right.kids);
            }
            // Neighbours have the same depth, so they are of the same kind.
            (Node::Leaf(_), Node::Branch(_)) | (Node::Branch(_), Node::Leaf(_)) => {}
        }
    }
}
