//! Copies of objects and of what they refer to: which objects belong together (`cascade.rs`),
//! copying them to any transaction (`copies.rs`), typed transactions in memory (`detached.rs`), and
//! objects as plain data for JSON and the like (`graph/`).

mod cascade;
mod copies;
mod detached;
#[cfg(feature = "serde")]
mod graph;

pub use cascade::Cascade;
pub use copies::Copy;
pub use detached::Detached;
#[cfg(feature = "serde")]
pub use graph::{Graph, GraphError, GraphObject, GraphValue, Import};
