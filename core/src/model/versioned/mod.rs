//! Values that remember the loaded content, so that storing them writes only the changes.
//!
//! [`Base`] keeps the loaded content. [`Versioned`] is a value with its base. [`ChangedSince`] says
//! which fields others have changed meanwhile.

mod base;
mod conflict;
mod value;

pub use base::Base;
pub use conflict::{ChangedField, ChangedSince};
pub use value::Versioned;
