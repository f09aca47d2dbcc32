//! Transactions that change one thing each, a great number of them, compared with a sorted map.
//!
//! Structures that copy the parts that they change, and keep room in them for the next change, are
//! tested harder by this than by large transactions: each change is one copy.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::shapes::{Lengths, Shape};
use super::{Fixture, committed, write};
use crate::{Direction, KeySpan, KvDatabase, KvRead, SharedRead, TxOptions};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const SHAPES: [Shape; 7] = [
    Shape { keys: 1, prefix: 0, lengths: Lengths::Of(&[40, 41]) },
    Shape { keys: 4, prefix: 0, lengths: Lengths::Of(&[0, 1, 125, 126, 127, 128, 129, 300]) },
    Shape { keys: 70, prefix: 2, lengths: Lengths::In(0..50) },
    Shape { keys: 250, prefix: 200, lengths: Lengths::In(0..140) },
    Shape { keys: 2000, prefix: 5, lengths: Lengths::In(20..60) },
    Shape { keys: 40, prefix: 1, lengths: Lengths::Of(&[0, 5, 900, 2030, 4100, 9000]) },
    Shape { keys: 3000, prefix: 64, lengths: Lengths::Of(&[0, 8]) },
];

impl Shape {
    /// The bounds of a range that mostly has few keys.
    fn range(&self, rng: &mut StdRng) -> (Vec<u8>, Option<Vec<u8>>) {
        let min = self.key(rng);
        if rng.random_ratio(1, 50) {
            return (min, None);
        }
        let mut max = min.clone();
        // The last two bytes are the number.
        let number = max.split_off(self.prefix);
        let number = u16::from_be_bytes([number[0], number[1]]);
        let few = if rng.random_ratio(1, 10) { self.keys / 2 } else { 5 };
        max.extend((number + rng.random_range(0..=few)).to_be_bytes());
        (min, Some(max))
    }
}

/// A hundred transactions and a few; `PERMAZEN_CHANGES` says how many.
pub fn one_change_a_transaction(fixture: &mut Fixture) {
    let changes = std::env::var("PERMAZEN_CHANGES").map_or(100, |count| count.parse().unwrap());
    one_change_each(fixture.store(), changes, 1);
}

/// Makes `changes` transactions, each of which puts or removes one key, or removes one range. After
/// each, the changed pairs and their neighbours are compared with a sorted map. Now and then
/// everything is compared, and so are snapshots that were held for a while, if the store has them.
/// All pairs that are in the store before are removed.
pub fn one_change_each(store: &dyn KvDatabase, changes: usize, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    for shape in &SHAPES {
        write(store, |tx| tx.remove_span(KeySpan::FULL));
        run(store, shape, changes.div_ceil(SHAPES.len()), &mut rng);
    }
}

fn run(store: &dyn KvDatabase, shape: &Shape, changes: usize, rng: &mut StdRng) {
    let mut model = Model::new();
    let mut held: Vec<(SharedRead, Model)> = Vec::new();
    // In some stretches more comes than goes; then leaves are split, and merged in the others.
    let stretch = 2 * usize::from(shape.keys) + 50;
    for step in 0..changes {
        let growing = step / stretch % 2 == 0;
        let at = match rng.random_range(0..100) {
            0..3 => {
                let (min, max) = shape.range(rng);
                let span = KeySpan::new(&min, max.as_deref());
                write(store, |tx| tx.remove_span(span));
                model.retain(|key, _| !span.contains(key));
                min
            }
            3..20 => remove(store, shape, &mut model, rng),
            20..60 if !growing => remove(store, shape, &mut model, rng),
            _ => {
                let (key, value) = (shape.key(rng), shape.value(rng));
                write(store, |tx| tx.put(&key, &value));
                model.insert(key.clone(), value);
                key
            }
        };
        beside(store, &model, &at, step);
        if step % 128 == 127 {
            whole(store, &model, step);
        }
        // In every second stretch no snapshot is held.
        let is_holding = step / 500 % 2 == 0;
        if is_holding && rng.random_ratio(1, 50) && store.capabilities().snapshots {
            if held.len() == 3 {
                compare(held.swap_remove(rng.random_range(0..3)), step);
            }
            held.push((snapshot(store), model.clone()));
        }
        if !is_holding {
            held.drain(..).for_each(|snapshot| compare(snapshot, step));
        }
    }
    whole(store, &model, changes);
    held.drain(..).for_each(|snapshot| compare(snapshot, changes));
}

/// Compares a snapshot with the content at the time when it was made.
fn compare((snapshot, model): (SharedRead, Model), step: usize) {
    assert!(same(&*snapshot, &model), "a snapshot at step {step}");
}

/// Removes a key, mostly one that is there.
fn remove(store: &dyn KvDatabase, shape: &Shape, model: &mut Model, rng: &mut StdRng) -> Vec<u8> {
    let key = shape.key(rng);
    let key = model.range(key.clone()..).next().map_or(key, |(key, _)| key.clone());
    write(store, |tx| tx.remove(&key));
    model.remove(&key);
    key
}

fn snapshot(store: &dyn KvDatabase) -> SharedRead {
    store.begin(&TxOptions::reading()).unwrap().snapshot().unwrap()
}

/// Compares the value of a key and the pairs on both sides of it.
fn beside(store: &dyn KvDatabase, model: &Model, key: &[u8], step: usize) {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let found = tx.get(key).unwrap();
    assert_eq!(found.as_deref(), model.get(key).map(|value| &value[..]), "step {step}");
    let above = [key, &[0]].concat();
    let next = tx.at_least(&above, None).unwrap();
    let expected = model.range(above.clone()..).next();
    assert!(next.iter().map(|(k, v)| (&**k, &**v)).eq(expected.map(as_slices)), "step {step}");
    let before = tx.at_most(&[], Some(key)).unwrap();
    let expected = model.range(..key.to_vec()).next_back();
    assert!(before.iter().map(|(k, v)| (&**k, &**v)).eq(expected.map(as_slices)), "step {step}");
}

fn as_slices<'a>((key, value): (&'a Vec<u8>, &'a Vec<u8>)) -> (&'a [u8], &'a [u8]) {
    (key, value)
}

fn whole(store: &dyn KvDatabase, model: &Model, step: usize) {
    assert!(committed(store).into_iter().eq(model.clone()), "step {step}");
    assert!(same(&*store.begin(&TxOptions::reading()).unwrap(), model), "step {step}, backwards");
}

/// Whether these are the pairs of the map, seen from the end.
fn same<K: KvRead + ?Sized>(source: &K, model: &Model) -> bool {
    let pairs = source.scan(KeySpan::FULL, Direction::Reverse).unwrap().map(|pair| pair.unwrap());
    pairs
        .map(|(k, v)| (k.into_owned(), v.into_owned()))
        .eq(model.iter().rev().map(|(k, v)| (k.clone(), v.clone())))
}
