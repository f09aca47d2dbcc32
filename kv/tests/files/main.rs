//! Stores in files. Their life: processes create them at once, are killed while they write, copy
//! them and make them compact. Files of each kind, alone and beside other processes.
#![allow(clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod compact;
mod copies;
mod creating;
mod flush_fails;
mod kills;
mod lmdb;
mod private_copies;
mod sqlite;
