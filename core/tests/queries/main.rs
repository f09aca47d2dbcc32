//! Queries: indexes, paths and kinds, and indexes that are incomplete because other programs wrote
//! objects.
#![allow(clippy::unwrap_used, clippy::panic, clippy::duplicated_attributes, reason = "tests")]

#[cfg(feature = "derive")]
mod indexes;
#[cfg(feature = "derive")]
mod kinds;
#[cfg(feature = "derive")]
mod partial_indexes;
#[cfg(feature = "derive")]
mod paths;
