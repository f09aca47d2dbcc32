//! Copies of stores.

use std::ffi::OsStr;
use std::path::Path;

use permazen_kv::copy::{Compacted, Copied, Readers, Watch};
#[cfg(any(feature = "etcd", feature = "postgres"))]
use permazen_kv::{KvDatabase as _, TxOptions, copy::copy_pairs};
use permazen_kv::{KvError, KvRead, xml};

use super::error::OpenError;
use super::files::Files;
use super::kind::StoreKind;
use super::{OpenStore, Opening};

impl OpenStore {
    /// Makes a backup: a new store of the same kind at the path `target`, with everything in the
    /// files of this one as it is now. Others can read and write meanwhile. The backup gets its
    /// name when all of it is on disk; so it is there as a whole or not at all.
    ///
    /// The backup of an LMDB environment is packed. That of an SQLite file is a copy of its pages,
    /// also of those that are not used. That of an XML dump has its pairs.
    ///
    /// On Unix, the backup is as private as the files of this store, from its first byte: see
    /// [`readers`](Self::readers).
    ///
    /// ```
    /// use permazen::kv::copy::Watch;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let (path, target) = (dir.path().join("dump.xml"), dir.path().join("backup.xml"));
    /// # std::fs::write(&path, "<entries/>")?;
    /// let store = permazen::open(&path)?;
    /// store.back_up(&target, &mut Watch::new())?;
    /// assert_eq!(permazen::open(&target)?.kind(), store.kind());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OpenError::Store`]: with [`KvError::Open`] if there is something at `target` already, with
    /// [`KvError::Stopped`], with [`KvError::Unsupported`] for a store in memory or on a server,
    /// and with the errors of the store.
    pub fn back_up(
        &self,
        target: impl AsRef<Path>,
        watch: &mut Watch<'_>,
    ) -> Result<Copied, OpenError> {
        let target = target.as_ref();
        match &self.files {
            #[cfg(feature = "lmdb")]
            Files::Lmdb(store) => Ok(store.copy_to_watched(target, watch)?),
            #[cfg(feature = "sqlite")]
            Files::Sqlite(store) => Ok(store.copy_to(target, watch)?),
            Files::Xml(dump) => {
                // A new dump is for its owner alone, unless the watch says otherwise.
                *watch = std::mem::take(watch).readers(self.readers());
                Ok(dump_to(target, &dump.store().snapshot(), watch)?)
            }
            Files::None => Err(KvError::Unsupported("a backup of its files").into()),
        }
    }
}

impl OpenStore {
    /// Which users may read the files of this store, and so those of its copies. Of a store in
    /// memory or on a server, only the owner of a copy may read it: a server says in its own way
    /// which users read it.
    ///
    /// ```
    /// use permazen::kv::copy::Watch;
    /// use permazen::kv::{KvDatabase, TxOptions};
    /// use permazen::open::Opening;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("dump.xml");
    /// # std::fs::write(&path, "<entries/>")?;
    /// # let target = format!("xml:{}", dir.path().join("copy.xml").display());
    /// let store = permazen::open(&path)?;
    /// let tx = store.begin(&TxOptions::reading())?;
    /// // A copy for all that can read the store.
    /// let mut watch = Watch::new().readers(store.readers());
    /// Opening::new().create_from(&target, &tx, &mut watch)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn readers(&self) -> Readers {
        self.path().map_or_else(Readers::owner, Readers::of)
    }
}

