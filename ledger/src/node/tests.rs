//! A node has one encoding, and everything else is refused.

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::items::{Child, Items, LAZY, Payload, REFERENCE};
use super::view::Node;
use super::write;
use crate::digest::Kind;
use crate::value::reference::Reference;

/// Items with random keys, which share a beginning.
fn items(random: &mut StdRng, level: u8) -> Items {
    let prefix = vec![7; random.random_range(0..5)];
    let mut keys: Vec<Vec<u8>> = (0..random.random_range(0..12))
        .map(|_| {
            let len = random.random_range(0..4);
            let rest = (0..len).map(|_| random.random_range(0..3));
            prefix.iter().copied().chain(rest).collect()
        })
        .collect();
    keys.sort();
    keys.dedup();
    let long = random.random_range(0..20) == 0;
    let mut items = Items::default();
    for key in keys {
        let digest = Kind::Chunk.digest(&key);
        if level > 0 {
            let child = Child { digest, entries: random.random_range(1..9) }.to_bytes();
            items.push(&key, Payload::inline(&child));
            continue;
        }
        let lazy = LAZY * random.random_range(0..2);
        if random.random_range(0..4) == 0 {
            let len = random.random_range(4_097..65_536);
            let bytes =
                Reference { top: digest, levels: random.random_range(0..3), len }.to_bytes();
            items.push(&key, Payload { flags: REFERENCE | lazy, bytes: &bytes });
        } else {
            let len = if long { 512 } else { random.random_range(0..30) };
            items.push(&key, Payload { flags: lazy, bytes: &vec![1; len] });
        }
    }
    items
}

/// The items of a node.
fn items_of(node: &Node) -> Items {
    let mut items = Items::default();
    for at in 0..node.len() {
        let key = node.key(at);
        items.push(&key.to_vec(), node.payload(at));
    }
    items
}

fn equal(a: &Items, b: &Items) -> bool {
    a.len() == b.len()
        && (0..a.len()).all(|at| a.key(at) == b.key(at) && a.payload(at) == b.payload(at))
}

#[test]
fn items_come_back() {
    let mut random = StdRng::seed_from_u64(1);
    for round in 0..3_000_u32 {
        let level = (round % 3) as u8;
        let items = items(&mut random, level);
        if items.is_empty() && level > 0 {
            continue;
        }
        let bytes = write::encode(level, &items);
        let node = Node::parse(bytes.clone()).unwrap();
        assert_eq!((node.level(), node.len()), (level, items.len()));
        assert!(equal(&items_of(&node), &items));
        for at in 0..items.len() {
            assert_eq!(node.search(items.key(at)), (at, true));
            let after = [items.key(at), b"\0"].concat();
            let is_there = at + 1 < items.len() && items.key(at + 1) == after;
            assert_eq!(node.search(&after), (at + 1, is_there));
        }
        assert_eq!(
            node.search(b"\x06").0,
            (0..items.len()).filter(|at| items.key(*at) < b"\x06".as_slice()).count()
        );
        assert_eq!(node.search(b"\x08"), (items.len(), false));
    }
}

#[test]
fn other_bytes_are_refused_or_are_the_encoding_of_other_items() {
    let mut random = StdRng::seed_from_u64(2);
    let (mut refused, mut other) = (0, 0);
    for round in 0..200_000 {
        let level = round % 3;
        let items = items(&mut random, level as u8);
        let mut bytes = write::encode(level as u8, &items).to_vec();
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..bytes.len());
            match random.random_range(0..5) {
                0 => bytes.truncate(at + 1),
                1 => bytes.insert(at, random.random()),
                2 => bytes[at] = bytes[at].wrapping_add(1),
                3 => bytes[at] ^= 1 << random.random_range(0..8),
                _ => {
                    bytes.remove(at);
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        match Node::parse(Bytes::from(bytes.clone())) {
            Err(_) => refused += 1,
            Ok(node) => {
                assert_eq!(write::encode(node.level(), &items_of(&node)), bytes);
                other += 1;
            }
        }
    }
    assert!(refused > 10_000 && other > 10_000, "{refused} refused, {other} not");
}

#[test]
fn the_empty_node_has_eight_bytes() {
    let (digest, node) = Node::empty();
    assert_eq!(node.as_bytes(), [0; 8]);
    assert_eq!(Node::parse(Bytes::from_static(&[0; 8])).unwrap().len(), 0);
    assert_eq!(*digest, Kind::Node.digest(&[0; 8]));
}
