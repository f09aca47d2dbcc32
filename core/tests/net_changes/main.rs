//! What pending writes change, by object and field.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod costs;
mod examples;
mod naive;
mod random;
mod world;
