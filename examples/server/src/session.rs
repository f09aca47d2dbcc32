//! A session with the server: several clients, their requests and the answers.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;

use permazen::kv::{memory::MemoryStore, optimistic::OptimisticDatabase};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Failed, open, serve};

/// The requests of each client; other lines say what happens.
const SCRIPT: &str = include_str!("session.txt");

struct Client {
    stream: BufReader<TcpStream>,
    /// The version that it has read last.
    version: Value,
}

impl Client {
    async fn connect(server: SocketAddr) -> Result<Client, Failed> {
        let stream = BufReader::new(TcpStream::connect(server).await?);
        Ok(Client { stream, version: Value::Null })
    }

    /// Asks and waits for the answer.
    async fn ask(&mut self, request: &str) -> Result<Value, Failed> {
        let request = request.replace("\"as read\"", &self.version.to_string());
        self.stream.write_all(format!("{request}\n").as_bytes()).await?;
        let mut line = String::new();
        self.stream.read_line(&mut line).await?;
        let mut answer: Value = serde_json::from_str(&line)?;
        if let Some(version) = answer.get_mut("version") {
            self.version = version.take();
            // They differ each time the session is played.
            (answer["version"], answer["updated_at"]) = (json!("…"), json!("…"));
        }
        Ok(answer)
    }
}

/// Starts a server, plays the session and ends the server.
pub async fn play(out: &mut dyn Write) -> Result<(), Failed> {
    // Transactions run side by side, and those that contradict each other run again.
    let db = open(OptimisticDatabase::new(MemoryStore::new()))?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = watch::channel(false);
    let server = tokio::spawn(serve::serve(db, listener, stopped));
    let mut clients = BTreeMap::new();
    for name in ["Ann", "Bob"] {
        clients.insert(name, Client::connect(address).await?);
    }
    for line in SCRIPT.lines() {
        writeln!(out, "{line}")?;
        let Some((name, request)) = line.split_once(' ') else { continue };
        if name == "all" {
            vote(address, request).await?;
        } else if let Some(client) = clients.get_mut(name).filter(|_| request.starts_with('{')) {
            writeln!(out, "  → {}", client.ask(request).await?)?;
        }
    }
    stop.send(true)?;
    server.await??;
    writeln!(out, "\nThe server has ended.")?;
    Ok(())
}

/// Four clients ask the same five times, at the same time.
async fn vote(server: SocketAddr, request: &'static str) -> Result<(), Failed> {
    let mut voters = JoinSet::new();
    for _ in 0..4 {
        voters.spawn(async move {
            let mut voter = Client::connect(server).await?;
            for _ in 0..5 {
                voter.ask(request).await?;
            }
            Ok::<(), Failed>(())
        });
    }
    while let Some(voted) = voters.join_next().await {
        voted??;
    }
    Ok(())
}
