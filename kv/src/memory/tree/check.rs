//! The rules that a tree always satisfies, for tests.

use super::Tree;
use super::node::{BRANCH, LEAF, Node};

impl Tree {
    /// Panics unless the map satisfies these rules.
    pub(in crate::memory) fn check(&self) {
        fn walk(node: &Node, min: Option<&[u8]>, max: Option<&[u8]>, root: bool) -> (usize, usize) {
            assert!(root || node.size() > 0, "empty node");
            match node {
                Node::Leaf(leaf) => {
                    leaf.pairs.check();
                    assert!(leaf.pairs.len() <= LEAF);
                    for at in 0..leaf.pairs.len() {
                        let key = leaf.pairs.key(at);
                        assert!(min.is_none_or(|min| key >= min));
                        assert!(max.is_none_or(|max| key < max));
                    }
                    (1, leaf.pairs.len())
                }
                Node::Branch(branch) => {
                    branch.seps.check();
                    assert!(branch.kids.len() <= BRANCH);
                    assert_eq!(branch.seps.len() + 1, branch.kids.len());
                    let (mut depth, mut len) = (0, 0);
                    for (i, kid) in branch.kids.iter().enumerate() {
                        let min = if i == 0 { min } else { Some(branch.seps.key(i - 1)) };
                        let max = branch.seps.pair(i).map(|(key, _)| key).or(max);
                        let (d, n) = walk(kid, min, max, false);
                        assert!(depth == 0 || depth == d, "uneven depth");
                        depth = d;
                        len += n;
                    }
                    (depth + 1, len)
                }
            }
        }
        let (_, len) = walk(&self.root, None, None, true);
        assert_eq!(len, self.len);
    }

    /// How many nodes there are.
    pub(in crate::memory) fn nodes(&self) -> usize {
        fn count(node: &Node) -> usize {
            match node {
                Node::Leaf(_) => 1,
                Node::Branch(branch) => 1 + branch.kids.iter().map(|kid| count(kid)).sum::<usize>(),
            }
        }
        count(&self.root)
    }
}
