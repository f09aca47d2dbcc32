//! Values, with what is here of them.

use super::protected::Protected;
use super::whole::reference;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::items::{Payload, Priority, REFERENCE};

/// A value, which may not be here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryValue {
    /// Whether copies of the page must have it.
    pub priority: Priority,
    /// Its length in bytes.
    pub len: u64,
    /// The digest of its top piece: equal values have equal digests. `None` for up to 512 bytes.
    pub digest: Option<Digest>,
    /// The value. `None` if it is not here, was not asked for, or is longer than what is given in
    /// one piece
    /// ([`RepositoryBuilder::longest_whole_value`](crate::RepositoryBuilder::longest_whole_value)).
    pub bytes: Option<Vec<u8>>,
}

impl EntryValue {
    /// What an entry says of its value.
    pub(super) fn of(payload: Payload<'_>) -> Result<Self> {
        let priority = payload.priority();
        if payload.flags & REFERENCE == 0 {
            let (len, bytes) = (payload.bytes.len() as u64, Some(payload.bytes.to_vec()));
            return Ok(EntryValue { priority, len, digest: None, bytes });
        }
        let value = reference(payload)?;
        Ok(EntryValue { priority, len: value.len, digest: Some(value.top), bytes: None })
    }

    /// The same with the bytes that are here.
    pub(crate) fn read(
        page: &Protected,
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
