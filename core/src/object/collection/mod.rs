//! Sets, lists and maps of objects.
//!
//! All three use `Content`: the keys of one field of one object. Sets and maps use `Sorted` above
//! it. The views read and change these keys, keep the indexes up to date, and queue changes for
//! listeners.

mod content;
mod list;
mod list_cursor;
mod list_edit;
mod list_shift;
mod map;
mod open;
mod position;
mod set;
mod sorted;

pub use content::ContentIter;
pub use list::ListView;
pub use list_cursor::ListCursor;
pub use map::MapView;
pub use position::MAX_LIST_LEN;
pub(in crate::object) use position::position_in;
pub use set::SetView;
pub(in crate::object) use sorted::Stays;
