//! Hooks: functions of models, mix-ins and kinds that are called when objects change, and
//! observers, which are the same for a transaction or a database (docs/src/hooks.md).
//!
//! `#[permazen::hooks]` writes declarations (`declare.rs`) in a block (`block.rs`). They are bound
//! to the recorded schemas with the models (`compile.rs`). A listener of the object layer calls
//! them (`call.rs`) with the data of the event (`told.rs`). `watched.rs` says which fields report
//! their changes to hooks, and `change.rs` has the types in which hooks get the changes. The types
//! that can have hooks are in `subject.rs`, as models in `among.rs`. Hooks of objects to which a
//! path leads are in `along.rs`, the path in `route.rs`. Hooks that check objects are called by the
//! rules (`checker.rs`, `validate.rs`). Observers take the same way as hooks (`observe.rs`).

mod after;
pub(crate) mod along;
pub(crate) mod among;
pub(crate) mod block;
mod call;
mod call_trace;
pub(crate) mod change;
mod checker;
mod committed;
mod compile;
pub(crate) mod declare;
mod former;
pub(crate) mod observe;
pub(crate) mod route;
pub(crate) mod subject;
pub(crate) mod told;
mod validate;
pub(crate) mod watched;

pub use along::LeadsTo;
pub(super) use call::call;
pub use call_trace::HookCall;
pub(super) use call_trace::failed;
pub use change::{
    Change, Changed, ListChange, ListChanged, MapChange, MapChanged, SetChange, SetChanged,
};
pub(super) use checker::Checker;
pub use committed::Committed;
pub(super) use compile::compile;
pub(super) use observe::Observers;
pub use observe::{
    Along, AnyChange, Creation, Deletion, Observed, ObserverId, along, changes, creations,
    deletions,
};
pub use subject::Subject;
pub(super) use validate::Judgement;
pub use watched::Watched;
