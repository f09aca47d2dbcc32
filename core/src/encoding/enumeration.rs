//! Enums and arrays of enums.
//!
//! The encoding of an enum field is built from the identifiers in its schema. A value is its
//! position in that list, as an unsigned number. Null is `ff`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::null_byte::{NULL, starts_null};
use super::{
    ArrayEncoding, Encoding, EncodingError, EncodingId, EncodingKind, EnumValue, Reader, Result,
    Value, java::identifier, uint,
};
use crate::bytes::invalid;

/// The encoding of an enum field.
#[derive(Debug, Clone)]
pub struct EnumEncoding {
    identifiers: Arc<[Arc<str>]>,
    ordinals: HashMap<Arc<str>, u32>,
}

impl EnumEncoding {
    /// The enum with these identifiers, in this order.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if an identifier is not a Java identifier, is `null`, or occurs
    /// twice.
    pub fn new<I>(identifiers: I) -> Result<Self>
    where
        I: IntoIterator,
        I::Item: Into<Arc<str>>,
    {
        let identifiers: Arc<[Arc<str>]> = identifiers.into_iter().map(Into::into).collect();
        let mut ordinals = HashMap::with_capacity(identifiers.len());
        for (index, identifier) in identifiers.iter().enumerate() {
            if !identifier::is_enum_identifier(identifier) {
                return invalid(format!("invalid enum identifier {identifier:?} at index {index}"));
            }
            // A clamped one is refused as well.
            let ordinal = uint::check(i64::try_from(index).unwrap_or(i64::MAX))?;
            if let Some(first) = ordinals.insert(identifier.clone(), ordinal) {
                return invalid(format!(
                    "invalid duplicate enum identifier {identifier:?} at indexes {first} and {index}"
                ));
            }
        }
        Ok(EnumEncoding { identifiers, ordinals })
    }

    /// The identifiers, in order.
    pub fn identifiers(&self) -> &[Arc<str>] {
        &self.identifiers
    }

    /// The constant at this position.
    pub fn by_ordinal(&self, ordinal: u32) -> Option<EnumValue> {
        self.identifiers.get(ordinal as usize).map(|name| EnumValue::new(name.clone(), ordinal))
    }

    /// The constant with this name.
    pub fn by_name(&self, name: &str) -> Option<EnumValue> {
        self.ordinals
            .get_key_value(name)
            .map(|(name, &ordinal)| EnumValue::new(name.clone(), ordinal))
    }

    fn check(&self, value: &Value) -> Result<u32> {
        let Value::Enum(value) = value else { return Err((self as &dyn Encoding).refuse(value)) };
        match self.ordinals.get(value.name()) {
            // A value of another schema can have the same name at another position, which would be
            // written as another constant.
            Some(&ordinal) if ordinal == value.ordinal() => Ok(ordinal),
            Some(&ordinal) => invalid(format!(
                "enum value {value} has incorrect ordinal value {} != {ordinal}",
                value.ordinal()
            )),
            None => invalid(format!("unknown enum value {value}")),
        }
    }

    /// Reads a position; `None` for null.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if the position is outside the list of `count` identifiers.
    pub fn read_ordinal(reader: &mut Reader<'_>, count: usize) -> Result<Option<u32>> {
        if starts_null(false, reader)? {
            return Ok(None);
        }
        let ordinal = uint::read(reader)?;
        if (ordinal as usize) < count {
            Ok(Some(ordinal))
        } else {
            invalid(format!("enum ordinal {ordinal} not in the range [0..{count})"))
        }
    }

    /// Appends a position, or null.
    pub fn write_ordinal(ordinal: Option<u32>, out: &mut Vec<u8>) {
        match ordinal {
            Some(ordinal) => uint::write(ordinal, out),
            None => out.push(NULL),
        }
    }
}

impl Encoding for EnumEncoding {
    fn id(&self) -> Option<&EncodingId> {
        None
    }

    fn name(&self) -> Cow<'_, str> {
        let names: Vec<&str> = self.identifiers.iter().take(5).map(AsRef::as_ref).collect();
        let more = if self.identifiers.len() > names.len() { ", ..." } else { "" };
        Cow::Owned(format!("enum [{}{more}]", names.join(", ")))
    }

    fn kind(&self) -> EncodingKind<'_> {
        EncodingKind::Enum(self)
    }

    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        let ordinal = if value.is_null() { None } else { Some(self.check(value)?) };
        Self::write_ordinal(ordinal, out);
        Ok(())
    }

    fn decode(&self, reader: &mut Reader<'_>) -> Result<Value> {
        let ordinal = Self::read_ordinal(reader, self.identifiers.len())?;
        Ok(ordinal.and_then(|ordinal| self.by_ordinal(ordinal)).map_or(Value::Null, Value::Enum))
    }

    fn skip(&self, reader: &mut Reader<'_>) -> Result<()> {
        if starts_null(false, reader)? { Ok(()) } else { uint::skip(reader) }
    }

    fn to_text(&self, value: &Value) -> Result<String> {
        let ordinal = self.check(value)?;
        self.identifiers
            .get(ordinal as usize)
            .map(|name| name.to_string())
            .ok_or(EncodingError::Truncated)
    }

    fn from_text(&self, text: &str) -> Result<Value> {
        match self.by_name(text) {
            Some(value) => Ok(Value::Enum(value)),
            None => invalid(format!("unknown enum identifier {text:?}")),
        }
    }

    fn supports_null(&self) -> bool {
        true
    }

    fn default_bytes(&self) -> Option<&[u8]> {
        Some(&[NULL])
    }

    fn has_prefix_00(&self) -> bool {
        true
    }

    fn has_prefix_ff(&self) -> bool {
        true
    }
}

/// The encoding of an enum array field: the constants of an enum, in 1 to 255 dimensions.
#[derive(Debug)]
pub struct EnumArrayEncoding;

impl EnumArrayEncoding {
    /// The largest number of dimensions of an array.
    pub const MAX_DIMENSIONS: u32 = 255;

    /// Arrays of the constants of an enum.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if `dimensions` is not in 1 … 255.
    pub fn build(base: EnumEncoding, dimensions: u32) -> Result<Arc<dyn Encoding>> {
        if !(1..=Self::MAX_DIMENSIONS).contains(&dimensions) {
            return invalid(format!(
                "invalid number of array dimensions {dimensions}: must be 1 to 255"
            ));
        }
        let mut encoding: Arc<dyn Encoding> = Arc::new(base);
        for _ in 0..dimensions {
            encoding = Arc::new(ArrayEncoding::new(encoding)?);
        }
        Ok(encoding)
    }
}
