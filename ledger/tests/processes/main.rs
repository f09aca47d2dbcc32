//! Processes that a test starts of its own program: they work at once, and are killed at random
//! instants.
#![allow(clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod beside_a_remote;
mod kills;
mod kills_of_objects;
mod made_at_once;
mod many_databases;
mod two_processes;
