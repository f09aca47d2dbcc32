//! The members of a cluster, the prefix and the user of a store: from a URL, and from the variables
//! of the environment.

use std::fmt;
use std::path::PathBuf;

use permazen_kv::KvError;
use permazen_kv::remote::{OwnCertificate, ServerHost, ServerUrl, Tls};

/// The port of etcd, unless the URL names another one.
const PORT: u16 = 2379;

/// The prefix, unless the URL names one.
const PREFIX: &str = "permazen";

/// The members, the keys, and the user that logs in.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) hosts: Vec<ServerHost>,
    pub(crate) user: Option<String>,
    /// The keys of the store begin with this and a colon.
    pub(crate) prefix: String,
    pub(crate) tls: Tls,
    pub(crate) own: Option<OwnCertificate>,
    /// How many operations the servers take in one transaction, if that is known.
    pub(crate) max_txn_ops: Option<usize>,
    password: Option<String>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Without the password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("etcd://")?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        let hosts: Vec<String> = self.hosts.iter().map(ServerHost::to_string).collect();
        write!(f, "{}/{}", hosts.join(","), self.prefix)
    }
}

impl Address {
    /// Reads a URL: `etcd://user:password@host:port,other/prefix?tls=on`.
    ///
    /// # Errors
    /// [`KvError::InvalidArgument`], which never shows a password.
    pub(crate) fn parse(url: &str) -> Result<Self, KvError> {
        let wrong = |what: &str| {
            KvError::InvalidArgument(format!(
                "{what}; expected etcd://user:password@host:port,other/prefix?tls=on"
            ))
        };
        let rest = url.strip_prefix("etcd://");
        let rest = rest.ok_or_else(|| wrong("the URL does not begin with etcd://"))?;
        let url = ServerUrl::parse(rest, "the prefix").map_err(|what| wrong(&what))?;
        let prefix = match url.path {
            prefix if prefix.is_empty() => PREFIX.to_owned(),
            prefix => prefix,
        };
        // So the keys of two prefixes never mix.
        if prefix.contains(':') {
            return Err(wrong("the prefix has a colon, which ends it in the keys"));
        }
        if url.password.as_ref().is_some_and(|it| !it.is_empty()) && url.user.is_empty() {
            return Err(wrong("there is a password without a user"));
        }
        let mut address = Address {
            hosts: Vec::new(),
            user: Some(url.user).filter(|user| !user.is_empty()),
            prefix,
            tls: Tls::Off,
            own: None,
            max_txn_ops: None,
            password: url.password,
        };
        let (mut mode, mut roots, mut certificate, mut key) = (None, None, None, None);
        for (name, value) in url.parameters {
            match name {
                "tls" => mode = Some(value),
                "cacert" => roots = Some(PathBuf::from(value)),
                "cert" => certificate = Some(PathBuf::from(value)),
                "key" => key = Some(PathBuf::from(value)),
                "max_txn_ops" => {
                    let number = value.parse().ok().filter(|number| *number >= 8);
                    let number = number.ok_or_else(|| wrong("max_txn_ops is a number from 8"))?;
                    address.max_txn_ops = Some(number);
                }
                _ => return Err(wrong(&format!("there is no parameter {name:?}"))),
            }
        }
        let hosts = if url.hosts.is_empty() { "localhost" } else { url.hosts };
        for host in hosts.split(',') {
            let host = host_of(host).ok_or_else(|| wrong("a host or its port is wrong"))?;
            address.hosts.push(host);
        }
        address.own = match (certificate, key) {
            (Some(certificate), Some(key)) => Some(OwnCertificate { certificate, key }),
            (None, None) => None,
            _ => return Err(wrong("cert and key belong together")),
        };
        let needs_tls = roots.is_some() || address.own.is_some();
        address.tls = match mode.as_deref() {
            // Data that does not leave this machine need not be encrypted.
            None if !needs_tls && address.hosts.iter().all(ServerHost::is_local) => Tls::Off,
            Some("off") if !needs_tls => Tls::Off,
            Some("unverified") if roots.is_some() => {
                return Err(wrong("cacert is of no use with tls=unverified"));
            }
            Some("unverified") => Tls::Unverified,
            None | Some("on") => Tls::Verified { roots },
            Some("off") => return Err(wrong("certificates are of no use with tls=off")),
            Some(_) => return Err(wrong("tls is on, off or unverified")),
        };
        Ok(address)
    }

