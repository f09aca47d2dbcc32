//! `byte[]` as bytes.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::ArrayHooks;
use crate::encoding::{
    Encodable, EncodingError, EncodingId, EncodingKind, Primitive, Reader, Result, Value, long,
};

/// The encoding `byte[]` for bytes from 0 to 255, as Rust has them.
///
/// Java's bytes are signed, and they sort as signed numbers: 128 – 255 come before 0. Bytes whose
/// signed number is near 0 take one byte, others take two.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ByteArray(pub Vec<u8>);

impl From<Vec<u8>> for ByteArray {
    fn from(bytes: Vec<u8>) -> Self {
        ByteArray(bytes)
    }
}

impl From<&[u8]> for ByteArray {
    fn from(bytes: &[u8]) -> Self {
        ByteArray(bytes.to_vec())
    }
}

impl From<ByteArray> for Vec<u8> {
    fn from(bytes: ByteArray) -> Self {
        bytes.0
    }
}

impl std::ops::Deref for ByteArray {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl PartialOrd for ByteArray {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByteArray {
    fn cmp(&self, other: &Self) -> Ordering {
        // The stored bytes sort as signed numbers, and the order must be the same here.
        self.signed().cmp(other.signed())
    }
}

impl ByteArray {
    fn signed(&self) -> impl Iterator<Item = i8> + '_ {
        self.0.iter().map(|byte| byte.cast_signed())
    }
}

impl Encodable for ByteArray {
    const PREFIX_FF: bool = false;
    const KIND: EncodingKind<'static> = EncodingKind::PrimitiveArray(Primitive::Byte);
    const ARRAY: Option<ArrayHooks<Self>> = None;

    fn encoding_id() -> EncodingId {
        <Box<[i8]> as Encodable>::encoding_id()
    }

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        // Each byte is a number of its own in the stored form, as in every integer array.
        self.signed().for_each(|byte| long::write(i64::from(byte), out));
        out.push(0);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let mut bytes = Vec::new();
        while reader.peek().ok_or(EncodingError::Truncated)? != 0 {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "upper bits are dropped, as Java does"
            )]
            bytes.push(long::read(reader)? as u8);
        }
        reader.byte()?;
        Ok(ByteArray(bytes))
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        <Box<[i8]>>::skip_over(reader)
    }

    fn to_text(&self) -> String {
        // The text is that of Java's signed bytes.
        self.signed().collect::<Box<[i8]>>().to_text()
    }

    fn from_text(text: &str) -> Result<Self> {
        <Box<[i8]>>::from_text(text)
            .map(|bytes| ByteArray(bytes.iter().map(|byte| byte.cast_unsigned()).collect()))
    }

    fn into_value(self) -> Value {
        Value::Bytes(self.signed().collect())
    }

    fn borrow_value(value: &Value) -> Option<Cow<'_, Self>> {
        match value {
            Value::Bytes(bytes) => {
                Some(Cow::Owned(ByteArray(bytes.iter().map(|byte| byte.cast_unsigned()).collect())))
            }
            _ => None,
        }
    }
}
