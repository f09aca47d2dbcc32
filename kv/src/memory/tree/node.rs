//! The nodes of a tree.

use std::ops::Range;
use std::sync::Arc;

use super::block::{Block, common};

/// The most pairs of a leaf.
pub(super) const LEAF: usize = 64;
/// The most children of a branch.
pub(super) const BRANCH: usize = 64;

/// The pairs and, in a leaf that a transaction has changed, which of them it has written.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) pairs: Block<LEAF>,
    /// The transaction that was the last to change the leaf.
    stamp: u64,
    /// A bit for each position: whether that transaction has written the pair.
    written: u64,
}

const _: () = assert!(LEAF <= u64::BITS as usize, "a bit for each pair");

/// Children in key order. Separator `i` is greater than every key below `kids[i]`, and not greater
/// than any key below `kids[i + 1]`.
#[derive(Debug, Clone)]
pub(super) struct Branch {
    /// The separators, as keys without values.
    pub(super) seps: Block<BRANCH>,
    pub(super) kids: Vec<Arc<Node>>,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    Leaf(Leaf),
    Branch(Branch),
}

/// The right half that was split off a node, and the key between the two.
pub(super) type Split = Option<(Vec<u8>, Arc<Node>)>;

impl Node {
    pub(super) fn empty() -> Node {
        Node::Leaf(Leaf { pairs: Block::new(), stamp: 0, written: 0 })
    }

    /// Pairs of a leaf, or children of a branch.
    pub(super) fn size(&self) -> usize {
        match self {
            Node::Leaf(leaf) => leaf.pairs.len(),
            Node::Branch(branch) => branch.kids.len(),
        }
    }

    /// Whether the node should be merged with a neighbour.
    pub(super) fn is_small(&self) -> bool {
        match self {
            Node::Leaf(leaf) => leaf.pairs.len() < LEAF / 4,
            Node::Branch(branch) => branch.kids.len() < BRANCH / 4,
        }
    }

    /// Makes one node of two neighbours with `sep` between them, or two if that would be too large:
    /// then each gets half.
    pub(super) fn join(left: Node, sep: &[u8], right: Node) -> (Node, Split) {
        match (left, right) {
            (Node::Leaf(left), Node::Leaf(right)) => {
                let (left, split) = Leaf::join(left, right);
                (Node::Leaf(left), split)
            }
            (Node::Branch(left), Node::Branch(right)) => {
                let (left, split) = Branch::join(left, sep, right);
                (Node::Branch(left), split)
            }
            // Neighbours have the same depth, so they are of the same kind.
            (left, right) => (left, Some((sep.to_vec(), Arc::new(right)))),
        }
    }
}

impl Leaf {
    /// Prepares for changes of a transaction.
    pub(super) fn change(&mut self, stamp: u64) {
        if self.stamp != stamp {
            self.stamp = stamp;
            self.written = 0;
        }
    }

    /// Whether a transaction has written the pair.
    pub(super) fn has_written(&self, stamp: u64, at: usize) -> bool {
        self.stamp == stamp && self.written & bit(at) != 0
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.pairs.pair(self.pairs.find(key).ok()?).map(|(_, value)| value)
    }

    pub(super) fn set_value(&mut self, at: usize, value: &[u8]) -> usize {
        self.written |= bit(at);
        self.pairs.set_value(at, value)
    }

    /// Inserts a pair, and splits the leaf if it is full.
    ///
    /// A leaf that grows at its very end keeps most of its pairs, so that keys that arrive in order
    /// leave full leaves.
    pub(super) fn insert(&mut self, at: usize, key: &[u8], value: &[u8]) -> Split {
        if self.pairs.len() < LEAF {
            self.insert_here(at, key, value);
            return None;
        }
        let cut = if at == LEAF { LEAF - LEAF / 8 } else { LEAF / 2 };
        let mut right = self.split_off(cut);
        if at > cut {
            right.insert_here(at - cut, key, value);
        } else {
            self.insert_here(at, key, value);
        }
        Some((self.separator(&right), Arc::new(Node::Leaf(right))))
    }

    fn insert_here(&mut self, at: usize, key: &[u8], value: &[u8]) {
        let (before, after) = (self.written & bits_below(at), self.written & !bits_below(at));
        self.written = before | after << 1 | bit(at);
        self.pairs.insert(at, key, value);
    }

    pub(super) fn remove(&mut self, range: Range<usize>) {
        let after = self.written & !bits_below(range.end);
        self.written = self.written & bits_below(range.start) | bits_from(after, range.len());
        self.pairs.remove(range);
    }

    fn split_off(&mut self, at: usize) -> Leaf {
        let right = Leaf {
            pairs: self.pairs.split_off(at),
            stamp: self.stamp,
            written: bits_from(self.written, at),
        };
        self.written &= bits_below(at);
        right
    }

    /// A short key between this leaf and the one after it.
    fn separator(&self, right: &Leaf) -> Vec<u8> {
        let (below, above) = (self.pairs.last().unwrap_or_default().0, right.pairs.key(0));
        let len = common(below, above) + 1;
        above.get(..len).unwrap_or(above).to_vec()
    }

