//! Requests over HTTP/1.1: one connection, on which a question can be sent before its answer is
//! awaited.
//!
//! The crate `etcd-client` speaks gRPC instead. It needs the program `protoc` where it is built,
//! and an asynchronous runtime where it runs. HTTP clients of the ecosystem do not send a question
//! before the last answer has come.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use permazen_kv::remote::{Closer, EncryptedStream, Encryption, ServerHost};

use crate::error::Failure;

/// How many bytes are read at once.
const READ: usize = 1 << 16;

/// The head of an answer has no more bytes and no more fields than this.
const LONGEST_HEAD: usize = 1 << 16;
const MOST_FIELDS: usize = 64;

/// No piece of an answer is longer.
const LONGEST_PIECE: usize = 1 << 30;

/// No answer is longer: etcd sends at most 2 GiB, which take a third more as text.
const LONGEST: usize = 3 << 30;

/// How many bytes are sent at once, before the time is checked.
const PORTION: usize = 1 << 16;

/// No wait is shorter, because the system takes a limit of zero for no limit.
const SHORTEST: Duration = Duration::from_millis(1);

enum Socket {
    Plain(TcpStream),
    Encrypted(Box<EncryptedStream>),
}

impl Socket {
    fn tcp(&self) -> &TcpStream {
        match self {
            Socket::Plain(socket) => socket,
            Socket::Encrypted(stream) => stream.socket(),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Plain(socket) => socket.read(into),
            Socket::Encrypted(stream) => stream.read(into),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Plain(socket) => socket.write(bytes),
            Socket::Encrypted(stream) => stream.write(bytes),
        }
    }
}

/// How long the body of an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Known(usize),
    Chunks,
    ToTheEnd,
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// A connection to a member.
pub(crate) struct Connection {
    socket: Socket,
    host: String,
    /// The bytes that were read and not yet used, from `start` on.
    input: Vec<u8>,
    start: usize,
    /// Whether it can be used for another request.
    is_reusable: bool,
    /// Whether anything was received.
    has_answered: bool,
}

/// The time that is left until then.
fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

fn too_late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer in time")
}

fn malformed(what: &str) -> Failure {
    Failure::garbled(format!("what answers does not speak HTTP as etcd does: {what}"))
}

fn too_long() -> Failure {
    malformed("a long answer")
}

impl Connection {
    /// Connects until then.
    ///
    /// # Errors
    /// [`Failure::Unreachable`] if there is no server.
    pub(crate) fn open(
        host: &ServerHost,
        encryption: Option<&Encryption>,
        until: Instant,
    ) -> Result<Self, Failure> {
        let begin = |socket: TcpStream, until: Instant| -> Result<Socket, Failure> {
            if leads_back(&socket) {
                return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
            }
            socket.set_nodelay(true)?;
            Ok(match encryption {
                None => Socket::Plain(socket),
                Some(encryption) => {
                    Socket::Encrypted(Box::new(encryption.begin(socket, &host.name, until)?))
                }
            })
        };
        let is_lost =
            |failure: &Failure| matches!(failure, Failure::Lost(_) | Failure::Unreachable(_));
        let socket = host.connect(until, begin, is_lost).map_err(|failure| match failure {
            // Nothing was sent yet.
            Failure::Lost(error) => Failure::Unreachable(error),
            other => other,
        })?;
        let (host, input) = (host.to_string(), Vec::new());
        let (is_reusable, has_answered) = (true, false);
        Ok(Connection { socket, host, input, start: 0, is_reusable, has_answered })
    }

