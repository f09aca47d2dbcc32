//! The pairs below the objects: the only folder of `object` that writes to the store.
//!
//! [`Store`] is the cell that holds the key/value transaction. It is borrowed for the length of one call only. Its journal
//! records the inverse of every write, so that a failed operation leaves no trace. All iteration is a scan that copies
//! keys in batches. Other folders of `object` use `Store`, `Undo` and the scans.

mod batch;
mod cell;
mod journal;
mod pairs;
mod scan;

pub(in crate::object) use batch::Keep;
pub(in crate::object) use cell::{Store, Undo, visit_pairs};
pub(in crate::object) use scan::{LiveScan, ScanSource, extend_to_after_prefix};
