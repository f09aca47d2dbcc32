//! Encodings made of other encodings: with null added, and tuples.

use std::borrow::Cow;
use std::sync::Arc;

use super::dynamic::check_part;
use super::null::{NOT_NULL, NULL, starts_null};
use super::text;
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

/// A value of each of several encodings, one after the other. Composite indexes hold such tuples.
#[derive(Debug, Clone)]
pub struct TupleEncoding {
    components: Box<[Arc<dyn Encoding>]>,
}

impl TupleEncoding {
    /// Tuples of values of these encodings.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](super::EncodingError::Invalid) if there are fewer than two.
    pub fn new(components: impl Into<Box<[Arc<dyn Encoding>]>>) -> Result<Self> {
        let components = components.into();
        if components.len() < 2 {
            return invalid(format!(
                "a tuple has two or more components, not {}",
                components.len()
            ));
        }
        Ok(TupleEncoding { components })
    }

    /// The encodings of the components.
    pub fn components(&self) -> &[Arc<dyn Encoding>] {
        &self.components
    }

    fn take<'v>(&self, value: &'v Value) -> Result<&'v [Value]> {
        match value {
            Value::Tuple(values) if values.len() == self.components.len() => Ok(values),
            Value::Tuple(values) => invalid(format!("{} values for {}", values.len(), self.name())),
            _ => Err((self as &dyn Encoding).refuse(value)),
        }
    }
}

impl Encoding for TupleEncoding {
    fn id(&self) -> Option<&EncodingId> {
        None
    }

    fn name(&self) -> Cow<'_, str> {
        let names: Vec<Cow<'_, str>> =
            self.components.iter().map(|component| component.name()).collect();
        Cow::Owned(format!("({})", names.join(", ")))
    }

    fn kind(&self) -> EncodingKind<'_> {
        EncodingKind::Tuple(&self.components)
    }

    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        for (component, value) in self.components.iter().zip(self.take(value)?) {
            component.encode(value, out).inspect_err(|_| out.truncate(start))?;
        }
        Ok(())
    }

    fn decode(&self, reader: &mut Reader<'_>) -> Result<Value> {
        // Reserving the exact size avoids moving the values.
        let mut values = Vec::with_capacity(self.components.len());
        for component in &self.components {
            values.push(component.decode(reader)?);
        }
        Ok(Value::Tuple(values.into()))
    }

    fn skip(&self, reader: &mut Reader<'_>) -> Result<()> {
        self.components.iter().try_for_each(|component| component.skip(reader))
    }

    fn to_text(&self, value: &Value) -> Result<String> {
        let values = self.take(value)?;
        let texts: Vec<_> = self
            .components
            .iter()
            .zip(values)
            .map(|(component, value)| component.to_text(value))
            .collect::<Result<_>>()?;
        Ok(text::join_items(texts.into_iter().map(Some)))
    }

    fn from_text(&self, text: &str) -> Result<Value> {
        let items = text::split_items(text)?;
        let count = self.components.len();
        if items.len() != count {
            return invalid(format!("wrong number of elements ({}) in {count}-tuple", items.len()));
        }
        let parse = |(component, item): (&Arc<dyn Encoding>, Option<String>)| match item {
            Some(item) => component.from_text(&item),
            None => invalid("null has no text form in a tuple"),
        };
        self.components.iter().zip(items).map(parse).collect::<Result<_>>().map(Value::Tuple)
    }

    fn supports_null(&self) -> bool {
        false
    }

    fn default_bytes(&self) -> Option<&[u8]> {
        None
    }

    fn has_prefix_00(&self) -> bool {
        self.components.first().is_some_and(|first| first.has_prefix_00())
    }

    fn has_prefix_ff(&self) -> bool {
        self.components.first().is_some_and(|first| first.has_prefix_ff())
    }

    fn fixed_width(&self) -> Option<usize> {
        self.components.iter().map(|component| component.fixed_width()).sum()
    }

    fn check_canonical(&self, bytes: &[u8]) -> Result<()> {
        let mut reader = Reader::new(bytes);
        self.components
            .iter()
            .try_for_each(|component| check_part(component.as_ref(), &mut reader))?;
        reader.finish()
    }
}