    /// Whether another request can be sent on it: the server has neither closed it nor sent
    /// anything that was not asked for.
    pub(crate) fn is_fresh(&self) -> bool {
        let socket = self.socket.tcp();
        if !self.is_reusable
            || self.start < self.input.len()
            || socket.set_nonblocking(true).is_err()
        {
            return false;
        }
        // Encrypted connections get messages about sessions, which were not asked for.
        let is_quiet = match socket.peek(&mut [0]) {
            Ok(bytes) => bytes > 0 && matches!(self.socket, Socket::Encrypted(_)),
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        socket.set_nonblocking(false).is_ok() && is_quiet
    }

    /// Ends it from another thread.
    pub(crate) fn closer(&self) -> io::Result<Closer> {
        let socket = self.socket.tcp().try_clone()?;
        Ok(Box::new(move || drop(socket.shutdown(Shutdown::Both))))
    }

    /// Sends a request.
    pub(crate) fn send(
        &mut self,
        path: &str,
        token: Option<&str>,
        body: &[u8],
        until: Instant,
    ) -> Result<(), Failure> {
        let mut request = Vec::with_capacity(body.len() + 256);
        let host = &self.host;
        // By `Accept`, etcd knows that its gateway asks. Without it, the request would count as one
        // of the user that the server's certificate names, because the gateway shows that
        // certificate.
        write!(
            request,
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\nContent-Type: application/json\r\n\
             Grpc-Metadata-hasleader: true\r\nContent-Length: {}\r\n",
            body.len()
        )?;
        if let Some(token) = token {
            write!(request, "Authorization: {token}\r\n")?;
        }
        request.extend_from_slice(b"\r\n");
        request.extend_from_slice(body);
        self.is_reusable = false;
        let mut rest = &request[..];
        while !rest.is_empty() {
            let portion = &rest[..rest.len().min(PORTION)];
            let written = in_time(until, || {
                limit(self.socket.tcp(), until)?;
                self.socket.write(portion)
            })?;
            if written == 0 {
                return Err(io::Error::from(io::ErrorKind::WriteZero).into());
            }
            rest = &rest[written..];
        }
        if let Socket::Encrypted(stream) = &mut self.socket {
            in_time(until, || stream.flush())?;
        }
        Ok(())
    }

    /// Waits for the answer to the request.
    pub(crate) fn receive(&mut self, until: Instant) -> Result<Answer, Failure> {
        let head = self.head(until)?;
        let mut body = Vec::new();
        match head.length {
            Length::Known(length) if length > LONGEST => return Err(too_long()),
            Length::Known(length) => {
                while self.input.len() - self.start < length {
                    self.read(until)?;
                }
                body.extend_from_slice(&self.input[self.start..self.start + length]);
                self.start += length;
            }
            Length::Chunks => while self.chunk(&mut body, until)? {},
            Length::ToTheEnd => loop {
                match self.read(until) {
                    Ok(()) if self.input.len() > LONGEST => return Err(too_long()),
                    Ok(()) => {}
                    Err(Failure::Lost(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        break;
                    }
                    Err(failure) => return Err(failure),
                }
            },
        }
        if head.length == Length::ToTheEnd {
            body.extend_from_slice(&self.input[self.start..]);
        }
        self.is_reusable = head.keeps && head.length != Length::ToTheEnd;
        Ok(Answer { status: head.status, body })
    }

    /// Waits for the head of an answer that comes piece by piece. An error is received whole.
    pub(crate) fn receive_head(&mut self, until: Instant) -> Result<u16, Failure> {
        let head = self.head(until)?;
        match head.length {
            Length::Chunks => Ok(head.status),
            _ => Err(malformed("the answer comes as a whole")),
        }
    }

    /// Adds the next piece of the answer to `body`. False if there are no more.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if no chunk comes in time; the caller can wait for it again.
    /// [`Failure::Garbled`] if `body` is too long already.
    pub(crate) fn chunk(&mut self, body: &mut Vec<u8>, until: Instant) -> Result<bool, Failure> {
        if body.len() > LONGEST {
            return Err(too_long());
        }
        loop {
            let input = &self.input[self.start..];
            match httparse::parse_chunk_size(input) {
                Ok(httparse::Status::Complete((at, length))) => {
                    let length =
                        usize::try_from(length).ok().filter(|&length| length <= LONGEST_PIECE);
                    let length = length.ok_or_else(|| malformed("a long piece"))?;
                    let end = at + length;
                    if length == 0 {
                        if self.trailer(at)? {
                            return Ok(false);
                        }
                    } else if input.len() >= end + 2 {
                        body.extend_from_slice(&input[at..end]);
                        self.start += end + 2;
                        return Ok(true);
                    }
                }
                // What comes after the length counts for nothing, and may have no end.
                Ok(httparse::Status::Partial) if input.len() > LONGEST_HEAD => {
                    return Err(malformed("a long beginning of a piece"));
                }
                Ok(httparse::Status::Partial) => {}
                Err(_) => return Err(malformed("the length of a piece")),
            }
            self.read(until)?;
        }
    }

    /// Whether all that comes after the last piece is there; then it is used up.
    fn trailer(&mut self, at: usize) -> Result<bool, Failure> {
        let input = &self.input[self.start + at..];
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        match httparse::parse_headers(input, &mut fields) {
            Ok(httparse::Status::Complete((len, _))) => {
                self.start += at + len;
                Ok(true)
            }
            Ok(httparse::Status::Partial) if input.len() > LONGEST_HEAD => {
                Err(malformed("a long end of an answer"))
            }
            Ok(httparse::Status::Partial) => Ok(false),
            Err(_) => Err(malformed("the end of an answer")),
        }
    }

    fn head(&mut self, until: Instant) -> Result<Head, Failure> {
        loop {
            if let Some((head, len)) = Head::parse(&self.input[self.start..])? {
                self.start += len;
                // Such an answer comes before the one that counts.
                if head.status != 100 {
                    return Ok(head);
                }
                continue;
            }
            if self.input.len() - self.start > LONGEST_HEAD {
                return Err(malformed("a long head"));
            }
            self.read(until)?;
        }
    }

    /// Reads more.
    fn read(&mut self, until: Instant) -> Result<(), Failure> {
        if self.start > 0 {
            self.input.drain(..self.start);
            self.start = 0;
        }
        let used = self.input.len();
        self.input.resize(used + READ, 0);
        let read = in_time(until, || {
            limit(self.socket.tcp(), until)?;
            self.socket.read(&mut self.input[used..])
        });
        self.input.truncate(used + *read.as_ref().unwrap_or(&0));
        let read = match read {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(Failure::other(format!(
                    "the server asks for a certificate that it trusts: name it and its key in the URL, as cert and \
                     key ({error})"
                )));
            }
            read => read?,
        };
        match read {
            0 => {
                // A member that takes only encrypted connections does not say so.
                let what = match self.socket {
                    Socket::Plain(_) if !self.has_answered => {
                        "the server has closed it without an answer: if it encrypts connections, write tls=on in the URL"
                    }
                    _ => "the server has closed it",
                };
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, what).into())
            }
            _ => {
                self.has_answered = true;
                Ok(())
            }
        }
    }
}

