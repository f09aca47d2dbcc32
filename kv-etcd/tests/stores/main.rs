//! The behaviour of a store on etcd: that of any other store, and its own.
#![allow(clippy::expect_used, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;
#[path = "../../../kv/tests/support/told.rs"]
mod told;

mod conformance;
mod counters;
mod limits;
mod removed;
mod round_trips;
mod swept;
mod watches;
