//! Copying all pairs of a store, so that it can be watched and stopped.
//!
//! | copy | made by | it has |
//! |---|---|---|
//! | of the pairs, into a transaction | [`copy_pairs`] | the pairs that were not there; the commit makes it whole |
//! | of the pairs, as a new LMDB environment | `LmdbBuilder::create_from` | the pairs, packed |
//! | of the pairs, as a new SQLite file | `SqliteBuilder::create_from` | the pairs, packed |
//! | of the pairs, as a new XML dump | `xml::create_from` | the pairs |
//! | of an LMDB environment | `LmdbStore::copy_to_watched` | everything in the environment, packed; with other databases in it, its pages without unused ones |
//! | of an SQLite file | `SqliteStore::copy_to` | everything in the file, page by page |
//! | of an LMDB environment or SQLite file, in its place | `LmdbBuilder::compact`, `SqliteBuilder::compact` | everything, packed |
//!
//! Each copy has one state of its source, also while others write to that. A new file is first
//! called `….part`, is brought to disk, and then gets its name. So it is there as a whole or not at
//! all, whenever the process or the machine stops. A part that was left by a process that was
//! killed is removed by the next copy to the same place. A file that has the name already stays.
//!
//! On Unix, the copy of files is as private as its source ([`Readers::of`]), from the first byte.
//! The new files that are made from pairs can be read by their owner alone (0600, and 0700 for the
//! directory of an LMDB environment), unless [`Watch::readers`] says otherwise.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use permazen_kv::copy::{Watch, copy_pairs};
//! use permazen_kv::memory::MemoryStore;
//! use permazen_kv::{KvDatabase, KvWrite, TxOptions};
//!
//! let (from, to) = (MemoryStore::new(), MemoryStore::new());
//! let mut tx = from.begin(&TxOptions::writing())?;
//! tx.put(b"key", b"value")?;
//! tx.commit()?;
//! let stop = AtomicBool::new(false);
//! let mut tell = |copied| println!("{copied:?}");
//! let mut watch = Watch::new().stop(&stop).progress(&mut tell);
//! let mut tx = to.begin(&TxOptions::writing())?;
//! let copied = copy_pairs(&from.snapshot(), &mut *tx, &mut watch)?;
//! tx.commit()?;
//! assert_eq!((copied.pairs, copied.bytes), (1, 8));
//! # Ok::<(), permazen_kv::KvError>(())
//! ```

mod readers;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

pub use self::readers::Readers;
use crate::{Direction, KeySpan, KvError, KvRead, KvWrite, Result};

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Copied {
    /// How many pairs were copied. Copies of files do not count them.
    pub pairs: u64,
    /// How many bytes were copied: of keys and values, or of a file.
    pub bytes: u64,
    /// About how many bytes there are to copy, if that is known.
    pub of: Option<u64>,
}

/// How large a file was before it was made compact, and how large it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// The bytes of the file before.
    pub before: u64,
    /// Its bytes now.
    pub after: u64,
}

/// Watches a copy: gets its progress, and can stop it.
#[derive(Default)]
pub struct Watch<'w> {
    stop: Option<&'w AtomicBool>,
    tell: Option<&'w mut dyn FnMut(Copied)>,
    copied: Copied,
    told: Copied,
    #[cfg_attr(not(any(feature = "lmdb", feature = "sqlite", feature = "xml")), allow(dead_code))]
    readers: Readers,
}

/// A watch gets the progress each time this many pairs, or bytes, were copied.
const PAIRS: u64 = 1 << 12;
const BYTES: u64 = 1 << 20;

impl<'w> Watch<'w> {
    /// Gets no progress, and stops nothing.
    pub fn new() -> Self {
        Watch::default()
    }

    /// The copy ends with [`KvError::Stopped`] soon after `stop` is set: after the pair or the few
    /// pages that it is copying.
    #[must_use]
    pub fn stop(mut self, stop: &'w AtomicBool) -> Self {
        self.stop = Some(stop);
        self
    }

    /// `tell` is called after each megabyte, or each few thousand pairs.
    #[must_use]
    pub fn progress(mut self, tell: &'w mut dyn FnMut(Copied)) -> Self {
        self.tell = Some(tell);
        self
    }

    /// The files of a new store that is made from pairs can be read by `readers`. Without this,
    /// only by their owner: the pairs do not say where they are from. A copy of files has the
    /// readers of its source.
    #[must_use]
    pub fn readers(mut self, readers: Readers) -> Self {
        self.readers = readers;
        self
    }

    /// The readers of a new store that is made from pairs.
    #[cfg(any(feature = "lmdb", feature = "sqlite", feature = "xml"))]
    pub(crate) fn readers_of_pairs(&self) -> Readers {
        self.readers
    }

    /// Begins a copy. `of` is how many bytes there are to copy, if that is known.
    pub(crate) fn begin(&mut self, of: Option<u64>) -> Result<()> {
        self.copied = Copied { of, ..Copied::default() };
        self.told = self.copied;
        self.check()
    }

    /// The flag that is set when the copy must stop.
    #[cfg(feature = "sqlite")]
    pub(crate) fn stop_flag(&self) -> Option<&'w AtomicBool> {
        self.stop
    }

    pub(crate) fn check(&self) -> Result<()> {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(KvError::Stopped("copying")),
            _ => Ok(()),
        }
    }

    /// Notes copied pairs and bytes.
    pub(crate) fn copied(&mut self, pairs: u64, bytes: u64) -> Result<()> {
        self.copied.pairs += pairs;
        self.copied.bytes += bytes;
        let Copied { pairs, bytes, .. } = self.copied;
        if pairs - self.told.pairs >= PAIRS || bytes - self.told.bytes >= BYTES {
            self.told = self.copied;
            if let Some(tell) = &mut self.tell {
                tell(self.copied);
            }
        }
        self.check()
    }

    /// Sets how many bytes were copied in all, where the numbers that [`copied`](Watch::copied) got
    /// are not exact.
    #[cfg(feature = "lmdb")]
    pub(crate) fn set_bytes(&mut self, bytes: u64) {
        self.copied.bytes = bytes;
        self.copied.of = self.copied.of.map(|_| bytes);
    }

    /// The result of the copy.
    pub(crate) fn end(&mut self) -> Copied {
        if let Some(tell) = &mut self.tell {
            tell(self.copied);
        }
        self.copied
    }
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("copied", &self.copied).finish_non_exhaustive()
    }
}

/// Puts all pairs of `from` in the order of their keys. Pairs that `to` has already stay. Costs one
/// scan, and a put for each pair. Give it a snapshot or a read-only transaction, so that all pairs
/// are of one state.
///
/// # Errors
/// [`KvError::Stopped`], and the errors of reading and writing. Then only some pairs were put: roll
/// back.
pub fn copy_pairs(
    from: &dyn KvRead,
    to: &mut dyn KvWrite,
    watch: &mut Watch<'_>,
) -> Result<Copied> {
    each_pair(from, watch, |key, value| to.put(key, value))
}

/// Shows all pairs to `copy`, in the order of their keys.
pub(crate) fn each_pair(
    from: &dyn KvRead,
    watch: &mut Watch<'_>,
    mut copy: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<Copied> {
    watch.begin(None)?;
    let mut result = Ok(());
    from.visit(KeySpan::FULL, Direction::Forward, &mut |key, value| {
        let bytes = (key.len() + value.len()) as u64;
        result = copy(key, value).and_then(|()| watch.copied(1, bytes));
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    result.map(|()| watch.end())
}
