//! Keys: arithmetic on them (`key.rs`), borrowed bounds (`span.rs`), sets of ranges (`ranges.rs`). All that
//! is public is public at the root of the crate.

pub mod key;
mod ranges;
mod span;

pub use ranges::KeyRanges;
pub use span::{Hex, KeySpan};
