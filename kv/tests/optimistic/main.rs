//! Transactions that do not wait for each other, and transactions that are committed together:
//! changes that are not written yet, conflicts, turns and groups.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod conflicts;
mod groups;
mod histories;
mod overlay;
mod turns;
