//! The index entries that objects require.

use std::io;

use crate::entries::fingerprint::{Differences, Fingerprint};
use crate::entries::sort::Sorter;

/// Receives the index entries that objects require.
pub(crate) trait RequiredEntries {
    /// Receives the key of an entry.
    fn add(&mut self, entry: &[u8]) -> io::Result<()>;
}

/// Keeps only their fingerprint.
pub(crate) struct RequiredFingerprint {
    pub(crate) fingerprint: Fingerprint,
}

impl RequiredEntries for RequiredFingerprint {
    #[inline]
    fn add(&mut self, entry: &[u8]) -> io::Result<()> {
        self.fingerprint.add(entry);
        Ok(())
    }
}

/// Keeps the entries: all of them, or only those where there are differences.
pub(crate) struct CollectedEntries<'d> {
    pub(crate) sorter: Sorter,
    only: Option<&'d Differences>,
}

impl<'d> CollectedEntries<'d> {
    pub(crate) fn new(sorter: Sorter, only: Option<&'d Differences>) -> Self {
        CollectedEntries { sorter, only }
    }
}

impl RequiredEntries for CollectedEntries<'_> {
    fn add(&mut self, entry: &[u8]) -> io::Result<()> {
        if self.only.is_none_or(|only| only.includes(entry)) {
            self.sorter.push(entry)?;
        }
        Ok(())
    }
}
