//! Typed index queries: of one field, and of composite indexes column by column.
//!
//! Objects that are stored with other models may have no entries in an index. `coverage` finds out
//! from the schemas which ones, and `partial` completes a query with them, or refuses it.

mod composite;
mod coverage;
mod partial;
mod query;

pub use composite::{
    ByTuple, Column, Column0, Column1, Column2, Column3, Column4, CompositeIndex, HasColumn, Tuple,
};
pub(super) use coverage::{Other, Wanted, others};
pub use partial::{OnPartial, OpenAs, WhenPartial};
pub(super) use partial::{SeenObjects, described, lacks_entries};
pub use query::{ByKey, ByPosition, ByValue, Columns, Index, IndexOn};
