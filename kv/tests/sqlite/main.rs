//! Stores in SQLite, alone and beside other processes.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod looking;
mod replaced;
mod store;
