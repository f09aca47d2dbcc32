//! Checks and repairs: called as a library, and as the program `jsck`.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod checker;
mod program;
