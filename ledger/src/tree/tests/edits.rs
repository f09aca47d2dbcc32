//! Random edits of all kinds against the tree that is built from scratch.
//!
//! `PERMAZEN_TREE_EDITS` sets how many trees with artificial boundaries are edited (120); those
//! with the boundaries of the format are a fifteenth of them.

use std::sync::Arc;

use permazen_kv::Direction;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::differences::check_diff;
use super::in_memory::{Artificial, Counted, Map, entries, from_scratch, items};
use crate::Secret;
use crate::digest::Digest;
use crate::node::view::Node;
use crate::tree::boundaries::{Boundaries, ByHash};
use crate::tree::cursor::Cursor;
use crate::tree::edit::{Edits, End, RemovedRange, edit};
use crate::tree::lookup::{count_below, find};
use crate::tree::nodes::root;

/// Random edits of all kinds; after each, the tree is the one from scratch.
fn random_edits<B: Boundaries>(boundaries: &B, seed: u64, rounds: usize, key_len: usize) {
    let mut random = StdRng::seed_from_u64(seed);
    let nodes = Counted::default();
    let mut map = Map::new();
    let mut tree = Node::empty().0;
    for round in 0..rounds {
        let old = (tree, map.clone());
        let mut edits = Edits::default();
        let key = |random: &mut StdRng| {
            let len = random.random_range(0..=key_len);
            (0..len).map(|_| random.random_range(b'a'..b'a' + 6)).collect::<Vec<u8>>()
        };
        // Ranges and single keys that go, without overlap.
        let mut bounds: Vec<Vec<u8>> =
            (0..2 * random.random_range(0..3)).map(|_| key(&mut random)).collect();
        bounds.sort();
        bounds.dedup();
        for pair in bounds.chunks(2) {
            let to = match (pair, random.random_range(0..6)) {
                ([from], 0) => {
                    map.retain(|key, _| key < from);
                    End::Unbounded
                }
                ([from], _) => {
                    map.remove(from);
                    End::Included(from.clone())
                }
                ([from, to], 0..3) => {
                    map.retain(|key, _| key < from || key >= to);
                    End::Excluded(to.clone())
                }
                ([from, to, ..], _) => {
                    map.retain(|key, _| key < from || key > to);
                    End::Included(to.clone())
                }
                _ => unreachable!(),
            };
            edits.drops.push(RemovedRange { from: pair[0].clone(), to });
        }
        let mut puts = Map::new();
        let many = if random.random_range(0..10) == 0 { 150 } else { 6 };
        for _ in 0..random.random_range(0..=many) {
            let len = random.random_range(0..40);
            puts.insert(key(&mut random), vec![random.random_range(0..4); len]);
        }
        edits.puts = items(&puts);
        map.extend(puts);
        let edited = edit(&&nodes, boundaries, &tree, edits).unwrap();
        tree = edited.root;
        nodes.add(edited.nodes);
        let (expected, _) = from_scratch(boundaries, &map);
        assert_eq!(tree, expected, "seed {seed}, round {round}");
        check(&nodes, tree, &map, &mut random);
        check_diff(&nodes, &old, &(tree, map.clone()), &mut random);
    }
}

fn check(nodes: &Counted, tree: Digest, map: &Map, random: &mut StdRng) {
    let expected: Vec<_> = map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    assert_eq!(entries(nodes, &tree, Direction::Forward), expected);
    let reverse: Vec<_> = expected.into_iter().rev().collect();
    assert_eq!(entries(nodes, &tree, Direction::Reverse), reverse);
    let root = root(&nodes, &tree).unwrap();
    assert_eq!(root.entries(), map.len() as u64);
    for _ in 0..5 {
        let len = random.random_range(0..5);
        let key: Vec<u8> = (0..len).map(|_| random.random_range(b'a'..b'a' + 7)).collect();
        let found = find(&nodes, &root, &key).unwrap();
        let found = found.map(|(node, at)| node.payload(at).bytes.to_vec());
        assert_eq!(found.as_ref(), map.get(&key));
        let below = map.range::<Vec<u8>, _>(..&key).count() as u64;
        assert_eq!(count_below(&nodes, &root, &key).unwrap(), below);
        for direction in [Direction::Forward, Direction::Reverse] {
            let cursor = Cursor::at(&nodes, Arc::clone(&root), &key, direction).unwrap();
            let mut cursor = cursor;
            cursor.enter_leaf().unwrap();
            let found = cursor.item().map(|(key, _)| key.to_vec());
            let expected = match direction {
                Direction::Forward => map.range::<Vec<u8>, _>(&key..).next(),
                Direction::Reverse => map.range::<Vec<u8>, _>(..&key).next_back(),
            };
            assert_eq!(found.as_ref(), expected.map(|(key, _)| key));
        }
    }
}

/// How many trees with artificial boundaries are edited.
fn trees() -> u64 {
    std::env::var("PERMAZEN_TREE_EDITS").map_or(120, |count| count.parse().unwrap())
}

#[test]
fn edits_give_the_tree_from_scratch_with_artificial_boundaries() {
    for seed in 0..trees() {
        let one_in = [2, 3, 5, 9][seed as usize % 4];
        let boundaries = Artificial { one_in, least: 2 + seed as usize % 2 };
        random_edits(&boundaries, seed, 12, 1 + seed as usize % 6);
    }
}

#[test]
fn edits_give_the_tree_from_scratch() {
    let boundaries = ByHash::new(&Secret::new([7; 32]));
    for seed in 0..trees().div_ceil(15) {
        random_edits(&boundaries, seed, 60, 8);
    }
}

#[test]
fn a_range_that_begins_with_a_key_that_stays_goes() {
    let boundaries = ByHash::new(&Secret::new([7; 32]));
    let nodes = Counted::default();
    let key = |number: u16| number.to_be_bytes().to_vec();
    let map: Map = (0..1_000).map(|number| (key(number), vec![7; 30])).collect();
    let edits = Edits { puts: items(&map), ..Edits::default() };
    let tree = edit(&&nodes, &boundaries, &Node::empty().0, edits).unwrap();
    nodes.add(tree.nodes);
    // Some of these keys are the last ones of their leaves.
    for number in 1..700 {
        let absent = [key(number - 1), vec![1]].concat();
        let drops = vec![
            RemovedRange { from: absent.clone(), to: End::Included(absent) },
            RemovedRange { from: key(number), to: End::Excluded(key(number + 300)) },
        ];
        let mut map = map.clone();
        let first = (key(number), vec![7; 30]);
        let puts = items([(&first.0, &first.1)]);
        map.retain(|it, _| *it <= first.0 || *it >= key(number + 300));
        let edited = edit(&&nodes, &boundaries, &tree.root, Edits { drops, puts }).unwrap();
        assert_eq!(edited.root, from_scratch(&boundaries, &map).0, "from {number}");
    }
}
