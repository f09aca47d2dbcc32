//! Trees against a sorted map, and against the tree that is built from scratch.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use permazen_kv::{Direction, KeySpan};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::boundaries::{Boundaries, ByHash, Group};
use super::cursor::Cursor;
use super::diff::Diff;
use super::edit::{Drop, Edits, End, edit};
use super::level::LevelWriter;
use super::lookup::{count_below, find};
use super::nodes::{NewNode, Nodes, root};
use super::three_way::ThreeWayDiff;
use crate::Kind;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::node::items::{Items, Payload};
use crate::node::view::Node;
use crate::secret::Secret;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Nodes in memory, which counts loads.
#[derive(Default)]
struct Counted {
    nodes: Mutex<HashMap<Digest, Arc<Node>>>,
    loads: Mutex<u64>,
}

impl Counted {
    fn add(&self, new: Vec<NewNode>) -> usize {
        let mut nodes = self.nodes.lock().unwrap();
        let before = nodes.len();
        for NewNode { digest, bytes } in new {
            nodes.insert(digest, Arc::new(Node::checked(&digest, bytes).unwrap()));
        }
        nodes.len() - before
    }

    fn loads(&self) -> u64 {
        std::mem::take(&mut *self.loads.lock().unwrap())
    }
}

impl Nodes for Counted {
    fn load(&self, digest: &Digest) -> Result<Arc<Node>> {
        *self.loads.lock().unwrap() += 1;
        let nodes = self.nodes.lock().unwrap();
        let missing = || LedgerError::Missing { kind: Kind::Node, digest: *digest };
        nodes.get(digest).cloned().ok_or_else(missing)
    }
}

fn items<'a>(entries: impl IntoIterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>) -> Items {
    let mut items = Items::default();
    for (key, value) in entries {
        items.push(&[key], Payload::inline(value));
    }
    items
}

