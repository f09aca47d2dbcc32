//! What stands before any store and changes what is seen of it: the keys of one prefix, reads only, and for
//! tests counts and failures. Each is a public module of the crate. `observed.rs` is what the last two are
//! made of, and is theirs alone.

pub mod counting;
pub mod fault;
mod observed;
pub mod prefix;
pub mod read_only;
