//! [`NullSafe`]: an encoding that adds null to another one.

use std::borrow::Cow;
use std::sync::Arc;

use super::null_byte::{NOT_NULL, NULL, starts_null};
use super::{Encoding, EncodingId, EncodingKind, Reader, Result, Value};
use crate::bytes::invalid;

/// The values of an encoding without null, and null.
///
/// Null is `ff`. Other values stay as they are if they never start with `ff`. If they may, `01`
/// comes before them.
#[derive(Debug, Clone)]
pub struct NullSafe {
    id: Option<EncodingId>,
    inner: Arc<dyn Encoding>,
}

impl NullSafe {
    /// Adds null to `inner`. The result is registered under `id`, if there is one.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](super::EncodingError::Invalid) if `inner` already has null.
    pub fn new(id: Option<EncodingId>, inner: Arc<dyn Encoding>) -> Result<Self> {
        // Two forms of null would be two keys of one value in an index.
        if inner.supports_null() {
            return invalid(format!("{} has null already", inner.name()));
        }
        Ok(NullSafe { id, inner })
    }

    /// The encoding without null.
    pub fn inner(&self) -> &Arc<dyn Encoding> {
        &self.inner
    }

    fn prefixed(&self) -> bool {
        // A value that begins with `ff` could be taken for null.
        self.inner.has_prefix_ff()
    }
}

impl Encoding for NullSafe {
    fn id(&self) -> Option<&EncodingId> {
        self.id.as_ref()
    }

    fn name(&self) -> Cow<'_, str> {
        match &self.id {
            Some(id) => Cow::Borrowed(id.alias()),
            None => Cow::Owned(format!("{} or null", self.inner.name())),
        }
    }

    fn kind(&self) -> EncodingKind<'_> {
        EncodingKind::NullSafe(&self.inner)
    }

    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        if value.is_null() {
            out.push(NULL);
            return Ok(());
        }
        let start = out.len();
        if self.prefixed() {
            out.push(NOT_NULL);
        }
        self.inner.encode(value, out).inspect_err(|_| out.truncate(start))
    }

    fn decode(&self, reader: &mut Reader<'_>) -> Result<Value> {
        if starts_null(self.prefixed(), reader)? {
            Ok(Value::Null)
        } else {
            self.inner.decode(reader)
        }
    }

    fn skip(&self, reader: &mut Reader<'_>) -> Result<()> {
        if starts_null(self.prefixed(), reader)? { Ok(()) } else { self.inner.skip(reader) }
    }

    fn to_text(&self, value: &Value) -> Result<String> {
        self.inner.to_text(value)
    }

    fn from_text(&self, text: &str) -> Result<Value> {
        self.inner.from_text(text)
    }

    fn supports_null(&self) -> bool {
        true
    }

    fn default_bytes(&self) -> Option<&[u8]> {
        Some(&[NULL])
    }

    fn has_prefix_00(&self) -> bool {
        !self.prefixed() && self.inner.has_prefix_00()
    }

    fn has_prefix_ff(&self) -> bool {
        true
    }

    fn fixed_width(&self) -> Option<usize> {
        // A value of several bytes is longer than null, which has one.
        self.inner.fixed_width().filter(|&width| width == 1 && !self.prefixed())
    }

    fn sorts_naturally(&self) -> bool {
        self.inner.sorts_naturally()
    }

    fn check_canonical(&self, bytes: &[u8]) -> Result<()> {
        let mut reader = Reader::new(bytes);
        if starts_null(self.prefixed(), &mut reader)? {
            reader.finish()
        } else {
            self.inner.check_canonical(reader.rest())
        }
    }
}
