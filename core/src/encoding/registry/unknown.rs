//! Encodings that are not registered.

use std::borrow::Cow;

use permazen_kv::Hex;
use permazen_kv::key::parse_hex;

use crate::bytes::invalid;
use crate::encoding::{
    CustomValue, Encoding, EncodingError, EncodingId, EncodingKind, Reader, Result, Value,
};

/// A placeholder for an encoding that this program does not know. With it, tools can carry values
/// unchanged.
///
/// The end of such a value cannot be found, so the value is everything up to the end of the input.
/// That is right for the value of a simple field, the elements of a set or list, and the keys and
/// values of a map. Code that reads the keys of an index must cut the value out first.
///
/// The text form is the encoded form in hex digits. The default value is not known, nor whether
/// null is a value. Values are not converted to or from such an encoding.
#[derive(Debug, Clone)]
pub struct UnknownEncoding {
    id: EncodingId,
}

impl UnknownEncoding {
    /// A placeholder for the encoding with this ID.
    pub fn new(id: EncodingId) -> Self {
        UnknownEncoding { id }
    }
}

impl Encoding for UnknownEncoding {
    fn id(&self) -> Option<&EncodingId> {
        Some(&self.id)
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.id.alias())
    }

    fn kind(&self) -> EncodingKind<'_> {
        EncodingKind::Unknown
    }

    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        match value {
            Value::Custom(custom) if *custom.encoding() == self.id => {
                out.extend_from_slice(custom.bytes());
                Ok(())
            }
            _ => Err((self as &dyn Encoding).refuse(value)),
        }
    }

    fn decode(&self, reader: &mut Reader<'_>) -> Result<Value> {
        if reader.is_empty() {
            return Err(EncodingError::Truncated);
        }
        let bytes = reader.take(reader.rest().len())?;
        Ok(Value::Custom(CustomValue::new(self.id.clone(), bytes)))
    }

    fn skip(&self, reader: &mut Reader<'_>) -> Result<()> {
        if reader.is_empty() {
            return Err(EncodingError::Truncated);
        }
        reader.take(reader.rest().len()).map(drop)
    }

    fn to_text(&self, value: &Value) -> Result<String> {
        match value {
            Value::Custom(custom) if *custom.encoding() == self.id => {
                Ok(Hex(custom.bytes()).to_string())
            }
            _ => Err((self as &dyn Encoding).refuse(value)),
        }
    }

    fn from_text(&self, text: &str) -> Result<Value> {
        match parse_hex(text) {
            Ok(bytes) if !bytes.is_empty() => {
                Ok(Value::Custom(CustomValue::new(self.id.clone(), bytes)))
            }
            _ => invalid(format!(
                "values of the unknown encoding {} are given in hex digits",
                self.id
            )),
        }
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
        true
    }

    fn check_canonical(&self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() { Err(EncodingError::Truncated) } else { Ok(()) }
    }
}
