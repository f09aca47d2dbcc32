//! The servers, the table and the user of a store: from a URL, and from the variables of the
//! environment.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use permazen_kv::KvError;
use permazen_kv::remote::{OwnCertificate, ServerUrl, Tls};

use crate::dialect::Dialect;
use crate::given::{Given, VARIABLES, Variables};
use crate::host::Host;

/// The table, unless the URL names one.
const TABLE: &str = "KV";

/// The variable of the environment that has the name of the user of this process.
pub(crate) const USER: &str = if cfg!(windows) { "USERNAME" } else { "USER" };

/// The servers, the table, and the user that logs in.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) hosts: Vec<Host>,
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) table: String,
    /// The dialect of SQL; `None` if it depends on the server.
    pub(crate) dialect: Option<Dialect>,
    pub(crate) tls: Tls,
    /// Whether each transaction that only reads waits until it cannot fail.
    pub(crate) deferrable: bool,
    /// Whether keys can be watched, so that each commit notifies its changes.
    pub(crate) watches: bool,
    /// Whether to look at the settings of the server that lose commits or make it slow.
    pub(crate) warnings: bool,
    /// Whether a pooler may give each transaction another connection, so that a connection keeps
    /// nothing.
    pub(crate) pooled: bool,
    /// The schema of the tables; `None` if the server looks for them.
    pub(crate) schema: Option<String>,
    /// The certificate of this program.
    pub(crate) own: Option<OwnCertificate>,
    /// The name of this program on the server.
    pub(crate) application_name: String,
    /// The options that the server gets when a connection begins, as its own programs pass them
    /// with `-c`.
    pub(crate) options: Option<String>,
    /// How long to try to connect to each host.
    pub(crate) connect_timeout: Option<Duration>,
    /// How many connections a store has at most.
    pub(crate) connections: Option<usize>,
    /// After this time a connection is replaced by another one.
    pub(crate) connection_life: Option<Duration>,
    pub(crate) password: Option<String>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Without the password; of the parameters, it has the schema if there is one, and the name of the
/// table if that is another one.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.hosts.iter().map(Host::to_string).collect();
        write!(f, "postgres://{}@{}/{}", self.user, hosts.join(","), self.database)?;
        let table = Some(&self.table).filter(|table| *table != TABLE);
        match (&self.schema, table) {
            (None, None) => Ok(()),
            (None, Some(table)) => write!(f, "?table={table}"),
            (Some(schema), None) => write!(f, "?schema={schema}"),
            (Some(schema), Some(table)) => write!(f, "?schema={schema}&table={table}"),
        }
    }
}

impl Address {
    /// Reads a URL: `postgres://user:password@host:port,other/database?table=KV&sslmode=disable`.
    ///
    /// # Errors
    /// [`KvError::InvalidArgument`], which never shows a password.
    #[cfg_attr(not(test), allow(dead_code, reason = "benchmarks and tests"))]
    pub(crate) fn parse(url: &str) -> Result<Self, KvError> {
        Self::read(url, &[], |_| None)
    }

