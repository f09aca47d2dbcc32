//! What operations cost, counted: operations of the store, and questions to one on another machine.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

#[cfg(feature = "derive")]
mod measured;
#[cfg(feature = "derive")]
mod page;
mod round_trips;
#[cfg(feature = "derive")]
mod world;
