//! Listeners: who wants to be told, of what, and the delivery after a change.
//!
//! Other rooms queue changes; delivery happens when the operation that made them is complete.

mod change;
mod delivery;
mod listeners;

pub use change::{ChangeKind, FieldChange};
pub(in crate::object) use delivery::Pending;
pub use listeners::{
    CreateListener, DeleteListener, FieldListener, ListenerId, ListenerSet, SchemaChange,
    SchemaChangeListener, Watch,
};
