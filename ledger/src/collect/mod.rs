//! The garbage collector: removes commits that are not in the keep set, and unreachable pieces.
//!
//! `history.rs` has the graph of commits, `names.rs` the refs; `kept.rs` computes the keep set,
//! `bases.rs` adds what merges need, and `reasons.rs` tells why a commit is in it. `retire.rs`
//! removes the other commits, `streams.rs` what streams have left. `mark.rs` finds the reachable
//! pieces, `sweep.rs` removes the others. On a page with reference rows, `suspects.rs` removes
//! unreachable pieces; `references.rs` writes and removes these rows. `collector.rs` runs one slice
//! after the other, `pace.rs` chooses their size, `care.rs` decides when a page is collected,
//! `keeper.rs` has the threads.

mod bases;
pub(crate) mod care;
pub(crate) mod collector;
mod history;
pub(crate) mod keeper;
mod kept;
mod mark;
mod names;
mod pace;
pub(crate) mod reasons;
pub(crate) mod references;
mod retire;
mod streams;
mod suspects;
mod sweep;
