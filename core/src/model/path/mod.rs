//! Typed reference paths: steps that only compile where they lead somewhere (`typed.rs`), the
//! fields that can be steps (`step.rs`), to how many objects a path leads (`plurality.rs`), and
//! paths from objects (`from_objects.rs`).
//!
//! Below these, without types: what a path is (`way.rs`), the values of its fields (`parts.rs`),
//! and walking (`walk.rs`).

mod from_objects;
mod parts;
mod plurality;
mod step;
mod typed;
mod walk;
mod way;

pub(crate) use parts::ValuePart;
pub use plurality::{Many, One, Plurality};
pub use step::{Meets, MeetsHandle, ReferenceField};
pub use typed::Path;
pub(crate) use way::{TypeNames, Way};
