//! Loading objects into a new database: their pairs are sorted on disk, and written in one go in
//! the order of their keys.
//!
//! [`Loader`] makes records of the objects that it is given. A record is all pairs of one object,
//! or one index entry. The [`Sorter`](sorter::Sorter) collects records in a
//! [`Buffer`](buffer::Buffer). Whenever that is full, a thread sorts it and appends it to a
//! temporary file ([`runs`]). At the end, the content of the file is merged, checked ([`checks`])
//! and written ([`write`]). Until all of it is, the load is [`unfinished`], and can be taken back.
//!
//! Records are kept apart in [`lanes`], one for each type and each index, so that few comparisons
//! look at more than eight bytes.

mod buffer;
mod checks;
mod ids;
mod lanes;
mod loader;
mod runs;
mod sorter;
mod temporary;
mod unfinished;
mod write;

pub use loader::LoadProgress;
pub(crate) use loader::{Loaded, Loader, Memory};
pub(crate) use unfinished::UnfinishedLoad;
