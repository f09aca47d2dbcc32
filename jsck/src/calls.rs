//! The index entries that objects call for.

use std::io;

use crate::fingerprint::{Differences, Fingerprint};
use crate::sort::Sorter;

/// Takes the entries objects call for.
pub(crate) trait Calls {
    /// Takes the entry that is the concatenation of `parts`.
    fn add(&mut self, parts: &[&[u8]]) -> io::Result<()>;
}

/// Takes only their fingerprint.
pub(crate) struct FingerprintCalls {
    pub(crate) fingerprint: Fingerprint,
    entry: Vec<u8>,
}

impl FingerprintCalls {
    pub(crate) fn new(empty: Fingerprint) -> Self {
        FingerprintCalls { fingerprint: empty, entry: Vec::new() }
    }
}

impl Calls for FingerprintCalls {
    #[inline]
    fn add(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.entry.clear();
        for part in parts {
            self.entry.extend_from_slice(part);
        }
        self.fingerprint.add(&self.entry);
        Ok(())
    }
}

/// Keeps the entries, or those of them where there are differences.
pub(crate) struct EntryCalls<'d> {
    pub(crate) sorter: Sorter,
    only: Option<&'d Differences>,
    entry: Vec<u8>,
}

impl<'d> EntryCalls<'d> {
    pub(crate) fn new(sorter: Sorter, only: Option<&'d Differences>) -> Self {
        EntryCalls { sorter, only, entry: Vec::new() }
    }
}

impl Calls for EntryCalls<'_> {
    fn add(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.entry.clear();
        for part in parts {
            self.entry.extend_from_slice(part);
        }
        if self.only.is_none_or(|only| only.includes(&self.entry)) {
            self.sorter.push(&self.entry)?;
        }
        Ok(())
    }
}
