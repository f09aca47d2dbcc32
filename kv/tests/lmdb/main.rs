//! Stores in LMDB, alone and beside other processes.
#![allow(clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod commit_numbers;
mod own_thread;
mod replaced;
mod shared;
mod space;
mod store;
mod structure;
mod waiting;
