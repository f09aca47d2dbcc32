//! How many nodes changes make and differences load, counted.
//!
//! `PERMAZEN_TREE_ENTRIES` sets how many entries the largest tree has (10,000).

use std::collections::BTreeSet;
use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::in_memory::Counted;
use crate::Secret;
use crate::digest::Digest;
use crate::node::items::{Items, Payload};
use crate::node::view::Node;
use crate::tree::boundaries::ByHash;
use crate::tree::diff::Diff;
use crate::tree::edit::{Edits, End, RemovedRange, edit};
use crate::tree::lookup::count_below;
use crate::tree::nodes::{child, root};

/// The change of random keys.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Replace,
    Insert,
    Remove,
}

/// A tree of entries with keys of 8 bytes and values of 24: with the 8 bytes that the format adds,
/// items of 40.
struct Tree {
    boundaries: ByHash,
    nodes: Counted,
    root: Digest,
    entries: u64,
}

/// The work of a commit, and the tree after it.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    made: u64,
    bytes: u64,
    /// The sum over all levels of the smaller of the number of changes and of nodes.
    sum: u64,
    height: u64,
    /// The nodes that the difference of both trees loads.
    loads: u64,
}

fn key(number: u64) -> u64 {
    number << 16
}

impl Tree {
    fn new(entries: u64) -> Self {
        let boundaries = ByHash::new(&Secret::new([1; 32]));
        let nodes = Counted::default();
        let mut puts = Items::default();
        for number in 0..entries {
            puts.push(&key(number).to_be_bytes(), Payload::inline(&[0; 24]));
        }
        let edits = Edits { puts, ..Edits::default() };
        let edited = edit(&&nodes, &boundaries, &Node::empty().0, edits).unwrap();
        nodes.add(edited.nodes);
        Tree { boundaries, nodes, root: edited.root, entries }
    }

    /// The cost of changing this many random keys. The changed tree is forgotten afterwards.
    fn cost(&self, change: Change, changes: u64, random: &mut StdRng) -> Cost {
        let mut keys = BTreeSet::new();
        while (keys.len() as u64) < changes {
            let key = key(random.random_range(0..self.entries));
            keys.insert(match change {
                Change::Insert => key + random.random_range(1..1 << 16),
                _ => key,
            });
        }
        let mut edits = Edits::default();
        for key in keys.into_iter().map(u64::to_be_bytes) {
            match change {
                Change::Remove => {
                    edits
                        .drops
                        .push(RemovedRange { from: key.to_vec(), to: End::Included(key.to_vec()) });
                }
                _ => edits.puts.push(&key, Payload::inline(&[1; 24])),
            }
        }
        let edited = edit(&&self.nodes, &self.boundaries, &self.root, edits).unwrap();
        let new: Vec<Digest> = edited.nodes.iter().map(|node| node.digest).collect();
        let bytes = edited.nodes.iter().map(|node| node.bytes.len() as u64).sum();
        let made = self.nodes.add(edited.nodes) as u64;
        let levels = self.levels(&edited.root);
        let height = levels.len() as u64;
        let sum = levels.iter().map(|nodes| changes.min(*nodes)).sum();
        let (found, loads) = self.difference(&edited.root);
        assert_eq!(found, changes);
        if made == new.len() as u64 {
            self.nodes.forget(&new);
        }
        Cost { made, bytes, sum, height, loads }
    }

    /// How many nodes each level of a tree has, from the root down.
    fn levels(&self, root_digest: &Digest) -> Vec<u64> {
        let mut level = vec![root(&&self.nodes, root_digest).unwrap()];
        let mut counts = vec![1];
        while level[0].level() > 1 {
            let below = |node: &Arc<Node>| {
                let nodes = (0..node.len()).map(|at| child(&&self.nodes, node, at).unwrap());
                nodes.collect::<Vec<_>>()
            };
            level = level.iter().flat_map(below).collect();
            counts.push(level.len() as u64);
        }
        if level[0].level() == 1 {
            counts.push(level.iter().map(|node| node.len() as u64).sum());
        }
        counts
    }

    /// How many entries differ from another tree, and how many nodes were loaded to find them.
    fn difference(&self, other: &Digest) -> (u64, u64) {
        let roots = [&self.root, other].map(|digest| root(&&self.nodes, digest).unwrap());
        self.nodes.loads();
        let span = KeySpan::new(b"", None);
        let trees = (&roots[0], &roots[1]);
        let mut diff = Diff::new(&&self.nodes, trees, span, Direction::Forward).unwrap();
        let mut found = 0;
        while diff.next().unwrap().is_some() {
            found += 1;
        }
        (found, self.nodes.loads())
    }
}

/// Means of several commits.
#[derive(Debug, Clone, Copy)]
struct Means {
    made: f64,
    bytes: f64,
    sum: f64,
    height: f64,
    loads: f64,
}

