//! A proxy before a member of a cluster that counts, loses and delays requests.
#![allow(dead_code, clippy::unwrap_used)]

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// With this and [`ELECTION`], a leader that a busy machine keeps from its work is not replaced.
pub(crate) const HEARTBEAT: &str = "--heartbeat-interval=200";
/// The limit that goes with [`HEARTBEAT`].
pub(crate) const ELECTION: &str = "--election-timeout=2000";

/// The fault of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It does not arrive, and the connection is cut.
    Lost,
    /// It is carried out, and the connection is cut before the answer.
    NoAnswer,
    /// The connection is cut, and the request arrives when the fault is over.
    Late,
    /// It does not arrive, and the connection is cut when the fault is over.
    StallThere,
    /// It is carried out, and the connection is cut when the fault is over.
    StallBack,
}

#[derive(Debug, Default)]
struct Plan {
    fault: Option<(usize, Fault)>,
    /// The fault that comes at the request after that one.
    then: Option<Fault>,
    /// Whether the fault has come, and is not over.
    is_on: bool,
    /// Whether the action that goes with the fault was carried out.
    has_acted: bool,
    requests: Vec<String>,
    /// How much later each answer comes.
    delay: Duration,
    /// The answers to requests that were late.
    late: Vec<String>,
    late_under_way: usize,
}

#[derive(Debug, Default)]
struct Shared {
    plan: Mutex<Plan>,
    changed: Condvar,
}

/// A port that leads to a member.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

impl Proxy {
    /// A proxy before the server at a port of the loopback device. Its threads end with the
    /// process.
    pub(crate) fn new(server: u16) -> Proxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let plan = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let plan = Arc::clone(&plan);
                thread::spawn(move || {
                    let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { return };
                    let _ = (client.set_nodelay(true), server.set_nodelay(true));
                    let _ = carry(&client, &server, &plan);
                    let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
                });
            }
        });
        Proxy { port, shared }
    }

    /// The same URL through the proxy.
    pub(crate) fn url(&self, url: &str, server: u16) -> String {
        url.replace(&format!(":{server}"), &format!(":{}", self.port))
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// From now on each answer comes later by `delay`.
    pub(crate) fn delay(&self, delay: Duration) {
        self.shared.plan.lock().unwrap().delay = delay;
    }

    /// The fault comes after `requests` more requests, at the next one.
    pub(crate) fn fail(&self, requests: usize, fault: Fault) {
        self.shared.plan.lock().unwrap().fault = Some((requests, fault));
    }

    /// Two faults at two requests, one after the other.
    pub(crate) fn fail_twice(&self, first: Fault, second: Fault) {
        let mut plan = self.shared.plan.lock().unwrap();
        (plan.fault, plan.then) = (Some((0, first)), Some(second));
    }

    /// Waits until the fault has come, and the request was carried out if it is one that is.
    pub(crate) fn await_fault(&self) {
        let plan = self.shared.plan.lock().unwrap();
        drop(self.shared.changed.wait_while(plan, |plan| !plan.has_acted).unwrap());
    }

    /// Ends the fault, and waits for late requests. Returns whether the fault has come.
    pub(crate) fn end_fault(&self) -> bool {
        let mut plan = self.shared.plan.lock().unwrap();
        let has_come = plan.fault.take().is_none();
        (plan.is_on, plan.has_acted) = (false, false);
        self.shared.changed.notify_all();
        drop(self.shared.changed.wait_while(plan, |plan| plan.late_under_way > 0).unwrap());
        has_come
    }

    /// The answers to late requests since the last call.
    pub(crate) fn take_late(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.plan.lock().unwrap().late)
    }

    /// How many requests have come since the last call.
    pub(crate) fn take_requests(&self) -> usize {
        std::mem::take(&mut self.shared.plan.lock().unwrap().requests).len()
    }
}

/// Carries requests and answers in turn until the connection ends.
fn carry(mut client: &TcpStream, mut server: &TcpStream, shared: &Shared) -> io::Result<()> {
    let (mut input, mut back) = (Vec::new(), Vec::new());
    loop {
        let request = message(client, &mut input)?;
        let head = String::from_utf8_lossy(&request).lines().next().unwrap_or_default().to_owned();
        if head.contains("/v3/watch") {
            server.write_all(&request)?;
            return io::copy(&mut server, &mut client).map(drop);
        }
        let mut plan = shared.plan.lock().unwrap();
        plan.requests.push(head);
        let fault = match &mut plan.fault {
            Some((0, fault)) => Some(*fault),
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        };
        if fault.is_some() {
            plan.fault = plan.then.take().map(|fault| (0, fault));
            plan.is_on = true;
            plan.has_acted = fault != Some(Fault::StallBack);
            plan.late_under_way += usize::from(fault == Some(Fault::Late));
            shared.changed.notify_all();
        }
        let delay = plan.delay;
        drop(plan);
        let until_over = || {
            let plan = shared.plan.lock().unwrap();
            drop(shared.changed.wait_while(plan, |plan| plan.is_on).unwrap());
        };
        match fault {
            None => {
                server.write_all(&request)?;
                let answer = message(server, &mut back)?;
                thread::sleep(delay);
                client.write_all(&answer)?;
            }
            Some(Fault::Lost) => return Ok(()),
            Some(Fault::StallThere) => {
                until_over();
                return Ok(());
            }
            Some(fault @ (Fault::NoAnswer | Fault::StallBack)) => {
                server.write_all(&request)?;
                message(server, &mut back)?;
                if fault == Fault::StallBack {
                    let mut plan = shared.plan.lock().unwrap();
                    plan.has_acted = plan.is_on;
                    shared.changed.notify_all();
                    drop(plan);
                    until_over();
                }
                return Ok(());
            }
            Some(Fault::Late) => {
                client.shutdown(Shutdown::Both)?;
                until_over();
                server.write_all(&request)?;
                let answer = message(server, &mut back)?;
                let mut plan = shared.plan.lock().unwrap();
                plan.late.push(String::from_utf8_lossy(&answer).into_owned());
                plan.late_under_way -= 1;
                shared.changed.notify_all();
                return Ok(());
            }
        }
    }
}

/// A port at which each request gets the answer that `answer` makes of it. Its threads end with the
/// process.
pub(crate) fn member(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let mut input = Vec::new();
                while let Ok(request) = message(&client, &mut input) {
                    let text = answer(&String::from_utf8_lossy(&request));
                    if client.write_all(text.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

/// One request or answer.
fn message(mut from: &TcpStream, input: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        if let Some(len) = message_len(input) {
            return Ok(input.drain(..len).collect());
        }
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        input.extend_from_slice(&buffer[..read]);
    }
}

fn message_len(input: &[u8]) -> Option<usize> {
    let find = |from: usize, what: &[u8]| {
        input[from..].windows(what.len()).position(|window| window == what).map(|at| from + at)
    };
    let body = find(0, b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&input[..body]).to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        // An answer with an error: its last piece is empty, and fields come after it.
        let end = find(body - 2, b"\r\n0\r\n")? + 5;
        return Some(find(end - 2, b"\r\n\r\n")? + 4);
    }
    let len = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let len = body + len.unwrap_or(0);
    (input.len() >= len).then_some(len)
}
