//! A proxy before a PostgreSQL server that loses and delays messages.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::free_port;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    There,
    /// From the server to the client.
    Back,
}

/// The fate of the connection at a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is cut, and the message is lost.
    Lose,
    /// The message arrives, and nothing after it.
    CutAfter,
    /// The message is lost, and the connection stays.
    Omit,
    /// Another message comes in its place, which is not expected there, and the connection stays.
    Replace,
    /// An error of the server comes before the message, and the connection stays.
    Refuse,
    /// The message and all after it stay on their way, and the connection is not cut.
    Stall,
}

impl Fault {
    /// The distance between the messages that faults befall: 1 if `PERMAZEN_FAULTS` is `full`, else
    /// `usual`.
    pub fn distance(usual: usize) -> usize {
        let is_full = std::env::var("PERMAZEN_FAULTS").is_ok_and(|faults| faults == "full");
        if is_full { 1 } else { usual }
    }

    /// The numbers of these messages, one in each run, without an end. Rows of runs begin at
    /// different ones.
    pub fn messages(row: usize, distance: usize) -> impl Iterator<Item = usize> {
        (row % distance..).step_by(distance)
    }
}

#[derive(Debug, Default)]
struct Plan {
    /// The faults, each with its way and the number of the message at which it comes. The first is
    /// counted from now on, each other one from the one before.
    faults: VecDeque<(Way, usize, Fault)>,
    delay: Duration,
    /// A parameter that the server does not have, as a message to each client that logs in.
    announced: Vec<u8>,
    /// How many requests have gone to the server.
    requests: u64,
    /// Connections in which something has stalled, which must stay open.
    stalled: Vec<TcpStream>,
}

/// A port that leads to a server.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    plan: Arc<Mutex<Plan>>,
}

impl Proxy {
    /// A proxy before the server at a port of the loopback device. Its threads end with the
    /// process.
    pub fn new(server: u16) -> Proxy {
        let port = free_port();
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
        let plan = Arc::new(Mutex::new(Plan::default()));
        let shared = Arc::clone(&plan);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A server that does not answer is as good as a connection that is cut.
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                for (way, from, to) in
                    [(Way::There, &client, &server), (Way::Back, &server, &client)]
                {
                    let ends = (from.try_clone(), to.try_clone());
                    let (Ok(from), Ok(to)) = ends else { continue };
                    let plan = Arc::clone(&shared);
                    thread::spawn(move || {
                        let _ = carry(way, &from, &to, &plan);
                        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                    });
                }
            }
        });
        Proxy { port, plan }
    }

    /// The port at which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of the same table through the proxy. `url` names this port of the server.
    pub fn url(&self, url: &str, server: u16) -> String {
        url.replace(&format!(":{server}/"), &format!(":{}/", self.port))
    }

    /// The fault comes after `messages` more messages that go this way, at the next one.
    pub fn fail(&self, way: Way, messages: usize, fault: Fault) {
        self.fail_in_turn([(way, messages, fault)]);
    }

    /// The same for several faults. Each is counted from the one before, whatever the connection.
    pub fn fail_in_turn(&self, faults: impl IntoIterator<Item = (Way, usize, Fault)>) {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).faults =
            faults.into_iter().collect();
    }

    /// Whether all faults have come. None comes any more, and stalled connections are cut.
    pub fn end_fault(&self) -> bool {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        for stalled in plan.stalled.drain(..) {
            let _ = stalled.shutdown(Shutdown::Both);
        }
        std::mem::take(&mut plan.faults).is_empty()
    }

    /// The server seems to announce this parameter when a client logs in, after its own.
    pub fn announce(&self, name: &str, value: &str) {
        let body = [name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat();
        let len = u32::try_from(4 + body.len()).expect("a short parameter");
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).announced =
            [b"S", &len.to_be_bytes()[..], &body].concat();
    }

    /// How many batches of statements clients have sent since the last call.
    pub fn take_requests(&self) -> u64 {
        std::mem::take(&mut self.plan.lock().unwrap_or_else(PoisonError::into_inner).requests)
    }

    /// Each message takes longer by `delay`, each way.
    pub fn set_delay(&self, delay: Duration) {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).delay = delay;
    }
}

