//! Sorted sets of object IDs, and their union, intersection and difference.
//!
//! A set reads IDs from keys of objects or index entries. Any number of sets, nested to any depth,
//! are merged without recursion. Other folders of `object` make sets with the functions exported
//! here.

mod merge;
mod node;
mod objects;
mod plain;
mod set;
mod stream;

pub use set::{IdSet, Ids};
pub(in crate::object) use set::{
    any_id, ids_between, ids_of_other_types, ids_of_types, ids_within,
};
