//! The lifecycle of a page: opened, closed, deleted, evicted, renamed.
//!
//! `open_registry.rs` records which pages this process has open, `deletion.rs` deletes closed
//! pages, `usage.rs` lists when pages were used last and evicts them, `eviction_obstacle.rs` tells
//! why a page is not evicted, `rename.rs` gives a page another name.

pub(crate) mod deletion;
pub(crate) mod eviction_obstacle;
pub(crate) mod open_registry;
mod rename;
pub(crate) mod usage;