    fn join(mut left: Leaf, mut right: Leaf) -> (Leaf, Split) {
        // The writes of an earlier transaction do not matter any more.
        let stamp = left.stamp.max(right.stamp);
        left.change(stamp);
        right.change(stamp);
        let (a, b) = (left.pairs.len(), right.pairs.len());
        let written = u128::from(left.written) | u128::from(right.written) << a;
        let block = |range: Range<usize>| {
            #[allow(clippy::cast_possible_truncation, reason = "a leaf has no more bits")]
            let bits = (written >> range.start) as u64;
            Leaf {
                pairs: Block::of(&[
                    (&left.pairs, range.start.min(a)..range.end.min(a)),
                    (&right.pairs, range.start.saturating_sub(a)..range.end.saturating_sub(a)),
                ]),
                stamp,
                written: bits & bits_below(range.len()),
            }
        };
        if a + b <= LEAF {
            return (block(0..a + b), None);
        }
        let half = (a + b) / 2;
        let (left, right) = (block(0..half), block(half..a + b));
        let separator = left.separator(&right);
        (left, Some((separator, Arc::new(Node::Leaf(right)))))
    }
}

/// The bit of a position; 0 for a position that no leaf has.
fn bit(at: usize) -> u64 {
    if at < LEAF { 1 << at } else { 0 }
}

fn bits_below(at: usize) -> u64 {
    bit(at).wrapping_sub(1)
}

/// The bits from a position on, shifted to the beginning.
fn bits_from(bits: u64, at: usize) -> u64 {
    if at < LEAF { bits >> at } else { 0 }
}

impl Branch {
    pub(super) fn of_two(left: Arc<Node>, sep: &[u8], right: Arc<Node>) -> Branch {
        let mut seps = Block::new();
        seps.insert(0, sep, &[]);
        Branch { seps, kids: vec![left, right] }
    }

    /// The index of the child that `key` belongs to.
    #[inline]
    pub(super) fn child_of(&self, key: &[u8]) -> usize {
        match self.seps.find(key) {
            Ok(at) => at + 1,
            Err(at) => at,
        }
    }

    /// Adds the right half of child `at`, and splits the branch if it is full.
    pub(super) fn insert(&mut self, at: usize, sep: &[u8], kid: Arc<Node>) -> Split {
        if self.kids.len() < BRANCH {
            self.insert_here(at, sep, kid);
            return None;
        }
        let cut = if at + 1 == BRANCH { BRANCH - BRANCH / 8 } else { BRANCH / 2 };
        let (between, mut right) = self.split_off(cut);
        if at < cut {
            self.insert_here(at, sep, kid);
        } else {
            right.insert_here(at - cut, sep, kid);
        }
        Some((between, Arc::new(Node::Branch(right))))
    }

    fn insert_here(&mut self, at: usize, sep: &[u8], kid: Arc<Node>) {
        self.seps.insert(at, sep, &[]);
        self.kids.insert(at + 1, kid);
    }

    /// Keeps the children before `cut`; there must be some.
    fn split_off(&mut self, cut: usize) -> (Vec<u8>, Branch) {
        let kids = self.kids.split_off(cut);
        let seps = self.seps.split_off(cut);
        let between = self.seps.key(cut - 1).to_vec();
        self.seps.remove(cut - 1..cut);
        (between, Branch { seps, kids })
    }

    /// Drops a child and a separator beside it.
    pub(super) fn remove(&mut self, at: usize) {
        self.kids.remove(at);
        let sep = at.saturating_sub(1);
        if sep < self.seps.len() {
            self.seps.remove(sep..sep + 1);
        }
    }

    fn join(mut left: Branch, sep: &[u8], mut right: Branch) -> (Branch, Split) {
        // After removals one of the two can be empty, and then there is nothing to separate.
        if right.kids.is_empty() {
            return (left, None);
        }
        if left.kids.is_empty() {
            return (right, None);
        }
        let (a, b) = (left.kids.len(), right.kids.len());
        if a + b <= BRANCH {
            left.seps.insert(a - 1, sep, &[]);
            left.seps = Block::of(&[(&left.seps, 0..a), (&right.seps, 0..b - 1)]);
            left.kids.append(&mut right.kids);
            return (left, None);
        }
        let half = (a + b) / 2;
        // The separator between the two goes down, and another one comes up.
        if a < half {
            let moved = half - a;
            let between = right.seps.key(moved - 1).to_vec();
            left.seps.insert(a - 1, sep, &[]);
            left.seps = Block::of(&[(&left.seps, 0..a), (&right.seps, 0..moved - 1)]);
            left.kids.extend(right.kids.drain(..moved));
            right.seps.remove(0..moved);
            return (left, Some((between, Arc::new(Node::Branch(right)))));
        }
        let mut moved = left.split_off(half);
        let last = moved.1.seps.len();
        moved.1.seps.insert(last, sep, &[]);
        right.seps = Block::of(&[(&moved.1.seps, 0..last + 1), (&right.seps, 0..b - 1)]);
        moved.1.kids.append(&mut right.kids);
        right.kids = moved.1.kids;
        (left, Some((moved.0, Arc::new(Node::Branch(right)))))
    }
}
