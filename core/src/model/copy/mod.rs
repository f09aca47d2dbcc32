//! Copies of objects and of what they refer to: which objects belong together (`cascade.rs`), copying
//! them to any transaction (`copies.rs`), and typed transactions in memory (`detached.rs`).

mod cascade;
mod copies;
mod detached;

pub use cascade::Cascade;
pub use copies::Copy;
pub use detached::Detached;
