//! Runs the examples in the documentation of the derive macros. They are not in `permazen-derive`,
//! which would need `permazen` for them. Cargo would then build `permazen` twice, since it builds
//! what the tests of a macro crate need as it builds macros.
#![cfg(doctest)]

#[doc = include_str!("../../derive/docs/object.md")]
mod object {}
#[doc = include_str!("../../derive/docs/enum.md")]
mod enums {}
#[doc = include_str!("../../derive/docs/fields.md")]
mod fields {}
#[doc = include_str!("../../derive/docs/kind.md")]
mod kind {}
#[doc = include_str!("../../derive/docs/hooks.md")]
mod hooks {}
