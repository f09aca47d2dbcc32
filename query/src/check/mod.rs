//! From what is written to what is meant: names are looked up, and values get their encodings. Nothing
//! of the data is read.

#[allow(dead_code, reason = "built by `check` and used by `edit`, which come next")]
pub(crate) mod changes;
mod checked;
mod parameters;
mod query;
mod statement;

pub use checked::Checked;
pub(crate) use checked::CheckedKind;
pub use parameters::Parameters;
pub(crate) use query::{CheckedObjectsKind, CheckedQuery};
pub use statement::check;
