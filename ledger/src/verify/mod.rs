//! Checks all invariants of a repository, and reports the broken ones.
//!
//! `repository.rs` checks the rows of a repository, `separate.rs` databases of pages, `page.rs` the
//! rows of a page, `commits.rs` the graph of commits, `trees.rs` the trees and `values.rs` their
//! long values, `pieces.rs` loads pieces, `marks.rs` checks the marks of a sweep, `statuses.rs` the
//! rows of commits and pieces that are not at a remote, `references.rs` the reference rows.
//! `report.rs` is the report.

mod commits;
mod marks;
mod numbers;
pub(crate) mod page;
mod pieces;
mod references;
pub(crate) mod report;
mod repository;
mod separate;
mod statuses;
mod trees;
mod values;
