//! An object database over any ordered key/value store.
#![deny(missing_docs)]

pub use permazen_kv as kv;

pub mod encoding;
pub mod object;
pub mod schema;
