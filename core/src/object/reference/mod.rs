//! References between objects: which may be set, who refers to whom, paths, and deletion.
//!
//! Deletion lives here because what it costs and does is decided by who refers to the object.

mod check;
mod delete;
mod deletions;
mod follow;
mod incoming;
mod missing;
mod path;
mod unreference;

pub(in crate::object) use check::{NULL, target_of};
pub(in crate::object) use deletions::Deletions;
pub(in crate::object) use incoming::IncomingCache;
pub use missing::MissingTargets;
pub(in crate::object) use missing::NotedMissing;
pub use path::{IdFilter, PathStep};
