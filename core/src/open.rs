//! Opening the store that a user names: by its path, or by a URL that says what kind it is.
//!
//! | name | what it opens |
//! |---|---|
//! | a path | an LMDB environment (its directory or its `data.mdb`), an SQLite file or an XML dump; which of these it is, is found out |
//! | `lmdb:PATH` | the LMDB environment in this directory (feature `lmdb`) |
//! | `sqlite:PATH` | the SQLite file (feature `sqlite`) |
//! | `xml:PATH` | the XML dump, as a store in memory that can only be read |
//! | `memory:` | an empty store in memory |
//!
//! What stands before the first colon is the kind, so a path with a colon begins with `./` or `/`.
//! The path after the colon is taken as it is; `lmdb:///data/db` is the same as `lmdb:/data/db`.
//!
//! Everything is opened read-only unless [`Opening::write`] asks for more, and nothing is created
//! unless [`Opening::create`] does. There is no registry: the kinds are those that were compiled in.
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
//! let error = permazen::open("postgres://server/db").unwrap_err();
//! assert!(error.to_string().starts_with("postgres: is no kind of store"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{File, FileType, Metadata};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::xml::{self, XmlError};
use permazen_kv::{Capabilities, KvDatabase, KvError, KvTransaction, Statistics, TxOptions};

use crate::escape::path_text;

/// Opens the store with this name for reading.
///
/// # Errors
/// See [`Opening::open`].
pub fn open(name: impl AsRef<OsStr>) -> Result<OpenStore, OpenError> {
    Opening::new().open(name)
}

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
}

/// A kind of store, what URLs call it, and what can be opened in that way.
struct Scheme {
    kind: StoreKind,
    name: &'static str,
    form: &'static str,
    /// The feature of this crate that it needs.
    feature: Option<&'static str>,
    compiled: bool,
}

const SCHEMES: [Scheme; 4] = [
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
];

impl StoreKind {
    /// Finds out which kind of store is at `path`. Reads the first bytes of a file.
    ///
    /// # Errors
    /// [`OpenError::Io`] if there is nothing at `path`, [`OpenError::NotAFile`] for a named pipe or
    /// a device, [`OpenError::Unrecognized`] for another file.
    pub fn detect(path: impl AsRef<Path>) -> Result<StoreKind, OpenError> {
        let path = path.as_ref();
        let metadata = std::fs::metadata(path).map_err(|error| OpenError::io(path, error))?;
        if metadata.is_dir() || path.file_name().is_some_and(|name| name == DATA) {
            return Ok(StoreKind::Lmdb);
        }
        let mut start = Vec::new();
        let read = open_file(path)?.take(64).read_to_end(&mut start);
        read.map_err(|error| OpenError::io(path, error))?;
        if start.starts_with(b"SQLite format 3\0") {
            return Ok(StoreKind::Sqlite);
        }
        if start.trim_ascii_start().starts_with(b"<") || start.starts_with(&[0xef, 0xbb, 0xbf]) {
            return Ok(StoreKind::Xml);
        }
        Err(OpenError::Unrecognized { path: path.into() })
    }

    /// What stands before the colon of a URL: `lmdb`, `sqlite`, `xml` or `memory`.
    pub fn scheme(self) -> &'static str {
        self.entry().name
    }

    /// Whether this program can open stores of this kind.
    pub fn is_compiled_in(self) -> bool {
        self.entry().compiled
    }

    fn entry(self) -> &'static Scheme {
        let [lmdb, sqlite, xml, memory] = &SCHEMES;
        match self {
            StoreKind::Lmdb => lmdb,
            StoreKind::Sqlite => sqlite,
            StoreKind::Xml => xml,
            StoreKind::Memory => memory,
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
        })
    }
}

/// The file of an LMDB environment.
const DATA: &str = "data.mdb";

/// How to open a store.
///
/// ```
/// use std::time::Duration;
///
/// use permazen::open::Opening;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("db");
/// # let url = format!("lmdb:{}", path.display());
/// # if cfg!(feature = "lmdb") {
/// let opening = Opening::new().create(true).wait(Duration::from_secs(5));
/// let store = opening.open(&url)?;
/// assert_eq!(store.path(), Some(&*path));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Opening {
    write: bool,
    create: bool,
    kind: Option<StoreKind>,
    wait: Option<Duration>,
}

