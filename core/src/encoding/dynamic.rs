//! Encodings chosen at run time.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use super::{
    EncodingError, EncodingId, EnumEncoding, Reader, ReferenceEncoding, Result, Value, convert,
};
use crate::bytes::invalid;

/// How values of one type are written as sortable bytes (encodings §5).
///
/// Every encoding delimits itself: no encoded value is the beginning of another, and none is empty. The unsigned order
/// of the encoded forms is the order of the values, null last.
///
/// To store a type of your own, implement [`Encodable`](super::Encodable) and register
/// [`TypedEncoding`](super::TypedEncoding)`<YourType>`; implementing this trait by hand is for encodings whose values
/// have no Rust type.
pub trait Encoding: Debug + Send + Sync {
    /// The id the encoding is registered under; `None` for those a schema builds: enums, references, tuples.
    fn id(&self) -> Option<&EncodingId>;

    /// What diagnostics call the encoding.
    fn name(&self) -> Cow<'_, str>;

    /// What the encoding is made of.
    fn kind(&self) -> EncodingKind<'_> {
        EncodingKind::Plain
    }

    /// Appends the encoded form of `value`.
    ///
    /// The primitive number encodings also take smaller numbers ([`Value::Short`] where `int` is asked).
    ///
    /// # Errors
    /// If the value is none of this encoding; `out` is then as it was before.
    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<()>;

    /// Reads a value.
    ///
    /// # Errors
    /// If the bytes are no value of this encoding. The reader's position is then undefined.
    fn decode(&self, reader: &mut Reader<'_>) -> Result<Value>;

    /// Passes over a value without building it.
    ///
    /// # Errors
    /// If no value can be delimited. Bytes that [`decode`](Self::decode) refuses may pass.
    fn skip(&self, reader: &mut Reader<'_>) -> Result<()>;

    /// The text form of a value other than null. It has only characters allowed in XML.
    ///
    /// # Errors
    /// If the value is null or none of this encoding.
    fn to_text(&self, value: &Value) -> Result<String>;

    /// The value a text stands for.
    ///
    /// # Errors
    /// If the text stands for none.
    #[allow(
        clippy::wrong_self_convention,
        reason = "the counterpart of `to_text`; the encoding is no value"
    )]
    fn from_text(&self, text: &str) -> Result<Value>;

    /// Whether null is a value.
    fn supports_null(&self) -> bool;

    /// The encoded form of the default value, which a field has when nothing is stored for it; `None` if there is none.
    fn default_bytes(&self) -> Option<&[u8]>;

    /// Whether an encoded value may start with `00`. Part of the format: it decides how values are wrapped.
    fn has_prefix_00(&self) -> bool;

    /// Whether an encoded value may start with `ff`. Part of the format: it decides how values are wrapped.
    fn has_prefix_ff(&self) -> bool;

    /// Length of every encoded value, if they are all equally long.
    fn fixed_width(&self) -> Option<usize> {
        None
    }

    /// Whether the order of encoded values is what users of the type expect.
    fn sorts_naturally(&self) -> bool {
        false
    }

    /// Checks that `bytes` are exactly the encoded form of some value, as writing it would give.
    ///
    /// # Errors
    /// If they are no value, or another form of a value.
    fn check_canonical(&self, bytes: &[u8]) -> Result<()> {
        let mut reader = Reader::new(bytes);
        let value = self.decode(&mut reader)?;
        reader.finish()?;
        let mut canonical = Vec::with_capacity(bytes.len());
        self.encode(&value, &mut canonical)?;
        if canonical == bytes { Ok(()) } else { invalid("not the canonical form of the value") }
    }
}

