//! The costs of operations, counted: operations of the store, and questions to one on another
//! machine.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod measured;
mod page;
mod round_trips;
mod world;