/// Whether both ends of a connection are the same. That happens if no server listens on a port that
/// the system gives to clients.
fn leads_back(socket: &TcpStream) -> bool {
    matches!((socket.local_addr(), socket.peer_addr()), (Ok(here), Ok(there)) if here == there)
}

fn limit(socket: &TcpStream, until: Instant) -> io::Result<()> {
    let left = Some(left(until).max(SHORTEST));
    socket.set_read_timeout(left)?;
    socket.set_write_timeout(left)
}

/// Does something with a socket until then, again if a signal of this process has interrupted it.
/// The kinds of error that the system has for a time that is over become one kind.
fn in_time<T>(until: Instant, mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    loop {
        if left(until).is_zero() {
            return Err(too_late());
        }
        match act() {
            Err(error) if error.kind() == Interrupted => {}
            Err(error) if matches!(error.kind(), WouldBlock | TimedOut) => return Err(too_late()),
            done => return done,
        }
    }
}

/// The head of an answer.
struct Head {
    status: u16,
    length: Length,
    /// Whether the connection stays open.
    keeps: bool,
}

impl Head {
    /// The head, if all of it is there, and its length.
    fn parse(input: &[u8]) -> Result<Option<(Head, usize)>, Failure> {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        let len = match response.parse(input) {
            Ok(httparse::Status::Complete(len)) => len,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(malformed(&error.to_string())),
        };
        let status = response.code.unwrap_or_default();
        let (mut length, mut keeps) = (Length::ToTheEnd, response.version == Some(1));
        for field in response.headers.iter() {
            let value = std::str::from_utf8(field.value).unwrap_or_default().trim();
            match &field.name.to_ascii_lowercase()[..] {
                "content-length" if length != Length::Chunks => {
                    let number = value.parse().map_err(|_| malformed("the length"))?;
                    length = Length::Known(number);
                }
                "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => {
                    length = Length::Chunks;
                }
                "transfer-encoding" => return Err(malformed("the encoding")),
                "connection" => keeps &= !value.eq_ignore_ascii_case("close"),
                _ => {}
            }
        }
        if matches!(status, 100 | 204 | 304) {
            length = Length::Known(0);
        }
        Ok(Some((Head { status, length, keeps }, len)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::net::TcpListener;

    use super::*;

    /// The answers to a read, each of them once.
    struct Answers(Vec<io::Result<usize>>);

    impl Read for Answers {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            self.0.pop().unwrap()
        }
    }

    #[test]
    fn a_signal_ends_no_connection() {
        let interrupted = || -> io::Result<usize> { Err(io::ErrorKind::Interrupted.into()) };
        let until = Instant::now() + Duration::from_secs(600);
        let mut answers = Answers(vec![Ok(7), interrupted(), interrupted()]);
        assert_eq!(in_time(until, || answers.read(&mut [])).unwrap(), 7);
        assert!(answers.0.is_empty());
        // Signals without end do not prolong the time.
        let error = in_time(Instant::now() + SHORTEST, interrupted).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        for kind in [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut] {
            let mut answers = Answers(vec![Err(kind.into())]);
            let error = in_time(until, || answers.read(&mut [])).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
    }

    #[test]
    fn a_connection_to_itself_is_none() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(!leads_back(&other));
        // A port that the system gives to clients, at which no server listens. Sooner or later it
        // is the client's own.
        let address = other.local_addr().unwrap();
        drop((other, listener));
        let socket = (0..1_000_000).find_map(|_| TcpStream::connect(address).ok());
        assert!(leads_back(&socket.unwrap()));
    }
}
