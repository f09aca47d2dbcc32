//! Encodings that are chosen at run time.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use super::{
    EncodingError, EncodingId, EnumEncoding, Reader, ReferenceEncoding, Result, Value, convert,
};
use crate::bytes::invalid;

/// How values of one type are written as sortable bytes.
///
/// Each encoded value tells where it ends: no encoded value is the beginning of another, and none
/// is empty. The unsigned order of the bytes is the order of the values; null comes last.
///
/// To store your own type, implement [`Encodable`](super::Encodable) and register the type
/// ([`EncodingRegistry::add`](super::EncodingRegistry::add)). Implement this trait only for an
/// encoding whose values have no Rust type.
pub trait Encoding: Debug + Send + Sync {
    /// The ID that the encoding is registered under. `None` for encodings that a schema builds:
    /// enums, references and tuples.
    fn id(&self) -> Option<&EncodingId>;

    /// The name of the encoding in messages.
    fn name(&self) -> Cow<'_, str>;

    /// The kind of the encoding.
    #[doc(hidden)]
    fn kind(&self) -> EncodingKind<'_> {
        EncodingKind::Plain
    }

    /// Appends the encoded form of `value`.
    ///
    /// The encodings of primitive numbers also take smaller types: `int` takes a [`Value::Short`].
    ///
    /// # Errors
    /// If this encoding cannot encode the value. `out` is then unchanged.
    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()>;

    /// Reads a value.
    ///
    /// # Errors
    /// If the bytes are not a value of this encoding. The position of the reader is then undefined.
    fn decode(&self, reader: &mut Reader<'_>) -> Result<Value>;

    /// Skips a value without building it.
    ///
    /// # Errors
    /// If the end of the value cannot be found. Bytes that [`decode`](Self::decode) refuses may be
    /// accepted.
    fn skip(&self, reader: &mut Reader<'_>) -> Result<()>;

    /// The text form of a value other than null. All its characters are allowed in XML.
    ///
    /// # Errors
    /// If the value is null or not a value of this encoding.
    fn to_text(&self, value: &Value) -> Result<String>;

    /// The value with this text form.
    ///
    /// # Errors
    /// If no value has this text form.
    #[allow(
        clippy::wrong_self_convention,
        reason = "the counterpart of `to_text`; the encoding is no value"
    )]
    fn from_text(&self, text: &str) -> Result<Value>;

    /// Whether null is a value of the encoding.
    fn supports_null(&self) -> bool;

    /// The encoded form of the default value; `None` if the encoding has no default value. A field
    /// has this value if nothing is stored for it.
    fn default_bytes(&self) -> Option<&[u8]>;

    /// Whether an encoded value may start with `00`. This is part of the format: it decides how
    /// other encodings wrap values.
    fn has_prefix_00(&self) -> bool;

    /// Whether an encoded value may start with `ff`. This is part of the format: it decides how
    /// other encodings wrap values.
    fn has_prefix_ff(&self) -> bool;

    /// The length of every encoded value, if all have the same length.
    fn fixed_width(&self) -> Option<usize> {
        None
    }

    /// Whether encoded values sort as users of the type expect.
    fn sorts_naturally(&self) -> bool {
        false
    }

    /// Checks that `bytes` are exactly what writing some value gives.
    ///
    /// # Errors
    /// If they are not a value, or are another form of a value.
    fn check_canonical(&self, bytes: &[u8]) -> Result<()> {
        // In general, only writing the value again shows whether there is a second form of it.
        let mut reader = Reader::new(bytes);
        let value = self.decode(&mut reader)?;
        reader.finish()?;
        let mut canonical = Vec::with_capacity(bytes.len());
        self.encode(&value, &mut canonical)?;
        if canonical == bytes { Ok(()) } else { invalid("not the canonical form of the value") }
    }
}

