//! Which commits are kept and which are removed: retention, squashes, and the collection of garbage
//! beside others that work.
#![allow(clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod clocks;
mod collection;
mod interleavings;
mod long_transactions;
mod maintenance;
mod processes;
mod squash;
