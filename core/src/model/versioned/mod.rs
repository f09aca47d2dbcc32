//! Values that know what was loaded, so that storing them writes only what was changed.
//!
//! [`Base`] keeps what was loaded. [`Versioned`] is a value with its base. [`ChangedSince`] says
//! which fields others have changed meanwhile.

mod base;
mod conflict;
mod value;

pub use base::Base;
pub use conflict::{ChangedField, ChangedSince};
pub use value::Versioned;
