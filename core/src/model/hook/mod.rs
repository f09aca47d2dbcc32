//! Hooks: functions of models, mix-ins and kinds that are called when objects change, and observers,
//! which are the same for a transaction or a database (docs/src/hooks.md).
//!
//! `#[permazen::hooks]` writes declarations (`declare.rs`). They are bound to the recorded schemas
//! with the models (`compile.rs`). A listener of the object layer calls them (`call.rs`) and tells
//! them (`told.rs`) what has changed (`change.rs`). What can have hooks is in `subject.rs`. Observers
//! take the same way (`observe.rs`).

mod after;
pub(crate) mod along;
mod call;
pub(crate) mod change;
mod committed;
mod compile;
pub(crate) mod declare;
mod former;
pub(crate) mod observe;
pub(crate) mod subject;
pub(crate) mod told;
mod validate;

pub use along::LeadsTo;
pub use call::HookCall;
pub(super) use call::{call, failed};
pub use change::{
    Change, Changed, ListChange, ListChanged, MapChange, MapChanged, SetChange, SetChanged,
};
pub use committed::Committed;
pub(super) use compile::compile;
pub(super) use observe::Observers;
pub use observe::{
    Along, AnyChange, Creation, Deletion, Observed, ObserverId, Watched, along, changes, creations,
    deletions,
};
pub use subject::Subject;
pub(super) use validate::{Checker, Judgement};