impl Opening {
    /// Opens for reading, and waits as long as each kind of store does by itself.
    pub fn new() -> Self {
        Opening::default()
    }

    /// Whether to open for writing too; off unless set. A store in memory can always be written.
    #[must_use]
    pub fn write(mut self, write: bool) -> Self {
        self.write = write;
        self
    }

    /// Whether to create what is missing, and open for writing; off unless set. What is created
    /// must have a kind: by its URL, or by [`kind`](Self::kind).
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Takes every name to be the path of a store of this kind, also one that looks like a URL.
    #[must_use]
    pub fn kind(mut self, kind: StoreKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// How long to wait for others: when opening, and in each transaction whose
    /// [`TxOptions::wait`] is not set.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Opens the store with this name: a path or a URL, see [the module](self).
    ///
    /// # Errors
    /// [`OpenError::UnknownScheme`] and [`OpenError::NotCompiledIn`] for a URL of another kind, the
    /// errors of [`StoreKind::detect`] for a path, [`OpenError::NotWritable`] if an XML dump is to
    /// be written, and the errors of opening a store of that kind.
    pub fn open(&self, name: impl AsRef<OsStr>) -> Result<OpenStore, OpenError> {
        let (kind, path) = self.locate(name)?;
        let Scheme { feature, compiled, .. } = kind.entry();
        if let Some(feature) = feature.filter(|_| !compiled) {
            return Err(OpenError::NotCompiledIn { kind, feature });
        }
        let write = self.write || self.create;
        let store: Arc<dyn KvDatabase> = match kind {
            #[cfg(feature = "lmdb")]
            StoreKind::Lmdb => {
                let builder = permazen_kv::lmdb::LmdbStore::builder();
                let builder = builder.create(self.create).read_only(!write);
                let builder = match self.wait {
                    Some(wait) => builder.wait(wait),
                    None => builder,
                };
                Arc::new(builder.open(&path)?)
            }
            #[cfg(feature = "sqlite")]
            StoreKind::Sqlite => {
                let builder = permazen_kv::sqlite::SqliteStore::builder();
                let builder = builder.create(self.create).read_only(!write);
                let builder = match self.wait {
                    Some(wait) => builder.wait(wait),
                    None => builder,
                };
                Arc::new(builder.open(&path)?)
            }
            StoreKind::Xml if write => return Err(OpenError::NotWritable { path: path.into() }),
            StoreKind::Xml => Arc::new(XmlDump::read(&path)?),
            StoreKind::Memory => Arc::new(MemoryStore::new()),
            #[cfg(not(feature = "lmdb"))]
            StoreKind::Lmdb => {
                return Err(OpenError::NotCompiledIn { kind, feature: kind.scheme() });
            }
            #[cfg(not(feature = "sqlite"))]
            StoreKind::Sqlite => {
                return Err(OpenError::NotCompiledIn { kind, feature: kind.scheme() });
            }
        };
        let path = (kind != StoreKind::Memory).then_some(path);
        Ok(OpenStore { store, kind, path, wait: self.wait })
    }

    /// Which kind of store `name` means, and its path, which is empty for a store in memory. The
    /// path of an LMDB environment is its directory. Opens no store.
    ///
    /// # Errors
    /// [`OpenError::UnknownScheme`] for a URL of another kind, and the errors of
    /// [`StoreKind::detect`] for a path.
    pub fn locate(&self, name: impl AsRef<OsStr>) -> Result<(StoreKind, PathBuf), OpenError> {
        let (kind, path) = match self.kind {
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
        let Some(known) = SCHEMES.iter().find(|known| known.name == scheme) else {
            return Err(OpenError::UnknownScheme { scheme });
        };
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

/// What stands before the first colon of a name and what stands after it; `None` for a path.
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
    kind: StoreKind,
    path: Option<PathBuf>,
    wait: Option<Duration>,
}

impl OpenStore {
    /// What kind of store it is.
    pub fn kind(&self) -> StoreKind {
        self.kind
    }

    /// The same store with optimistic transactions ([`OptimisticDatabase`]): several can write at
    /// the same time, no lock is held before the commit, and each says what it has written
    /// ([`KvTransaction::pending`]). Such a transaction can also be begun on a store that was opened
    /// read-only; then its commit fails. What other programs commit meanwhile is noticed.
    ///
    /// Open one for each store and keep it: transactions of the same one are checked against each
    /// other by what they wrote, without reading the store.
    ///
    /// ```
    /// use permazen::kv::{KvDatabase, KvRead, KvWrite, TxOptions};
    ///
    /// let store = permazen::open("memory:")?;
    /// let optimistic = store.clone().optimistic();
    /// let mut tx = optimistic.begin(&TxOptions::writing())?;
    /// tx.get(b"key")?;
    /// tx.put(b"other", b"")?;
    /// let mut meanwhile = store.begin(&TxOptions::writing())?; // it waits for nobody
    /// meanwhile.put(b"key", b"value")?;
    /// meanwhile.commit()?;
    /// assert!(tx.commit().unwrap_err().is_retryable());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn optimistic(self) -> OpenStore {
        OpenStore { store: Arc::new(OptimisticDatabase::new(self.store)), ..self }
    }

    /// Where it is; `None` for a store in memory. For an LMDB environment, this is its directory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl fmt::Debug for OpenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenStore")
            .field("kind", &self.kind)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl KvDatabase for OpenStore {
    fn begin<'db>(
        &'db self,
        options: &TxOptions,
    ) -> Result<Box<dyn KvTransaction + Send + 'db>, KvError> {
        let mut options = options.clone();
        options.wait = options.wait.or(self.wait);
        self.store.begin(&options)
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn verify(&self) -> Result<Vec<String>, KvError> {
        self.store.verify()
    }

    fn statistics(&self) -> Result<Statistics, KvError> {
        self.store.statistics()
    }
}

/// An XML dump that was read into memory. As a store it can only be read. [`store`](Self::store) can
/// be changed, which does not change the file.
///
/// ```
/// use permazen::kv::{KvDatabase, TxOptions};
/// use permazen::open::XmlDump;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("dump.xml");
/// # std::fs::write(&path, "<entries/>")?;
/// let dump = XmlDump::read(&path)?;
/// dump.begin(&TxOptions::reading())?;
/// std::fs::write(&path, "<entries><entry><key>01</key></entry></entries>")?;
/// let error = dump.begin(&TxOptions::reading()).err().unwrap();
/// assert!(error.to_string().ends_with("it was changed since it was read; open it again"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct XmlDump {
    path: PathBuf,
    store: MemoryStore,
    /// The file as it was read.
    read: Stamp,
}

/// What changes when a file changes.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    /// The number of the file on its device.
    inode: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let inode = 0;
        Stamp { len: metadata.len(), modified: metadata.modified().ok(), inode }
    }
}

