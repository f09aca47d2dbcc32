//! The state of a process that has a repository open.
//!
//! `clock.rs` has the clock, `lease.rs` the lease that shows that the process lives, `pins.rs` the
//! pins of the commits that it reads, `streams.rs` the values that it writes in parts,
//! `open_page.rs` a page that it has open.

pub(crate) mod clock;
pub(crate) mod lease;
pub(crate) mod open_page;
pub(crate) mod pins;
pub(crate) mod streams;
#[cfg(test)]
pub(crate) mod test_clock;
