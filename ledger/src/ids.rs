//! The IDs of commits and pages.

use std::fmt;

use permazen_kv::Hex;

use crate::digest::Digest;

/// The ID of a commit: the digest of its bytes. The first commit of each page, which is not stored,
/// has the ID of 32 zero bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(pub Digest);

impl CommitId {
    /// The first commit of each page: it has no parents, and its tree is empty.
    pub const FIRST: CommitId = CommitId(Digest([0; Digest::LEN]));
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The ID of a page within its ledger: 16 bytes. A page has a name of two parts: the name of its
/// ledger, which groups pages, and an ID within it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub [u8; 16]);

impl PageId {
    /// The page that each ledger can have without choosing an ID.
    pub const ROOT: PageId = PageId([0; 16]);
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

impl fmt::Debug for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A process that has the repository open: random bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ProcessId(pub(crate) [u8; 16]);
