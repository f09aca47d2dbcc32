//! The changes of a transaction so far, as rows to show.
//!
//! `rows.rs` makes rows from the changes that `core` finds, `row.rs` says what a row is,
//! `row_text.rs` writes it as a line and as JSON, and `counts.rs` counts changes by type.

mod counts;
mod row;
mod row_text;
mod rows;

pub use counts::{ChangeCounts, TypeChanges};
pub use row::{ChangeRow, Changed};
pub use rows::Changes;
