//! Databases as a whole: opening them, and their transactions together.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "tests")]

#[path = "../../../tests/src/child.rs"]
#[allow(unreachable_pub, reason = "other packages use it too")]
mod child;
mod group_commit;
mod net_changes;
mod opening;
mod programs;
mod stores_by_url;
