//! Listeners: which there are, the events for which they are called, and calling them after a
//! change.
//!
//! Other folders of `object` queue changes of fields. `operation.rs` delivers them when the
//! operation that made them is complete. Listeners to creation, deletion and moves are called at
//! once (`tell_…` in `delivery.rs`).

mod change;
mod delivery;
mod listeners;
mod notifier;
mod registration;

pub use change::{ChangeKind, FieldChange};
pub use listeners::{
    CreateListener, DeleteListener, FieldListener, ListenerId, ListenerSet, SchemaChange,
    SchemaChangeListener, Watch,
};
pub(crate) use notifier::Happened;
pub(in crate::object) use notifier::{ByMove, Mark, Notifier, Pending};
