//! What is at a remote, and what is only here.
//!
//! `status.rs` says of a piece or commit where it is, `remote.rs` attaches a page to a remote and
//! detaches it, `unsynced.rs` lists what is not there yet and notes what has arrived there. Nothing
//! here knows what a remote is: that is for the code that calls it.

pub(crate) mod remote;
pub(crate) mod status;
pub(crate) mod unsynced;
