//! The index entries that objects require.

use std::io;

use crate::entries::fingerprint::{Differences, Fingerprint};
use crate::entries::sort::Sorter;

/// Takes the index entries that objects require.
pub(crate) trait Calls {
    /// Takes the key of an entry.
    fn add(&mut self, entry: &[u8]) -> io::Result<()>;
}

/// Keeps only their fingerprint.
pub(crate) struct FingerprintCalls {
    pub(crate) fingerprint: Fingerprint,
}

impl Calls for FingerprintCalls {
    #[inline]
    fn add(&mut self, entry: &[u8]) -> io::Result<()> {
        self.fingerprint.add(entry);
        Ok(())
    }
}

/// Keeps the entries: all of them, or only those where there are differences.
pub(crate) struct EntryCalls<'d> {
    pub(crate) sorter: Sorter,
    only: Option<&'d Differences>,
}

impl<'d> EntryCalls<'d> {
    pub(crate) fn new(sorter: Sorter, only: Option<&'d Differences>) -> Self {
        EntryCalls { sorter, only }
    }
}

impl Calls for EntryCalls<'_> {
    fn add(&mut self, entry: &[u8]) -> io::Result<()> {
        if self.only.is_none_or(|only| only.includes(entry)) {
            self.sorter.push(entry)?;
        }
        Ok(())
    }
}
