//! What a check finds and what a repair makes of it, called as a library.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../support/mod.rs"]
mod support;

mod catalogue;
mod completeness;
mod damage;
mod intents;
mod many_types;
mod mutations;
mod naive;
mod online;
mod threads;
