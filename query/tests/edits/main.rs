//! Statements that change objects.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod changes;
mod create;
mod delete;
mod migrate;
mod new_ids;
mod preview;
mod refusals;
mod set;
mod world;
