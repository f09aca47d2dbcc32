//! Differences against those of two or three maps.
//!
//! `PERMAZEN_THREE_WAY` sets how many three-way differences are made (200).

use std::collections::BTreeSet;

use permazen_kv::{Direction, KeySpan};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::in_memory::{Artificial, Counted, Map, from_scratch, items};
use crate::digest::Digest;
use crate::node::view::Node;
use crate::tree::boundaries::Boundaries;
use crate::tree::diff::{Diff, Stored};
use crate::tree::edit::{Edits, End, RemovedRange, edit};
use crate::tree::nodes::root;
use crate::tree::three_way::ThreeWayDiff;

/// A key with its old and its new value.
type Differing = (Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>);

fn differences(old: &Map, new: &Map) -> Vec<Differing> {
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let differ = |key: &&Vec<u8>| old.get(*key) != new.get(*key);
    keys.into_iter()
        .filter(differ)
        .map(|key| (key.clone(), old.get(key).cloned(), new.get(key).cloned()))
        .collect()
}

/// Two keys, the smaller first.
fn bounds(random: &mut StdRng, last: u8) -> [Vec<u8>; 2] {
    let mut bounds = [(); 2].map(|()| {
        let len = random.random_range(0..4);
        (0..len).map(|_| random.random_range(b'a'..=last)).collect()
    });
    bounds.sort();
    bounds
}

/// All keys, those after or before a key, and those between two.
fn spans([from, to]: &[Vec<u8>; 2]) -> [KeySpan<'_>; 4] {
    [
        KeySpan::new(b"", None),
        KeySpan::new(from, None),
        KeySpan::new(b"", Some(to)),
        KeySpan::new(from, Some(to)),
    ]
}

pub(super) fn check_diff(
    nodes: &Counted,
    old: &(Digest, Map),
    new: &(Digest, Map),
    random: &mut StdRng,
) {
    let roots = [&old.0, &new.0].map(|digest| root(&nodes, digest).unwrap());
    let all = differences(&old.1, &new.1);
    let bounds = bounds(random, b'g');
    for span in spans(&bounds) {
        let mut expected: Vec<_> = all.iter().filter(|it| span.contains(&it.0)).cloned().collect();
        for direction in [Direction::Forward, Direction::Reverse] {
            let mut diff = Diff::new(&nodes, (&roots[0], &roots[1]), span, direction).unwrap();
            let mut found = Vec::new();
            while let Some(it) = diff.next().unwrap() {
                let value = |it: Option<Stored>| it.map(|it| it.bytes.to_vec());
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
    last: u8,
) -> (Digest, Map) {
    let (mut map, mut puts, mut edits) = (map.clone(), Map::new(), Edits::default());
    for _ in 0..random.random_range(0..8) {
        let key = vec![random.random_range(b'a'..=last), random.random_range(b'a'..=last)];
        puts.insert(key, vec![random.random_range(0..2); 20]);
    }
    let from = vec![random.random_range(b'a'..=last)];
    let to = [&from[..], &[random.random_range(b'a'..=last)]].concat();
    map.retain(|key, _| *key < from || *key > to);
    edits.drops.push(RemovedRange { from, to: End::Included(to) });
    edits.puts = items(&puts);
    map.extend(puts);
    let edited = edit(&nodes, boundaries, tree, edits).unwrap();
    nodes.add(edited.nodes);
    (edited.root, map)
}

#[test]
fn equal_trees_are_not_loaded_whatever_the_span() {
    let (nodes, boundaries) = (Counted::default(), Artificial { one_in: 3, least: 2 });
    let map: Map = (0..200_u8).map(|key| (vec![key], vec![key])).collect();
    let (digest, made) = from_scratch(&boundaries, &map);
    nodes.add(made);
    let tree = root(&nodes, &digest).unwrap();
    assert!(tree.level() > 2);
    nodes.loads();
    for span in spans(&[vec![50], vec![150]]) {
        for direction in [Direction::Forward, Direction::Reverse] {
            let mut diff = Diff::new(&&nodes, (&tree, &tree), span, direction).unwrap();
            assert!(diff.next().unwrap().is_none());
            assert_eq!(nodes.loads(), 0, "{direction:?} {span:?}");
        }
    }
}

#[test]
fn t032_a_three_way_difference_has_all_changes_of_both_sides() {
    let count = std::env::var("PERMAZEN_THREE_WAY").map_or(200, |count| count.parse().unwrap());
    let (mut found, mut both) = (0, 0);
    for seed in 0..count {
        let mut random = StdRng::seed_from_u64(seed);
        // Few keys, so that both sides change the same, or many.
        let last = [b'e', b'y'][seed as usize % 2];
        let nodes = Counted::default();
        let boundaries = Artificial { one_in: 2 + seed % 4, least: 2 + (seed / 4) as usize % 2 };
        let mut base = (Node::empty().0, Map::new());
        for _ in 0..random.random_range(0..30) {
            base = changed((&nodes, &boundaries), (&base.0, &base.1), &mut random, last);
        }
        let mut sides = [base.clone(), base.clone()];
        for side in &mut sides {
            for _ in 0..random.random_range(0..4) {
                *side = changed((&nodes, &boundaries), (&side.0, &side.1), &mut random, last);
            }
        }
        let trees = [&base, &sides[0], &sides[1]];
        let bounds = bounds(&mut random, last);
        for span in spans(&bounds) {
            for direction in [Direction::Forward, Direction::Reverse] {
                let expected = three_way(trees.map(|(_, map)| map), span, direction);
                let roots = trees.map(|(digest, _)| digest);
                let differences = three_way_of_trees(&nodes, roots, span, direction);
                assert_eq!(differences, expected, "seed {seed}, {direction:?} {span:?}");
                found += expected.len();
                let is_changed_by_both =
                    |[base, older, newer]: &[_; 3]| older != base && newer != base;
                both += expected.iter().filter(|it| is_changed_by_both(&it.1)).count();
            }
        }
    }
    println!("{count} times three trees: {found} differences, {both} of both sides");
    assert!(both > count as usize, "{both}");
}

/// A key with its values in the base and on both sides.
type Three = (Vec<u8>, [Option<Vec<u8>>; 3]);

/// Each key of three maps that one of the sides has changed.
fn three_way(maps: [&Map; 3], span: KeySpan<'_>, direction: Direction) -> Vec<Three> {
    let keys: BTreeSet<_> = maps.iter().flat_map(|map| map.keys()).collect();
    let values = |key: &Vec<u8>| (key.clone(), maps.map(|map| map.get(key).cloned()));
    let all = keys.into_iter().filter(|key| span.contains(key)).map(values);
    let mut all: Vec<Three> =
        all.filter(|(_, [base, older, newer])| base != older || base != newer).collect();
    if direction == Direction::Reverse {
        all.reverse();
    }
    all
}

fn three_way_of_trees(
    nodes: &Counted,
    roots: [&Digest; 3],
    span: KeySpan<'_>,
    direction: Direction,
) -> Vec<Three> {
    let [base, older, newer] = roots.map(|digest| root(&nodes, digest).unwrap());
    let mut diff = ThreeWayDiff::new(&nodes, &base, (&older, &newer), span, direction).unwrap();
    let mut found = Vec::new();
    while let Some(it) = diff.next().unwrap() {
        let values = [it.base, it.older, it.newer].map(|it| it.map(|it| it.bytes.to_vec()));
        found.push((it.key, values));
    }
    found
}
