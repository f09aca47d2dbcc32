//! Who needed what is damaged or not there.

use std::fmt;

use super::words::{of, start};
use crate::ids::CommitId;

/// Where something was needed that is damaged or not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeededBy {
    /// The number of the page.
    pub page: u64,
    /// The commits that were read, if any were. At least one of them leads to it.
    pub commits: Vec<CommitId>,
    /// The key that was read, if it was one.
    pub key: Option<Vec<u8>>,
}

impl fmt::Display for NeededBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " of {}", of(self.page))?;
        let mut words = ", needed by commit";
        for commit in &self.commits {
            write!(f, "{words} {commit}")?;
            words = " or";
        }
        match &self.key {
            Some(key) => write!(f, ", for key {}", start(key)),
            None => Ok(()),
        }
    }
}
