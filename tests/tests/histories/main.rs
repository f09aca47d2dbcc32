//! Random histories of objects, against naive models that say what the database must contain, and
//! of concurrent transactions, which must be serializable.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unreachable,
    reason = "tests"
)]

mod evolutions;
mod isolation;
mod models;
mod objects;
