//! A page beside a sorted map: one change at a time, mostly of a copy as in a transaction of its own.

use std::collections::BTreeMap;
use std::ops::Range;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::page::Page;
use crate::testsuite::shapes::{Lengths, Shape};

/// Far fewer pairs than in a leaf, so that pages are full and empty again and again.
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

/// The pairs of a page, which must keep its own rules.
fn pairs(page: &Page<SIZE>) -> impl Iterator<Item = (&[u8], &[u8])> {
    page.check();
    (0..page.len()).map(|at| page.pair(at).unwrap())
}

fn assert_equal(page: &Page<SIZE>, model: &Model, step: usize) {
    assert!(pairs(page).eq(model.iter().map(|(key, value)| (&key[..], &value[..]))), "step {step}");
}

fn put(page: &mut Page<SIZE>, model: &mut Model, key: Vec<u8>, value: Vec<u8>) {
    match page.find(&key) {
        Ok(at) => assert_eq!(page.set_value(at, &value), model[&key].len()),
        Err(_) if page.len() == SIZE => return,
        Err(at) => page.insert(at, &key, &value),
    }
    model.insert(key, value);
}

fn remove(page: &mut Page<SIZE>, model: &mut Model, range: Range<usize>) {
    let keys: Vec<Vec<u8>> = range.clone().map(|at| page.key(at).to_vec()).collect();
    page.remove(range);
    keys.iter().for_each(|key| assert!(model.remove(key).is_some()));
}

/// Cuts a page in two, changes one half, and makes one page of both again.
fn cut_and_join(page: &mut Page<SIZE>, model: &mut Model, shape: &Shape, rng: &mut StdRng) {
    let at = rng.random_range(0..=page.len());
    let mut right = page.split_off(at);
    right.check();
    page.check();
    if rng.random() && right.len() > 0 {
        let at = rng.random_range(0..right.len());
        let value = shape.value(rng);
        model.insert(right.key(at).to_vec(), value.clone());
        right.set_value(at, &value);
        right.check();
    }
    let joined = Page::of(&[(page, 0..page.len()), (&right, 0..right.len())]);
    if rng.random() {
        *page = joined;
    } else {
        // Only one of the halves stays.
        let range = if rng.random() { 0..at } else { at..joined.len() };
        let keys: Vec<&[u8]> = range.clone().map(|at| joined.key(at)).collect();
        model.retain(|key, _| keys.contains(&&key[..]));
        *page = Page::of(&[(&joined, range)]);
    }
}

fn run(shape: &Shape, steps: usize, rng: &mut StdRng) {
    let (mut page, mut model) = (Page::<SIZE>::new(), Model::new());
    let mut held: Vec<(Page<SIZE>, Model)> = Vec::new();
    for step in 0..steps {
        // In some stretches each change is a put in a transaction of its own. In the others, without a copy, it is one
        // more change of the same transaction.
        let only_puts = step / 4000 % 2 == 0;
        if only_puts || rng.random() {
            let copy = page.clone();
            let before = std::mem::replace(&mut page, copy);
            if rng.random_ratio(1, 100) {
                held.push((before, model.clone()));
            }
        }
        // In some stretches more comes than goes.
        let growing = step / 300 % 2 == 0;
        match rng.random_range(0..if only_puts { 70 } else { 100 }) {
            0..70 => put(&mut page, &mut model, key(shape, rng), shape.value(rng)),
            70..80 if growing => put(&mut page, &mut model, key(shape, rng), shape.value(rng)),
            70..96 if page.len() > 0 => {
                let at = rng.random_range(0..page.len());
                remove(&mut page, &mut model, at..at + 1);
            }
            96..98 if page.len() > 0 => {
                let from = rng.random_range(0..page.len());
                let to = rng.random_range(from..=page.len());
                remove(&mut page, &mut model, from..to);
            }
            _ => cut_and_join(&mut page, &mut model, shape, rng),
        }
        page.check();
        let key = key(shape, rng);
        let found = page.find(&key).ok().and_then(|at| page.pair(at)).map(|(_, value)| value);
        assert_eq!(found, model.get(&key).map(|value| &value[..]), "step {step}");
        if step % 16 == 0 {
            assert_equal(&page, &model, step);
        }
        if held.len() > 4 {
            held.drain(..).for_each(|(page, model)| assert_equal(&page, &model, step));
        }
    }
    assert_equal(&page, &model, steps);
}

#[test]
fn a_page_equals_a_sorted_map_after_each_change() {
    let changes = std::env::var("PERMAZEN_CHANGES").map_or(100_000, |count| count.parse().unwrap());
    let mut rng = StdRng::seed_from_u64(1);
    SHAPES.iter().for_each(|shape| run(shape, usize::div_ceil(changes, SHAPES.len()), &mut rng));
}
