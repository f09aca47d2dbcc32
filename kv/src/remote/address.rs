//! Where servers are: the parts of their URLs.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use crate::keys::hex_digit;

/// The parts of a URL of servers: `user:password@host:port,other/path?name=value` after the scheme.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl<'u> {
    /// Empty if the URL names no user.
    pub user: String,
    /// The password.
    pub password: Option<String>,
    /// The hosts, separated by commas, as they are written: see [`ServerUrl::host`].
    pub hosts: &'u str,
    /// The text after the slash; empty if there is no text.
    pub path: String,
    /// Names and values, in their order.
    pub parameters: Vec<(&'u str, String)>,
}

/// Without the password.
impl fmt::Debug for ServerUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerUrl")
            .field("user", &self.user)
            .field("hosts", &self.hosts)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl<'u> ServerUrl<'u> {
    /// Divides the text after the scheme and its `://`. All parts can be left out. `path` names the
    /// path of such a URL in errors.
    ///
    /// # Errors
    /// Which part has a `%` without two digits after it, or an `@` in its wrong place. It never
    /// shows a password.
    ///
    /// ```
    /// use permazen_kv::remote::ServerUrl;
    ///
    /// let url = ServerUrl::parse("ann:p%40ss@db1:5433,[::1]/music?watches=on", "the database")?;
    /// assert_eq!((&url.user[..], url.password.as_deref()), ("ann", Some("p@ss")));
    /// assert_eq!((url.hosts, &url.path[..]), ("db1:5433,[::1]", "music"));
    /// assert_eq!(url.parameters, [("watches", "on".to_owned())]);
    /// # Ok::<(), String>(())
    /// ```
    pub fn parse(text: &'u str, path: &str) -> Result<Self, String> {
        let (text, parameters) = text.split_once('?').unwrap_or((text, ""));
        let (place, rest) = text.split_once('/').unwrap_or((text, ""));
        // A password can have any of these, but must then be escaped. Otherwise its end would be
        // taken for the path, and be shown.
        if rest.contains('@') || parameters.contains('@') {
            return Err(
                "there is an @ after the hosts: write it as %40; in a password, so are @, / and ?"
                    .to_owned(),
            );
        }
        let (login, hosts) = place.rsplit_once('@').unwrap_or(("", place));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        let decoded = |text: &str, what: &str| {
            decode(text).ok_or_else(|| format!("{what} has a % without two digits after it"))
        };
        let parameters = parameters.split('&').filter(|parameter| !parameter.is_empty());
        Ok(ServerUrl {
            user: decoded(user, "the user")?,
            path: decoded(rest, path)?,
            password: password.map(|password| decoded(password, "the password")).transpose()?,
            hosts,
            parameters: parameters
                .map(|parameter| {
                    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
                    Ok((name, decoded(value, "a parameter")?))
                })
                .collect::<Result<_, String>>()?,
        })
    }

    /// The name and the port of one host as it is written: `name:port` or `[name]:port`, both
    /// without a port as well. `None` if it is neither, or has no name.
    ///
    /// ```
    /// use permazen_kv::remote::ServerUrl;
    ///
    /// assert_eq!(ServerUrl::host("[::1]:7"), Some(("::1".to_owned(), Some("7"))));
    /// assert_eq!(ServerUrl::host("db"), Some(("db".to_owned(), None)));
    /// assert_eq!(ServerUrl::host(":7"), None);
    /// ```
    pub fn host(text: &str) -> Option<(String, Option<&str>)> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (name, rest) = rest.split_once(']')?;
                (name, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
            }
            None => match text.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (text, None),
            },
        };
        let name = decode(name).filter(|name| !name.is_empty())?;
        Some((name, port))
    }
}

/// The messages of system libraries for names that no host has.
const UNKNOWN: [&str; 5] = [
    "Name or service not known",
    "No address associated with hostname",
    "nodename nor servname provided",
    "Name does not resolve",
    "No such host is known",
];

#[derive(Debug, thiserror::Error)]
#[error("there is no host with the name {0}")]
struct UnknownHost(String);

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerHost {
    /// Its name or number.
    pub name: String,
    /// Its port.
    pub port: u16,
}

impl ServerHost {
    /// Its addresses; there is at least one.
    ///
    /// # Errors
    /// The error of the system; see [`is_unknown`](Self::is_unknown).
    ///
    /// ```
    /// use permazen_kv::remote::ServerHost;
    ///
    /// let host = |name: &str| ServerHost { name: name.to_owned(), port: 7 };
    /// assert_eq!(host("127.0.0.1").addresses()?[0].port(), 7);
    /// assert!(ServerHost::is_unknown(&host("a..b").addresses().unwrap_err()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let unknown = || io::Error::new(io::ErrorKind::NotFound, UnknownHost(self.name.clone()));
        match (&self.name[..], self.port).to_socket_addrs() {
            Ok(addresses) => {
                let addresses: Vec<SocketAddr> = addresses.collect();
                if addresses.is_empty() { Err(unknown()) } else { Ok(addresses) }
            }
            Err(error) => {
                // The library of the system has a number for this, which Rust does not pass on.
                let said = error.to_string();
                let is_unknown = UNKNOWN.into_iter().any(|words| said.contains(words));
                Err(if is_unknown { unknown() } else { error })
            }
        }
    }

    /// Whether the [addresses](Self::addresses) of a host were not found because no host has its
    /// name. Other reasons may pass.
    pub fn is_unknown(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|error| error.is::<UnknownHost>())
    }

    /// Whether data for this host stays on this machine.
    pub fn is_local(&self) -> bool {
        self.name == "localhost"
            || self.name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// `name:port`, or `[name]:port` if the name has colons.
impl fmt::Display for ServerHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.contains(':') {
            true => write!(f, "[{}]:{}", self.name, self.port),
            false => write!(f, "{}:{}", self.name, self.port),
        }
    }
}

/// Text of a URL without its escapes.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digit = |byte: Option<u8>| hex_digit(char::from(byte?));
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                bytes.push(high << 4 | low);
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).ok()
}
