//! Indexes: their shape, and live views of their entries.
//!
//! A view has a selection: a restriction for each column. It gives entries, only object IDs, or a
//! set of IDs. Other folders of `object` find an index by name or storage ID and use views. Entries
//! are put and removed where values change: by the code for fields, collections, whole objects and
//! deletion.

mod both_ends;
mod column;
mod ids;
mod other_schemas;
mod page;
mod plain;
mod query;
mod rows;
mod selection;
mod shape;
mod view;
mod walk;
mod wanted_ids;

pub(in crate::object) use column::{
    ColumnFilter, FilterPosition, OwnedSpan, intersect_ranges, is_inverted, is_within, push_lower,
    push_upper, short_span_of, span_of,
};
pub(crate) use column::{EncodedRange, borrowed, encode_bound};
pub(crate) use other_schemas::{HiddenObjects, IndexOverlay, MergedIndex};
pub(crate) use page::EntryPage;
pub(crate) use query::map_key_of;
pub(crate) use selection::Selection;
pub use shape::{IndexKind, IndexShape};
pub use view::IndexView;
pub use walk::{IndexEntry, IndexEntryRef, IndexIter};
