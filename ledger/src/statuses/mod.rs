//! Tracks which commits and pieces are at a remote, and which are only stored here.
//!
//! `status.rs` has the status of a piece or commit, `remote.rs` attaches a page to a remote and
//! detaches it, `unsynced.rs` lists the commits and pieces that are not at the remote yet, and
//! marks those that were uploaded. Nothing here knows what a remote is: the caller does.

pub(crate) mod remote;
pub(crate) mod status;
pub(crate) mod unsynced;