/// What an encoding is made of.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum EncodingKind<'a> {
    /// Of values of one type that have no parts here.
    Plain,
    /// Of a primitive type, without null.
    Primitive(Primitive),
    /// Of a primitive type or null.
    Wrapper(Primitive),
    /// Of strings.
    String,
    /// Of arrays of a primitive type.
    PrimitiveArray(Primitive),
    /// Of arrays of the values of another encoding.
    Array(&'a Arc<dyn Encoding>),
    /// Of another encoding's values and null.
    NullSafe(&'a Arc<dyn Encoding>),
    /// Of one value each of several encodings.
    Tuple(&'a [Arc<dyn Encoding>]),
    /// Of the constants of an enum.
    Enum(&'a EnumEncoding),
    /// Of references to objects.
    Reference(&'a ReferenceEncoding),
    /// Of values of an unknown encoding.
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
    /// Reads a value that takes all of `bytes`.
    ///
    /// # Errors
    /// As [`Encoding::decode`]; [`EncodingError::Invalid`] for bytes left over.
    pub fn decode_all(&self, bytes: &[u8]) -> Result<Value> {
        let mut reader = Reader::new(bytes);
        let value = self.decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }

    /// The encoded form of `value`.
    ///
    /// # Errors
    /// As [`Encoding::encode`].
    pub fn encode_all(&self, value: &Value) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.encode(value, &mut out)?;
        Ok(out)
    }

    /// The value a field has when nothing is stored for it; `None` if the encoding has none.
    pub fn default_value(&self) -> Option<Value> {
        self.default_bytes().and_then(|bytes| self.decode_all(bytes).ok())
    }

    /// The value of this encoding that corresponds to a value of another one, as a field's value is carried over when
    /// its encoding changes (encodings §21.2).
    ///
    /// # Errors
    /// If there is no such value.
    pub fn convert(&self, from: &dyn Encoding, value: &Value) -> Result<Value> {
        convert::convert(self, from, value)
    }

    /// Whether both encodings give the same bytes for the same values: the same id, or built of the same parts.
    pub fn is_same(&self, other: &dyn Encoding) -> bool {
        use EncodingKind::*;
        if let (Some(a), Some(b)) = (self.id(), other.id()) {
            return a == b;
        }
        let all_same = |a: &[Arc<dyn Encoding>], b: &[Arc<dyn Encoding>]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_same(b.as_ref()))
        };
        self.id().is_none()
            && other.id().is_none()
            && self.has_prefix_00() == other.has_prefix_00()
            && self.has_prefix_ff() == other.has_prefix_ff()
            && match (self.kind(), other.kind()) {
                (Primitive(a), Primitive(b))
                | (Wrapper(a), Wrapper(b))
                | (PrimitiveArray(a), PrimitiveArray(b)) => a == b,
                (String, String) => self.supports_null() == other.supports_null(),
                (Array(a), Array(b)) | (NullSafe(a), NullSafe(b)) => a.is_same(b.as_ref()),
                (Tuple(a), Tuple(b)) => all_same(a, b),
                (Enum(a), Enum(b)) => a.identifiers() == b.identifiers(),
                (Reference(a), Reference(b)) => a.allowed() == b.allowed(),
                (Plain, Plain) => self.name() == other.name(),
                _ => false,
            }
    }

    /// An error saying that this encoding takes no `value`.
    pub(crate) fn refuse(&self, value: &Value) -> EncodingError {
        wrong_type(&self.name(), value)
    }
}

pub(crate) fn wrong_type(encoding: &str, value: &Value) -> EncodingError {
    match value {
        Value::Null => EncodingError::NullValue(encoding.to_owned()),
        _ => EncodingError::WrongType {
            encoding: encoding.to_owned(),
            found: value.type_name().into_owned(),
        },
    }
}

/// Passes over a value and checks that its bytes are the ones writing it gives.
pub(crate) fn check_part(encoding: &dyn Encoding, reader: &mut Reader<'_>) -> Result<()> {
    let start = reader.rest();
    encoding.skip(reader)?;
    let length = start.len() - reader.rest().len();
    encoding.check_canonical(start.get(..length).unwrap_or_default())
}
