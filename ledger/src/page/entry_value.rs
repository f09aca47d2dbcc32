//! The value of a listed entry, which may be absent.

use super::pinned_page::PinnedPage;
use super::whole_value::reference;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::items::{Payload, Priority, REFERENCE};

/// A value, which may be absent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryValue {
    /// Whether copies of the page must have it.
    pub priority: Priority,
    /// Its length in bytes.
    pub len: u64,
    /// The digest of its top piece: equal values have equal digests. `None` for up to 512 bytes.
    pub digest: Option<Digest>,
    /// The value. `None` if it is absent, was not requested, or is over the limit for whole values
    /// ([`RepositoryBuilder::longest_whole_value`](crate::RepositoryBuilder::longest_whole_value)).
    pub bytes: Option<Vec<u8>>,
}

impl EntryValue {
    /// The value without the bytes of a long one.
    pub(super) fn of(payload: Payload<'_>) -> Result<Self> {
        let priority = payload.priority();
        if payload.flags & REFERENCE == 0 {
            let (len, bytes) = (payload.bytes.len() as u64, Some(payload.bytes.to_vec()));
            return Ok(EntryValue { priority, len, digest: None, bytes });
        }
        let value = reference(payload)?;
        Ok(EntryValue { priority, len: value.len, digest: Some(value.top), bytes: None })
    }

    /// The value with its bytes, if they are stored here.
    pub(crate) fn read(
        page: &PinnedPage,
        commit: &CommitId,
        key: &[u8],
        payload: Payload<'_>,
    ) -> Result<Self> {
        let mut value = EntryValue::of(payload)?;
        if value.bytes.is_none() {
            value.bytes = match page.value(commit, || key.to_vec(), payload) {
                Err(LedgerError::NeedsFetch { .. } | LedgerError::WholeValueTooLong { .. }) => None,
                bytes => Some(bytes?.into_owned()),
            };
        }
        Ok(value)
    }
}
