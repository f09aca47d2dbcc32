//! The lifecycle of a page: opened, closed, deleted, evicted, renamed.
//!
//! `presence.rs` records which pages this process has open, `deletion.rs` deletes closed pages,
//! `usage.rs` lists when pages were used last and evicts them, `kept.rs` tells why a page is not
//! evicted, `rename.rs` gives a page another name.

pub(crate) mod deletion;
pub(crate) mod kept;
pub(crate) mod presence;
mod rename;
pub(crate) mod usage;
