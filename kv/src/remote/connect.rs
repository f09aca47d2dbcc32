//! Connections to a host that has several addresses.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::address::ServerHost;

/// No wait is shorter, because a limit of zero is refused.
const SHORTEST: Duration = Duration::from_millis(1);

impl ServerHost {
    /// Connects to one of its addresses, and begins to speak with the server there. `begin` gets
    /// the socket, and until when the server may take to answer: each address has its share of the
    /// time until `until`, so that one that says nothing leaves time for the others.
    ///
    /// # Errors
    /// The error of [`addresses`](Self::addresses); that of `begin` if it does not lead on to the
    /// next address; otherwise the last one, of an address that has accepted the connection if
    /// there is one.
    ///
    /// ```
    /// use std::net::{TcpListener, TcpStream};
    /// use std::time::{Duration, Instant};
    ///
    /// use permazen_kv::remote::ServerHost;
    ///
    /// let server = TcpListener::bind("127.0.0.1:0")?;
    /// let host = ServerHost { name: "127.0.0.1".to_owned(), port: server.local_addr()?.port() };
    /// let until = Instant::now() + Duration::from_secs(60);
    /// let begin = |socket: TcpStream, _| socket.peer_addr();
    /// let there = host.connect(until, begin, |_: &std::io::Error| true)?;
    /// assert_eq!(there, server.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn connect<T, E: From<io::Error>>(
        &self,
        until: Instant,
        begin: impl FnMut(TcpStream, Instant) -> Result<T, E>,
        leads_on: impl Fn(&E) -> bool,
    ) -> Result<T, E> {
        connect(&self.addresses()?, until, begin, leads_on)
    }
}

fn connect<T, E: From<io::Error>>(
    addresses: &[SocketAddr],
    until: Instant,
    mut begin: impl FnMut(TcpStream, Instant) -> Result<T, E>,
    leads_on: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let mut failure = E::from(io::Error::from(io::ErrorKind::NotFound));
    let mut is_accepted = false;
    for (at, address) in addresses.iter().enumerate() {
        let now = Instant::now();
        let share = share(until.saturating_duration_since(now), addresses.len() - at);
        match TcpStream::connect_timeout(address, share) {
            Ok(socket) => match begin(socket, now + share) {
                Err(error) if leads_on(&error) => (failure, is_accepted) = (error, true),
                begun => return begun,
            },
            // It says less than the error of an address where there is a server.
            Err(_) if is_accepted => {}
            Err(error) => failure = error.into(),
        }
    }
    Err(failure)
}

/// How long the first of `addresses` addresses may take to answer.
fn share(left: Duration, addresses: usize) -> Duration {
    // There is no host with more addresses; and their share would be the shortest in any case.
    (left / u32::try_from(addresses).unwrap_or(u32::MAX).max(1)).max(SHORTEST)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind::{InvalidData, TimedOut};
    use std::net::TcpListener;

    use super::*;

    const LONG: Duration = Duration::from_secs(6000);

    /// Ports that accept connections as long as the listeners are there.
    fn listeners() -> [(TcpListener, SocketAddr); 2] {
        [(); 2].map(|()| {
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            let address = listener.local_addr().unwrap();
            (listener, address)
        })
    }

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

    #[test]
    fn an_address_that_accepts_connections_and_says_nothing_is_left_for_the_next_one() {
        let [(_first, silent), (_second, good)] = listeners();
        let until = Instant::now() + LONG;
        let mut shares = Vec::new();
        let begin = |socket: TcpStream, share: Instant| -> io::Result<SocketAddr> {
            let there = socket.peer_addr()?;
            shares.push((there, share));
            if there == silent { Err(io::Error::from(TimedOut)) } else { Ok(there) }
        };
        assert_eq!(connect(&[silent, good], until, begin, |_| true).unwrap(), good);
        // As if no time had passed meanwhile, the second one has all of it.
        let [(first, half), (second, all)] = shares[..] else { panic!("{shares:?}") };
        assert_eq!((first, second, all), (silent, good, until));
        assert!(until - half > LONG / 3, "{:?}", until - half);
    }

    #[test]
    fn some_errors_end_the_search_and_that_of_a_server_is_told() {
        let [(_first, first), _] = listeners();
        let refused = SocketAddr::from(([127, 0, 0, 1], 1));
        let until = Instant::now() + LONG;
        let failing = |addresses: &[SocketAddr], kind: io::ErrorKind| {
            let mut tries = 0;
            let begin = |_: TcpStream, _: Instant| -> io::Result<()> {
                tries += 1;
                Err(kind.into())
            };
            let error =
                connect(addresses, until, begin, |error: &io::Error| error.kind() == TimedOut);
            (error.unwrap_err().kind(), tries)
        };
        assert_eq!(failing(&[first, first], TimedOut), (TimedOut, 2));
        assert_eq!(failing(&[first, first], InvalidData), (InvalidData, 1));
        for addresses in [[first, refused], [refused, first]] {
            assert_eq!(failing(&addresses, TimedOut), (TimedOut, 1));
        }
        assert_eq!(failing(&[refused], TimedOut), (io::ErrorKind::ConnectionRefused, 0));
    }
}
