//! Long histories of random operations against the tree that is built from scratch, with the cuts
//! of the format and with artificial ones.
//!
//! `PERMAZEN_TREE_OPERATIONS` sets how many operations there are with each kind of cuts (10,000).

use std::collections::HashSet;

use permazen_kv::{Direction, KeyRanges, KeySpan};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::in_memory::{Counted, Map, entries, from_scratch, items};
use crate::Secret;
use crate::digest::Digest;
use crate::node::view::Node;
use crate::tree::boundaries::{Boundaries, ByHash, Group};
use crate::tree::edit::{Edits, End, RemovedRange, edit};
use crate::tree::nodes::root;

/// Cuts after each item, above the leaves after each second one.
struct Always;

/// Cuts only at this many bytes.
struct AtMost(u64);

/// Cuts always at each second level, at the others only at this many bytes.
struct ByLevel(u64);

/// Cuts always after each second key, after the others only at this many bytes.
struct ByKey(u64);

fn is_least(level: u8, group: Group) -> bool {
    group.count >= if level == 0 { 1 } else { 2 }
}

impl Boundaries for Always {
    fn cuts(&self, level: u8, _: &[&[u8]], group: Group) -> bool {
        is_least(level, group)
    }
}

impl Boundaries for AtMost {
    fn cuts(&self, level: u8, _: &[&[u8]], group: Group) -> bool {
        is_least(level, group) && group.total >= self.0
    }
}

impl Boundaries for ByLevel {
    fn cuts(&self, level: u8, _: &[&[u8]], group: Group) -> bool {
        is_least(level, group) && (level.is_multiple_of(2) || group.total >= self.0)
    }
}

impl Boundaries for ByKey {
    fn cuts(&self, level: u8, key: &[&[u8]], group: Group) -> bool {
        let is_second = key.concat().last().is_some_and(|last| last.is_multiple_of(2));
        is_least(level, group) && (is_second || group.total >= self.0)
    }
}

/// The shape of the entries of a history.
#[derive(Clone, Copy)]
struct Shape {
    /// How many keys there are.
    keys: u32,
    /// How many bytes keys and values have at most.
    key_max: usize,
    value_max: usize,
}

const SHAPES: [Shape; 5] = [
    Shape { keys: 40, key_max: 5, value_max: 3 },
    Shape { keys: 300, key_max: 12, value_max: 60 },
    Shape { keys: 4_000, key_max: 12, value_max: 30 },
    Shape { keys: 700, key_max: 300, value_max: 512 },
    Shape { keys: 120, key_max: 8_192, value_max: 512 },
];

struct History<'b, B> {
    boundaries: &'b B,
    shape: Shape,
    random: StdRng,
    nodes: Counted,
    tree: Digest,
    map: Map,
}

/// Operations that are done at once.
#[derive(Default)]
struct Batch {
    removes: KeyRanges,
    puts: Map,
}

