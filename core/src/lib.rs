//! An object database over any ordered key/value store.
#![deny(missing_docs)]

pub use permazen_kv as kv;

pub mod encoding;
mod id;
pub mod layout;
pub mod object;
pub mod schema;

pub use id::{ObjId, ObjIdGenerator, StorageId};
