//! Checks all that must hold of a repository, and says in words what does not.
//!
//! `repository.rs` checks the rows of a repository, `separate.rs` databases of pages, `page.rs`
//! those of a page, `commits.rs` what commits say of each other, `trees.rs` the trees and
//! `values.rs` the long values that they lead to, `pieces.rs` loads pieces, `marks.rs` checks what
//! a sweep goes by, `statuses.rs` checks what is not at a remote, `references.rs` which piece leads
//! to which. `report.rs` is what comes of it.

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
