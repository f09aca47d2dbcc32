//! Several programs on one database: of several versions, at the same time, and with the models of
//! a library.
#![allow(
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod side_by_side;
mod tracker;
mod two_crates;
