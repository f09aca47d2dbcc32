//! The two forms of a counter: eight bytes, most significant first, in an `ObjectData`; and that of
//! the store, which chooses its own bytes.

use crate::id::StorageId;
use crate::object::{Result, Transaction};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType};

impl Transaction {
    /// The value of a counter in the form of `ObjectData`: eight bytes, most significant first.
    /// `None` if this is not a counter, or if it is damaged.
    pub(super) fn counter_out(
        &self,
        field: &ResolvedField,
        value: &[u8],
    ) -> Result<Option<[u8; 8]>> {
        match field.kind {
            // A damaged counter has no number, so the bytes stay as they are.
            ResolvedKind::Counter => Ok(self.store.decode_counter(value)?.map(i64::to_be_bytes)),
            _ => Ok(None),
        }
    }

    /// A value in the form of the store, from that of `ObjectData`. They differ for counters:
    /// those are put into `count`.
    pub(in crate::object) fn stored_form<'v>(
        &self,
        object_type: &ResolvedType,
        field: StorageId,
        value: &'v [u8],
        count: &'v mut [u8; 8],
    ) -> Result<&'v [u8]> {
        // A value of another length is damage, and is written as it was read.
        if let Ok(of) = <[u8; 8]>::try_from(value)
            && let Some(field) = object_type.field_by_storage_id(field)
            && matches!(field.kind, ResolvedKind::Counter)
        {
            *count = self.store.encode_counter(i64::from_be_bytes(of))?;
            return Ok(count);
        }
        Ok(value)
    }
}
