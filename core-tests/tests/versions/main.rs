//! Versions of a program on one database: what becomes of objects when models change, and how they
//! move.
#![allow(
    unreachable_pub,
    missing_docs,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::duplicated_attributes,
    reason = "tests"
)]

mod evolution;
mod long_values;
mod migration;
mod upgrade;
mod upgrade_all;
mod used_schemas;
mod verdict;
