//! Values that are too long for a leaf: chunks, and index pieces that list them.

pub(crate) mod cuts;
pub(crate) mod index;
pub(crate) mod read;
pub(crate) mod reference;
pub(crate) mod split;
#[cfg(test)]
mod tests;
