//! Live views of the collections of an object, with typed values.
//!
//! Each view is one of the object layer, with the object and the field to which it belongs. It
//! encodes and decodes values, and moves the object to the schema of the models where it must.

mod field;
mod list;
mod map;
mod set;

pub use list::ListOf;
pub use map::MapOf;
pub use set::SetOf;
