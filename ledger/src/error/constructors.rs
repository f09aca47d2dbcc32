//! Constructors of errors that several places need.

use std::error::Error;

use super::{LedgerError, NeededBy};
use crate::digest::{Digest, Kind};
use crate::ids::{CommitId, PageId};

impl LedgerError {
    /// An error of any kind, for implementations of the traits of this crate. It is not retryable.
    ///
    /// ```
    /// use permazen_ledger::LedgerError;
    ///
    /// let error = LedgerError::other("the server knows no such user");
    /// assert_eq!(error.to_string(), "the server knows no such user");
    /// assert!(!error.is_retryable());
    /// ```
    pub fn other(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        LedgerError::Other { source: error.into(), retryable: false }
    }

    /// The same as a retryable error.
    ///
    /// ```
    /// use permazen_ledger::LedgerError;
    ///
    /// let error = LedgerError::other_retryable(std::io::Error::from(std::io::ErrorKind::TimedOut));
    /// assert!(error.is_retryable());
    /// ```
    pub fn other_retryable(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        LedgerError::Other { source: error.into(), retryable: true }
    }

    /// The error about a damaged piece or commit, without where it was needed.
    pub(crate) fn integrity(
        kind: Kind,
        digest: &Digest,
        expected: impl Into<Box<str>>,
        found: impl Into<Box<str>>,
    ) -> Self {
        let (expected, found, needed_by) = (expected.into(), found.into(), Box::default());
        LedgerError::Integrity { kind, digest: *digest, expected, found, needed_by }
    }

    /// The error about bytes with another digest than they should have.
    pub(crate) fn other_digest(kind: Kind, digest: &Digest, found: &Digest) -> Self {
        Self::integrity(
            kind,
            digest,
            "bytes with this digest",
            format!("bytes with digest {found}"),
        )
    }

    /// The error about bytes that a decoder refuses.
    pub(crate) fn refused(kind: Kind, digest: &Digest, found: impl Into<Box<str>>) -> Self {
        Self::integrity(kind, digest, format!("the one encoding of a {kind}"), found)
    }

    /// The error about a missing piece, without where it was needed.
    pub(crate) fn missing(kind: Kind, digest: &Digest) -> Self {
        LedgerError::Missing { kind, digest: *digest, needed_by: Box::default() }
    }

    /// The error about something that a later version has written into the row with this key in
    /// hexadecimal.
    pub(crate) fn unknown(
        (page, row): (u64, String),
        what: &'static str,
        found: impl Into<u64>,
        known: &'static str,
    ) -> Self {
        LedgerError::UnknownFormat { page, row: row.into(), what, found: found.into(), known }
    }

    /// Adds where the piece or commit was needed, if the error is about one.
    pub(crate) fn needed(mut self, note: impl FnOnce(&mut NeededBy)) -> Self {
        if let LedgerError::Integrity { needed_by, .. } | LedgerError::Missing { needed_by, .. } =
            &mut self
        {
            note(needed_by);
        }
        self
    }

    /// There is no such page.
    pub(crate) fn no_page(ledger: &str, id: &PageId) -> Self {
        LedgerError::NoSuch { page: 0, what: "page", name: format!("{ledger} {id}") }
    }

    /// There is no such branch in a page.
    pub(crate) fn no_branch(page: u64, branch: &str) -> Self {
        LedgerError::NoSuch { page, what: "branch", name: branch.to_owned() }
    }

    /// A branch of a page was changed at the same time.
    pub(crate) fn moved(page: u64, branch: &str) -> Self {
        LedgerError::BranchMoved { page, branch: branch.to_owned() }
    }

    /// There is such a page already.
    pub(crate) fn page_exists(ledger: &str, id: &PageId) -> Self {
        LedgerError::Exists { page: 0, what: "page", name: format!("{ledger} {id}") }
    }

    /// Adds page and commits of the merge to an error of a resolver that lacks them.
    pub(crate) fn of_merge(mut self, of_page: u64, of_commits: &[CommitId]) -> Self {
        if let LedgerError::Resolver { page, commits, .. } = &mut self {
            if *page == 0 {
                *page = of_page;
            }
            if commits.is_empty() {
                commits.extend_from_slice(of_commits);
            }
        }
        self
    }
}
