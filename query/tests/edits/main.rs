//! Statements that change objects.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod changes;
mod create;
mod delete;
mod guide;
mod migrate;
mod new_ids;
mod preview;
mod random;
mod refusals;
mod set;
mod world;
