//! The registered encoding `String`, and strings as Rust types.

use std::borrow::Cow;
use std::sync::Arc;

use super::JavaString;
use crate::bytes::invalid;
use crate::encoding::null_byte::{NULL, starts_null};
use crate::encoding::text::{escape, unescape};
use crate::encoding::{
    Encodable, Encoding, EncodingId, EncodingKind, Reader, Result, Value, ids, string,
};

/// The code that both types of strings share.
macro_rules! string_form {
    () => {
        // A string begins with a unit, whose code never begins with `ff`.
        const PREFIX_FF: bool = false;
        const SORTS_NATURALLY: bool = true;
        const KIND: EncodingKind<'static> = EncodingKind::String;

        fn encoding_id() -> EncodingId {
            ids::STRING
        }

        fn nullable_encoding() -> Arc<dyn Encoding> {
            Arc::new(StringEncoding::nullable())
        }

        fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
            string::skip(reader)
        }

        fn is_canonical(reader: &mut Reader<'_>) -> Option<Result<bool>> {
            Some(string::is_canonical(reader))
        }
    };
}

/// Strings that Rust can hold. Reading a string with unpaired surrogates is an error: use
/// [`JavaString`] for those.
impl Encodable for String {
    string_form!();

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        string::write(self, out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        string::read(reader)
    }

    fn to_text(&self) -> String {
        escape(self.encode_utf16(), false)
    }

    fn from_text(text: &str) -> Result<Self> {
        unescape(text)?
            .into_string()
            .or_else(|_| invalid("the string has unpaired surrogates, which Rust text cannot hold"))
    }

    fn into_value(self) -> Value {
        Value::String(self)
    }

    fn borrow_value(value: &Value) -> Option<Cow<'_, Self>> {
        match value {
            Value::String(text) => Some(Cow::Borrowed(text)),
            // A string without unpaired surrogates can be in either variant.
            Value::Utf16(text) => text.clone().into_string().ok().map(Cow::Owned),
            _ => None,
        }
    }
}

/// All strings that Java can hold.
impl Encodable for JavaString {
    string_form!();

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        match self.as_str() {
            // UTF-8 without unpaired surrogates is the usual case, and is written without a list of
            // units.
            Some(text) => string::write(text, out),
            // Rust text has no unpaired surrogates, so these are written unit by unit.
            None => string::write_units(self.units(), out),
        }
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        string::read_java(reader)
    }

    fn to_text(&self) -> String {
        escape(self.units(), false)
    }

    fn from_text(text: &str) -> Result<Self> {
        unescape(text)
    }

    fn into_value(self) -> Value {
        self.into_string().map_or_else(Value::Utf16, Value::String)
    }

    fn borrow_value(value: &Value) -> Option<Cow<'_, Self>> {
        match value {
            Value::String(text) => Some(Cow::Owned(text.as_str().into())),
            Value::Utf16(text) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }
}

/// Strings, with or without null.
#[derive(Debug)]
pub struct StringEncoding {
    id: Option<EncodingId>,
}

impl StringEncoding {
    /// The registered encoding `String`, with null.
    pub fn nullable() -> Self {
        StringEncoding { id: Some(ids::STRING) }
    }

    /// Strings without null, as in meta-data. This encoding has no ID and no default value.
    pub fn not_null() -> Self {
        StringEncoding { id: None }
    }
}

impl Encoding for StringEncoding {
    fn id(&self) -> Option<&EncodingId> {
        self.id.as_ref()
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(if self.supports_null() { "String" } else { "String (not null)" })
    }

    fn kind(&self) -> EncodingKind<'_> {
        EncodingKind::String
    }

    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        match value {
            // Both kinds of text have the same bytes, so both are taken.
            Value::String(text) => string::write(text, out),
            Value::Utf16(text) => string::write_units(text.units(), out),
            Value::Null if self.supports_null() => out.push(NULL),
            _ => return Err((self as &dyn Encoding).refuse(value)),
        }
        Ok(())
    }

    fn decode(&self, reader: &mut Reader<'_>) -> Result<Value> {
        // Without null, `ff` is no string, and reading it as one gives the error.
        if self.supports_null() && starts_null(false, reader)? {
            return Ok(Value::Null);
        }
        string::read_java(reader).map(JavaString::into_value)
    }

    fn skip(&self, reader: &mut Reader<'_>) -> Result<()> {
        if self.supports_null() && starts_null(false, reader)? {
            Ok(())
        } else {
            string::skip(reader)
        }
    }

    fn to_text(&self, value: &Value) -> Result<String> {
        match value {
            Value::String(text) => Ok(text.to_text()),
            Value::Utf16(text) => Ok(text.to_text()),
            _ => Err((self as &dyn Encoding).refuse(value)),
        }
    }

    fn from_text(&self, text: &str) -> Result<Value> {
        unescape(text).map(JavaString::into_value)
    }

    fn supports_null(&self) -> bool {
        self.id.is_some()
    }

    fn default_bytes(&self) -> Option<&[u8]> {
        self.supports_null().then_some(&[NULL])
    }

    fn has_prefix_00(&self) -> bool {
        true
    }

    fn has_prefix_ff(&self) -> bool {
        self.supports_null()
    }

    fn sorts_naturally(&self) -> bool {
        true
    }

    fn check_canonical(&self, bytes: &[u8]) -> Result<()> {
        let mut reader = Reader::new(bytes);
        let null = self.supports_null() && starts_null(false, &mut reader)?;
        // A string is checked as it is read, without building it.
        let canonical = null || string::is_canonical(&mut reader)?;
        reader.finish()?;
        if canonical { Ok(()) } else { invalid("not the canonical form of the string") }
    }
}
