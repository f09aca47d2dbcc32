//! Operations on objects as data: steps in JSON, performed on the object layer, with answers in
//! recorded form.
//!
//! The form is that of the recorded traces (`tests/data/README.md`). All programs that replay
//! recorded histories, or make new ones, use this module.

pub mod deletion;
pub mod event_log;
pub mod index_rows;
mod index_views;
pub mod listening;
pub mod objects;
pub mod operations;
pub mod references;
pub mod refusal;
pub mod step;
pub mod text;
