//! Keys: arithmetic on them (`key.rs`), borrowed bounds (`span.rs`), sets of ranges (`ranges.rs`).
//! Everything public is public at the root of the crate. The rest of the crate may call all of it.

pub mod key;
mod ranges;
mod span;

pub use ranges::KeyRanges;
pub use span::{Hex, KeySpan};
