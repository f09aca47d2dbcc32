//! How long and how deep statements can be.

use crate::mistake::Mistake;

/// The longest text of statements, in bytes: 1 MiB.
pub const MAX_LENGTH: usize = 1 << 20;

/// How deep parentheses, lists and `not` can be nested.
pub const MAX_DEPTH: usize = 64;

pub(super) type Result<T> = std::result::Result<T, Mistake>;