impl XmlDump {
    /// Reads the dump at `path` into memory.
    ///
    /// # Errors
    /// [`OpenError::Io`], [`OpenError::NotAFile`], [`OpenError::Changed`] if the file changes while
    /// it is read, and [`OpenError::Xml`] for a file that is no dump.
    pub fn read(path: impl AsRef<Path>) -> Result<XmlDump, OpenError> {
        let path = path.as_ref();
        let failed = |error| OpenError::io(path, error);
        let file = open_file(path)?;
        let read = Stamp::of(&file.metadata().map_err(failed)?);
        let real = path.canonicalize().map_err(failed)?;
        let store = MemoryStore::new();
        let mut kv = store.begin(&TxOptions::writing())?;
        let loaded = xml::load(&mut *kv, BufReader::new(file));
        let dump = XmlDump { path: real, store: store.clone(), read };
        // A file that is changed while it is read is seldom a whole document.
        if !dump.is_unchanged() {
            return Err(OpenError::Changed { path: path.into() });
        }
        loaded.map_err(|source| OpenError::Xml { path: path.into(), source: Box::new(source) })?;
        kv.commit()?;
        Ok(dump)
    }

    /// The file, after all links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The pairs in memory.
    pub fn store(&self) -> &MemoryStore {
        &self.store
    }

    /// Whether the file is still as it was read, by its length, its time of change and its place on
    /// the device.
    pub fn is_unchanged(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|found| Stamp::of(&found) == self.read)
    }
}

