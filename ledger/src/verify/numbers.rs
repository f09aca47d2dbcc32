//! A set of numbers, most of which lie close together.

use std::collections::HashMap;

const WORDS: usize = 8;

/// A set of numbers: one bit for each where they are dense.
#[derive(Debug, Default)]
pub(super) struct Numbers(HashMap<u64, [u64; WORDS]>);

impl Numbers {
    /// Adds a number. `false` if it is in the set.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let (block, bit) = (number / (64 * WORDS as u64), number % (64 * WORDS as u64));
        let word = &mut self.0.entry(block).or_default()[(bit / 64) as usize];
        let is_new = *word & 1 << (bit % 64) == 0;
        *word |= 1 << (bit % 64);
        is_new
    }
}
