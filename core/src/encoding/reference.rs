//! References to objects: the eight bytes of the object ID, or `ff` for null.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::null_byte::{NULL, starts_null};
use super::{Encoding, EncodingError, EncodingId, EncodingKind, Reader, Result, Value};
use crate::id::{ObjId, StorageId};

/// The encoding of a reference field.
#[derive(Debug, Clone, Default)]
pub struct ReferenceEncoding {
    allowed: Option<BTreeSet<StorageId>>,
}

impl ReferenceEncoding {
    /// References to objects of the types with these storage IDs; `None` allows every type. An
    /// empty set allows only null.
    ///
    /// The restriction is checked when a reference is written, not when it is read.
    pub fn new(allowed: Option<BTreeSet<StorageId>>) -> Self {
        ReferenceEncoding { allowed }
    }

    /// The storage IDs of the types that are allowed; `None` if every type is.
    pub fn allowed(&self) -> Option<&BTreeSet<StorageId>> {
        self.allowed.as_ref()
    }

    /// The same encoding without restriction. Indexes use it, because the restriction may differ
    /// between schemas.
    pub fn generic(&self) -> Self {
        ReferenceEncoding::default()
    }

    /// Checks that a reference to this object may be written.
    ///
    /// # Errors
    /// [`EncodingError::InvalidReference`] if the object's type is not allowed.
    pub fn check(&self, id: ObjId) -> Result<()> {
        let storage_id = id.storage_id();
        // A read is not checked: a stored reference can be of a time when its type was allowed.
        match &self.allowed {
            Some(allowed) if !allowed.contains(&storage_id) => {
                Err(EncodingError::InvalidReference { id, storage_id })
            }
            _ => Ok(()),
        }
    }

    /// Reads a reference; `None` for null.
    ///
    /// # Errors
    /// If the bytes are not a reference.
    pub fn read(reader: &mut Reader<'_>) -> Result<Option<ObjId>> {
        if starts_null(false, reader)? { Ok(None) } else { ObjId::read_from(reader).map(Some) }
    }

    /// Appends a reference, or null.
    pub fn write(id: Option<ObjId>, out: &mut Vec<u8>) {
        match id {
            Some(id) => out.extend_from_slice(id.as_bytes()),
            None => out.push(NULL),
        }
    }
}

impl Encoding for ReferenceEncoding {
    fn id(&self) -> Option<&EncodingId> {
        None
    }

    fn name(&self) -> Cow<'_, str> {
        match &self.allowed {
            Some(allowed) => Cow::Owned(format!("reference to types {allowed:?}")),
            None => Cow::Borrowed("reference"),
        }
    }

    fn kind(&self) -> EncodingKind<'_> {
        EncodingKind::Reference(self)
    }

    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        match value {
            Value::Null => out.push(NULL),
            Value::Ref(id) => {
                self.check(*id)?;
                out.extend_from_slice(id.as_bytes());
            }
            _ => return Err((self as &dyn Encoding).refuse(value)),
        }
        Ok(())
    }

    fn decode(&self, reader: &mut Reader<'_>) -> Result<Value> {
        Self::read(reader).map(|id| id.map_or(Value::Null, Value::Ref))
    }

    fn skip(&self, reader: &mut Reader<'_>) -> Result<()> {
        if starts_null(false, reader)? { Ok(()) } else { reader.take(ObjId::LEN).map(drop) }
    }

    fn to_text(&self, value: &Value) -> Result<String> {
        match value {
            Value::Ref(id) => Ok(id.to_string()),
            _ => Err((self as &dyn Encoding).refuse(value)),
        }
    }

    fn from_text(&self, text: &str) -> Result<Value> {
        text.parse().map(Value::Ref)
    }

    fn supports_null(&self) -> bool {
        true
    }

    fn default_bytes(&self) -> Option<&[u8]> {
        Some(&[NULL])
    }

    fn has_prefix_00(&self) -> bool {
        false
    }

    fn has_prefix_ff(&self) -> bool {
        true
    }

    fn sorts_naturally(&self) -> bool {
        true
    }

    fn check_canonical(&self, bytes: &[u8]) -> Result<()> {
        // A reference has one form only, so its bytes need no second look.
        let mut reader = Reader::new(bytes);
        Self::read(&mut reader)?;
        reader.finish()
    }
}
