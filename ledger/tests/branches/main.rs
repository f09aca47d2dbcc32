//! Branches with one head or several, how heads are merged, and how watchers of a branch are
//! notified.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod branching;
mod conflicts;
mod dead_watchers;
mod merge_histories;
mod merges;
mod object_merges;
mod policies;
mod watch;
