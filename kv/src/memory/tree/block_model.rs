//! A block beside a sorted map: one change at a time, mostly of a copy as in a transaction of its
//! own.

use std::collections::BTreeMap;
use std::ops::Range;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::block::Block;
use crate::testsuite::shapes::{Lengths, Shape};

/// Far fewer pairs than in a leaf, so that blocks are full and empty again and again.
const SIZE: usize = 24;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const SHAPES: [Shape; 6] = [
    Shape { keys: 1, prefix: 0, lengths: Lengths::Of(&[40, 41]) },
    Shape { keys: 3, prefix: 0, lengths: Lengths::Of(&[0, 1, 124, 125, 126, 127, 128, 129]) },
    Shape { keys: 24, prefix: 0, lengths: Lengths::In(0..127) },
    Shape { keys: 30, prefix: 62, lengths: Lengths::In(0..70) },
    Shape { keys: 60, prefix: 100, lengths: Lengths::In(20..30) },
    Shape { keys: 500, prefix: 3, lengths: Lengths::In(0..140) },
];

/// Some keys leave the common beginning early, and some end with it.
fn key(shape: &Shape, rng: &mut StdRng) -> Vec<u8> {
    let key = shape.key(rng);
    match rng.random_range(0..40) {
        0 => key[shape.prefix / 2..].to_vec(),
        1 => vec![7; shape.prefix],
        _ => key,
    }
}

/// The pairs of a block, which must keep its own rules.
fn pairs(block: &Block<SIZE>) -> impl Iterator<Item = (&[u8], &[u8])> {
    block.check();
    (0..block.len()).map(|at| block.pair(at).unwrap())
}

fn assert_equal(block: &Block<SIZE>, model: &Model, step: usize) {
    assert!(
        pairs(block).eq(model.iter().map(|(key, value)| (&key[..], &value[..]))),
        "step {step}"
    );
}

fn put(block: &mut Block<SIZE>, model: &mut Model, key: Vec<u8>, value: Vec<u8>) {
    match block.find(&key) {
        Ok(at) => assert_eq!(block.set_value(at, &value), model[&key].len()),
        Err(_) if block.len() == SIZE => return,
        Err(at) => block.insert(at, &key, &value),
    }
    model.insert(key, value);
}

fn remove(block: &mut Block<SIZE>, model: &mut Model, range: Range<usize>) {
    let keys: Vec<Vec<u8>> = range.clone().map(|at| block.key(at).to_vec()).collect();
    block.remove(range);
    keys.iter().for_each(|key| assert!(model.remove(key).is_some()));
}

/// Cuts a block in two, changes one half, and makes one block of both again.
fn cut_and_join(block: &mut Block<SIZE>, model: &mut Model, shape: &Shape, rng: &mut StdRng) {
    let at = rng.random_range(0..=block.len());
    let mut right = block.split_off(at);
    right.check();
    block.check();
    if rng.random() && right.len() > 0 {
        let at = rng.random_range(0..right.len());
        let value = shape.value(rng);
        model.insert(right.key(at).to_vec(), value.clone());
        right.set_value(at, &value);
        right.check();
    }
    let joined = Block::of(&[(block, 0..block.len()), (&right, 0..right.len())]);
    if rng.random() {
        *block = joined;
    } else {
        // Only one of the halves stays.
        let range = if rng.random() { 0..at } else { at..joined.len() };
        let keys: Vec<&[u8]> = range.clone().map(|at| joined.key(at)).collect();
        model.retain(|key, _| keys.contains(&&key[..]));
        *block = Block::of(&[(&joined, range)]);
    }
}

fn run(shape: &Shape, steps: usize, rng: &mut StdRng) {
    let (mut block, mut model) = (Block::<SIZE>::new(), Model::new());
    let mut held: Vec<(Block<SIZE>, Model)> = Vec::new();
    for step in 0..steps {
        // In some stretches each change is a put in a transaction of its own. In the others,
        // without a copy, it is one more change of the same transaction.
        let only_puts = step / 4000 % 2 == 0;
        if only_puts || rng.random() {
            let copy = block.clone();
            let before = std::mem::replace(&mut block, copy);
            if rng.random_ratio(1, 100) {
                held.push((before, model.clone()));
            }
        }
        // In some stretches more comes than goes.
        let growing = step / 300 % 2 == 0;
        match rng.random_range(0..if only_puts { 70 } else { 100 }) {
            0..70 => put(&mut block, &mut model, key(shape, rng), shape.value(rng)),
            70..80 if growing => put(&mut block, &mut model, key(shape, rng), shape.value(rng)),
            70..96 if block.len() > 0 => {
                let at = rng.random_range(0..block.len());
                remove(&mut block, &mut model, at..at + 1);
            }
            96..98 if block.len() > 0 => {
                let from = rng.random_range(0..block.len());
                let to = rng.random_range(from..=block.len());
                remove(&mut block, &mut model, from..to);
            }
            _ => cut_and_join(&mut block, &mut model, shape, rng),
        }
        block.check();
        let key = key(shape, rng);
        let found = block.find(&key).ok().and_then(|at| block.pair(at)).map(|(_, value)| value);
        assert_eq!(found, model.get(&key).map(|value| &value[..]), "step {step}");
        if step % 16 == 0 {
            assert_equal(&block, &model, step);
        }
        if held.len() > 4 {
            held.drain(..).for_each(|(block, model)| assert_equal(&block, &model, step));
        }
    }
    assert_equal(&block, &model, steps);
}

#[test]
fn a_page_equals_a_sorted_map_after_each_change() {
    let changes = std::env::var("PERMAZEN_CHANGES").map_or(40_000, |count| count.parse().unwrap());
    let mut rng = StdRng::seed_from_u64(1);
    SHAPES.iter().for_each(|shape| run(shape, usize::div_ceil(changes, SHAPES.len()), &mut rng));
}
