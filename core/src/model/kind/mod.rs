//! What several models have in common: mix-ins with fields that they share, and kinds, which are sets
//! of models.
//!
//! A mix-in is a struct whose fields become fields of each model that flattens it (`mixin`). A kind
//! is an enum with a variant for each of its models (`member`). A handle of an object that has a mix-in,
//! whatever its model is, is in `with`. Field constants of mix-ins and kinds
//! name fields of several models at once (`source`).

mod member;
mod mixin;
mod source;
mod with;

pub use member::{Becomes, Kind, KindMember, Within, distinct, joined};
pub use mixin::{Block, Constants, Included, Inside, Mixin, Next, Place};
pub use source::{Places, Slot, Source};
pub use with::With;
