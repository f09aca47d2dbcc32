//! Reads whole values, and explains errors about absent ones.

use permazen_kv::Blob;

use super::pinned_page::PinnedPage;
use super::shared::Shared;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::items::{LAZY, Payload, REFERENCE};
use crate::rows::statuses::Remote;
use crate::value::read::{ChunkReader, PieceStore};
use crate::value::reference::Reference;

/// The whole value of a payload.
#[inline]
fn value<'n, P: PieceStore>(pieces: &P, shared: &Shared, payload: Payload<'n>) -> Result<Blob<'n>> {
    if payload.flags & REFERENCE == 0 {
        return Ok(payload.bytes.into());
    }
    let reference = reference(payload)?;
    shared.check_whole(reference.len)?;
    let mut value = Vec::new();
    let mut reader = ChunkReader::new(pieces, &reference, 0)?;
    while let Some(bytes) = reader.next()? {
        shared.append(&mut value, &bytes, reference.len)?;
    }
    Ok(value.into())
}

/// The reference in a payload of a leaf that was checked.
pub(crate) fn reference(payload: Payload<'_>) -> Result<Reference> {
    Reference::parse(payload.bytes)
        .map_err(|found| LedgerError::refused(Kind::Node, &Digest([0; 32]), found))
}

/// Whether pieces of a value may be at a remote only.
pub(crate) fn can_be_absent(flags: u16) -> bool {
    flags & (LAZY | REFERENCE) == LAZY | REFERENCE
}

/// Where a long value lies, for errors.
#[derive(Debug, Clone)]
pub(super) struct ValueLocation {
    commit: CommitId,
    key: Box<[u8]>,
    can_be_absent: bool,
}

impl ValueLocation {
    pub(super) fn new(commit: &CommitId, flags: u16, key: &[u8]) -> Self {
        ValueLocation { commit: *commit, key: key.into(), can_be_absent: can_be_absent(flags) }
    }
}

/// The value of an entry of a commit, from pieces of this page.
fn value_at<'n, P: PieceStore>(
    pieces: &P,
    shared: &Shared,
    (commit, key): (&CommitId, impl FnOnce() -> Vec<u8>),
    payload: Payload<'n>,
) -> Result<Blob<'n>> {
    let result = match value(pieces, shared, payload) {
        // Another thread may have fetched the piece in the middle of the read.
        Err(LedgerError::Missing { .. }) if can_be_absent(payload.flags) => {
            value(pieces, shared, payload)
        }
        result => result,
    };
    result.or_else(|error| {
        let location = ValueLocation::new(commit, payload.flags, &key());
        Err(shared.absent(error, &location, &reference(payload)?))
    })
}

impl Shared {
    /// # Errors
    /// [`LedgerError::WholeValueTooLong`] if this many bytes are over the limit for whole values.
    pub(super) fn check_whole(&self, len: u64) -> Result<()> {
        match self.longest_whole {
            max if len > max => Err(self.too_long(len, max)),
            _ => Ok(()),
        }
    }

    /// The error about a value over the limit. [`absent`](Shared::absent) adds where it lies.
    fn too_long(&self, len: u64, max: u64) -> LedgerError {
        let (page, commit, key) = (self.number(), CommitId::FIRST, Box::default());
        LedgerError::WholeValueTooLong { page, commit, key, len, max }
    }

    /// Appends bytes to a value that will have `len` bytes. Memory is reserved only for bytes that
    /// were read, because a damaged or malicious reference can claim any length.
    pub(super) fn append(&self, value: &mut Vec<u8>, bytes: &[u8], len: u64) -> Result<()> {
        let max = value.len() as u64;
        value.try_reserve(bytes.len()).map_err(|_| self.too_long(len, max))?;
        value.extend_from_slice(bytes);
        Ok(())
    }

    /// The value of an entry of a commit.
    pub(crate) fn value<'n>(
        &self,
        commit: &CommitId,
        key: impl FnOnce() -> Vec<u8>,
        payload: Payload<'n>,
    ) -> Result<Blob<'n>> {
        value_at(self, self, (commit, key), payload)
    }

    /// Whether pieces of lazy values may be at a remote only.
    pub(crate) fn is_attached(&self) -> Result<bool> {
        Ok(self.open.rows.remote(&self.read()?)? == Remote::Attached)
    }

    /// Explains an error of a read of this value.
    pub(super) fn absent(
        &self,
        error: LedgerError,
        ValueLocation { commit, key, can_be_absent }: &ValueLocation,
        value: &Reference,
    ) -> LedgerError {
        let mut error = error.needed(|by| by.key = Some(key.to_vec()));
        if let LedgerError::WholeValueTooLong { commit: of, key: at, .. } = &mut error {
            (*of, *at) = (*commit, key.clone());
        }
        if !can_be_absent || !matches!(error, LedgerError::Missing { .. }) {
            return error;
        }
        match self.is_attached() {
            Ok(true) => LedgerError::NeedsFetch {
                page: self.open.rows.number,
                commit: *commit,
                key: key.clone(),
                len: value.len,
                digest: value.top,
            },
            Ok(false) => error,
            Err(failed) => failed,
        }
    }
}

impl PinnedPage {
    /// The value of an entry of a commit.
    #[inline]
    pub(crate) fn value<'n>(
        &self,
        commit: &CommitId,
        key: impl FnOnce() -> Vec<u8>,
        payload: Payload<'n>,
    ) -> Result<Blob<'n>> {
        value_at(self, &self.shared, (commit, key), payload)
    }
}
