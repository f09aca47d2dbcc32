//! Encodings: properties that all have, their texts and conversions, and types of Rust and of other
//! crates.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

mod catalogue;
mod composed;
mod conversion_tables;
mod conversions;
mod of_other_crates;
mod properties;
mod rules;
mod samples;
mod support;
mod texts;
mod types_of_rust;
