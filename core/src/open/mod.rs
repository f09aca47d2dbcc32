//! Opening the store that a user names: by its path, or by a URL that says what kind it is.
//!
//! | name | what it opens |
//! |---|---|
//! | a path | an LMDB environment (its directory or its `data.mdb`), an SQLite file or an XML dump; which of these it is, is found out |
//! | `lmdb:PATH` | the LMDB environment in this directory (feature `lmdb`) |
//! | `sqlite:PATH` | the SQLite file (feature `sqlite`) |
//! | `xml:PATH` | the XML dump, as a store in memory that can only be read |
//! | `memory:` | an empty store in memory |
//! | `postgres://USER@HOST:PORT/DATABASE?table=KV` | the table on the PostgreSQL server (feature `postgres`); `docs/src/servers.md` has all of the URL |
//! | `etcd://HOST:PORT,HOST2/PREFIX?tls=on` | the keys under a prefix in an etcd cluster (feature `etcd`); the same page has all of the URL |
//!
//! The text before the first colon is the kind, so a path with a colon begins with `./` or `/`. The
//! path after the colon is taken as it is; `lmdb:///data/db` is the same as `lmdb:/data/db`.
//!
//! Everything is opened read-only unless [`Opening::write`] asks for more, and nothing is created
//! unless [`Opening::create`] does. There is no registry: the kinds are those that were compiled
//! in.
//!
//! ```
//! use permazen::kv::{KvDatabase, KvRead, KvWrite, TxOptions};
//! use permazen::open::{Opening, StoreKind};
//!
//! # let dir = tempfile::tempdir()?;
//! # let file = dir.path().join("dump.xml");
//! # std::fs::write(&file, "<entries><entry><key>01</key><value>02</value></entry></entries>")?;
//! # let path = file.to_str().unwrap();
//! let store = permazen::open(path)?; // an XML dump
//! assert_eq!(store.kind(), StoreKind::Xml);
//! assert_eq!(store.begin(&TxOptions::reading())?.get(&[1])?.as_deref(), Some(&[2][..]));
//!
//! let store = Opening::new().write(true).open("memory:")?;
//! let mut tx = store.begin(&TxOptions::writing())?;
//! tx.put(b"key", b"value")?;
//! tx.commit()?;
//!
//! let error = permazen::open("mysql://server/db").unwrap_err();
//! assert!(error.to_string().starts_with("mysql: is no kind of store"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod copy;
pub(crate) mod detect;
mod error;
mod files;
mod kind;
mod opening;
#[cfg(any(feature = "etcd", feature = "postgres"))]
mod server;
pub(crate) mod xml_dump;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use permazen_kv::__internal::StoreId;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::{
    Capabilities, Counters, KeySpan, KvDatabase, KvError, KvTransaction, Space, Statistics,
    TxOptions, Warning,
};

use self::detect::DATA;
use self::files::Files;
use self::kind::{SCHEMES, Scheme};

pub use self::error::OpenError;
pub use self::kind::StoreKind;
pub use self::opening::Opening;
pub(crate) use self::xml_dump::XmlDump;

/// Opens the store with this name for reading.
///
/// # Errors
/// See [`Opening::open`].
pub fn open(name: impl AsRef<OsStr>) -> Result<OpenStore, OpenError> {
    Opening::new().open(name)
}

