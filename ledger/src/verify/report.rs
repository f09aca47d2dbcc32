//! The report of a check.

use std::fmt;

use permazen_kv::Hex;

use crate::error::{LedgerError, Result};
use crate::rows::inspect::Wrong;

/// A defect of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The number of the page; 0 if it is a row of the repository.
    pub page: u64,
    /// The key of the row, without the prefix of the page.
    pub row: Vec<u8>,
    /// The expected content.
    pub expected: String,
    /// The content that was found.
    pub found: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { page, row, expected, found } = self;
        match page {
            0 => f.write_str("repository")?,
            page => write!(f, "page {page}")?,
        }
        write!(f, ", row {}: expected {expected}; found {found}", Hex(row))
    }
}

/// The report of [`Repository::verify`](crate::Repository::verify) and
/// [`Page::verify`](crate::Page::verify).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// The defects; empty if there are none.
    pub findings: Vec<Finding>,
    /// How many commits there are.
    pub commits: u64,
    /// How many pieces there are: nodes, and parts of long values.
    pub pieces: u64,
    /// How many of them are reachable from no commit. They do no harm.
    pub unreachable_pieces: u64,
    /// How many bytes these have.
    pub unreachable_bytes: u64,
}

impl Verification {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn add(
        &mut self,
        page: u64,
        row: &[u8],
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        let (expected, found) = (expected.into(), found.into());
        self.findings.push(Finding { page, row: row.to_vec(), expected, found });
    }

    /// Adds the counts and findings of another check.
    pub(super) fn append(&mut self, other: Verification) {
        let Verification { findings, commits, pieces, unreachable_pieces, unreachable_bytes } =
            other;
        self.findings.extend(findings);
        self.commits += commits;
        self.pieces += pieces;
        self.unreachable_pieces += unreachable_pieces;
        self.unreachable_bytes += unreachable_bytes;
    }

    pub(super) fn add_wrong(&mut self, page: u64, row: &[u8], wrong: Wrong) {
        self.add(page, row, wrong.expected, wrong.found);
    }

    /// The value that was read, or `None` and a finding if it is damaged.
    ///
    /// # Errors
    /// Those of the host.
    pub(super) fn readable<T>(
        &mut self,
        (page, row): (u64, &[u8]),
        expected: &str,
        read: Result<T>,
    ) -> Result<Option<T>> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(LedgerError::Host(error)) => Err(LedgerError::Host(error)),
            Err(LedgerError::DamagedRow { found, .. }) => {
                self.add(page, row, expected, found);
                Ok(None)
            }
            Err(LedgerError::Integrity { found, .. }) => {
                self.add(page, row, expected, found);
                Ok(None)
            }
            Err(LedgerError::UnknownFormat { what, found, known, .. }) => {
                self.add(page, row, format!("{what} {known}"), format!("{what} {found}"));
                Ok(None)
            }
            Err(error) => {
                self.add(page, row, expected, error.to_string());
                Ok(None)
            }
        }
    }
}
