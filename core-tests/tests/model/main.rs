//! The typed layer: models and what their handles, collections and plain data do. `rows` has the
//! tables of the specification of Java.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::duplicated_attributes,
    reason = "tests"
)]

mod essentials;
mod plain_data;
mod rows;
mod setters;
mod typed_collections;
mod versioned;
