//! Objects that move to another schema by the names of their fields, without losing anything.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod batches;
mod exactly;
mod failures;
mod like_models;
mod world;
