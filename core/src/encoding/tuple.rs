//! [`TupleEncoding`]: several values one after the other, as in the keys of composite indexes.

use std::borrow::Cow;
use std::sync::Arc;

use super::dynamic::check_part;
use super::text;
use super::{Encoding, EncodingId, EncodingKind, Reader, Result, Value};
use crate::bytes::invalid;

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
        // A tuple of one value would have the bytes of the value itself, and its encoding already
        // exists.
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
        // A part that is refused must leave no bytes of the parts before it.
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
            // Without an item there is no text to give to the component, even if it has null.
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
        // Only the first byte matters, and the first component gives it.
        self.components.first().is_some_and(|first| first.has_prefix_00())
    }

    fn has_prefix_ff(&self) -> bool {
        self.components.first().is_some_and(|first| first.has_prefix_ff())
    }

    fn fixed_width(&self) -> Option<usize> {
        // A component without a fixed width makes the sum `None`.
        self.components.iter().map(|component| component.fixed_width()).sum()
    }

    fn check_canonical(&self, bytes: &[u8]) -> Result<()> {
        // Each part is checked by its own encoding, since some can tell without building a value.
        let mut reader = Reader::new(bytes);
        self.components
            .iter()
            .try_for_each(|component| check_part(component.as_ref(), &mut reader))?;
        reader.finish()
    }
}
