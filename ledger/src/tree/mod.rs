//! A sorted map as a tree of nodes whose boundaries depend on the contents alone.
//!
//! Trees with equal contents and equal secrets have equal roots. A tree never changes: an edit
//! makes another one, which shares all nodes that the edit does not touch.

pub(crate) mod boundaries;
pub(crate) mod cursor;
pub(crate) mod diff;
pub(crate) mod edit;
pub(crate) mod level;
pub(crate) mod lookup;
pub(crate) mod nodes;
#[cfg(test)]
mod tests;
pub(crate) mod three_way;
