//! The shapes of keys and values of random changes.

use std::ops::Range;

use rand::RngExt;
use rand::rngs::StdRng;

/// The shape of the keys and values of a stretch of changes.
pub(crate) struct Shape {
    /// How many different keys there are.
    pub(crate) keys: u16,
    /// How many bytes they have in common.
    pub(crate) prefix: usize,
    pub(crate) lengths: Lengths,
}

/// How long values are: one of these, or one of a range.
pub(crate) enum Lengths {
    Of(&'static [usize]),
    In(Range<usize>),
}

impl Shape {
    pub(crate) fn key(&self, rng: &mut StdRng) -> Vec<u8> {
        let number = rng.random_range(0..self.keys).to_be_bytes();
        [vec![7; self.prefix], number.to_vec()].concat()
    }

    pub(crate) fn value(&self, rng: &mut StdRng) -> Vec<u8> {
        let len = match &self.lengths {
            Lengths::Of(lengths) => lengths[rng.random_range(0..lengths.len())],
            Lengths::In(range) => rng.random_range(range.clone()),
        };
        vec![rng.random(); len]
    }
}
