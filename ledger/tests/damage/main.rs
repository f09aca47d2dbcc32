//! What goes wrong: rows that are damaged, sources that lie, hosts that fail, code that panics, and
//! what `verify` finds.
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
