//! Results of reading statements: rows, objects and their values.
//!
//! A statement gives its results to a [`Rows`] while it reads, so nothing is collected. The values
//! in a row are [`Cell`]s.

mod cell;
mod row;

pub use cell::Cell;
pub use row::{Column, ObjectRow, Row, Rows};
