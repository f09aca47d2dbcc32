//! Whole objects: created, loaded, replaced, copied, and moved to another schema.
//!
//! `ObjectData` is the content of one object outside of the store. It is read in one scan,
//! compared, and written in key order.

mod builder;
mod converter;
mod copy;
mod create;
mod create_many;
mod data;
mod entries;
mod generate_id;
mod load;
mod migrate;
mod migrate_many;
mod replace;
mod stored_counter;
mod translate;

pub use builder::ObjectBuilder;
pub(crate) use converter::{Converter, Counters, Given, Moving};
pub use copy::CopyOptions;
pub(in crate::object) use data::KeyList;
pub use data::{FieldValue, ObjectData};
pub(in crate::object) use entries::LateEntries;
pub(crate) use migrate::Narrowing;
pub(crate) use migrate_many::Moves;
pub use translate::IdMap;
