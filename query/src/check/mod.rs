//! From the text to its meaning: names are resolved, and values get their encodings. Nothing of the
//! data is read.
//!
//! A name can stand for another field in each schema. So everything that depends on fields is kept
//! for each version of each type: [`Versions`].

mod changes;
mod checked;
mod checker;
mod condition;
mod content;
mod decimal;
mod edits;
mod index;
mod names;
mod objects;
mod parameters;
mod path;
mod query;
mod resolve_path;
mod statement;
mod value_position;
mod versions;

pub(crate) use changes::{
    ChangeTo, CheckedAssignment, CheckedCreate, CheckedMigrate, CheckedSet, Content,
};
pub use checked::Checked;
pub(crate) use checked::CheckedKind;
pub(crate) use condition::{Bounds, CheckedCondition, Matcher, Test};
pub(crate) use index::CheckedIndex;
pub(crate) use objects::{CheckedObjects, CheckedObjectsKind, CheckedStep, Way};
pub use parameters::Parameters;
pub(crate) use path::{Access, CheckedPath, Origin, Read, ValueKind, counter_encoding};
pub(crate) use query::{CheckedColumn, CheckedOrder, CheckedQuery, CheckedUsing};
pub(crate) use statement::resolve;
pub(crate) use versions::{Version, Versions};
