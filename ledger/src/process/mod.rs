//! What a process has open of a repository.
//!
//! `clock.rs` tells the time, `lease.rs` says that the process lives, `pins.rs` protects the
//! commits that it reads, `streams.rs` has the values that it writes in parts, `open_page.rs` is a
//! page that it has open.

pub(crate) mod clock;
pub(crate) mod lease;
pub(crate) mod open_page;
pub(crate) mod pins;
pub(crate) mod streams;
