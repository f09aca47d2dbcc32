//! Keys: arithmetic on them (`key.rs`), borrowed bounds (`span.rs`), sets of ranges (`ranges.rs`).
//! Users find all public items at the root of the crate.

pub mod key;
mod ranges;
mod span;

pub(crate) use key::hex_digit;
pub use ranges::KeyRanges;
pub use span::{Hex, KeySpan};
