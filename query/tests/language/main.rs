//! The language as text: parsing, printing, mistakes, and the text forms of values and names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod mistakes;
mod random;
mod round_trip;
mod values;
