//! The life of the files of stores: processes create them at once, are killed while they write,
//! copy them and make them compact.
#![allow(clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod compact;
mod copies;
mod creating;
mod flush_fails;
mod kills;
mod private_copies;
