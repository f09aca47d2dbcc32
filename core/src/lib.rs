//! An object database over any ordered key/value store.
#![deny(missing_docs)]

// What derived code names, works inside this crate too.
extern crate self as permazen;

pub use permazen_kv as kv;

pub mod encoding;
mod id;
pub mod layout;
pub mod model;
pub mod object;
pub mod schema;

pub use id::{ObjId, ObjIdGenerator, StorageId};
pub use model::{
    Any, AnyObj, Counter, Error, Failure, Model, Obj, Permazen, Ref, Result, Transaction, Tx,
    is_retryable,
};
#[cfg(feature = "derive")]
pub use permazen_derive::{PermazenEnum, PermazenObject};

/// The examples of the README are tested with those of the documentation.
#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../../README.md")]
struct Readme;
