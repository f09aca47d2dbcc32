//! Tracks what is at a remote, and what is only stored here.
//!
//! `status.rs` has the status of a piece or commit, `remote.rs` attaches a page to a remote and
//! detaches it, `unsynced.rs` lists what is not at the remote yet and marks what was uploaded.
//! Nothing here knows what a remote is: the caller does.

pub(crate) mod remote;
pub(crate) mod status;
pub(crate) mod unsynced;
