//! A help desk as an asynchronous server: users, tickets, articles, comments and an audit trail.
//!
//! Without arguments it starts the server on a free port, plays a session with several clients
//! against it, and ends: `cargo run -p permazen-example-server`. With an address such as
//! `127.0.0.1:7000` it serves until Ctrl-C; with a directory after the address, it keeps its data
//! there.
//!
//! `models.rs` has the stored objects, with their rules and hooks. `desk.rs` has the transactions,
//! `serve.rs` the server, `session.rs` the session.
#![allow(clippy::print_stdout, reason = "a program that prints")]
#![allow(unreachable_pub, reason = "the modules are shared with tests")]

mod desk;
mod models;
mod serve;
pub mod session;

use std::env;

use permazen::kv::{KvDatabase, lmdb::LmdbStore, memory::MemoryStore};
use permazen::{ObjIdGenerator, Permazen};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// An error of any kind, which can be sent to another thread.
type Failed = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut arguments = env::args().skip(1);
    match (arguments.next(), arguments.next()) {
        (None, _) => runtime.block_on(session::play(&mut std::io::stdout())),
        (Some(address), None) => runtime.block_on(until_ctrl_c(&address, MemoryStore::new())),
        (Some(address), Some(directory)) => {
            runtime.block_on(until_ctrl_c(&address, LmdbStore::open_or_create(directory)?))
        }
    }
}

fn open(store: impl KvDatabase + 'static) -> Result<Permazen, Failed> {
    let db = Permazen::builder(store).models(models::all()).build()?;
    // The audit trail is read in the order of its object IDs.
    db.database().set_id_generator(ObjIdGenerator::ordered()?);
    Ok(db)
}

async fn until_ctrl_c(address: &str, store: impl KvDatabase + 'static) -> Result<(), Failed> {
    let db = open(store)?;
    let listener = TcpListener::bind(address).await?;
    println!("serving at {}; Ctrl-C ends", listener.local_addr()?);
    let (stop, stopped) = watch::channel(false);
    // A second Ctrl-C has nothing more to stop.
    ctrlc::set_handler(move || {
        stop.send_replace(true);
    })?;
    serve::serve(db, listener, stopped).await?;
    println!("ended");
    Ok(())
}
