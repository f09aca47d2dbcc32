//! Poolers, which give each transaction of a client any connection to a PostgreSQL server:
//! PgBouncer, and a small one of our own.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::postgres::{Postgres, other_user};
use crate::{free_port, missing};

/// Ends the program when its input ends, and removes its directory. A shell lets what it starts
/// beside itself ignore the signals of a terminal.
const SUPERVISOR: &str = r#"
"$@" >"$DIRECTORY/log" 2>&1 &
program=$!
read -r line
kill -KILL $program 2>/dev/null
wait $program
rm -rf "$DIRECTORY"
"#;

/// PgBouncer with `pool_mode = transaction` before a server. It ends when this is dropped.
#[derive(Debug)]
pub struct PgBouncer {
    port: u16,
    supervisor: Child,
}

impl PgBouncer {
    /// Starts it with `connections` connections to the server. `None` if the program is not there,
    /// which is printed.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(server: &Postgres, connections: usize) -> Option<PgBouncer> {
        let places = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(PathBuf::from);
        let Some(program) = places.into_iter().find(|place| place.exists()) else {
            missing("pgbouncer (pgbouncer of Debian)");
            return None;
        };
        let directory = tempfile::Builder::new().prefix("permazen-pgbouncer-").tempdir();
        let (directory, port) = (directory.expect("a directory").keep(), free_port());
        let settings = format!(
            "[databases]\ntest = host=127.0.0.1 port={} dbname=test user=test\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = transaction\ndefault_pool_size = {connections}\n\
             server_round_robin = 1\n",
            server.port()
        );
        let file = directory.join("pgbouncer.ini");
        fs::write(&file, settings).expect("the settings are written");
        let mut supervisor = Command::new("/bin/sh");
        supervisor.args(["-c", SUPERVISOR, "sh"]).arg(program).arg(&file);
        supervisor.env("DIRECTORY", &directory).stdin(Stdio::piped()).current_dir(&directory);
        if let Some((user, group)) = other_user() {
            for path in [&directory, &file] {
                std::os::unix::fs::chown(path, Some(user), Some(group)).expect("root may do that");
            }
            supervisor.uid(user).gid(group);
        }
        let supervisor = supervisor.spawn().expect("a shell");
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = fs::read_to_string(directory.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(60), "PgBouncer does not start: {log}");
            thread::sleep(Duration::from_millis(20));
        }
        Some(PgBouncer { port, supervisor })
    }

    /// The URL of the same table through it. `url` names this port of the server.
    pub fn url(&self, url: &str, server: u16) -> String {
        through(url, server, self.port)
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        // The end of its input ends it.
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

fn through(url: &str, server: u16, port: u16) -> String {
    url.replace(&format!(":{server}/"), &format!(":{port}/"))
}

/// Passes each transaction of a client on to some connection to the server, without reading its
/// statements: the least that a pooler of transactions does.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    links: Arc<Links>,
}

impl Pooler {
    /// A pooler with `connections` connections to the server at a port of the loopback device,
    /// which take turns. Its threads end with the process.
    ///
    /// # Panics
    /// If the server does not take the user `test`.
    pub fn new(server: u16, connections: usize) -> Pooler {
        Self::with_turns(server, connections, true)
    }

    /// The same, but each client keeps its connection until [`exchange`](Self::exchange) gives it
    /// the next one.
    ///
    /// # Panics
    /// If the server does not take the user `test`.
    pub fn exchanging(server: u16, connections: usize) -> Pooler {
        Self::with_turns(server, connections, false)
    }

    fn with_turns(server: u16, connections: usize, takes_turns: bool) -> Pooler {
        let port = free_port();
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
        let mut greeting = Vec::new();
        let idle = (0..connections).map(|_| {
            let (link, said) = Link::open(server).expect("the server takes the user");
            greeting = said;
            Some(link)
        });
        let idle = Mutex::new(idle.collect());
        let (freed, turn) = (Condvar::new(), AtomicUsize::new(0));
        let links = Arc::new(Links { idle, freed, turn, takes_turns });
        let shared = Arc::clone(&links);
        thread::spawn(move || {
            for (number, client) in listener.incoming().flatten().enumerate() {
                let (links, greeting) = (Arc::clone(&shared), greeting.clone());
                let _ = client.set_nodelay(true);
                thread::spawn(move || serve(client, number, &links, server, &greeting));
            }
        });
        Pooler { port, links }
    }

