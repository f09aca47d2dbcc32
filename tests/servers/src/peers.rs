//! The lines between the members of an etcd cluster, of which all that lead to one can be cut.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// No request of a member to another one has a longer head.
const LONGEST_HEAD: usize = 1 << 14;

/// Ports between the members.
#[derive(Debug)]
pub(crate) struct Lines {
    ports: Vec<u16>,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Debug, Default)]
struct Plan {
    /// The member that is cut off: its number, and what it calls itself.
    cut: Option<(usize, String)>,
    lines: Vec<Arc<Line>>,
}

/// A connection to a member.
#[derive(Debug)]
struct Line {
    to: usize,
    /// The name of the member that has made it. Only connections that no leader uses do not say it.
    from: Option<String>,
    ends: [TcpStream; 2],
}

impl Plan {
    fn cuts(&self, line: &Line) -> bool {
        self.cut.as_ref().is_some_and(|(number, name)| {
            line.to == *number || line.from.as_ref().is_some_and(|from| from == name)
        })
    }
}

fn lock(plan: &Mutex<Plan>) -> MutexGuard<'_, Plan> {
    plan.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lines {
    /// Lines to the members that listen at these ports of the loopback device. Their threads end
    /// with the process.
    pub(crate) fn new(members: &[u16]) -> Lines {
        let plan = Arc::new(Mutex::new(Plan::default()));
        let line = |(to, member): (usize, &u16)| {
            let (listener, member) = (TcpListener::bind(("127.0.0.1", 0)).unwrap(), *member);
            let port = listener.local_addr().unwrap().port();
            let plan = Arc::clone(&plan);
            thread::spawn(move || {
                for client in listener.incoming().flatten() {
                    let plan = Arc::clone(&plan);
                    thread::spawn(move || carry(client, to, member, &plan));
                }
            });
            port
        };
        let ports = members.iter().enumerate().map(line).collect();
        Lines { ports, plan }
    }

    /// Where the others reach a member.
    pub(crate) fn port(&self, member: usize) -> u16 {
        self.ports[member]
    }

    /// Messages to a member and from it get lost. Neither end gets an error.
    pub(crate) fn cut(&self, member: usize, name: String) {
        lock(&self.plan).cut = Some((member, name));
    }

    /// Messages to each member arrive again. Connections on which something was lost are closed.
    pub(crate) fn join(&self) {
        let mut plan = lock(&self.plan);
        for line in plan.lines.iter().filter(|line| plan.cuts(line)) {
            line.close();
        }
        plan.cut = None;
    }
}

impl Line {
    fn close(&self) {
        self.ends.iter().for_each(|end| drop(end.shutdown(Shutdown::Both)));
    }
}

/// Carries the bytes of a connection to a member, and back.
fn carry(client: TcpStream, to: usize, member: u16, plan: &Mutex<Plan>) -> io::Result<()> {
    let head = head(&client)?;
    let mut fields = std::str::from_utf8(&head).unwrap_or_default().lines();
    let from = fields.find_map(|field| {
        let (name, value) = field.split_once(':')?;
        name.eq_ignore_ascii_case("x-server-from").then(|| value.trim().to_owned())
    });
    let server = TcpStream::connect(("127.0.0.1", member))?;
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let line = Arc::new(Line { to, from, ends: [client, server] });
    lock(plan).lines.push(Arc::clone(&line));
    let [client, server] = &line.ends;
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = copy(server, client, &[], &line, plan);
            line.close();
        });
        let _ = copy(client, server, &head, &line, plan);
        line.close();
    });
    lock(plan).lines.retain(|other| !Arc::ptr_eq(other, &line));
    Ok(())
}

/// The head of the first request, and the bytes that came with it.
fn head(mut client: &TcpStream) -> io::Result<Vec<u8>> {
    let (mut head, mut buffer) = (Vec::new(), [0; 1 << 12]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = client.read(&mut buffer)?;
        if read == 0 || head.len() > LONGEST_HEAD {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&buffer[..read]);
    }
    Ok(head)
}

/// Carries one way until the connection ends. Bytes that come while it is cut are lost.
fn copy(
    mut from: &TcpStream,
    mut to: &TcpStream,
    first: &[u8],
    line: &Line,
    plan: &Mutex<Plan>,
) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let is_cut = || lock(plan).cuts(line);
    if !is_cut() {
        to.write_all(first)?;
    }
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        if !is_cut() {
            to.write_all(&buffer[..read])?;
        }
    }
}
