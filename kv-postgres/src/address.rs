//! Where a server is, and who asks it: a URL, and what the environment adds.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use permazen_kv::KvError;
use permazen_kv::remote::{ServerHost, ServerUrl, Tls};

use crate::dialect::Dialect;
use crate::error::Failure;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    Name(ServerHost),
    /// A socket in the file system.
    #[cfg(unix)]
    Path(PathBuf),
}

impl Host {
    /// Whether what is sent stays on this machine.
    fn is_local(&self) -> bool {
        match self {
            Host::Name(host) => host.is_local(),
            #[cfg(unix)]
            Host::Path(_) => true,
        }
    }

    /// The name and port under which the file of passwords has it.
    fn in_file(&self) -> (&str, String) {
        match self {
            Host::Name(host) => (&host.name, host.port.to_string()),
            #[cfg(unix)]
            Host::Path(path) => {
                let port = path.extension().map(|port| port.to_string_lossy().into_owned());
                ("localhost", port.unwrap_or_default())
            }
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(host) => write!(f, "{host}"),
            #[cfg(unix)]
            Host::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The table, unless the URL names one.
const TABLE: &str = "KV";

/// Who asks which servers for which table.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) hosts: Vec<Host>,
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) table: String,
    /// What is spoken with the server; `None` if it depends on the server.
    pub(crate) dialect: Option<Dialect>,
    pub(crate) tls: Tls,
    /// Whether each transaction that only reads waits until it cannot fail.
    pub(crate) deferrable: bool,
    /// Whether keys can be watched, so that each commit tells what it has changed.
    pub(crate) watches: bool,
    /// Whether a pooler may give each transaction another connection, so that a connection keeps nothing.
    pub(crate) pooled: bool,
    password: Option<String>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Without the password; of the parameters, it has the name of the table if that is another one.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.hosts.iter().map(Host::to_string).collect();
        write!(f, "postgres://{}@{}/{}", self.user, hosts.join(","), self.database)?;
        match &self.table[..] {
            TABLE => Ok(()),
            table => write!(f, "?table={table}"),
        }
    }
}

impl Address {
    /// Reads a URL: `postgres://user:password@host:port,other/database?table=KV&sslmode=disable`.
    ///
    /// # Errors
    /// [`KvError::InvalidArgument`], which never shows a password.
    pub(crate) fn parse(url: &str) -> Result<Self, KvError> {
        let wrong = |what: &str| {
            KvError::InvalidArgument(format!(
                "{what}; expected postgres://user:password@host:port,other/database?table=KV"
            ))
        };
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let rest = rest.ok_or_else(|| wrong("the URL does not begin with postgres://"))?;
        let url = ServerUrl::parse(rest, "the database").map_err(|what| wrong(&what))?;
        let mut address = Address {
            hosts: Vec::new(),
            user: url.user,
            database: url.path,
            table: TABLE.to_owned(),
            dialect: None,
            tls: Tls::Off,
            deferrable: false,
            watches: false,
            pooled: false,
            password: url.password,
        };
        let (mut mode, mut roots, mut path) = (None, None, None);
        for (name, value) in url.parameters {
            match name {
                "table" => address.table = value,
                "user" => address.user = value,
                "host" => path = Some(value),
                "sslmode" => mode = Some(value),
                "deferrable" => {
                    address.deferrable =
                        switch(&value).ok_or_else(|| wrong("deferrable is on or off"))?;
                }
                "dialect" => {
                    address.dialect = Some(match &value[..] {
                        "postgres" => Dialect::Postgres,
                        "portable" => Dialect::Portable,
                        _ => return Err(wrong("dialect is postgres or portable")),
                    });
                }
                "watches" => {
                    address.watches =
                        switch(&value).ok_or_else(|| wrong("watches is on or off"))?;
                }
                "pooling" => {
                    address.pooled = match &value[..] {
                        "session" => false,
                        "transaction" => true,
                        _ => return Err(wrong("pooling is session or transaction")),
                    };
                }
                "sslrootcert" => roots = Some(PathBuf::from(value)),
                _ => return Err(wrong(&format!("there is no parameter {name:?}"))),
            }
        }
        if address.user.is_empty() {
            let from = |name: &str| std::env::var(name).ok().filter(|name| !name.is_empty());
            let user = from("PGUSER").or_else(|| from("USER"));
            address.user = user.ok_or_else(|| wrong("the URL names no user"))?;
        }
        if address.database.is_empty() {
            address.database.clone_from(&address.user);
        }
        if address.user.contains('\0') || address.database.contains('\0') {
            return Err(wrong("the user or the database has a byte of 0"));
        }
        if address.table.is_empty() || address.table.contains('\0') || address.table.len() > 56 {
            return Err(wrong("the name of the table has 1 to 56 bytes"));
        }
        if let Some(path) = path {
            address
                .hosts
                .push(socket(&path, url.hosts).ok_or_else(|| wrong("host= is no directory"))?);
        } else {
            let hosts = if url.hosts.is_empty() { "localhost" } else { url.hosts };
            for host in hosts.split(',') {
                let host = host_of(host).ok_or_else(|| wrong("a host or its port is wrong"))?;
                address.hosts.push(host);
            }
        }
        address.tls = match mode.as_deref() {
            // What does not leave this machine need not be encrypted.
            None if roots.is_none() && address.hosts.iter().all(Host::is_local) => Tls::Off,
            Some("disable" | "require") if roots.is_some() => {
                return Err(wrong("sslrootcert is of no use without sslmode=verify-full"));
            }
            Some("disable") => Tls::Off,
            Some("require") => Tls::Unverified,
            None | Some("verify-full") => Tls::Verified { roots },
            Some(_) => return Err(wrong("sslmode is disable, require or verify-full")),
        };
        Ok(address)
    }

