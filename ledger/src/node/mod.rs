//! The bytes of a node: [`view`] reads them as they lie, [`write`] makes them.

pub(crate) mod items;
#[cfg(test)]
mod tests;
pub(crate) mod view;
pub(crate) mod write;
