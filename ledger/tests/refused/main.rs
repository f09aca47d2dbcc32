//! What is refused at once where it could never come to its end: calls that write within a `write`
//! closure of the host on the same thread, and all that a child of a fork has from its parent.
#![allow(clippy::unwrap_used, clippy::panic)]

#[cfg(unix)]
mod forks;
mod within_write;