/// That no rows come, which a server only says when it is asked.
const UNEXPECTED: &[u8] = &[b'n', 0, 0, 0, 4];

/// An error after which a transaction can run again.
const REFUSED: &[u8] = b"E\0\0\0\x22SERROR\0C53200\0Mout of memory\0\0";

/// Carries messages one way until the connection ends.
fn carry(way: Way, mut from: &TcpStream, to: &TcpStream, plan: &Mutex<Plan>) -> io::Result<()> {
    let mut line = Line { to, late: None };
    let (mut input, mut is_first) = (Vec::new(), way == Way::There);
    let mut buffer = vec![0; 1 << 16];
    let mut is_logged_in = false;
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        input.extend_from_slice(&buffer[..read]);
        let (mut output, mut delay) = (Vec::new(), Duration::ZERO);
        // The first message of a client has no letter before its length.
        while let Some(len) = message_len(&input, is_first) {
            is_first = false;
            let message: Vec<u8> = input.drain(..len).collect();
            let mut plan = plan.lock().unwrap_or_else(PoisonError::into_inner);
            // The message `Sync` ends a batch.
            plan.requests += u64::from(way == Way::There && message == [b'S', 0, 0, 0, 4]);
            delay = plan.delay;
            let fault = match plan.faults.front_mut() {
                Some((on, 0, fault)) if *on == way => Some(*fault),
                Some((on, left, _)) if *on == way => {
                    *left -= 1;
                    None
                }
                _ => None,
            };
            if fault.is_some() {
                plan.faults.pop_front();
            }
            match fault {
                Some(Fault::Omit) => continue,
                Some(Fault::Replace) => {
                    output.extend_from_slice(UNEXPECTED);
                    continue;
                }
                Some(Fault::Refuse) => {
                    output.extend_from_slice(REFUSED);
                    output.extend_from_slice(&message);
                    continue;
                }
                _ => {}
            }
            if let Some(fault) = fault {
                if fault == Fault::Stall {
                    plan.stalled.extend(from.try_clone());
                }
                drop(plan);
                if fault == Fault::CutAfter {
                    output.extend_from_slice(&message);
                }
                line.carry(output, delay)?;
                if fault == Fault::Stall {
                    // Reads on, so that the sender does not wait for room.
                    while from.read(&mut buffer)? > 0 {}
                }
                return Ok(());
            }
            // The first `ReadyForQuery` ends the log-in.
            if way == Way::Back && !is_logged_in && message.first() == Some(&b'Z') {
                is_logged_in = true;
                output.extend_from_slice(&plan.announced);
            }
            drop(plan);
            output.extend_from_slice(&message);
        }
        line.carry(output, delay)?;
    }
}

/// The bytes that are to be written, and when; and the thread that does it.
type Late = (Sender<(Instant, Vec<u8>)>, JoinHandle<()>);

/// One way to the other end.
struct Line<'l> {
    to: &'l TcpStream,
    /// Writes what is late. Much can be on its way at the same time.
    late: Option<Late>,
}

impl Line<'_> {
    fn carry(&mut self, bytes: Vec<u8>, delay: Duration) -> io::Result<()> {
        if delay.is_zero() && self.late.is_none() {
            let mut to = self.to;
            return to.write_all(&bytes);
        }
        let (sender, _) = match &mut self.late {
            Some(late) => late,
            empty => empty.insert(late_writer(self.to.try_clone()?)),
        };
        let sent = sender.send((Instant::now() + delay, bytes));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        if let Some((sender, writer)) = self.late.take() {
            drop(sender);
            let _ = writer.join();
        }
    }
}

fn late_writer(mut to: TcpStream) -> Late {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    let write = move || {
        for (due, bytes) in receiver {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
    };
    (sender, thread::spawn(write))
}

fn message_len(input: &[u8], is_first: bool) -> Option<usize> {
    let letter = usize::from(!is_first);
    let len: [u8; 4] = input.get(letter..letter + 4)?.try_into().ok()?;
    let len = letter + u32::from_be_bytes(len) as usize;
    (input.len() >= len).then_some(len)
}
