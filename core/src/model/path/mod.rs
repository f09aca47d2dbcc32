//! Typed reference paths: steps that only compile where they lead somewhere (`typed.rs`), the fields
//! that can be steps (`step.rs`), and walking (`walk.rs`).

mod step;
mod typed;
mod walk;

pub use step::{Meets, MeetsHandle, ReferenceField};
pub(crate) use step::{TypeNames, ValuePart};
pub use typed::{Many, One, Path, Plurality};
pub(crate) use walk::referrers;
