//! The rules that a tree always satisfies, for tests.

use std::cmp::Ordering;

use super::Tree;
use super::node::{MAX, Node};

impl Tree {
    /// Panics unless the map satisfies these rules.
    pub(in crate::memory) fn check(&self) {
        fn walk(node: &Node, min: Option<&[u8]>, max: Option<&[u8]>, root: bool) -> (usize, usize) {
            assert!(root || node.size() > 0, "empty node");
            assert!(node.size() <= MAX, "oversized node");
            match node {
                Node::Leaf(entries) => {
                    for pair in entries.windows(2) {
                        assert_eq!(pair[0].key().cmp(pair[1].key()), Ordering::Less);
                    }
                    for entry in entries {
                        assert!(min.is_none_or(|min| entry.key() >= min));
                        assert!(max.is_none_or(|max| entry.key() < max));
                    }
                    (1, entries.len())
                }
                Node::Branch(branch) => {
                    assert_eq!(branch.seps.len() + 1, branch.kids.len());
                    let (mut depth, mut len) = (0, 0);
                    for (i, kid) in branch.kids.iter().enumerate() {
                        let min = if i == 0 { min } else { Some(&*branch.seps[i - 1].key) };
                        let max = branch.seps.get(i).map(|sep| &*sep.key).or(max);
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
}
