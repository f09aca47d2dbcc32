//! Wrappers around any store, which change the view of it: the keys of one prefix, reads only, and,
//! for tests, counts and failures. Each is a public module of the crate. `observed.rs` is the base
//! of the last two, and is for them alone.

pub mod counting;
pub mod fault;
mod observed;
pub mod prefix;
pub mod read_only;
