//! Encodings without an ID, which other encodings and keys use: unsigned numbers and object IDs,
//! without null.

use std::borrow::Cow;

use super::{Encoding, EncodingId, Reader, Result, Value, java::number_text, uint};
use crate::id::ObjId;

/// Unsigned numbers (see [`uint`]) as [`Value::Int`]: list positions, schema indexes, storage IDs.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnsignedIntEncoding;

impl Encoding for UnsignedIntEncoding {
    fn id(&self) -> Option<&EncodingId> {
        None
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("unsigned int")
    }

    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        let Value::Int(number) = value else { return Err((self as &dyn Encoding).refuse(value)) };
        uint::write(uint::check(i64::from(*number))?, out);
        Ok(())
    }

    fn decode(&self, reader: &mut Reader<'_>) -> Result<Value> {
        // The number is at most `i32::MAX`.
        uint::read(reader).map(|number| Value::Int(number.cast_signed()))
    }

    fn skip(&self, reader: &mut Reader<'_>) -> Result<()> {
        uint::skip(reader)
    }

    fn to_text(&self, value: &Value) -> Result<String> {
        match value {
            Value::Int(number) => Ok(number.to_string()),
            _ => Err((self as &dyn Encoding).refuse(value)),
        }
    }

    /// Reads negative numbers too, although they cannot be written.
    fn from_text(&self, text: &str) -> Result<Value> {
        let number = number_text::parse_integer(text, i32::MIN.into(), i32::MAX.into())?;
        #[allow(clippy::cast_possible_truncation, reason = "the parser has checked the range")]
        Ok(Value::Int(number as i32))
    }

    fn supports_null(&self) -> bool {
        false
    }

    fn default_bytes(&self) -> Option<&[u8]> {
        None
    }

    fn has_prefix_00(&self) -> bool {
        true
    }

    fn has_prefix_ff(&self) -> bool {
        false
    }

    fn sorts_naturally(&self) -> bool {
        true
    }
}

/// Object IDs of any type.
#[derive(Debug, Clone, Copy, Default)]
pub struct ObjIdEncoding;

impl Encoding for ObjIdEncoding {
    fn id(&self) -> Option<&EncodingId> {
        None
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("object id")
    }

    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        let Value::Ref(id) = value else { return Err((self as &dyn Encoding).refuse(value)) };
        out.extend_from_slice(id.as_bytes());
        Ok(())
    }

    fn decode(&self, reader: &mut Reader<'_>) -> Result<Value> {
        ObjId::read_from(reader).map(Value::Ref)
    }

    fn skip(&self, reader: &mut Reader<'_>) -> Result<()> {
        reader.take(ObjId::LEN).map(drop)
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
        false
    }

    fn default_bytes(&self) -> Option<&[u8]> {
        None
    }

    fn has_prefix_00(&self) -> bool {
        false
    }

    fn has_prefix_ff(&self) -> bool {
        false
    }

    fn fixed_width(&self) -> Option<usize> {
        Some(ObjId::LEN)
    }

    fn sorts_naturally(&self) -> bool {
        true
    }
}