/// The kinds of encodings.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum EncodingKind<'a> {
    /// Values of one type, without parts.
    Plain,
    /// A primitive type, without null.
    Primitive(Primitive),
    /// A primitive type and null.
    Wrapper(Primitive),
    /// Strings.
    String,
    /// Arrays of a primitive type.
    PrimitiveArray(Primitive),
    /// Arrays of another encoding's values.
    Array(&'a Arc<dyn Encoding>),
    /// Another encoding's values and null.
    NullSafe(&'a Arc<dyn Encoding>),
    /// Tuples: a value of each of several encodings.
    Tuple(&'a [Arc<dyn Encoding>]),
    /// The constants of an enum.
    Enum(&'a EnumEncoding),
    /// References to objects.
    Reference(&'a ReferenceEncoding),
    /// Values of an unknown encoding.
    Unknown,
}

/// Java's primitive types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Primitive {
    Boolean,
    Byte,
    Short,
    Int,
    Long,
    Char,
    Float,
    Double,
}

impl dyn Encoding + '_ {
    /// Reads a value that takes up all of `bytes`.
    ///
    /// # Errors
    /// The errors of [`Encoding::decode`]; [`EncodingError::Invalid`] if bytes are left over.
    pub fn decode_all(&self, bytes: &[u8]) -> Result<Value> {
        let mut reader = Reader::new(bytes);
        let value = self.decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }

    /// The encoded form of `value`.
    ///
    /// # Errors
    /// If this encoding cannot encode the value.
    pub fn encode_all(&self, value: &Value) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.encode(value, &mut out)?;
        Ok(out)
    }

    /// The value that a field has if nothing is stored for it; `None` if the encoding has no
    /// default value.
    pub fn default_value(&self) -> Option<Value> {
        self.default_bytes().and_then(|bytes| self.decode_all(bytes).ok())
    }

    /// The value of this encoding that corresponds to a value of another encoding. It is for
    /// programs that convert values when they migrate objects: the object layer itself resets a
    /// field whose encoding has changed.
    ///
    /// # Errors
    /// If there is no such value.
    pub fn convert(&self, from: &dyn Encoding, value: &Value) -> Result<Value> {
        convert::convert(self, from, value)
    }

    /// Whether both encodings give the same bytes for the same values: they have the same ID, or
    /// the same parts.
    pub fn is_same(&self, other: &dyn Encoding) -> bool {
        use EncodingKind::*;
        // Registered encodings are known by their ID alone.
        if let (Some(a), Some(b)) = (self.id(), other.id()) {
            return a == b;
        }
        let all_same = |a: &[Arc<dyn Encoding>], b: &[Arc<dyn Encoding>]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_same(b.as_ref()))
        };
        // An encoding with an ID and one without can have the same parts, but fields tell them
        // apart.
        self.id().is_none()
            && other.id().is_none()
            // The first byte decides how null and arrays are wrapped, so it is a part of the
            // format.
            && self.has_prefix_00() == other.has_prefix_00()
            && self.has_prefix_ff() == other.has_prefix_ff()
            && match (self.kind(), other.kind()) {
                (Primitive(a), Primitive(b))
                | (Wrapper(a), Wrapper(b))
                | (PrimitiveArray(a), PrimitiveArray(b)) => a == b,
                (String, String) => self.supports_null() == other.supports_null(),
                (Array(a), Array(b)) | (NullSafe(a), NullSafe(b)) => a.is_same(b.as_ref()),
                (Tuple(a), Tuple(b)) => all_same(a, b),
                // The order of the identifiers counts, since a value is a position.
                (Enum(a), Enum(b)) => a.identifiers() == b.identifiers(),
                (Reference(a), Reference(b)) => a.allowed() == b.allowed(),
                // Encodings without an ID and without parts can only be told apart by name.
                (Plain, Plain) => self.name() == other.name(),
                _ => false,
            }
    }

    /// The error for a value that this encoding does not take.
    pub(crate) fn refuse(&self, value: &Value) -> EncodingError {
        wrong_type(&self.name(), value)
    }
}

pub(crate) fn wrong_type(encoding: &str, value: &Value) -> EncodingError {
    // Null gets an error of its own, because programs meet it when a field is not set.
    match value {
        Value::Null => EncodingError::NullValue(encoding.to_owned()),
        _ => EncodingError::WrongType {
            encoding: encoding.to_owned(),
            found: value.type_name().into_owned(),
        },
    }
}

/// Skips a value and checks that its bytes are exactly what writing it gives.
pub(crate) fn check_part(encoding: &dyn Encoding, reader: &mut Reader<'_>) -> Result<()> {
    let start = reader.rest();
    encoding.skip(reader)?;
    let length = start.len() - reader.rest().len();
    encoding.check_canonical(start.get(..length).unwrap_or_default())
}