    /// From its next transaction on, each client has the connection of the next one.
    pub fn exchange(&self) {
        self.links.turn.fetch_add(1, Ordering::Relaxed);
    }

    /// The URL of the same table through it. `url` names this port of the server.
    pub fn url(&self, url: &str, server: u16) -> String {
        through(url, server, self.port)
    }
}

/// The connections to the server.
#[derive(Debug)]
struct Links {
    /// The connections that no transaction uses.
    idle: Mutex<Vec<Option<Link>>>,
    freed: Condvar,
    turn: AtomicUsize,
    takes_turns: bool,
}

impl Links {
    /// A connection for the transaction of this client, and its place.
    fn take(&self, client: usize) -> (usize, Link) {
        let first = match self.takes_turns {
            true => self.turn.fetch_add(1, Ordering::Relaxed),
            false => client + self.turn.load(Ordering::Relaxed),
        };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let choice = if self.takes_turns { idle.len() } else { 1 };
            let len = idle.len();
            for at in (0..choice).map(|at| (first + at) % len) {
                if let Some(link) = idle.get_mut(at).and_then(Option::take) {
                    return (at, link);
                }
            }
            idle = self.freed.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, at: usize, link: Link) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = idle.get_mut(at) {
            *place = Some(link);
        }
        self.freed.notify_all();
    }
}

/// A connection, and what was read of it.
#[derive(Debug)]
struct Link {
    socket: TcpStream,
    input: Vec<u8>,
}

impl Link {
    /// Logs the user `test` in. Also returns what the server says then.
    fn open(server: u16) -> io::Result<(Link, Vec<u8>)> {
        let socket = TcpStream::connect(("127.0.0.1", server))?;
        socket.set_nodelay(true)?;
        let mut link = Link { socket, input: Vec::new() };
        let hello = b"\0\x03\0\0user\0test\0database\0test\0client_encoding\0UTF8\0\0";
        let len = u32::try_from(4 + hello.len()).expect("a short message");
        link.socket.write_all(&[&len.to_be_bytes()[..], hello].concat())?;
        let said = link.up_to(b'Z')?;
        Ok((link, said))
    }

    /// The next message; the first one of a client has no letter.
    fn message(&mut self, has_letter: bool) -> io::Result<Vec<u8>> {
        let letter = usize::from(has_letter);
        loop {
            if let Some(len) = self.input.get(letter..letter + 4) {
                let len = u32::from_be_bytes(len.try_into().expect("four bytes")) as usize;
                if self.input.len() >= letter + len {
                    return Ok(self.input.drain(..letter + len).collect());
                }
            }
            let mut buffer = [0; 1 << 14];
            match self.socket.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => self.input.extend_from_slice(&buffer[..read]),
            }
        }
    }

    /// All messages up to the next one with this letter.
    fn up_to(&mut self, letter: u8) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let message = self.message(true)?;
            let first = message.first().copied();
            all.extend_from_slice(&message);
            match first {
                Some(first) if first == letter => return Ok(all),
                Some(b'X') => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => {}
            }
        }
    }
}

/// Serves a client to its end.
fn serve(socket: TcpStream, number: usize, links: &Links, server: u16, greeting: &[u8]) {
    let mut client = Link { socket, input: Vec::new() };
    let mut used = None;
    let _ = talk(&mut client, number, &mut used, links, greeting);
    // A transaction that is open ends with its connection.
    if let Some((at, link)) = used {
        drop(link);
        if let Ok((link, _)) = Link::open(server) {
            links.give_back(at, link);
        }
    }
}

fn talk(
    client: &mut Link,
    number: usize,
    used: &mut Option<(usize, Link)>,
    links: &Links,
    greeting: &[u8],
) -> io::Result<()> {
    client.message(false)?;
    client.socket.write_all(greeting)?;
    loop {
        let batch = client.up_to(b'S')?;
        let (_, link) = used.get_or_insert_with(|| links.take(number));
        link.socket.write_all(&batch)?;
        let answers = link.up_to(b'Z')?;
        client.socket.write_all(&answers)?;
        if answers.last() == Some(&b'I')
            && let Some((at, link)) = used.take()
        {
            links.give_back(at, link);
        }
    }
}
