//! Operations on objects as data: steps in JSON, performed on the object layer, answered in recorded form.
//!
//! The form is that of the recorded traces (`tests/data/README.md`). Everything that replays
//! recorded histories, or makes up new ones, speaks through this.

pub mod index_rows;
mod index_views;
pub mod listening;
pub mod objects;
pub mod operations;
pub mod refusal;
pub mod step;
pub mod text;
