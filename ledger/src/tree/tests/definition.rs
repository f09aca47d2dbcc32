//! The tree as the description of the format defines it, worked out anew: which bytes its nodes
//! have and where levels are cut. It shares no code with the crate.

use permazen_kv::Direction;
use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use siphasher::sip::SipHasher24;

use super::in_memory::{Counted, Map, entries, from_scratch, items};
use crate::Secret;
use crate::node::view::Node;
use crate::tree::boundaries::ByHash;
use crate::tree::edit::{Edits, edit};

/// An item: its key and the bytes after the key.
type Item = (Vec<u8>, Vec<u8>);

fn node(level: u8, items: &[Item]) -> Vec<u8> {
    let starts_all =
        |len: &usize| items.iter().all(|(key, _)| key.starts_with(&items[0].0[..*len]));
    let first_len = items.first().map_or(0, |(key, _)| key.len());
    let prefix = (0..=first_len).rev().find(starts_all).unwrap_or(0);
    let (mut ends, mut body) = (Vec::new(), Vec::new());
    for (key, payload) in items {
        body.extend(((key.len() - prefix) as u16).to_be_bytes());
        body.extend(&key[prefix..]);
        body.extend(payload);
        ends.push(body.len());
    }
    let wide = body.len() > 65_535;
    let mut bytes = vec![level];
    bytes.extend((items.len() as u32).to_be_bytes());
    bytes.extend((prefix as u16).to_be_bytes());
    bytes.push(u8::from(wide));
    bytes.extend(items.first().map_or(&[][..], |(key, _)| &key[..prefix]));
    for end in ends {
        match wide {
            true => bytes.extend((end as u32).to_be_bytes()),
            false => bytes.extend((end as u16).to_be_bytes()),
        }
    }
    [bytes, body].concat()
}

fn cuts(hash: &SipHasher24, level: u8, items: &[Item]) -> bool {
    let size = |(key, payload): &Item| (key.len() + payload.len() + 8) as u128;
    let (s, t) = (items.iter().map(size).sum::<u128>(), items.last().map_or(0, size));
    let key = items.last().map_or(&[][..], |(key, _)| key);
    let h = u128::from(hash.hash(&[&[level], key].concat()));
    items.len() >= if level == 0 { 2 } else { 4 }
        && s >= 1_024
        && (s >= 65_536 || h < (t * s * s * s * (1 << 18)).min(1 << 63))
}

fn root(secret: &[u8; 32], map: &Map) -> [u8; 32] {
    let key = blake3::derive_key("permazen ledger 1: boundaries", secret);
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| key[at + byte]));
    let hash = SipHasher24::new_with_keys(number(0), number(8));
    let digest = |bytes: &[u8]| blake3::derive_key("permazen ledger 1: node", bytes);
    let mut items: Vec<Item> = map.clone().into_iter().collect();
    for level in 0.. {
        let (mut above, mut group) = (Vec::new(), Vec::new());
        let last = items.len();
        for (at, item) in items.into_iter().enumerate() {
            group.push(item);
            if at + 1 == last || cuts(&hash, level, &group) {
                let below = |(_, payload): &Item| match level {
                    0 => 1,
                    _ => u64::from_be_bytes(std::array::from_fn(|byte| payload[32 + byte])),
                };
                let count: u64 = group.iter().map(below).sum();
                let child = [&digest(&node(level, &group))[..], &count.to_be_bytes()].concat();
                above.push((group[group.len() - 1].0.clone(), child));
                group.clear();
            }
        }
        if above.len() <= 1 {
            return above
                .first()
                .map_or(digest(&[0; 8]), |(_, child)| std::array::from_fn(|byte| child[byte]));
        }
        items = above;
    }
    unreachable!("a level is lower than the one below it")
}

#[test]
fn trees_are_as_the_format_defines_them() {
    let count = std::env::var("PERMAZEN_TREES").map_or(24, |count| count.parse().unwrap());
    for seed in 0..count {
        let mut random = StdRng::seed_from_u64(seed);
        let secret: [u8; 32] = random.random();
        let (key_max, value_max, count) =
            [(8, 40, 3_000), (300, 512, 400), (8_192, 512, 60), (3, 0, 2_000)][seed as usize % 4];
        let mut map = Map::new();
        for _ in 0..random.random_range(0..=count) {
            let mut entry = [key_max, value_max].map(|most| vec![0; random.random_range(0..=most)]);
            entry.iter_mut().for_each(|bytes| random.fill_bytes(bytes));
            let [key, value] = entry;
            map.insert(key, value);
        }
        let boundaries = ByHash::new(&Secret::new(secret));
        let nodes = Counted::default();
        let edits = Edits { puts: items(&map), ..Edits::default() };
        let tree = edit(&&nodes, &boundaries, &Node::empty().0, edits).unwrap();
        let expected = root(&secret, &map);
        assert_eq!(tree.root.0, expected, "seed {seed}");
        assert_eq!(from_scratch(&boundaries, &map).0.0, expected, "seed {seed}");
        nodes.add(tree.nodes);
        let pairs: Vec<_> = map.into_iter().collect();
        assert_eq!(entries(&nodes, &tree.root, Direction::Forward), pairs);
    }
}
