//! The behaviours of a ledger, one test for each row of the table of the specification: `t042_…` is
//! row
//! 42. `rows.txt` lists all rows: those with tests here, those that are tested elsewhere, and those
//! that differ, with the reason.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../support/mod.rs"]
mod support;

mod commits;
mod connections;
mod history;
mod merging;
mod references;
mod rows;
mod setting;
mod statuses;
mod streams;
mod transactions;
mod tree;
mod values;