impl<B: Boundaries> History<'_, B> {
    fn key(&mut self) -> Vec<u8> {
        let number = self.random.random_range(0..self.shape.keys);
        let mut key = (number * 7).to_be_bytes()[1..].to_vec();
        // The length is a function of the number, so that keys are met again.
        key.resize(3 + number as usize * 37 % (self.shape.key_max - 2), number as u8);
        key
    }

    fn value(&mut self) -> Vec<u8> {
        let len = self.random.random_range(0..=self.shape.value_max);
        vec![self.random.random_range(0..3); len]
    }

    /// Does one operation to the map, and notes it.
    fn operation(&mut self, batch: &mut Batch) {
        match self.random.random_range(0..100) {
            0..60 => {
                let (key, value) = (self.key(), self.value());
                self.map.insert(key.clone(), value.clone());
                batch.puts.insert(key, value);
            }
            60..70 => {
                // An entry that is there already.
                let key = self.key();
                if let Some(value) = self.map.get(&key) {
                    batch.puts.insert(key, value.clone());
                }
            }
            70..98 => {
                let key = self.key();
                self.map.remove(&key);
                batch.puts.remove(&key);
                batch.removes.add_key(&key);
            }
            _ => {
                let (one, other) = (self.key(), self.key());
                // Most ranges are short.
                let (min, mut max) = if one < other { (one, other) } else { (other, one) };
                if self.random.random_range(0..4) > 0 {
                    max = self.map.range(min.clone()..).nth(5).map_or(max, |(key, _)| key.clone());
                }
                let span = KeySpan::new(&min, (max != min).then_some(&*max));
                let stays = |key: &[u8]| key < span.min || span.max.is_some_and(|max| key >= max);
                self.map.retain(|key, _| stays(key));
                batch.puts.retain(|key, _| stays(key));
                batch.removes.add(span);
            }
        }
    }

    /// The tree after a batch is the one from scratch: it has the root, all nodes are there, and no
    /// others are new.
    fn apply(&mut self, batch: Batch) -> u8 {
        let mut edits = Edits { puts: items(&batch.puts), ..Edits::default() };
        for span in batch.removes.iter() {
            let to = span.max.map_or(End::Unbounded, |max| End::Excluded(max.to_vec()));
            edits.drops.push(RemovedRange { from: span.min.to_vec(), to });
        }
        let edited = edit(&&self.nodes, self.boundaries, &self.tree, edits).unwrap();
        let (expected, all) = from_scratch(self.boundaries, &self.map);
        assert_eq!(edited.root, expected, "the roots differ");
        let all: HashSet<Digest> = all.into_iter().map(|node| node.digest).collect();
        let new: Vec<Digest> = edited.nodes.iter().map(|node| node.digest).collect();
        assert!(new.iter().all(|new| all.contains(new)), "a new node is not in the tree");
        self.nodes.add(edited.nodes);
        self.nodes.keep(&all);
        self.tree = edited.root;
        root(&&self.nodes, &self.tree).unwrap().level()
    }
}

/// Histories with this many operations in all. Returns, for each number of levels, how often a tree
/// had that many.
fn histories<B: Boundaries>(boundaries: &B, operations: usize) -> Vec<usize> {
    let (mut done, mut heights) = (0, Vec::new());
    for seed in 0.. {
        if done >= operations {
            break;
        }
        let shape = SHAPES[seed as usize % SHAPES.len()];
        let mut history = History {
            boundaries,
            shape,
            random: StdRng::seed_from_u64(seed),
            nodes: Counted::default(),
            tree: Node::empty().0,
            map: Map::new(),
        };
        // Each second history begins with an empty tree.
        if seed % 2 == 1 {
            let mut batch = Batch::default();
            for _ in 0..shape.keys / 2 {
                let (key, value) = (history.key(), history.value());
                history.map.insert(key.clone(), value.clone());
                batch.puts.insert(key, value);
            }
            history.apply(batch);
        }
        let end = done + (operations / 10).min(4_000);
        while done < end {
            let most = [1, 1, 1, 10, 100, 1_000][history.random.random_range(0..6)];
            // An edit from scratch reads all entries: the larger the tree, the fewer the batches.
            let least = history.map.len() / 400;
            let mut batch = Batch::default();
            for _ in 0..history.random.random_range(0..most) + 1 + least {
                history.operation(&mut batch);
                done += 1;
            }
            let height = usize::from(history.apply(batch));
            heights.resize(heights.len().max(height + 1), 0);
            heights[height] += 1;
        }
        let pairs: Vec<_> = history.map.clone().into_iter().collect();
        assert_eq!(entries(&history.nodes, &history.tree, Direction::Forward), pairs);
    }
    heights
}

fn test<B: Boundaries>(boundaries: &B, least_height: usize) {
    let operations = std::env::var("PERMAZEN_TREE_OPERATIONS");
    let operations = operations.map_or(10_000, |count| count.parse().unwrap());
    let heights = histories(boundaries, operations);
    assert!(heights.len() > least_height, "trees were low: {heights:?}");
    println!("{operations} operations; trees by the level of their root: {heights:?}");
}

#[test]
fn operations_with_the_cuts_of_the_format() {
    test(&ByHash::new(&Secret::new([3; 32])), 2);
}

#[test]
fn operations_with_a_cut_after_each_item() {
    test(&Always, 9);
}

#[test]
fn operations_with_no_cut_before_the_maximum() {
    test(&AtMost(600), 3);
    test(&AtMost(65_536), 1);
}

#[test]
fn operations_with_cuts_at_each_second_level() {
    test(&ByLevel(600), 4);
}

#[test]
fn operations_with_cuts_after_each_second_key() {
    test(&ByKey(600), 5);
}
