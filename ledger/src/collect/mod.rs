//! The garbage collector: removes commits that are not in the keep set, and unreachable pieces.
//!
//! `history.rs` has the graph of commits, `refs.rs` the refs; `keep_set.rs` computes the keep set,
//! `merge_bases.rs` adds the commits that merges need, and `keep_reasons.rs` tells why a commit is
//! in it. `prune.rs` removes the other commits, `streams.rs` the rows that streams have left.
//! `mark.rs` finds the reachable pieces, `sweep.rs` removes the others. On a page with reference
//! rows, `suspects.rs` removes unreachable pieces; `references.rs` writes and removes these rows.
//! `collector.rs` runs one slice after the other, `pace.rs` chooses their size,
//! `page_maintenance.rs` decides when a page is collected, `maintenance.rs` has the threads.

pub(crate) mod collector;
mod history;
pub(crate) mod keep_reasons;
mod keep_set;
pub(crate) mod maintenance;
mod mark;
mod merge_bases;
mod pace;
pub(crate) mod page_maintenance;
mod prune;
pub(crate) mod references;
mod refs;
mod streams;
mod suspects;
mod sweep;
