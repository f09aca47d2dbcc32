//! Statements: as text, as queries and as edits.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing)]

mod edits;
mod language;
mod queries;
