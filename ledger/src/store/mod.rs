//! Pages as stores of the key/value layer: `linear.rs` keeps one line of commits (`exclusive.rs`: a
//! transaction that holds the write lock of the host), `branching.rs` lets a branch have several
//! heads (`turn.rs`: its transactions take turns), `connection.rs` adds watchers to it,
//! `watched_keys.rs` notifies watches of both of the writes of others, `at_commit.rs` is a
//! read-only commit.

pub(crate) mod at_commit;
pub(crate) mod branching;
pub(crate) mod connection;
mod exclusive;
pub(crate) mod linear;
mod turn;
mod watched_keys;
