//! Parameters that have a meaning together: for the hosts, and for encryption.

use std::ffi::OsString;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use permazen_kv::remote::{OwnCertificate, ServerHost, ServerUrl, Tls};

use crate::host::Host;

/// The settings that were given.
#[derive(Default)]
pub(crate) struct Given {
    /// The directory of a socket.
    pub(crate) directory: Option<String>,
    /// The port of hosts that have no port of their own.
    pub(crate) port: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) roots: Option<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

/// The variables that are parameters under another name.
pub(crate) const VARIABLES: [(&str, &str); 4] = [
    ("PGAPPNAME", "application_name"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGOPTIONS", "options"),
    ("PGSSLMODE", "sslmode"),
];

/// The variables of the environment. A variable that is empty counts as not set.
pub(crate) struct Variables<'e>(pub(crate) &'e dyn Fn(&str) -> Option<OsString>);

impl Variables<'_> {
    fn value(&self, name: &str) -> Option<OsString> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// Text, which a server can be sent.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, String> {
        let value = self.value(name).map(OsString::into_string).transpose();
        value.map_err(|_| format!("the variable {name} of the environment is not Unicode"))
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.value(name).map(PathBuf::from)
    }
}

impl Given {
    /// Whether the hosts of a URL have a name. A port alone belongs to the default host.
    pub(crate) fn names_host(hosts: &str) -> bool {
        let is_port = |port: &str| !port.contains([',', ':']);
        !hosts.is_empty() && !hosts.strip_prefix(':').is_some_and(is_port)
    }

    /// The hosts of the URL, or of `PGHOST`.
    pub(crate) fn hosts(
        &self,
        hosts: &str,
        environment: &Variables<'_>,
    ) -> Result<Vec<Host>, String> {
        let port = match &self.port {
            Some(port) => Ok(("port", port.clone())),
            None => environment.text("PGPORT").map(|port| match port {
                Some(port) => ("PGPORT", port),
                None => ("the port", "5432".to_owned()),
            }),
        };
        let port_alone = hosts.strip_prefix(':').filter(|_| !Given::names_host(hosts));
        let port = port_alone.map_or(port, |port| Ok(("the port in the URL", port.to_owned())));
        if let Some(directory) = &self.directory {
            let own = ServerUrl::host(hosts).and_then(|(_, port)| port);
            let port = own.map_or(port, |port| Ok(("the port in the URL", port.to_owned())))?;
            return Ok(vec![socket("host", directory, &port)?]);
        }
        if Given::names_host(hosts) {
            return hosts.split(',').map(|host| of_url(host, &port)).collect();
        }
        // They name another host than the code below would use. To ignore them would open the wrong
        // one.
        for unread in ["PGSERVICE", "PGHOSTADDR"] {
            if environment.value(unread).is_some() {
                return Err(format!(
                    "{unread} is set, which is not read here: name the host in the URL"
                ));
            }
        }
        let named = environment.text("PGHOST")?.unwrap_or_else(|| "localhost".to_owned());
        let (of_port, ports) = port?;
        let ports: Vec<&str> = ports.split(',').collect();
        let host = |(at, name): (usize, &str)| {
            let port = ports.get(at).or(ports.first()).copied().unwrap_or_default();
            let port = (of_port, port.to_owned());
            match name {
                "" => Err(format!("PGHOST is wrong: {named:?} has a host without a name")),
                name if name.starts_with('/') => socket("PGHOST", name, &port),
                name => {
                    let port = number(&port)?;
                    Ok(Host::Name(ServerHost { name: name.to_owned(), port }))
                }
            }
        };
        named.split(',').enumerate().map(host).collect()
    }

    /// How connections are encrypted, and how this program proves its identity.
    pub(crate) fn tls(
        self,
        is_local: bool,
        environment: &Variables<'_>,
    ) -> Result<(Tls, Option<OwnCertificate>), String> {
        let is_asked_for = self.roots.is_some() || self.certificate.is_some();
        let mode = match self.mode.as_deref() {
            // Data that does not leave this machine need not be encrypted.
            None if is_local && !is_asked_for => "disable",
            None => "verify-full",
            Some(mode) => mode,
        };
        match mode {
            "disable" | "require" if self.roots.is_some() => {
                return Err(
                    "sslrootcert is of no use without sslmode=verify-full or verify-ca".into()
                );
            }
            "disable" if self.certificate.is_some() => {
                return Err("sslcert is of no use with sslmode=disable".into());
            }
            _ => {}
        }
        let system = Path::new("system");
        let roots = self
            .roots
            .or_else(|| environment.path("PGSSLROOTCERT"))
            .filter(|roots| roots != system);
        let tls = match mode {
            "disable" => return Ok((Tls::Off, None)),
            "require" => Tls::Unverified,
            "verify-ca" => Tls::OfAuthority { roots },
            "verify-full" => Tls::Verified { roots },
            _ => return Err("sslmode is disable, require, verify-ca or verify-full".into()),
        };
        let pair = match (self.certificate, self.key) {
            (None, None) => (environment.path("PGSSLCERT"), environment.path("PGSSLKEY")),
            given => given,
        };
        let own = match pair {
            (Some(certificate), Some(key)) => Some(OwnCertificate { certificate, key }),
            (None, None) => None,
            _ => return Err("sslcert and sslkey are of use only together".into()),
        };
        Ok((tls, own))
    }
}

/// The port that hosts without one of their own have, and where it is said.
type Port = (&'static str, String);

/// A host as the URL names it. No error shows the text after a colon, because it can be a password
/// in a URL without an `@`.
fn of_url(text: &str, default: &Result<Port, String>) -> Result<Host, String> {
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(format!("the host {text} is written in brackets, as [{text}]"));
    }
    let host = ServerUrl::host(text);
    let (name, port) = host.ok_or("a host in the URL has no name, or is not written as one")?;
    if name.starts_with('/') {
        let port = match port {
            Some(port) => ("the port in the URL", port.to_owned()),
            None => default.clone()?,
        };
        return socket("the host in the URL", &name, &port);
    }
    let port = match port {
        Some(port) => {
            let port = port.parse();
            port.map_err(|_| format!("the port of the host {name} in the URL is wrong"))?
        }
        None => number(default.as_ref().map_err(String::clone)?)?,
    };
    Ok(Host::Name(ServerHost { name, port }))
}

fn number((of, port): &Port) -> Result<u16, String> {
    port.parse().map_err(|_| match *of {
        "the port in the URL" => format!("{of} is wrong"),
        of => format!("{of} is wrong: {port:?} is not a number up to {}", u16::MAX),
    })
}

/// The socket of a server in a directory.
#[cfg(unix)]
fn socket(of: &str, directory: &str, port: &Port) -> Result<Host, String> {
    let (path, port) = (Path::new(directory), number(port)?);
    match path.is_absolute() {
        true => Ok(Host::Path(path.join(format!(".s.PGSQL.{port}")))),
        false => Err(format!("{of} is wrong: {directory:?} is no directory that begins with /")),
    }
}

#[cfg(not(unix))]
fn socket(of: &str, directory: &str, _port: &Port) -> Result<Host, String> {
    Err(format!("{of} is wrong: {directory:?} is a socket, which this system does not have"))
}
