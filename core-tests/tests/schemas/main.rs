//! Schemas: their documents and rules, how they are recorded and compared, and what they say about
//! keys and sizes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../../../tests/src/child.rs"]
#[allow(unreachable_pub, reason = "other packages use it too")]
mod child;
mod describe_key;
mod essentials;
mod properties;
mod schema_file;
mod sizes;
mod support;
