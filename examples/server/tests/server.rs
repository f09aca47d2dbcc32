//! The example `server`: the session that it plays, and that it serves until it gets the signal to
//! stop.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "tests, with the modules of the example")]
#![allow(dead_code, reason = "the example has a `main`")]

#[path = "../src/main.rs"]
mod server;

use std::io;

use tokio::net::TcpListener;
use tokio::runtime::Builder;

#[test]
fn the_session_is_as_recorded() {
    let runtime = Builder::new_current_thread().enable_io().build().unwrap();
    let bound: io::Result<TcpListener> = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
    if let Err(refused) = bound {
        println!("skipped: no port of this machine can be used: {refused}");
        return;
    }
    let mut out = Vec::new();
    runtime.block_on(server::session::play(&mut out)).unwrap();
    let out = String::from_utf8(out).unwrap();
    let recorded = include_str!("server.txt");
    assert_eq!(
        out, recorded,
        "if the new output is right, put it into examples/server/tests/server.txt:\n{out}"
    );
}
