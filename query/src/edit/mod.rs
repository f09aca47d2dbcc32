//! Running statements that change objects.
//!
//! `statement.rs` runs a statement as one step that is undone if it fails. The other files make one
//! kind of change each: `create.rs`, `set.rs` (with `content.rs` for whole collections, `number.rs`
//! and `big_number.rs` for `+=` and `-=`), `delete.rs` and `migrate.rs`. `preview.rs` says what a
//! deletion would do, and `preview_text.rs` writes that.

mod big_number;
mod content;
mod create;
mod delete;
mod edited;
mod failed;
mod listed;
mod migrate;
mod new_ids;
mod number;
mod preview;
mod preview_text;
mod set;
mod statement;

pub use edited::Edited;
pub use listed::Listed;
pub use migrate::{lost, migration};
pub use new_ids::NewIds;
pub use preview::{Preview, PreviewObject, PreviewReference, preview};
pub use statement::edit;