impl Opening {
    /// Opens the store with this name: a path or a URL, see [the module](self).
    ///
    /// # Errors
    /// [`OpenError::UnknownScheme`] and [`OpenError::NotCompiledIn`] for a URL of another kind, the
    /// errors of [`StoreKind::detect`] for a path, [`OpenError::NotWritable`] if an XML dump is to
    /// be written, and the errors of opening a store of that kind.
    pub fn open(&self, name: impl AsRef<OsStr>) -> Result<OpenStore, OpenError> {
        let name = name.as_ref();
        let (kind, path) = self.locate(name)?;
        let Scheme { feature, compiled, .. } = kind.entry();
        if let Some(feature) = feature.filter(|_| !compiled) {
            return Err(OpenError::NotCompiledIn { kind, feature });
        }
        let write = self.write || self.create;
        #[cfg_attr(
            not(any(feature = "etcd", feature = "postgres")),
            expect(unused_mut, reason = "the others have paths")
        )]
        let (mut called, mut warnings) = (kind.entry().form.to_owned(), Vec::new());
        let (store, files): (Arc<dyn KvDatabase>, Files) = match kind {
            #[cfg(feature = "lmdb")]
            StoreKind::Lmdb => {
                let builder = permazen_kv::lmdb::LmdbStore::builder();
                let builder = builder.create(self.create).read_only(!write).checks(self.checks);
                let builder = match self.wait {
                    Some(wait) => builder.wait(wait),
                    None => builder,
                };
                let store = builder.open(&path)?;
                (Arc::new(store.clone()), Files::Lmdb(store))
            }
            #[cfg(feature = "sqlite")]
            StoreKind::Sqlite => {
                let builder = permazen_kv::sqlite::SqliteStore::builder();
                let builder = builder.create(self.create).read_only(!write);
                let builder = match self.wait {
                    Some(wait) => builder.wait(wait),
                    None => builder,
                };
                let store = builder.open(&path)?;
                (Arc::new(store.clone()), Files::Sqlite(store))
            }
            StoreKind::Xml if write => return Err(OpenError::NotWritable { path: path.into() }),
            StoreKind::Xml => {
                let dump = Arc::new(XmlDump::read(&path)?);
                (dump.clone(), Files::Xml(dump))
            }
            StoreKind::Memory => (Arc::new(MemoryStore::new()), Files::None),
            #[cfg(feature = "postgres")]
            StoreKind::Postgres => {
                let mut server = server::postgres(name, self)?;
                called.clone_from(&server.name);
                warnings.append(&mut server.warnings);
                (Arc::new(server), Files::None)
            }
            #[cfg(feature = "etcd")]
            StoreKind::Etcd => {
                let mut server = server::etcd(name, self)?;
                called.clone_from(&server.name);
                warnings.append(&mut server.warnings);
                (Arc::new(server), Files::None)
            }
            #[cfg(not(all(
                feature = "etcd",
                feature = "lmdb",
                feature = "postgres",
                feature = "sqlite"
            )))]
            kind => return Err(OpenError::NotCompiledIn { kind, feature: kind.scheme() }),
        };
        let path = kind.has_path().then_some(path);
        let name = path.clone().unwrap_or_else(|| PathBuf::from(called));
        Ok(OpenStore { store, files, kind, path, name, warnings: warnings.into(), wait: self.wait })
    }

    /// Which kind of store `name` means, and its path, which is empty for a store in memory or on a
    /// server. The path of an LMDB environment is its directory. Opens no store.
    ///
    /// # Errors
    /// [`OpenError::UnknownScheme`] for a URL of another kind, and the errors of
    /// [`StoreKind::detect`] for a path.
    pub fn locate(&self, name: impl AsRef<OsStr>) -> Result<(StoreKind, PathBuf), OpenError> {
        let (kind, path) = match self.kind {
            Some(kind) if !kind.has_path() => (kind, PathBuf::new()),
            Some(kind) => (kind, PathBuf::from(name.as_ref())),
            None => self.parse(name.as_ref())?,
        };
        Ok((kind, if kind == StoreKind::Lmdb { directory_of(path) } else { path }))
    }

    fn parse(&self, name: &OsStr) -> Result<(StoreKind, PathBuf), OpenError> {
        let Some((scheme, rest)) = split_scheme(name) else {
            let path = PathBuf::from(name);
            return match StoreKind::detect(&path) {
                Err(OpenError::Io { source, .. })
                    if self.create && source.kind() == io::ErrorKind::NotFound =>
                {
                    Err(OpenError::NoKind { path: path.into() })
                }
                kind => Ok((kind?, path)),
            };
        };
        // PostgreSQL's own programs know both.
        let of_scheme = if scheme == "postgresql" { "postgres" } else { &scheme };
        let Some(known) = SCHEMES.iter().find(|known| known.name == of_scheme) else {
            return Err(OpenError::UnknownScheme { scheme });
        };
        if known.kind.is_on_servers() {
            return Ok((known.kind, PathBuf::new()));
        }
        if known.kind == StoreKind::Memory {
            return match rest.is_empty() {
                true => Ok((known.kind, PathBuf::new())),
                false => Err(OpenError::Url {
                    form: known.form,
                    reason: "a store in memory has no name",
                }),
            };
        }
        let path = match rest.to_str().and_then(|rest| rest.strip_prefix("//")) {
            Some(path) if !path.starts_with('/') => {
                return Err(OpenError::Url {
                    form: known.form,
                    reason: "no server can be named after //",
                });
            }
            Some(path) => PathBuf::from(path),
            None if rest.is_empty() => {
                return Err(OpenError::Url { form: known.form, reason: "there is no path" });
            }
            None => PathBuf::from(rest),
        };
        Ok((known.kind, path))
    }
}

/// The text before the first colon of a name and the text after it; `None` for a path.
fn split_scheme(name: &OsStr) -> Option<(String, OsString)> {
    let bytes = name.as_encoded_bytes();
    let at = bytes.iter().position(|byte| matches!(byte, b':' | b'/'))?;
    let (before, after) = bytes.split_at_checked(at)?;
    let rest = after.strip_prefix(b":")?;
    // `C:\db` is a path of Windows.
    if cfg!(windows) && before.len() == 1 {
        return None;
    }
    let rest = os_string(rest, name)?;
    Some((String::from_utf8_lossy(before).into_owned(), rest))
}

