//! Values that are at a remote alone, and commits that come from elsewhere.
//!
//! `PERMAZEN_RECEIVED` sets how many random histories are received.
#![allow(clippy::unwrap_used, clippy::panic)]

mod clocks;
mod fetching;
mod merging;
mod receiving;
mod resolving;
mod secrets;
mod setting;
mod sources;
mod stopped;
mod swept;
