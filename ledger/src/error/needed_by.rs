//! Where a damaged or missing piece was needed.

use std::fmt;

use super::display::{of, start};
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
