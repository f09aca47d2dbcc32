//! Listeners: who wants to be told, of what, and the delivery after a change.
//!
//! Other folders of `object` queue changes; delivery happens when the operation that made them is complete.

mod change;
mod delivery;
mod listeners;
mod notifier;

pub use change::{ChangeKind, FieldChange};
pub(crate) use listeners::Carried;
pub use listeners::{
    CreateListener, DeleteListener, FieldListener, ListenerId, ListenerSet, SchemaChange,
    SchemaChangeListener, Watch,
};
pub(in crate::object) use notifier::Notifier;
