//! Mix-ins, whose fields several models share, and kinds, which are sets of models.
//!
//! A mix-in is a struct whose fields become fields of each model that flattens it (`mixin`). A kind
//! is an enum with a variant for each of its models (`member`); the types that can be given where a
//! kind is wanted are in `within`. A handle of an object that has a mix-in, whatever its model is,
//! is in `with`. Field constants of mix-ins and kinds name fields of several models at once
//! (`source`, `places`).

mod constant;
mod member;
mod mixin;
mod places;
mod source;
mod with;
mod within;

pub use constant::{distinct, joined};
pub use member::{Kind, KindMember};
pub use mixin::{Block, Constants, Included, Inside, Mixin, MixinOffset, Next, start_of};
pub use places::{Places, Slot};
pub use source::Source;
pub use with::{With, object_with};
pub use within::{Becomes, Within};
