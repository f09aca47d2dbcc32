//! The life of a page: it is opened and closed, deleted or evicted.
//!
//! `presence.rs` says which pages this process has open, `deletion.rs` removes pages that nobody
//! has open, `usage.rs` says when pages were used last, and evicts those that lose nothing,
//! `kept.rs` why one is not evicted, `rename.rs` gives a page another name.

pub(crate) mod deletion;
pub(crate) mod kept;
pub(crate) mod presence;
mod rename;
pub(crate) mod usage;