impl KvDatabase for XmlDump {
    /// Begins a read-only transaction. Looks at the file.
    ///
    /// # Errors
    /// [`KvError::IllegalState`] for a transaction that writes, [`KvError::Open`] if the file was
    /// changed since it was read.
    fn begin<'db>(
        &'db self,
        options: &TxOptions,
    ) -> Result<Box<dyn KvTransaction + Send + 'db>, KvError> {
        if !options.read_only {
            return Err(KvError::IllegalState(format!(
                "{}: an XML dump can only be read; copy it to another store to change it",
                path_text(&self.path)
            )));
        }
        if !self.is_unchanged() {
            let reason = "it was changed since it was read; open it again".into();
            return Err(KvError::Open { path: self.path.as_path().into(), reason });
        }
        self.store.begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn statistics(&self) -> Result<Statistics, KvError> {
        self.store.statistics()
    }
}

/// Opens a file for reading; refuses anything else, since opening a named pipe would wait for
/// somebody to write to it.
fn open_file(path: &Path) -> Result<File, OpenError> {
    let failed = |error| OpenError::io(path, error);
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        let found = what_it_is(metadata.file_type());
        return Err(OpenError::NotAFile { path: path.into(), found });
    }
    File::open(path).map_err(failed)
}

/// Something that is not a file, in words.
fn what_it_is(found: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if found.is_fifo() {
            return "a named pipe";
        }
        if found.is_socket() {
            return "a socket";
        }
        if found.is_char_device() || found.is_block_device() {
            return "a device";
        }
    }
    if found.is_dir() { "a directory" } else { "something else" }
}

/// Why a store could not be opened. The messages show a path as
/// [`path_text`](crate::escape::path_text) does.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No kind of store has this name.
    #[error("{scheme}: is no kind of store: {}; write ./ before a path that has a colon", kinds())]
    UnknownScheme {
        /// What stands before the colon.
        scheme: String,
    },
    /// The program was built without this kind of store.
    #[error("it is a store of the kind {}, for which this program was built without the feature `{feature}`", kind.scheme())]
    NotCompiledIn {
        /// The kind.
        kind: StoreKind,
        /// The feature of this crate that it needs.
        feature: &'static str,
    },
    /// A URL of a known kind cannot be read.
    #[error("{reason}: the form is {form}")]
    Url {
        /// How such a URL is written.
        form: &'static str,
        /// What is wrong.
        reason: &'static str,
    },
    /// Something is to be created, and the name does not say what.
    #[error("{}: it does not exist; to create it, say of which kind: {}", path_text(path), kinds())]
    NoKind {
        /// The path.
        path: Box<Path>,
    },
    /// A file is no store.
    #[error("{} is no LMDB environment directory, no SQLite file and no XML dump", path_text(path))]
    Unrecognized {
        /// The file.
        path: Box<Path>,
    },
    /// A directory, named pipe or device stands where a file is expected.
    #[error("{}: {found}, where a file is expected", path_text(path))]
    NotAFile {
        /// The path.
        path: Box<Path>,
        /// What it is.
        found: &'static str,
    },
    /// The file could not be read.
    #[error("{}: {source}", path_text(path))]
    Io {
        /// The file.
        path: Box<Path>,
        /// The error of the system.
        source: io::Error,
    },
    /// A file is no XML dump.
    #[error("{}: {source}", path_text(path))]
    Xml {
        /// The file.
        path: Box<Path>,
        /// What is wrong with it.
        source: Box<XmlError>,
    },
    /// An XML dump was changed while it was read.
    #[error("{}: it was changed while it was read; open it again", path_text(path))]
    Changed {
        /// The file.
        path: Box<Path>,
    },
    /// An XML dump was to be written.
    #[error(
        "{}: an XML dump can only be read; copy it to another store to change it",
        path_text(path)
    )]
    NotWritable {
        /// The file.
        path: Box<Path>,
    },
    /// The store could not be opened.
    #[error(transparent)]
    Store(#[from] KvError),
}

impl OpenError {
    fn io(path: &Path, source: io::Error) -> OpenError {
        OpenError::Io { path: path.into(), source }
    }
}

/// The kinds of stores that can be opened, and which features add more.
fn kinds() -> String {
    let forms: Vec<&str> =
        SCHEMES.iter().filter(|known| known.compiled).map(|known| known.form).collect();
    let mut text = forms.join(", ");
    for known in SCHEMES.iter().filter(|known| !known.compiled) {
        let feature = known.feature.unwrap_or_default();
        text.push_str(&format!(", and with the feature `{feature}` {}", known.form));
    }
    text
}
