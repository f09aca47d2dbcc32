//! Queries: indexes, paths and kinds, and indexes that are incomplete because other programs wrote
//! objects.
#![allow(clippy::unwrap_used, clippy::panic, clippy::duplicated_attributes, reason = "tests")]

mod indexes;
mod kinds;
mod partial_indexes;
mod paths;