    /// Does the same. Parameters that the URL does not have come from `settings`, and then from the
    /// environment.
    ///
    /// # Errors
    /// [`KvError::InvalidArgument`], which never shows a password.
    pub(crate) fn read(
        url: &str,
        settings: &[(String, String)],
        environment: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, KvError> {
        let read = Self::of_parts(url, settings, &Variables(&environment));
        read.map_err(|what| {
            KvError::InvalidArgument(format!(
                "{what}; expected postgres://user:password@host:port,other/database?table=KV"
            ))
        })
    }

    fn of_parts(
        url: &str,
        settings: &[(String, String)],
        environment: &Variables<'_>,
    ) -> Result<Self, String> {
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let rest = rest.ok_or("the URL does not begin with postgres://")?;
        let url = ServerUrl::parse(rest, "the database")?;
        let mut address = Address {
            hosts: Vec::new(),
            user: String::new(),
            database: url.path,
            table: TABLE.to_owned(),
            dialect: None,
            tls: Tls::Off,
            deferrable: false,
            watches: false,
            warnings: true,
            pooled: false,
            schema: None,
            own: None,
            application_name: "permazen".to_owned(),
            options: None,
            connect_timeout: None,
            connections: None,
            connection_life: None,
            password: url.password,
        };
        let mut given = Given::default();
        let is_said = |name: &str| {
            settings.iter().any(|(said, _)| said == name)
                || url.parameters.iter().any(|(said, _)| *said == name)
        };
        for (variable, name) in VARIABLES.into_iter().filter(|(_, name)| !is_said(name)) {
            let Some(value) = environment.text(variable)? else { continue };
            // These ask for less encryption than the default.
            if name == "sslmode" && matches!(&value[..], "allow" | "prefer") {
                continue;
            }
            let set = address.set(&mut given, name, value);
            set.map_err(|what| format!("{variable} is wrong: {what}"))?;
        }
        for (name, value) in settings {
            address.set(&mut given, name, value.clone())?;
        }
        // The URL overrides both, in whichever form it says them.
        if Given::names_host(url.hosts) {
            given.directory = None;
        }
        if !url.user.is_empty() {
            address.user = url.user;
        }
        for (name, value) in url.parameters {
            address.set(&mut given, name, value)?;
        }
        if address.user.is_empty() {
            let user = environment.text("PGUSER")?;
            let user = user.map_or_else(|| environment.text(USER), |user| Ok(Some(user)))?;
            address.user = user.ok_or("the URL names no user")?;
        }
        if address.database.is_empty() {
            let database = environment.text("PGDATABASE")?;
            address.database = database.unwrap_or_else(|| address.user.clone());
        }
        let sent = [&address.user, &address.database, &address.application_name];
        if sent.into_iter().chain(&address.options).any(|sent| sent.contains('\0')) {
            return Err("the user, the database or another parameter has a byte of 0".to_owned());
        }
        if address.table.is_empty() || address.table.contains('\0') || address.table.len() > 56 {
            return Err("the name of the table has 1 to 56 bytes".to_owned());
        }
        let is_schema = |name: &String| matches!(name.len(), 1..=63) && !name.contains('\0');
        if !address.schema.as_ref().is_none_or(is_schema) {
            return Err("the name of the schema has 1 to 63 bytes".to_owned());
        }
        address.hosts = given.hosts(url.hosts, environment)?;
        let is_local = address.hosts.iter().all(Host::is_local);
        (address.tls, address.own) = given.tls(is_local, environment)?;
        Ok(address)
    }

    /// Takes a parameter.
    fn set(&mut self, given: &mut Given, name: &str, value: String) -> Result<(), String> {
        match name {
            "table" => self.table = value,
            "schema" => self.schema = Some(value),
            // An empty name counts as not set.
            "user" if value.is_empty() => {}
            "user" => self.user = value,
            "application_name" => self.application_name = value,
            "options" => self.options = Some(value),
            "host" => given.directory = Some(value),
            "port" => given.port = Some(value),
            "sslmode" => {
                if !matches!(&value[..], "disable" | "require" | "verify-ca" | "verify-full") {
                    return Err("sslmode is disable, require, verify-ca or verify-full".to_owned());
                }
                given.mode = Some(value);
            }
            "sslrootcert" => given.roots = Some(PathBuf::from(value)),
            "sslcert" => given.certificate = Some(PathBuf::from(value)),
            "sslkey" => given.key = Some(PathBuf::from(value)),
            // For the programs of the server, less than 0 is no limit too.
            "connect_timeout" if value.parse::<i64>().is_ok_and(|seconds| seconds < 0) => {
                self.connect_timeout = None;
            }
            "connect_timeout" => self.connect_timeout = seconds(name, &value)?,
            "connection_life" => self.connection_life = seconds(name, &value)?,
            "connections" => {
                let number = value.parse().ok().filter(|number| *number > 0);
                self.connections = Some(number.ok_or("connections is a number, 1 or more")?);
            }
            "deferrable" => self.deferrable = switch(name, &value)?,
            "watches" => self.watches = switch(name, &value)?,
            "warnings" => self.warnings = switch(name, &value)?,
            "dialect" => {
                self.dialect = Some(match &value[..] {
                    "postgres" => Dialect::Postgres,
                    "portable" => Dialect::Portable,
                    _ => return Err("dialect is postgres or portable".to_owned()),
                });
            }
            "pooling" => {
                self.pooled = match &value[..] {
                    "session" => false,
                    "transaction" => true,
                    _ => return Err("pooling is session or transaction".to_owned()),
                };
            }
            _ => return Err(format!("there is no parameter {name:?}")),
        }
        Ok(())
    }

    /// The name of the store in errors.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(self.to_string())
    }
}

/// The value of a parameter that is on or off.
fn switch(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{name} is on or off")),
    }
}