    /// What errors call the store.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(self.to_string())
    }

    /// The password: of the URL, of `PGPASSWORD`, or of the file of passwords.
    pub(crate) fn password_for(&self, host: &Host) -> Result<Vec<u8>, Failure> {
        let password = if let Some(password) = &self.password {
            password.clone().into_bytes()
        } else if let Ok(password) = std::env::var("PGPASSWORD") {
            password.into_bytes()
        } else {
            let file = std::env::var_os("PGPASSFILE").map(PathBuf::from);
            let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".pgpass"));
            self.password_in(file.or_else(home).as_deref(), host)?
        };
        match password.contains(&0) {
            true => Err(Failure::other("the password has a byte of 0, where it ends for a server")),
            false => Ok(password),
        }
    }

    /// The password that a file has for this user.
    fn password_in(&self, file: Option<&Path>, host: &Host) -> Result<Vec<u8>, Failure> {
        let missing = |why: &str| {
            Failure::other(format!(
                "the server asks for a password: name it in the URL, in PGPASSWORD or in ~/.pgpass{why}"
            ))
        };
        let file = file.ok_or_else(|| missing(""))?;
        let text = match std::fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing("")),
            Err(error) => return Err(missing(&format!("; {}: {error}", file.display()))),
            Ok(text) => text,
        };
        check_private(file)?;
        let (name, port) = host.in_file();
        let wanted = [name, &port, &self.database, &self.user];
        let found = text.lines().find_map(|line| {
            let fields = fields(line);
            let (password, place) = fields.split_last()?;
            let fits = place.len() == wanted.len()
                && place.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
            fits.then(|| password.clone().into_bytes())
        });
        found.ok_or_else(|| {
            let (file, of) = (file.display(), wanted.join(":"));
            missing(&format!("; no line of {file} is for {of}"))
        })
    }
}

/// Refuses a file of passwords that others can read.
#[cfg(unix)]
fn check_private(file: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(file)?.permissions().mode();
    if mode & 0o077 != 0 {
        let file = file.display();
        return Err(Failure::other(format!("others can read {file}: chmod 600 {file}")));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_file: &Path) -> Result<(), Failure> {
    Ok(())
}

/// The fields of a line of the file of passwords.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    if line.starts_with('#') {
        return fields;
    }
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let (character, ends) = match character {
            '\\' => (characters.next().unwrap_or('\\'), false),
            ':' => (':', true),
            other => (other, false),
        };
        match fields.last_mut() {
            Some(last) if !ends => last.push(character),
            _ => fields.push(String::new()),
        }
    }
    fields
}

fn host_of(text: &str) -> Option<Host> {
    let (name, port) = ServerUrl::host(text)?;
    #[cfg(unix)]
    if name.starts_with('/') {
        return socket(&name, &format!(":{}", port.unwrap_or("5432")));
    }
    let port = port.map_or(Ok(5432), str::parse).ok()?;
    Some(Host::Name(ServerHost { name, port }))
}

/// The socket of a server in a directory; the port is that of `:port`.
#[cfg(unix)]
fn socket(directory: &str, port: &str) -> Option<Host> {
    let port: u16 = match port.split_once(':') {
        Some((_, port)) => port.parse().ok()?,
        None => 5432,
    };
    let path = Path::new(directory);
    path.is_absolute().then(|| Host::Path(path.join(format!(".s.PGSQL.{port}"))))
}

#[cfg(not(unix))]
fn socket(_directory: &str, _port: &str) -> Option<Host> {
    None
}

/// What a parameter turns on or off.
fn switch(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn name(name: &str, port: u16) -> Host {
        Host::Name(ServerHost { name: name.to_owned(), port })
    }

    #[cfg(unix)]
    #[test]
    fn a_file_of_passwords_has_a_line_for_the_host_as_the_url_names_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("passwords");
        std::fs::write(&file, "127.0.0.1:5432:music:ann:a\\:b\n").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let password = |url: &str, file: &Path| {
            let address = Address::parse(url).unwrap();
            address.password_in(Some(file), &address.hosts[0])
        };
        assert_eq!(password("postgres://ann@127.0.0.1/music", &file).unwrap(), b"a:b");
        let error = password("postgres://ann@localhost/music", &file).unwrap_err().to_string();
        let wanted = format!("no line of {} is for localhost:5432:music:ann", file.display());
        assert!(error.contains(&wanted), "{error}");
        let error = password("postgres://ann@127.0.0.1/music", folder.path()).unwrap_err();
        assert!(error.to_string().contains(&folder.path().display().to_string()), "{error}");
    }

    #[test]
    fn a_url_says_who_asks_whom() {
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

    #[test]
    fn lines_of_the_file_of_passwords_can_have_colons() {
        assert_eq!(fields(r"host:5432:*:ann:a\:b\\c"), ["host", "5432", "*", "ann", r"a:b\c"]);
        assert_eq!(fields("# host:1:2:3:4").len(), 1);
    }
}