    /// The name of the store in errors.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(self.to_string())
    }

    /// The password: of the URL, or of `ETCD_PASSWORD`. An empty one is none.
    pub(crate) fn password(&self) -> Option<String> {
        let is_given = |password: &String| !password.is_empty();
        let of_environment = || std::env::var("ETCD_PASSWORD").ok().filter(is_given);
        self.password.clone().filter(is_given).or_else(of_environment)
    }
}

fn host_of(text: &str) -> Option<ServerHost> {
    let (name, port) = ServerUrl::host(text)?;
    // It is sent in the head of each request.
    if !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let port = port.map_or(Ok(PORT), str::parse).ok()?;
    Some(ServerHost { name, port })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn host(name: &str, port: u16) -> ServerHost {
        ServerHost { name: name.to_owned(), port }
    }

    #[test]
    fn a_url_names_the_user_and_the_servers() {
        let url = "etcd://ann:p%40ss%3A%2F@localhost:5433,127.0.0.1,[::1]:7/team/my%20db";
        let address = Address::parse(url).unwrap();
        assert_eq!(
            address.hosts,
            [host("localhost", 5433), host("127.0.0.1", 2379), host("::1", 7)]
        );
        assert_eq!((address.user.as_deref(), &address.prefix[..]), (Some("ann"), "team/my db"));
        assert_eq!(address.password().unwrap(), "p@ss:/");
        let without = Address::parse("etcd://ann@one/music").unwrap().password();
        assert_eq!(Address::parse("etcd://ann:@one/music").unwrap().password(), without);
        let shown = format!("{address} {address:?}");
        assert!(!shown.contains("p@ss") && !shown.contains("p%40"), "{shown}");
        assert!(shown.contains("ann@localhost:5433,127.0.0.1:2379,[::1]:7/team/my db"), "{shown}");
    }

    #[test]
    fn what_is_left_out_has_a_meaning() {
        let address = Address::parse("etcd://").unwrap();
        assert_eq!(address.hosts, [host("localhost", 2379)]);
        assert_eq!((&address.user, &address.prefix[..]), (&None, "permazen"));
        assert_eq!(address.max_txn_ops, None);
        assert_eq!(Address::parse("etcd:///?max_txn_ops=512").unwrap().max_txn_ops, Some(512));
    }

    #[test]
    fn what_leaves_this_machine_is_encrypted() {
        let tls = |url: &str| Address::parse(url).unwrap().tls;
        let verified = |roots: Option<&str>| Tls::Verified { roots: roots.map(PathBuf::from) };
        assert_eq!(tls("etcd://localhost,[::1],127.0.0.9/db"), Tls::Off);
        assert_eq!(tls("etcd://localhost,example.com/db"), verified(None));
        assert_eq!(tls("etcd://10.0.0.1/db"), verified(None));
        assert_eq!(tls("etcd://localhost/db?cacert=/ca"), verified(Some("/ca")));
        assert_eq!(tls("etcd://localhost/db?tls=on"), verified(None));
        assert_eq!(tls("etcd://localhost/db?cert=/c&key=/k"), verified(None));
        assert_eq!(tls("etcd://example.com/db?tls=unverified"), Tls::Unverified);
        assert_eq!(tls("etcd://example.com/db?tls=off"), Tls::Off);
    }

    #[test]
    fn wrong_urls_are_refused_without_their_passwords() {
        for url in [
            "etcd:/x",
            "http://ann:secret@localhost",
            "etcd://ann:secret%4@localhost",
            "etcd://:secret@localhost",
            "etcd://ann:secret@localhost:port/db",
            "etcd://ann:secret@localhost:70000/db",
            "etcd://ann:secret@localhost,,other/db",
            "etcd://ann:secret@a%0d%0ab/db",
            "etcd://ann:secret@localhost/a:b",
            "etcd://ann:secret@localhost/db?tls=maybe",
            "etcd://ann:secret@localhost/db?tls=off&cacert=/ca",
            "etcd://ann:secret@localhost/db?cert=/c",
            "etcd://ann:secret@localhost/db?tls=unverified&cacert=/ca",
            "etcd://ann:1/secret@localhost/db",
            "etcd://ann:1?secret@localhost/db",
            "etcd://ann:secret@localhost/db?max_txn_ops=7",
            "etcd://ann:secret@localhost/db?nothing=1",
        ] {
            let error = Address::parse(url).unwrap_err();
            assert!(matches!(error, KvError::InvalidArgument(_)), "{url}: {error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
