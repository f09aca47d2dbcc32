//! The row with the parameters of a page.

use std::time::Duration;

use permazen_kv::{KvRead, KvWrite};

use super::page::Rows;
use super::repository::FORMAT;
use crate::error::{LedgerError, Result};
use crate::secret::Secret;

pub(super) const PARAMETERS: u8 = 0x2f;

/// Which commits a page keeps. Whatever it says, heads of branches, commits with a tag, and commits
/// that somebody reads are kept, and so are those that merging heads needs. A commit that no branch
/// and no tag leads to is kept by nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Retention {
    /// All.
    #[default]
    All,
    /// None.
    Heads,
    /// So many of each branch: the newest by generation. At least 1.
    Last(u64),
    /// Those that are not older than this.
    Age(Duration),
}

impl Retention {
    pub(super) fn to_bytes(self) -> [u8; 9] {
        let (rule, number) = match self {
            Retention::All => (0, 0),
            Retention::Heads => (1, 0),
            Retention::Last(count) => (2, count),
            Retention::Age(age) => (3, u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
        };
        let mut bytes = [rule; 9];
        bytes[1..].copy_from_slice(&u64::to_be_bytes(number));
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (rule, number) = bytes.split_first()?;
        Some(match (rule, u64::from_be_bytes(number.try_into().ok()?)) {
            (0, 0) => Retention::All,
            (1, 0) => Retention::Heads,
            (2, count @ 1..) => Retention::Last(count),
            (3, age) => Retention::Age(Duration::from_millis(age)),
            _ => return None,
        })
    }
}

/// What a page was made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) secret: Secret,
    pub(crate) retention: Retention,
}

impl Rows {
    /// Refuses a page that was deleted. Each transaction that writes rows of a page asks this first.
    pub(crate) fn check_there(&self, host: &dyn KvRead) -> Result<()> {
        match self.get(host, &[PARAMETERS])? {
            Some(_) => Ok(()),
            None => Err(LedgerError::PageGone { page: self.page }),
        }
    }

    /// The page's parameters. `None` if there is no such page.
    pub(crate) fn parameters(&self, host: &dyn KvRead) -> Result<Option<Parameters>> {
        let Some(value) = self.get(host, &[PARAMETERS])? else { return Ok(None) };
        let (format, rest) = value.split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
        if u32::from_be_bytes(*format) != FORMAT {
            let found = u32::from_be_bytes(*format);
            return Err(LedgerError::UnknownFormat { found, known: FORMAT });
        }
        let (secret, rest) = rest.split_first_chunk::<32>().unwrap_or((&[0; 32], &[]));
        // No flag is known to this version.
        match rest.strip_prefix(&[0]).and_then(Retention::parse) {
            Some(retention) => Ok(Some(Parameters { secret: Secret::new(*secret), retention })),
            None => Err(self.damaged(&[PARAMETERS], "its flags or retention are not known")),
        }
    }

    pub(crate) fn put_parameters(&self, host: &mut dyn KvWrite, page: &Parameters) -> Result<()> {
        let mut value = FORMAT.to_be_bytes().to_vec();
        value.extend_from_slice(page.secret.as_bytes());
        value.push(0);
        value.extend_from_slice(&page.retention.to_bytes());
        self.put(host, &[PARAMETERS], value)
    }
}
