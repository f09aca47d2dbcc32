//! The behaviour of every store, and layers that stand over any store: the conformance suite,
//! ranges, limits, wrappers, counters, XML, and a store on another machine.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

#[cfg(all(target_os = "linux", feature = "lmdb", feature = "sqlite"))]
mod closing;
mod conformance;
mod counters;
mod faults;
mod golden;
mod limits;
mod passing_on;
mod ranges;
mod remote;
mod rows;
mod wrappers;
mod xml;
