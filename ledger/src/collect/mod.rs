//! The collector: removes commits that are not kept, and pieces that no commit leads to.
//!
//! `history.rs` has the graph of commits, `names.rs` what names them, `kept.rs` says which of them
//! are kept, `bases.rs` which of these merges need, and `reasons.rs` why one is kept; `retire.rs`
//! removes the others, `streams.rs` what values leave that were written in parts. `mark.rs` finds
//! the pieces that commits lead to, `sweep.rs` removes the others. On a page that keeps reference
//! rows, `suspects.rs` removes what nothing leads to; `references.rs` gives it these rows, or takes
//! them away. `collector.rs` does one slice after the other, `pace.rs` says how large it may be,
//! `care.rs` when, `keeper.rs` has the threads.

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
