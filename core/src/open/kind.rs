//! The kinds of stores.

use std::fmt;

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreKind {
    /// An LMDB environment.
    Lmdb,
    /// An SQLite file.
    Sqlite,
    /// An XML dump of pairs.
    Xml,
    /// A store in memory.
    Memory,
    /// A table on a PostgreSQL server.
    Postgres,
    /// The keys under a prefix in an etcd cluster.
    Etcd,
}

/// A kind of store, what URLs call it, and what can be opened in that way.
pub(super) struct Scheme {
    pub(super) kind: StoreKind,
    pub(super) name: &'static str,
    pub(super) form: &'static str,
    /// The feature of this crate that it needs.
    pub(super) feature: Option<&'static str>,
    pub(super) compiled: bool,
}

pub(super) const SCHEMES: [Scheme; 6] = [
    Scheme {
        kind: StoreKind::Lmdb,
        name: "lmdb",
        form: "lmdb:PATH",
        feature: Some("lmdb"),
        compiled: cfg!(feature = "lmdb"),
    },
    Scheme {
        kind: StoreKind::Sqlite,
        name: "sqlite",
        form: "sqlite:PATH",
        feature: Some("sqlite"),
        compiled: cfg!(feature = "sqlite"),
    },
    Scheme { kind: StoreKind::Xml, name: "xml", form: "xml:PATH", feature: None, compiled: true },
    Scheme {
        kind: StoreKind::Memory,
        name: "memory",
        form: "memory:",
        feature: None,
        compiled: true,
    },
    Scheme {
        kind: StoreKind::Postgres,
        name: "postgres",
        form: "postgres://USER@HOST/DATABASE",
        feature: Some("postgres"),
        compiled: cfg!(feature = "postgres"),
    },
    Scheme {
        kind: StoreKind::Etcd,
        name: "etcd",
        form: "etcd://HOST,HOST2,HOST3/PREFIX",
        feature: Some("etcd"),
        compiled: cfg!(feature = "etcd"),
    },
];

impl StoreKind {
    /// The text before the colon of a URL: `lmdb`, `sqlite`, `xml`, `memory`, `postgres` or `etcd`.
    pub fn scheme(self) -> &'static str {
        self.entry().name
    }

    /// Whether this program can open stores of this kind.
    pub fn is_compiled_in(self) -> bool {
        self.entry().compiled
    }

    /// Whether such a store is a file or a directory. Otherwise it has no path.
    pub fn has_path(self) -> bool {
        self != StoreKind::Memory && !self.is_on_servers()
    }

    /// Whether such a store lies on servers, which its URL names.
    pub fn is_on_servers(self) -> bool {
        matches!(self, StoreKind::Postgres | StoreKind::Etcd)
    }

    pub(super) fn entry(self) -> &'static Scheme {
        let [lmdb, sqlite, xml, memory, postgres, etcd] = &SCHEMES;
        match self {
            StoreKind::Lmdb => lmdb,
            StoreKind::Sqlite => sqlite,
            StoreKind::Xml => xml,
            StoreKind::Memory => memory,
            StoreKind::Postgres => postgres,
            StoreKind::Etcd => etcd,
        }
    }
}

/// In words: `LMDB environment`.
impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StoreKind::Lmdb => "LMDB environment",
            StoreKind::Sqlite => "SQLite file",
            StoreKind::Xml => "XML dump",
            StoreKind::Memory => "store in memory",
            StoreKind::Postgres => "PostgreSQL table",
            StoreKind::Etcd => "etcd prefix",
        })
    }
}

/// The kinds of stores that can be opened, and which features add more.
pub(super) fn kinds() -> String {
    let forms: Vec<&str> =
        SCHEMES.iter().filter(|known| known.compiled).map(|known| known.form).collect();
    let mut text = forms.join(", ");
    for known in SCHEMES.iter().filter(|known| !known.compiled) {
        let feature = known.feature.unwrap_or_default();
        text.push_str(&format!(", and with the feature `{feature}` {}", known.form));
    }
    text
}
