//! The key/value pairs of the objects. Other folders of `object` read and write them only through
//! [`Store`].
//!
//! [`Store`] is the cell that holds the key/value transaction. The transaction is borrowed only for
//! the length of one call. The journal records the inverse of every write, so that a failed
//! operation changes nothing. All iteration that lasts longer than a call is a scan that copies
//! keys in batches. Other folders of `object` use `Store`, `Undo` and the scans.

mod batch;
mod cell;
mod journal;
mod key_buffer;
mod kv_access;
mod scan;

pub(in crate::object) use batch::Keep;
pub(in crate::object) use cell::writing::Undo;
pub(in crate::object) use cell::{Running, Store, visit_pairs};
pub(in crate::object) use key_buffer::{KeyBuffer, ShortKey};
pub(in crate::object) use scan::{
    LiveScan, ScanOverlay, ScanSource, extend_to_after_prefix, has_met,
};
