//! XML dumps as stores that can be read.

use std::fs::Metadata;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use permazen_kv::__internal::{StoreId, unless_open_with_sqlite};
use permazen_kv::memory::MemoryStore;
use permazen_kv::{
    Capabilities, Counters, KvDatabase, KvError, KvTransaction, Statistics, TxOptions, xml,
};

use super::detect::open_file;
use super::error::OpenError;
use crate::escape::path_text;

/// An XML dump that was read into memory. As a store it can only be read. [`store`](Self::store)
/// can be changed, which does not change the file.
///
/// ```
/// use permazen::kv::{KvDatabase, TxOptions};
/// use permazen::__internal::open::XmlDump;
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

/// The attributes of a file that change when the file changes.
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
        // Closing a file that SQLite has open in this process would give up SQLite's locks.
        if unless_open_with_sqlite(path, || ()).is_err() {
            let reason = "this process has it open as an SQLite file, so it is no XML dump";
            return Err(failed(io::Error::other(reason)));
        }
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
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>, KvError> {
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

    /// Nothing is committed to it.
    fn counters(&self) -> Counters {
        let mut counters = self.store.counters();
        counters.commits = None;
        // The transaction that has read the file does not count.
        counters.begun = counters.begun.map(|begun| begun.saturating_sub(1));
        counters
    }

    fn identity(&self) -> Option<StoreId> {
        self.store.identity()
    }
}
