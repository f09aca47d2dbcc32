//! Where a damaged or missing piece was needed.

use std::fmt;

use super::display::{of, row, start};
use crate::digest::{Digest, Kind};
use crate::ids::CommitId;

/// Where a damaged or missing piece or commit was needed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeededBy {
    /// The number of the page.
    pub page: u64,
    /// The commits that were read, if any. It is reachable from at least one of them.
    pub commits: Vec<CommitId>,
    /// The key that was read, if any.
    pub key: Option<Vec<u8>>,
    /// Whether the bytes were received or fetched, and refused: they are not stored.
    pub received: bool,
}

impl NeededBy {
    /// The message about a piece or commit that does not match its digest: a stored one, or one
    /// that was received.
    pub(super) fn mismatch(
        &self,
        kind: Kind,
        digest: &Digest,
        (expected, found): (&str, &str),
    ) -> String {
        let what = format!("{kind} {digest}{self}");
        match self.received {
            true => format!("received {what} is refused: expected {expected}, found {found}"),
            false => format!(
                "damaged {what}, row {}: expected {expected}, found {found}; get it from a copy of the page",
                row(kind, digest)
            ),
        }
    }
}

impl fmt::Display for NeededBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " of {}", of(self.page))?;
        let mut separator = ", needed by commit";
        for commit in &self.commits {
            write!(f, "{separator} {commit}")?;
            separator = " or";
        }
        match &self.key {
            Some(key) => write!(f, ", for key {}", start(key)),
            None => Ok(()),
        }
    }
}