/// How many seconds a parameter says; 0 is no limit.
fn seconds(name: &str, value: &str) -> Result<Option<Duration>, String> {
    match value.parse::<u32>() {
        Ok(0) => Ok(None),
        Ok(seconds) => Ok(Some(Duration::from_secs(seconds.into()))),
        Err(_) => Err(format!("{name} is a number of seconds, at most {}", u32::MAX)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use permazen_kv::remote::ServerHost;

    use super::*;

    fn name(name: &str, port: u16) -> Host {
        Host::Name(ServerHost { name: name.to_owned(), port })
    }

    #[test]
    fn a_url_names_the_user_and_the_servers() {
        let url =
            "postgres://ann:p%40ss%3A%2F@localhost:5433,127.0.0.1,[::1]:7/my%20db?table=Other";
        let address = Address::parse(url).unwrap();
        assert_eq!(
            address.hosts,
            [name("localhost", 5433), name("127.0.0.1", 5432), name("::1", 7)]
        );
        assert_eq!((&address.user[..], &address.database[..]), ("ann", "my db"));
        assert_eq!(address.table, "Other");
        assert_eq!(address.password_for(&address.hosts[0]).unwrap(), b"p@ss:/");
        let shown = format!("{address} {address:?}");
        assert!(!shown.contains("p@ss") && !shown.contains("p%40"), "{shown}");
        let url = "ann@localhost:5433,127.0.0.1:5432,[::1]:7/my db?table=Other";
        assert!(shown.contains(url), "{shown}");
    }

    #[test]
    fn what_is_left_out_has_a_meaning() {
        let address = Address::parse("postgresql://ann@").unwrap();
        assert_eq!((&address.database[..], &address.table[..]), ("ann", "KV"));
        assert_eq!(address.to_string(), "postgres://ann@localhost:5432/ann");
        assert_eq!(address.hosts, [name("localhost", 5432)]);
        let address = Address::parse("postgres://ann@:5433/db?host=/run/pg").unwrap();
        assert_eq!(address.hosts, [Host::Path("/run/pg/.s.PGSQL.5433".into())]);
        let address = Address::parse("postgres://ann@%2Frun%2Fpg/db").unwrap();
        assert_eq!(address.hosts, [Host::Path("/run/pg/.s.PGSQL.5432".into())]);
    }

    #[test]
    fn what_the_url_does_not_say_comes_from_the_program_and_then_from_the_environment() {
        let environment = |name: &str| {
            let value = match name {
                "PGHOST" => "db1,/run/pg,db3",
                "PGPORT" => "5433,5434,5435",
                "PGUSER" => "eve",
                "PGDATABASE" => "music",
                "PGAPPNAME" => "player",
                "PGCONNECT_TIMEOUT" => "7",
                "PGOPTIONS" => "-c work_mem=1MB",
                "PGSSLMODE" => "verify-ca",
                "PGSSLROOTCERT" => "/ca",
                "PGSSLCERT" => "/crt",
                "PGSSLKEY" => "/key",
                _ => return None,
            };
            Some(value.into())
        };
        let read = |url: &str, settings: &[(&str, &str)]| {
            let settings: Vec<_> = settings
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect();
            Address::read(url, &settings, environment)
        };
        let address = read("postgres://", &[]).unwrap();
        let expected =
            [name("db1", 5433), Host::Path("/run/pg/.s.PGSQL.5434".into()), name("db3", 5435)];
        assert_eq!(address.hosts, expected);
        assert_eq!((&address.user[..], &address.database[..]), ("eve", "music"));
        assert_eq!(address.application_name, "player");
        assert_eq!(address.options.as_deref(), Some("-c work_mem=1MB"));
        assert_eq!(address.connect_timeout, Some(Duration::from_secs(7)));
        assert_eq!(address.tls, Tls::OfAuthority { roots: Some("/ca".into()) });
        let own = address.own.unwrap();
        assert_eq!((own.certificate, own.key), ("/crt".into(), "/key".into()));
        // The program counts more, and the URL most.
        let settings = [("application_name", "p"), ("connections", "3"), ("port", "9")];
        let address = read("postgres://ann@h,i:7/db?connections=4&sslmode=disable", &settings);
        let address = address.unwrap();
        assert_eq!(address.hosts, [name("h", 9), name("i", 7)]);
        assert_eq!((&address.user[..], &address.database[..]), ("ann", "db"));
        assert_eq!((&address.application_name[..], address.connections), ("p", Some(4)));
        assert_eq!((address.tls, address.own), (Tls::Off, None));
        // A single port is that of all hosts.
        let ports = |name: &str| match name {
            "PGHOST" => Some("a,b".into()),
            "PGPORT" => Some("6".into()),
            // An empty variable counts as not set, and a wish for less encryption than the default
            // does nothing.
            "PGAPPNAME" => Some(OsString::new()),
            "PGSSLMODE" => Some("prefer".into()),
            _ => None,
        };
        let address = Address::read("postgres://ann@", &[], ports).unwrap();
        assert_eq!(address.hosts, [name("a", 6), name("b", 6)]);
        assert_eq!(address.application_name, "permazen");
        assert_eq!(address.tls, Tls::Verified { roots: None });
    }

    #[test]
    fn a_schema_belongs_to_the_name() {
        let of = |parameters: &str| Address::parse(&format!("postgres://a@h/d?{parameters}"));
        let address = of("schema=my%20music&table=T&sslmode=disable").unwrap();
        assert_eq!(address.schema.as_deref(), Some("my music"));
        assert_eq!(address.to_string(), "postgres://a@h:5432/d?schema=my music&table=T");
        assert_eq!(of("schema=s").unwrap().to_string(), "postgres://a@h:5432/d?schema=s");
        for wrong in [
            "schema=",
            "connections=0",
            "connections=x",
            "connect_timeout=x",
            "connection_life=-1",
            "port=x",
            "sslcert=/crt",
            "sslkey=/key",
            "sslcert=/crt&sslkey=/key&sslmode=disable",
            "application_name=a%00b",
        ] {
            let error = of(wrong).unwrap_err();
            assert!(matches!(error, KvError::InvalidArgument(_)), "{wrong}: {error}");
        }
        assert_eq!(of("connect_timeout=0").unwrap().connect_timeout, None);
    }

    #[test]
    fn switches_are_on_or_off() {
        let url = "postgres://ann@localhost/db?deferrable=";
        let deferrable = |value: &str| Address::parse(&format!("{url}{value}"));
        assert!(deferrable("on").unwrap().deferrable && !deferrable("off").unwrap().deferrable);
        assert!(!Address::parse("postgres://ann@localhost/db").unwrap().deferrable);
        for wrong in ["", "yes"] {
            let error = deferrable(wrong).unwrap_err().to_string();
            assert!(error.contains("deferrable is on or off"), "{error}");
        }
    }

    #[test]
    fn a_dialect_is_one_of_two() {
        let dialect = |value: &str| Address::parse(&format!("postgres://ann@/db?{value}"));
        assert_eq!(dialect("").unwrap().dialect, None);
        assert_eq!(dialect("dialect=portable").unwrap().dialect, Some(Dialect::Portable));
        assert_eq!(dialect("dialect=postgres").unwrap().dialect, Some(Dialect::Postgres));
        let error = dialect("dialect=cockroach").unwrap_err().to_string();
        assert!(error.contains("postgres or portable"), "{error}");
    }

    #[test]
    fn what_leaves_this_machine_is_encrypted() {
        let tls = |url: &str| Address::parse(url).unwrap().tls;
        let verified = |roots: Option<&str>| Tls::Verified { roots: roots.map(PathBuf::from) };
        assert_eq!(tls("postgres://ann@localhost,[::1],127.0.0.9/db"), Tls::Off);
        assert_eq!(tls("postgres://ann@localhost/db?host=/run"), Tls::Off);
        assert_eq!(tls("postgres://ann@localhost,example.com/db"), verified(None));
        assert_eq!(tls("postgres://ann@10.0.0.1/db"), verified(None));
        assert_eq!(tls("postgres://ann@localhost/db?sslrootcert=/ca"), verified(Some("/ca")));
        assert_eq!(tls("postgres://ann@localhost/db?sslmode=verify-full"), verified(None));
        assert_eq!(tls("postgres://ann@example.com/db?sslmode=require"), Tls::Unverified);
        assert_eq!(tls("postgres://ann@example.com/db?sslmode=disable"), Tls::Off);
    }

    #[test]
    fn wrong_urls_are_refused_without_their_passwords() {
        for url in [
            "postgres:/x",
            "mysql://ann:secret@localhost",
            "postgres://ann:secret%4@localhost",
            "postgres://ann:secret@localhost:port/db",
            "postgres://ann:secret@localhost:70000/db",
            "postgres://ann:secret@localhost,,other/db",
            "postgres://ann:secret@localhost/db?table=",
            "postgres://ann:secret@localhost/db?sslmode=prefer",
            "postgres://ann:secret@localhost/db?nothing=1",
            "postgres://ann:1/secret@localhost/db",
            "postgres://ann:1?secret@localhost/db",
            "postgres://ann:p@ss/secret@localhost/db",
            "postgres://ann:p@ss?table=secret@localhost/db",
            "postgres://a%00n:secret@localhost/db",
            "postgres://ann:secret@localhost/d%00b",
            "postgres://ann:secret@localhost/db?sslmode=require&sslrootcert=/ca",
            "postgres://ann:secret@localhost/db?sslmode=disable&sslrootcert=/ca",
            "postgres://ann:secret@localhost/db?host=run",
        ] {
            let error = Address::parse(url).unwrap_err();
            assert!(matches!(error, KvError::InvalidArgument(_)), "{url}: {error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
