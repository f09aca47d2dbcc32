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

/// How long the first of `addresses` addresses may take to answer. One that says nothing must leave
/// time for the others.
fn share(left: Duration, addresses: usize) -> Duration {
    (left / u32::try_from(addresses).unwrap_or(u32::MAX).max(1)).max(SHORTEST)
}

/// Connects to a host within this time.
pub(crate) fn connect(
    host: &Host,
    tls: &Tls,
    own: Option<&OwnCertificate>,
    limit: Duration,
) -> Result<Box<dyn Socket>, Failure> {
    match host {
        #[cfg(unix)]
        Host::Path(path) => Ok(Box::new(UnixStream::connect(path)?)),
        Host::Name(host) => {
            let until = Instant::now() + limit;
            let mut failure = io::Error::from(io::ErrorKind::NotFound);
            let addresses = host.addresses()?;
            for (at, address) in addresses.iter().enumerate() {
                let left = until.saturating_duration_since(Instant::now());
                match TcpStream::connect_timeout(address, share(left, addresses.len() - at)) {
                    Ok(mut socket) => {
                        socket.set_nodelay(true)?;
                        let left = left.max(SHORTEST);
                        socket.limit_reads(left)?;
                        socket.limit_writes(left)?;
                        let Some(encryption) = Encryption::new(tls, own, "sslrootcert")? else {
                            return Ok(Box::new(socket));
                        };
                        ask_to_encrypt(&mut socket)?;
                        return Ok(Box::new(encryption.begin(socket, &host.name)?));
                    }
                    Err(error) => failure = error,
                }
            }
            Err(failure.into())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_says_nothing_leaves_time_for_the_others() {
        let left = Duration::from_secs(6);
        assert_eq!(
            [3, 2, 1].map(|addresses| share(left, addresses)),
            [2, 3, 6].map(Duration::from_secs)
        );
        assert_eq!(share(Duration::ZERO, 1), SHORTEST);
        assert_eq!(share(left, usize::MAX), SHORTEST);
    }
}
