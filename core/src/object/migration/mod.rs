//! Objects that move to another schema without losing anything, and many of them in batches.
//!
//! `field_conversion.rs` converts the values of one field. `exactly.rs` moves one object by the
//! names of its fields, and `would_lose.rs` says why one stays. `batches.rs` is the loop over
//! batches, which the typed layer uses too; `run.rs` moves objects by their types or IDs.

mod batches;
mod exactly;
mod field_conversion;
mod run;
mod would_lose;

pub(crate) use batches::{Batch, Batches, Done, ObjectToMove, RunOptions, Visitor, in_batches};
pub use batches::{MigrationEnd, NotMoved, Progress};
pub(crate) use field_conversion::{
    FieldConversion, LossPolicy, Narrows, NewContent, Renamed, kind, stored_text, value_text,
};
pub use run::{MigrateObjects, MigrationReport};
pub use would_lose::{LostValue, WouldLose};
