//! Parameters that have a meaning together: those of the hosts, and those of encryption.

use std::path::{Path, PathBuf};

use permazen_kv::remote::{OwnCertificate, ServerHost, ServerUrl, Tls};

use crate::host::Host;

/// What was given.
#[derive(Default)]
pub(crate) struct Given {
    /// The directory of a socket.
    pub(crate) directory: Option<String>,
    /// The port of hosts that have none of their own.
    pub(crate) port: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) roots: Option<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    of_environment: Environment,
}

/// What the environment says, where neither the program nor the URL does.
#[derive(Default)]
struct Environment {
    settings: Vec<(&'static str, String)>,
    roots: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

/// The variables that are parameters under another name.
const SETTINGS: [(&str, &str); 5] = [
    ("PGAPPNAME", "application_name"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGOPTIONS", "options"),
    ("PGPORT", "port"),
    ("PGSSLMODE", "sslmode"),
];

impl Given {
    pub(crate) fn of_environment(environment: impl Fn(&str) -> Option<String>) -> Self {
        let settings = SETTINGS.into_iter().filter_map(|(variable, name)| {
            let value = environment(variable)?;
            // What these ask for is less than what is done if nothing is said.
            let is_weak = name == "sslmode" && matches!(&value[..], "allow" | "prefer");
            (!is_weak).then_some((name, value))
        });
        let path = |variable: &str| environment(variable).map(PathBuf::from);
        let of_environment = Environment {
            settings: settings.collect(),
            roots: path("PGSSLROOTCERT"),
            certificate: path("PGSSLCERT"),
            key: path("PGSSLKEY"),
        };
        Given { of_environment, ..Given::default() }
    }

    /// What the environment says, as parameters.
    pub(crate) fn take_settings(&mut self) -> Vec<(&'static str, String)> {
        std::mem::take(&mut self.of_environment.settings)
    }

    /// The hosts: those of the URL, or of `PGHOST`.
    pub(crate) fn hosts(
        &self,
        hosts: &str,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<Host>, String> {
        let port = self.port.as_deref().unwrap_or("5432");
        if let Some(directory) = &self.directory {
            let port = hosts.split_once(':').map_or(port, |(_, port)| port);
            return Ok(vec![socket(directory, port).ok_or("host= is no directory")?]);
        }
        let wrong = "a host or its port is wrong";
        // A port alone is one of the host that is meant if none is named.
        let (hosts, port) = match hosts.strip_prefix(':') {
            Some(port) if !port.contains(',') => ("", port),
            _ => (hosts, port),
        };
        if !hosts.is_empty() {
            return hosts.split(',').map(|host| of_url(host, port).ok_or(wrong.into())).collect();
        }
        let named = environment("PGHOST").unwrap_or_else(|| "localhost".to_owned());
        let ports: Vec<&str> = port.split(',').collect();
        let host = |(at, name): (usize, &str)| {
            let port = *ports.get(at).or(ports.first())?;
            if name.starts_with('/') {
                return socket(name, port);
            }
            let port = port.parse().ok()?;
            (!name.is_empty()).then(|| Host::Name(ServerHost { name: name.to_owned(), port }))
        };
        let hosts = named.split(',').enumerate();
        hosts.map(|named| host(named).ok_or_else(|| "PGHOST or PGPORT is wrong".into())).collect()
    }

    /// How connections are encrypted, and how this program proves its identity.
    pub(crate) fn tls(self, is_local: bool) -> Result<(Tls, Option<OwnCertificate>), String> {
        let is_asked_for = self.roots.is_some() || self.certificate.is_some();
        let mode = match self.mode.as_deref() {
            // What does not leave this machine need not be encrypted.
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
        let environment = self.of_environment;
        let system = Path::new("system");
        let roots = self.roots.or(environment.roots).filter(|roots| roots != system);
        let tls = match mode {
            "disable" => return Ok((Tls::Off, None)),
            "require" => Tls::Unverified,
            "verify-ca" => Tls::OfAuthority { roots },
            "verify-full" => Tls::Verified { roots },
            _ => return Err("sslmode is disable, require, verify-ca or verify-full".into()),
        };
        let pair = match (self.certificate, self.key) {
            (None, None) => (environment.certificate, environment.key),
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

fn of_url(text: &str, default: &str) -> Option<Host> {
    let (name, port) = ServerUrl::host(text)?;
    let port = port.unwrap_or(default);
    if name.starts_with('/') {
        return socket(&name, port);
    }
    Some(Host::Name(ServerHost { name, port: port.parse().ok()? }))
}

/// The socket of a server in a directory.
#[cfg(unix)]
fn socket(directory: &str, port: &str) -> Option<Host> {
    let (path, port) = (Path::new(directory), port.parse::<u16>().ok()?);
    path.is_absolute().then(|| Host::Path(path.join(format!(".s.PGSQL.{port}"))))
}

#[cfg(not(unix))]
fn socket(_directory: &str, _port: &str) -> Option<Host> {
    None
}
