//! The rows of a repository in its host. Only this folder builds and parses keys of rows.
//!
//! `sealed.rs` has the checksum that each row ends with, `number.rs` the code of page numbers,
//! `repository.rs` the rows of a repository, `opened.rs` those that say which pages are open,
//! `page.rs` those of a page, `separate.rs` the one that only a database of one page has, and
//! beside them `parameters.rs`, `pieces.rs`, `references.rs`, `counts.rs`, `retention.rs`,
//! `process.rs`, `streams.rs`, `statuses.rs`. `inspect.rs` and `inspect_repository.rs` decode any
//! row, for checks.

pub(crate) mod counts;
pub(crate) mod inspect;
pub(crate) mod inspect_repository;
pub(crate) mod number;
pub(crate) mod opened;
pub(crate) mod page;
pub(crate) mod parameters;
pub(crate) mod pieces;
pub(crate) mod process;
pub(crate) mod references;
pub(crate) mod repository;
pub(crate) mod retention;
pub(crate) mod sealed;
pub(crate) mod separate;
pub(crate) mod statuses;
pub(crate) mod streams;
