//! Opens the database that the user names.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KeySpan, KvDatabase, KvError, KvRead, KvTransaction, TxOptions, xml};

use crate::args::Kind;
use crate::terminal::path_text;
use crate::{Failure, files};

/// An open database.
pub(crate) struct Database {
    path: PathBuf,
    kind: Kind,
    store: Box<dyn KvDatabase>,
    /// For an XML dump, which is read as a whole: its length, and when it was last changed.
    read: Option<(u64, SystemTime)>,
}

/// Opens a database. A database that is only read is not changed in any way.
pub(crate) fn open(path: &Path, kind: Option<Kind>, write: bool) -> Result<Database, Failure> {
    let kind = match kind {
        Some(kind) => kind,
        None => detect(path)?,
    };
    if kind != Kind::Lmdb {
        files::must_be_file(path)?;
    }
    let mut real = path.to_path_buf();
    let read = if kind == Kind::Xml {
        // A repair replaces the dump by a new file: replace the file itself, not a link to it.
        real = path.canonicalize().map_err(|e| format!("{}: {e}", path_text(path)))?;
        if write {
            let opened = File::options().append(true).open(&real);
            opened.map_err(|e| format!("{}: {e}; it cannot be repaired", path_text(path)))?;
        }
        stamp(&real).ok()
    } else {
        None
    };
    let store: Box<dyn KvDatabase> = match kind {
        Kind::Lmdb => Box::new(LmdbStore::builder().read_only(!write).open(path)?),
        #[cfg(feature = "sqlite")]
        Kind::Sqlite => {
            Box::new(permazen::kv::sqlite::SqliteStore::builder().read_only(!write).open(path)?)
        }
        Kind::Xml => Box::new(read_xml(path)?),
    };
    Ok(Database { path: real, kind, store, read })
}

fn detect(path: &Path) -> Result<Kind, Failure> {
    let metadata = std::fs::metadata(path).map_err(|e| format!("{}: {e}", path_text(path)))?;
    if metadata.is_dir() {
        return Ok(Kind::Lmdb);
    }
    if path.file_name().is_some_and(|name| name == "data.mdb") {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = path_text(directory.unwrap_or(Path::new(".")));
        let path = path_text(path);
        return Err(format!(
            "{path} is a part of an LMDB environment; give its directory, {directory}"
        )
        .into());
    }
    let mut start = Vec::new();
    files::open(path)?
        .take(64)
        .read_to_end(&mut start)
        .map_err(|e| format!("{}: {e}", path_text(path)))?;
    if start.starts_with(b"SQLite format 3\0") {
        #[cfg(feature = "sqlite")]
        return Ok(Kind::Sqlite);
        #[cfg(not(feature = "sqlite"))]
        return Err(format!(
            "{} is an SQLite file; this program was built without the feature `sqlite`",
            path_text(path)
        )
        .into());
    }
    if start.trim_ascii_start().starts_with(b"<") || start.starts_with(&[0xef, 0xbb, 0xbf]) {
        return Ok(Kind::Xml);
    }
    Err(format!(
        "{} is no LMDB environment directory, no SQLite file and no XML dump; --kind says what it is",
        path_text(path)
    )
    .into())
}

fn stamp(path: &Path) -> std::io::Result<(u64, SystemTime)> {
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.len(), metadata.modified()?))
}

fn read_xml(path: &Path) -> Result<MemoryStore, Failure> {
    let file = files::open(path)?;
    let store = MemoryStore::new();
    let mut kv = store.begin(&TxOptions::writing())?;
    xml::load(&mut *kv, BufReader::new(file)).map_err(|e| format!("{}: {e}", path_text(path)))?;
    kv.commit()?;
    Ok(store)
}

impl Database {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Lmdb => "LMDB environment",
            #[cfg(feature = "sqlite")]
            Kind::Sqlite => "SQLite file",
            Kind::Xml => "XML dump",
        }
    }

    pub(crate) fn store(&self) -> &dyn KvDatabase {
        &*self.store
    }

    /// How many pairs the database has, if the store knows.
    pub(crate) fn pairs(&self) -> Option<u64> {
        self.store.statistics().ok()?.entries
    }

    /// What is wrong with the structure of the store. Empty for stores that cannot check it.
    pub(crate) fn verify(&self) -> Result<Vec<String>, Failure> {
        match self.store.verify() {
            Err(KvError::Unsupported(_)) => Ok(Vec::new()),
            problems => Ok(problems?),
        }
    }

    /// Whether the store can be read safely although its structure is damaged. LMDB cannot: it
    /// trusts its pages.
    pub(crate) fn can_be_read_damaged(&self) -> bool {
        self.kind != Kind::Lmdb
    }

    /// Begins a transaction.
    pub(crate) fn begin(&self, write: bool) -> Result<Box<dyn KvTransaction + Send + '_>, Failure> {
        let options = if write { TxOptions::writing() } else { TxOptions::reading() };
        Ok(self.store.begin(&options)?)
    }

    /// Makes sure that the file to be replaced is still the one that was read.
    pub(crate) fn is_as_opened(&self) -> Result<(), Failure> {
        if self.read.is_some_and(|read| stamp(&self.path).ok() != Some(read)) {
            let path = path_text(&self.path);
            return Err(format!("{path}: somebody has changed it; nothing is written").into());
        }
        Ok(())
    }

    /// Commits. An XML dump is then written again.
    pub(crate) fn commit(&self, kv: Box<dyn KvTransaction + Send + '_>) -> Result<(), Failure> {
        self.is_as_opened()?;
        kv.commit()?;
        if self.kind == Kind::Xml {
            let kv = self.begin(false)?;
            let wrap = |e: std::io::Error| format!("{}: {e}", path_text(&self.path));
            files::replace(&self.path, |file| {
                dump(&*kv, &self.path, &mut *file)?;
                Ok(file.sync_all().map_err(wrap)?)
            })?;
            files::sync_directory(&self.path).map_err(wrap)?;
        }
        Ok(())
    }
}

/// Writes all pairs as XML.
pub(crate) fn dump(kv: &dyn KvRead, path: &Path, out: impl Write) -> Result<(), Failure> {
    xml::dump(kv, KeySpan::FULL, xml::Style::Indented, out)
        .map_err(|e| format!("{}: {e}", path_text(path)))?;
    Ok(())
}