/// Checks the costs of commits with this many changes.
fn check(change: Change, changes: u64, costs: &[Cost]) -> Means {
    let mean = |of: fn(&Cost) -> u64| costs.iter().map(of).sum::<u64>() as f64 / costs.len() as f64;
    let means = Means {
        made: mean(|cost| cost.made),
        bytes: mean(|cost| cost.bytes),
        sum: mean(|cost| cost.sum),
        height: mean(|cost| cost.height),
        loads: mean(|cost| cost.loads),
    };
    if change == Change::Replace {
        // No cut moves, so this holds of each commit.
        let loads = |cost: &Cost| 2 * (changes + 1) * cost.height;
        let is_cheap = |cost: &Cost| cost.made <= cost.sum && cost.loads <= loads(cost);
        assert!(costs.iter().all(is_cheap), "{changes}: {means:?}");
    }
    assert!(means.made <= 1.25 * means.sum + means.height, "{change:?}, {changes}: {means:?}");
    let loads = 2.0 * (changes + 1) as f64 * means.height;
    assert!(means.loads <= loads, "{change:?}, {changes}: {means:?}");
    assert!(changes > 1 || means.bytes <= 16_384.0, "{change:?}: {means:?}");
    means
}

#[test]
fn t029_one_change_among_many_is_found_with_few_loads() {
    let tree = Tree::new(100_000);
    let mut random = StdRng::seed_from_u64(29);
    for change in [Change::Replace, Change::Insert, Change::Remove] {
        let costs: Vec<Cost> = (0..50).map(|_| tree.cost(change, 1, &mut random)).collect();
        assert!(costs.iter().all(|cost| cost.height == 3));
        let loads = costs.iter().map(|cost| cost.loads);
        let (sum, most) = (loads.clone().sum::<u64>() as f64 / 50.0, loads.max().unwrap());
        // An insertion or removal can shift some cuts.
        assert!(sum <= 2.0 * 3.0 + 1.0 && most <= 20, "{change:?}: {sum} loads, at most {most}");
        assert!(change != Change::Replace || most <= 2 * 3, "{most} loads");
    }
}

#[test]
fn t030_equal_roots_load_nothing() {
    for entries in [0, 1, 100_000] {
        let tree = Tree::new(entries);
        assert_eq!(tree.difference(&tree.root), (0, 0));
    }
}

/// A range that is removed costs its edges, however much lies between them.
#[test]
fn a_removed_range_loads_and_makes_the_nodes_at_its_edges() {
    let tree = Tree::new(100_000);
    let mut random = StdRng::seed_from_u64(36);
    let (mut loads, mut made) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        let from = random.random_range(0..50_000_u64);
        let to = from + random.random_range(30_000..50_000_u64);
        let [from, to] = [from, to].map(|number| key(number).to_be_bytes().to_vec());
        let edits =
            Edits { drops: vec![RemovedRange { from, to: End::Excluded(to) }], ..Edits::default() };
        tree.nodes.loads();
        let edited = edit(&&tree.nodes, &tree.boundaries, &tree.root, edits).unwrap();
        loads.push(tree.nodes.loads());
        made.push(edited.nodes.len() as u64);
    }
    // 300 leaves or more lie in each range. Two nodes of each of three levels are at its edges; it
    // takes some more until the cuts are the old ones again.
    for (counts, mean) in [(&loads, 12.0), (&made, 9.0)] {
        let sum = counts.iter().sum::<u64>() as f64;
        assert!(sum / 50.0 <= mean && counts.iter().all(|count| *count <= 30), "{counts:?}");
    }
}

/// A count loads the way to each end of the range, however much lies in it.
#[test]
fn a_count_loads_one_node_of_each_level_for_each_end() {
    let tree = Tree::new(100_000);
    let root = root(&&tree.nodes, &tree.root).unwrap();
    let levels = u64::from(root.level()) + 1;
    let mut random = StdRng::seed_from_u64(15);
    for _ in 0..200 {
        let ends = [(); 2].map(|()| random.random_range(0..100_000_u64));
        let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        tree.nodes.loads();
        let [below, all] = [from, to]
            .map(|end| count_below(&&tree.nodes, &root, &key(end).to_be_bytes()).unwrap());
        assert_eq!(all - below, to - from);
        // The root is loaded already.
        assert!(tree.nodes.loads() <= 2 * (levels - 1));
    }
}

#[test]
fn changes_make_and_differences_load_few_nodes() {
    let most = std::env::var("PERMAZEN_TREE_ENTRIES");
    let most: u64 = most.map_or(10_000, |count| count.parse().unwrap());
    println!("| n | levels | k | Σ | new nodes: replaced | inserted | removed | bytes | loads |");
    for entries in (3..).map(|zeros| 10_u64.pow(zeros)).take_while(|entries| *entries <= most) {
        let tree = Tree::new(entries);
        assert_eq!(tree.difference(&tree.root), (0, 0), "equal trees");
        for changes in (0..6).map(|zeros| 10_u64.pow(zeros)).take_while(|k| *k <= entries) {
            let mut random = StdRng::seed_from_u64(changes);
            let rounds = (500 / changes).clamp(1, 100);
            let [replaced, inserted, removed] = [Change::Replace, Change::Insert, Change::Remove]
                .map(|change| {
                    let costs: Vec<Cost> =
                        (0..rounds).map(|_| tree.cost(change, changes, &mut random)).collect();
                    check(change, changes, &costs)
                });
            println!(
                "| {entries} | {:.0} | {changes} | {:.0} | {:.1} | {:.1} | {:.1} | {:.0} | {:.1} |",
                replaced.height,
                replaced.sum,
                replaced.made,
                inserted.made,
                removed.made,
                inserted.bytes,
                inserted.loads,
            );
        }
    }
}
