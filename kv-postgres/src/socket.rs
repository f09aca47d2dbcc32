//! The socket of a connection: TCP, encrypted or not, or a socket of the file system.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use permazen_kv::remote::{Closer, EncryptedStream, Encryption, OwnCertificate, Tls};
use postgres_protocol::message::frontend;

use crate::error::Failure;
use crate::host::Host;

/// The socket of a connection.
pub(crate) trait Socket: Read + Write + Send {
    fn closer(&self) -> io::Result<Closer>;

    /// How long a read waits.
    fn limit_reads(&self, limit: Duration) -> io::Result<()>;

    /// How long a write waits.
    fn limit_writes(&self, limit: Duration) -> io::Result<()>;
}

impl Socket for TcpStream {
    fn closer(&self) -> io::Result<Closer> {
        let socket = self.try_clone()?;
        Ok(Box::new(move || drop(socket.shutdown(Shutdown::Both))))
    }

    fn limit_reads(&self, limit: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(limit))
    }

    fn limit_writes(&self, limit: Duration) -> io::Result<()> {
        self.set_write_timeout(Some(limit))
    }
}

#[cfg(unix)]
impl Socket for UnixStream {
    fn closer(&self) -> io::Result<Closer> {
        let socket = self.try_clone()?;
        Ok(Box::new(move || drop(socket.shutdown(Shutdown::Both))))
    }

    fn limit_reads(&self, limit: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(limit))
    }

    fn limit_writes(&self, limit: Duration) -> io::Result<()> {
        self.set_write_timeout(Some(limit))
    }
}

impl Socket for EncryptedStream {
    fn closer(&self) -> io::Result<Closer> {
        self.socket().closer()
    }

    fn limit_reads(&self, limit: Duration) -> io::Result<()> {
        self.socket().limit_reads(limit)
    }

    fn limit_writes(&self, limit: Duration) -> io::Result<()> {
        self.socket().limit_writes(limit)
    }
}

/// No wait is shorter, because a limit of zero is refused.
const SHORTEST: Duration = Duration::from_millis(1);

/// Connects to a host and calls `begin` with the socket, which is encrypted as `tls` says. All of
/// it is to be done by `until`. `begin` is told until when the server may take to answer: where a
/// host has several addresses, one that says nothing leaves time for the others.
pub(crate) fn connect<T>(
    host: &Host,
    tls: &Tls,
    own: Option<&OwnCertificate>,
    until: Instant,
    mut begin: impl FnMut(Box<dyn Socket>, Instant) -> Result<T, Failure>,
) -> Result<T, Failure> {
    match host {
        #[cfg(unix)]
        Host::Path(path) => begin(Box::new(UnixStream::connect(path)?), until),
        Host::Name(host) => {
            let begin = |mut socket: TcpStream, until: Instant| -> Result<T, Failure> {
                socket.set_nodelay(true)?;
                let left = until.saturating_duration_since(Instant::now()).max(SHORTEST);
                socket.limit_reads(left)?;
                socket.limit_writes(left)?;
                let Some(encryption) = Encryption::new(tls, own, "sslrootcert")? else {
                    return begin(Box::new(socket), until);
                };
                ask_to_encrypt(&mut socket)?;
                begin(Box::new(encryption.begin(socket, &host.name, until)?), until)
            };
            host.connect(until, begin, |failure: &Failure| matches!(failure, Failure::Lost(_)))
        }
    }
}

/// Asks the server to encrypt.
fn ask_to_encrypt(socket: &mut TcpStream) -> Result<(), Failure> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    socket.write_all(&request)?;
    // One byte and no more: all bytes after it must be encrypted.
    let mut answer = [0];
    socket.read_exact(&mut answer)?;
    match &answer {
        b"S" => Ok(()),
        _ => Err(Failure::other("the server does not encrypt connections; see sslmode")),
    }
}
