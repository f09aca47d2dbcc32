//! The changes that the pending writes of a transaction make, by object and field.
//!
//! `change.rs` says what a change is. `both.rs` has the pairs before and after, `object.rs`
//! compares one object, and `walk.rs` finds the objects that writes touch. `pending.rs` does so for
//! a transaction.

mod both;
mod change;
mod object;
mod pending;
mod walk;

pub use change::{NetChange, NetContent, NetField, NetMapEntry, NetObject, NetPair};
pub use walk::NetChanges;
