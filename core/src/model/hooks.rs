//! What the compiler checks of the functions in a block with `#[permazen::hooks]`. Messages name these
//! traits; programs need not.

pub use super::hook::along::{BeginsAt, EndsAt, Includes, IsAtEndOf, LeadsTo, TellsAllChangesAs};
pub use super::hook::change::{FromChange, IsAnyChangeOf, IsChangeOf};
pub use super::hook::declare::{HasHooks, Hooks, HooksOfModel};
pub use super::hook::observe::{Checked, Watched};
pub use super::hook::subject::Subject;
pub use super::hook::told::Returned;
