//! Insertions into trees whose items all have one size.
//!
//! `PERMAZEN_TREE_ITEMS` sets how many items the trees have at most (2,000), and with it how many
//! are inserted.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::in_memory::{Counted, Map, from_scratch, items};
use crate::Secret;
use crate::node::items::MAX_INLINE_LEN;
use crate::node::view::Node;
use crate::tree::boundaries::ByHash;
use crate::tree::edit::{Edits, edit};
use crate::tree::nodes::root;

/// An entry whose item has this size.
fn entry(random: &mut StdRng, size: usize) -> (Vec<u8>, Vec<u8>) {
    let bytes = size - 8;
    // Keys have eight bytes; bytes that do not fit into the value make them longer.
    let value = bytes.saturating_sub(8).min(MAX_INLINE_LEN);
    let mut key = random.random::<u64>().to_be_bytes().to_vec();
    key.resize(bytes - value, 7);
    (key, vec![1; value])
}

#[test]
fn an_insertion_makes_three_nodes_of_a_level_in_the_mean() {
    let most = std::env::var("PERMAZEN_TREE_ITEMS");
    // The bytes of the largest trees.
    let bytes = if most.is_ok() { 64 << 20 } else { 4 << 20 };
    let most: usize = most.map_or(2_000, |count| count.parse().unwrap());
    let boundaries = ByHash::new(&Secret::new([5; 32]));
    for size in [17, 24, 40, 64, 100, 200, 520, 1_000, 2_000, 4_000, 8_704] {
        let mut random = StdRng::seed_from_u64(size as u64);
        let count = most.min(bytes / size);
        let map: Map = (0..count).map(|_| entry(&mut random, size)).collect();
        let nodes = Counted::default();
        let first = edit(
            &&nodes,
            &boundaries,
            &Node::empty().0,
            Edits { puts: items(&map), ..Edits::default() },
        );
        let first = first.unwrap();
        nodes.add(first.nodes);
        let insertions = (count / 20).clamp(150, 4_000);
        // New nodes of each level, and the most of one insertion.
        let (mut sums, mut largest) = ([0_usize; 41], 0);
        let (mut tree, mut map) = (first.root, map);
        for _ in 0..insertions {
            let (key, value) = entry(&mut random, size);
            let puts = items([(&key, &value)]);
            let edited = edit(&&nodes, &boundaries, &tree, Edits { puts, ..Edits::default() });
            let edited = edited.unwrap();
            let mut here = [0; 41];
            edited.nodes.iter().for_each(|new| here[usize::from(new.bytes[0])] += 1);
            sums.iter_mut().zip(here).for_each(|(sum, here)| *sum += here);
            largest = largest.max(here.into_iter().max().unwrap_or(0));
            nodes.add(edited.nodes);
            map.insert(key, value);
            tree = edited.root;
        }
        assert_eq!(tree, from_scratch(&boundaries, &map).0);
        let height = usize::from(root(&&nodes, &tree).unwrap().level());
        let means: Vec<f64> =
            sums[..=height].iter().map(|sum| *sum as f64 / insertions as f64).collect();
        println!(
            "{size} bytes, {count} items, {insertions} insertions: new nodes by level {means:.2?}, at most {largest}"
        );
        assert!(means.iter().all(|mean| *mean <= 3.0), "items of {size} bytes: {means:?}");
        assert!(height >= 1, "items of {size} bytes: the tree is one node");
    }
}