impl Opening {
    /// Makes a new store with this name, and with the pairs of `from`: a copy to any kind of store.
    /// Give it a snapshot or a read-only transaction, so that all pairs are of one state.
    ///
    /// The store gets its name when all of it is on disk; so it is there as a whole or not at all.
    /// Its pages are full. On a server, the table must be empty, and gets all pairs in one
    /// transaction. Costs one scan of `from`.
    ///
    /// On Unix, the owner of the new files alone can read them (0600, and 0700 for the directory of
    /// an LMDB environment), from the first byte. `from` does not say where its pairs are;
    /// [`Watch::readers`] with [`OpenStore::readers`] makes the copy as open as the store.
    ///
    /// ```
    /// use permazen::kv::copy::Watch;
    /// use permazen::kv::{KvDatabase, TxOptions};
    /// use permazen::open::Opening;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("dump.xml");
    /// # std::fs::write(&path, "<entries><entry><key>01</key></entry></entries>")?;
    /// # let target = format!("xml:{}", dir.path().join("copy.xml").display());
    /// let store = permazen::open(&path)?;
    /// let tx = store.begin(&TxOptions::reading())?;
    /// let copied = Opening::new().create_from(&target, &tx, &mut Watch::new())?;
    /// assert_eq!(copied.pairs, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`locate`](Self::locate), and [`OpenError::NoKind`] if the name does not say which
    /// kind of store to make. [`OpenError::Store`]: with [`KvError::Open`] if there is something at
    /// that path already, with [`KvError::Stopped`], with [`KvError::KeyTooLong`] for a key that
    /// the store cannot hold, with [`KvError::Unsupported`] for a store in memory, if there is more
    /// than a server takes in one transaction, and with the errors of reading `from`.
    pub fn create_from(
        &self,
        name: impl AsRef<OsStr>,
        from: &dyn KvRead,
        watch: &mut Watch<'_>,
    ) -> Result<Copied, OpenError> {
        let name = name.as_ref();
        let (kind, path) = self.clone().create(true).locate(name)?;
        match kind {
            #[cfg(feature = "lmdb")]
            StoreKind::Lmdb => {
                let builder = permazen_kv::lmdb::LmdbStore::builder();
                Ok(builder.create_from(path, from, watch)?)
            }
            #[cfg(feature = "sqlite")]
            StoreKind::Sqlite => {
                let builder = permazen_kv::sqlite::SqliteStore::builder();
                Ok(builder.create_from(path, from, watch)?)
            }
            StoreKind::Xml => Ok(dump_to(&path, from, watch)?),
            StoreKind::Memory => {
                Err(KvError::Unsupported("a copy to a new store in memory").into())
            }
            #[cfg(feature = "postgres")]
            StoreKind::Postgres => self.fill(name, from, watch),
            #[cfg(feature = "etcd")]
            StoreKind::Etcd => self.fill(name, from, watch),
            #[cfg(not(all(
                feature = "etcd",
                feature = "lmdb",
                feature = "postgres",
                feature = "sqlite"
            )))]
            kind => Err(OpenError::NotCompiledIn { kind, feature: kind.scheme() }),
        }
    }

    /// Puts all pairs into a store on servers in which there are none, in one transaction.
    #[cfg(any(feature = "etcd", feature = "postgres"))]
    fn fill(
        &self,
        name: &OsStr,
        from: &dyn KvRead,
        watch: &mut Watch<'_>,
    ) -> Result<Copied, OpenError> {
        let store = self.clone().create(true).open(name)?;
        let mut to = store.begin(&TxOptions::writing())?;
        // Other pairs would become a part of the copy.
        if to.at_least(&[], None)?.is_some() {
            let (path, reason) = (store.name().into(), "there are pairs in it".into());
            return Err(KvError::Open { path, reason }.into());
        }
        let copied = copy_pairs(from, &mut *to, watch)?;
        to.commit()?;
        Ok(copied)
    }
}

impl Opening {
    /// Makes the store with this name compact in its place. An LMDB environment must not be open
    /// elsewhere, in this process or another one; of an SQLite file, others can read meanwhile.
    /// Both need room on the disk for a copy. See `LmdbBuilder::compact` and
    /// `SqliteBuilder::compact` of [`permazen_kv`](crate::kv).
    ///
    /// ```
    /// use permazen::kv::copy::Watch;
    /// use permazen::open::Opening;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("db");
    /// # let url = format!("lmdb:{}", path.display());
    /// # if cfg!(all(feature = "lmdb", unix)) {
    /// Opening::new().create(true).open(&url)?;
    /// let compacted = Opening::new().compact(&path, &mut Watch::new())?;
    /// assert!(compacted.after <= compacted.before);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`locate`](Self::locate). [`OpenError::NotWritable`] for an XML dump.
    /// [`OpenError::Store`]: with [`KvError::Retry`] if others are in the way, with
    /// [`KvError::Stopped`], with [`KvError::Full`], with [`KvError::Unsupported`] for a store in
    /// memory or on a server, and for an LMDB environment on Windows. Nothing is changed then.
    #[cfg_attr(
        not(any(feature = "lmdb", feature = "sqlite")),
        expect(unused_variables, reason = "only files of these stores can be made compact")
    )]
    pub fn compact(
        &self,
        name: impl AsRef<OsStr>,
        watch: &mut Watch<'_>,
    ) -> Result<Compacted, OpenError> {
        let (kind, path) = self.clone().create(false).locate(name)?;
        match kind {
            #[cfg(feature = "lmdb")]
            StoreKind::Lmdb => Ok(permazen_kv::lmdb::LmdbStore::builder().compact(path, watch)?),
            #[cfg(feature = "sqlite")]
            StoreKind::Sqlite => {
                let builder = permazen_kv::sqlite::SqliteStore::builder();
                let builder = match self.wait {
                    Some(wait) => builder.wait(wait),
                    None => builder,
                };
                Ok(builder.compact(path, watch)?)
            }
            StoreKind::Xml => Err(OpenError::NotWritable { path: path.into() }),
            StoreKind::Memory => {
                Err(KvError::Unsupported("making a store in memory compact").into())
            }
            StoreKind::Postgres => {
                Err(KvError::Unsupported("making a table of a server compact").into())
            }
            StoreKind::Etcd => {
                Err(KvError::Unsupported("making a part of a cluster compact").into())
            }
            #[cfg(not(all(feature = "lmdb", feature = "sqlite")))]
            kind => Err(OpenError::NotCompiledIn { kind, feature: kind.scheme() }),
        }
    }
}

fn dump_to(path: &Path, from: &dyn KvRead, watch: &mut Watch<'_>) -> permazen_kv::Result<Copied> {
    xml::create_from(path, from, xml::Style::Indented, watch)
}