/// The end of `whole` as a string of the system.
#[cfg(unix)]
fn os_string(end: &[u8], _whole: &OsStr) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;
    Some(OsString::from_vec(end.to_vec()))
}

/// The end of `whole` as a string of the system; `None` if that is not Unicode.
#[cfg(not(unix))]
fn os_string(end: &[u8], whole: &OsStr) -> Option<OsString> {
    let whole = whole.to_str()?;
    Some(whole.get(whole.len() - end.len()..)?.into())
}

/// The directory of an LMDB environment that was named by its file.
fn directory_of(path: PathBuf) -> PathBuf {
    if path.file_name().is_none_or(|name| name != DATA) || path.is_dir() {
        return path;
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_path_buf()
}

/// An open store of any kind. Clones share it.
#[derive(Clone)]
pub struct OpenStore {
    store: Arc<dyn KvDatabase>,
    files: Files,
    kind: StoreKind,
    path: Option<PathBuf>,
    name: PathBuf,
    warnings: Arc<[Warning]>,
    wait: Option<Duration>,
}

impl OpenStore {
    /// The kind of the store.
    pub fn kind(&self) -> StoreKind {
        self.kind
    }

    /// The options, with the time to wait for which the store was opened if they do not say.
    fn waiting(&self, options: &TxOptions) -> TxOptions {
        let mut options = options.clone();
        options.wait = options.wait.or(self.wait);
        options
    }

    /// The same store with optimistic transactions ([`OptimisticDatabase`]): several can write at
    /// the same time, no lock is held before the commit, and each shows its writes
    /// ([`KvTransaction::pending`]). Such a transaction can also be begun on a store that was
    /// opened read-only; then its commit fails. Commits of other programs meanwhile are noticed.
    ///
    /// A store on a server is returned as it is: all of its transactions are optimistic, and none
    /// can write if the store was opened read-only.
    ///
    /// Open one for each store and keep it: transactions of the same one are checked against each
    /// other by their writes, without reading the store.
    ///
    /// ```
    /// use permazen::kv::{KvDatabase, KvRead, KvWrite, TxOptions};
    ///
    /// let store = permazen::open("memory:")?;
    /// let optimistic = store.clone().optimistic();
    /// let mut tx = optimistic.begin(&TxOptions::writing())?;
    /// tx.get(b"key")?;
    /// tx.put(b"other", b"")?;
    /// let mut meanwhile = store.begin(&TxOptions::writing())?; // it does not wait
    /// meanwhile.put(b"key", b"value")?;
    /// meanwhile.commit()?;
    /// assert!(tx.commit().unwrap_err().is_retryable());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn optimistic(self) -> OpenStore {
        // Such transactions are all that a server has, and it finds their conflicts itself.
        if self.store.capabilities().lazy_begin {
            return self;
        }
        OpenStore { store: Arc::new(OptimisticDatabase::new(self.store)), ..self }
    }

    /// Where it is; `None` for a store in memory or on a server. For an LMDB environment, this is
    /// its directory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The name of the store in messages: its path, `memory:`, or the URL of its server without the
    /// password.
    ///
    /// ```
    /// let store = permazen::open("memory:")?;
    /// assert_eq!(store.name().to_str(), Some("memory:"));
    /// # Ok::<(), permazen::open::OpenError>(())
    /// ```
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The problems of the settings of the server when the store was opened, with remedies; empty
    /// for a store without a server. Opening a store on PostgreSQL also logs it as warnings of
    /// `tracing`.
    ///
    /// ```
    /// let store = permazen::open("memory:")?;
    /// assert!(store.warnings().is_empty());
    /// # Ok::<(), permazen::open::OpenError>(())
    /// ```
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

impl fmt::Debug for OpenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenStore")
            .field("kind", &self.kind)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl KvDatabase for OpenStore {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>, KvError> {
        self.store.begin(&self.waiting(options))
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn verify(&self) -> Result<Vec<String>, KvError> {
        self.store.verify()
    }

    fn space(&self, spans: &[KeySpan<'_>]) -> Result<Vec<Space>, KvError> {
        self.store.space(spans)
    }

    fn statistics(&self) -> Result<Statistics, KvError> {
        self.store.statistics()
    }

    fn counters(&self) -> Counters {
        self.store.counters()
    }

    fn identity(&self) -> Option<StoreId> {
        self.store.identity()
    }
}

#[cfg(all(test, not(feature = "sqlite")))]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_not_compiled_in_names_its_feature() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        std::fs::write(&path, "SQLite format 3\0").unwrap();
        for name in ["sqlite:db", path.to_str().unwrap()] {
            let error = open(name).unwrap_err();
            assert!(matches!(error, OpenError::NotCompiledIn { feature: "sqlite", .. }), "{error}");
        }
        let error = open("other:db").unwrap_err().to_string();
        assert!(error.contains("and with the feature `sqlite` sqlite:PATH"), "{error}");
    }
}