/// The definition: all levels from the sorted entries.
fn from_scratch<B: Boundaries>(boundaries: &B, map: &Map) -> (Digest, Vec<NewNode>) {
    let (mut level, mut list, mut all) = (0, items(map), Vec::new());
    loop {
        let mut writer = LevelWriter::new(level, boundaries);
        (0..list.len()).for_each(|at| writer.push(&[list.key(at)], list.payload(at)));
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
struct Artificial {
    one_in: u64,
    least: usize,
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

fn entries(nodes: &Counted, digest: &Digest, direction: Direction) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut cursor = Cursor::new(nodes, root(&nodes, digest).unwrap(), direction);
    let mut all = Vec::new();
    loop {
        cursor.enter_leaf().unwrap();
        let Some((key, payload)) = cursor.item() else { return all };
        all.push((key.to_vec(), payload.bytes.to_vec()));
        cursor.step();
    }
}

/// A key with its old and its new value.
type Differing = (Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>);

fn differences(old: &Map, new: &Map) -> Vec<Differing> {
    let keys: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let differ = |key: &&Vec<u8>| old.get(*key) != new.get(*key);
    keys.into_iter()
        .filter(differ)
        .map(|key| (key.clone(), old.get(key).cloned(), new.get(key).cloned()))
        .collect()
}

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
            edits.drops.push(Drop { from: pair[0].clone(), to });
        }
        let mut puts = Map::new();
        let many = if random.random_range(0..10) == 0 { 150 } else { 6 };
        for _ in 0..random.random_range(0..=many) {
            let len = random.random_range(0..40);
            puts.insert(key(&mut random), vec![random.random_range(0..4); len]);
        }
        edits.puts = items(&puts);
        map.extend(puts);
        nodes.loads();
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

fn check_diff(nodes: &Counted, old: &(Digest, Map), new: &(Digest, Map), random: &mut StdRng) {
    let roots = [&old.0, &new.0].map(|digest| root(&nodes, digest).unwrap());
    let all = differences(&old.1, &new.1);
    let mut bound = || {
        let len = random.random_range(0..4);
        (0..len).map(|_| random.random_range(b'a'..b'a' + 7)).collect::<Vec<u8>>()
    };
    let (mut from, mut to) = (bound(), bound());
    if from > to {
        std::mem::swap(&mut from, &mut to);
    }
    for span in [KeySpan::new(b"", None), KeySpan::new(&from, None), KeySpan::new(&from, Some(&to))]
    {
        let is_inside = |key: &[u8]| key >= span.min && span.max.is_none_or(|max| key < max);
        let mut expected: Vec<_> = all.iter().filter(|it| is_inside(&it.0)).cloned().collect();
        for direction in [Direction::Forward, Direction::Reverse] {
            let mut diff = Diff::new(&nodes, (&roots[0], &roots[1]), span, direction).unwrap();
            let mut found = Vec::new();
            while let Some(it) = diff.next().unwrap() {
                let value = |it: Option<super::diff::Stored>| it.map(|it| it.bytes.to_vec());
                found.push((it.key, value(it.old), value(it.new)));
            }
            assert_eq!(found, expected, "{direction:?} {span:?}");
            expected.reverse();
        }
    }
}

/// A random tree, and the map that it holds, with some of these entries changed.
fn changed<B: Boundaries>(
    (nodes, boundaries): (&Counted, &B),
    (tree, map): (&Digest, &Map),
    random: &mut StdRng,
) -> (Digest, Map) {
    let (mut map, mut puts, mut edits) = (map.clone(), Map::new(), Edits::default());
    for _ in 0..random.random_range(0..8) {
        let key = vec![random.random_range(b'a'..=b'y'), random.random_range(b'a'..=b'y')];
        puts.insert(key, vec![random.random_range(0..2); 20]);
    }
    let from = vec![random.random_range(b'a'..=b'y')];
    let to = [&from[..], b"k"].concat();
    map.retain(|key, _| *key < from || *key > to);
    edits.drops.push(Drop { from, to: End::Included(to) });
    edits.puts = items(&puts);
    map.extend(puts);
    let edited = edit(&nodes, boundaries, tree, edits).unwrap();
    nodes.add(edited.nodes);
    (edited.root, map)
}

#[test]
fn a_three_way_difference_has_all_changes_of_both_sides() {
    for seed in 0..200 {
        let mut random = StdRng::seed_from_u64(seed);
        let nodes = Counted::default();
        let boundaries = Artificial { one_in: 3, least: 2 };
        let mut base = (Node::empty().0, Map::new());
        for _ in 0..random.random_range(0..30) {
            base = changed((&nodes, &boundaries), (&base.0, &base.1), &mut random);
        }
        let sides =
            [(); 2].map(|()| changed((&nodes, &boundaries), (&base.0, &base.1), &mut random));
        let [base_root, ours, theirs] =
            [&base.0, &sides[0].0, &sides[1].0].map(|digest| root(&&nodes, digest).unwrap());
        let keys: std::collections::BTreeSet<_> =
            base.1.keys().chain(sides[0].1.keys()).chain(sides[1].1.keys()).collect();
        let mut expected = Vec::new();
        for key in keys {
            let [base, ours, theirs] =
                [&base.1, &sides[0].1, &sides[1].1].map(|map| map.get(key).cloned());
            if base != ours || base != theirs {
                expected.push((key.clone(), base, ours, theirs));
            }
        }
        for direction in [Direction::Forward, Direction::Reverse] {
            let all = KeySpan::new(b"", None);
            let mut diff =
                ThreeWayDiff::new(&&nodes, &base_root, (&ours, &theirs), all, direction).unwrap();
            let mut found = Vec::new();
            while let Some(it) = diff.next().unwrap() {
                let [base, ours, theirs] =
                    [it.base, it.ours, it.theirs].map(|it| it.map(|it| it.bytes.to_vec()));
                found.push((it.key, base, ours, theirs));
            }
            assert_eq!(found, expected, "seed {seed}");
            expected.reverse();
        }
    }
}

#[test]
fn a_difference_loads_only_what_differs() {
    let boundaries = ByHash::new(&Secret::new([1; 32]));
    let nodes = Counted::default();
    let map: Map = (0..100_000_u32).map(|n| (n.to_be_bytes().to_vec(), vec![0; 30])).collect();
    let edits = Edits { puts: items(&map), ..Edits::default() };
    let old = edit(&&nodes, &boundaries, &Node::empty().0, edits).unwrap();
    nodes.add(old.nodes);
    let height = u64::from(root(&&nodes, &old.root).unwrap().level()) + 1;
    let mut random = StdRng::seed_from_u64(3);
    for changes in [0, 1, 10, 100] {
        let puts: Map = (0..changes)
            .map(|_| (random.random_range(0..100_000_u32).to_be_bytes().to_vec(), vec![1; 30]))
            .collect();
        let edits = Edits { puts: items(&puts), ..Edits::default() };
        let new = edit(&&nodes, &boundaries, &old.root, edits).unwrap();
        let made = nodes.add(new.nodes) as u64;
        let d = puts.len() as u64;
        assert!(made <= d * height, "{made} new nodes for {d} replaced values");
        let roots = [old.root, new.root].map(|digest| root(&&nodes, &digest).unwrap());
        nodes.loads();
        let span = KeySpan::new(b"", None);
        let mut diff =
            Diff::new(&&nodes, (&roots[0], &roots[1]), span, Direction::Forward).unwrap();
        let mut found = 0;
        while diff.next().unwrap().is_some() {
            found += 1;
        }
        let loads = nodes.loads();
        assert_eq!(found, d);
        assert!(loads <= 2 * (d + 1) * height, "{loads} loads for {d} differences");
        assert!(d > 0 || loads == 0);
    }
}

#[test]
fn edits_give_the_tree_from_scratch_with_artificial_boundaries() {
    for seed in 0..300 {
        let one_in = [2, 3, 5, 9][seed as usize % 4];
        let boundaries = Artificial { one_in, least: 2 + seed as usize % 2 };
        random_edits(&boundaries, seed, 12, 1 + seed as usize % 6);
    }
}

#[test]
fn edits_give_the_tree_from_scratch() {
    let boundaries = ByHash::new(&Secret::new([7; 32]));
    for seed in 0..20 {
        random_edits(&boundaries, seed, 60, 8);
    }
}
