//! Real servers for tests: each in a directory of its own, on the loopback device, never as root. A
//! server ends with the process that started it, in whatever way that process ends, and its
//! directory goes.
//!
//! If the programs of a server are not there, a test prints what is missing and ends; in CI it
//! fails.
#![deny(missing_docs)]
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used
)]

mod etcd;
mod failover;
mod forks;
pub mod objects;
mod peers;
mod pooler;
mod postgres;
pub mod programs;
mod proxy;

use std::net::TcpListener;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

pub use etcd::{Etcd, post_to_etcd};
pub use failover::End;
pub use pooler::{PgBouncer, Pooler};
pub use postgres::{Postgres, Psql};
pub use proxy::{Fault, Proxy, Way};

/// A test without a server prints why it does nothing. In CI it fails.
fn missing(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "in CI this must be there: {what}");
    eprintln!("skipped: {what}");
}

/// A free port of the loopback device. It is not one of the ports that the system gives to
/// connections, or to programs that ask for any port, because such a port can be taken before the
/// server has it.
fn free_port() -> u16 {
    const PORTS: Range<u32> = 10_000..32_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Other programs with the same wish begin elsewhere.
    let first = std::process::id().wrapping_mul(97);
    let mut ports = PORTS.map(|_| {
        let number = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        u16::try_from(PORTS.start + number % (PORTS.end - PORTS.start)).expect("a port")
    });
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}
