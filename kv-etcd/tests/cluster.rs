//! A store on etcd clusters: that it behaves as any other store, its own behaviour, what goes wrong
//! between it and its cluster, and programs as processes of their own.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

#[path = "../../kv/tests/support/conflict.rs"]
mod conflict;
mod failures;
mod processes;
mod stores;
mod suite;
mod support;
#[path = "../../kv/tests/support/told.rs"]
mod told;

/// The entry of the processes. Alone, this tests nothing.
#[test]
fn program() {
    processes::play_if_asked();
}
