//! Real servers for tests: each in a directory of its own, on the loopback device, never as root. A server ends
//! with the process that started it, however that ends.
//!
//! If the programs of a server are not there, a test prints what is missing and ends; in CI it fails.
#![deny(missing_docs)]
#![allow(clippy::print_stderr, clippy::panic, clippy::unwrap_used, clippy::expect_used)]

mod etcd;
mod failover;
pub mod objects;
mod postgres;
mod proxy;

use std::net::TcpListener;

pub use etcd::Etcd;
pub use failover::End;
pub use postgres::{Postgres, Psql};
pub use proxy::{Fault, Proxy, Way};

/// What a test does without a server: prints why it does nothing. In CI it fails.
fn missing(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "in CI this must be there: {what}");
    eprintln!("skipped: {what}");
}

/// A port of the loopback device that nobody uses.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its number").port()
}
