//! Failures: rows that are damaged, sources that lie, hosts that fail, code that panics, and the
//! findings of `verify`.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod errors;
mod extremes;
mod faults;
mod flips;
mod hostile;
mod panics;
mod verify;
