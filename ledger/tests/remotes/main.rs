//! Pages beside a remote: values that are only there, commits that come from elsewhere, and the
//! pieces and commits that are known to be there.
//!
//! `PERMAZEN_RECEIVED` sets how many random histories are received.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../support/mod.rs"]
mod support;

mod busy;
mod clocks;
mod fetching;
mod merging;
mod receiving;
mod resolving;
mod secrets;
mod setting;
mod sources;
mod statuses;
mod stopped;
mod swept;
