//! References between objects: which ones are allowed, which objects refer to an object, paths, and
//! deletion.
//!
//! Deletion is here because its cost and its effects depend on what refers to the object.

mod being_deleted;
mod cascade;
mod check;
mod delete;
mod follow;
mod in_maps;
mod incoming;
mod missing;
mod null_keys;
mod nullify;
mod path;
mod referrers;
mod remove;
mod types;
mod unreference;

pub(in crate::object) use being_deleted::BeingDeleted;
pub use cascade::DeletionStep;
pub(in crate::object) use check::{NULL, check_reference_type, field_or_part, target_of};
pub(in crate::object) use incoming::IncomingCache;
pub use missing::MissingTargets;
pub(in crate::object) use missing::NotedMissing;
pub use path::{IdFilter, PathStep};
