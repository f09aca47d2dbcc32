//! `u32`, which is stored as Java's `long`: no other type of Java has all its values in their
//! order.

use std::borrow::Cow;
use std::sync::Arc;

use super::array::ArrayHooks;
use super::array::primitive::{PrimitiveElement, hooks};
use super::{
    Encodable, Encoding, EncodingId, EncodingKind, Primitive, Reader, Result, Value, long,
};
use crate::bytes::invalid;

/// Arrays of the type in which the numbers are stored.
const LONGS: ArrayHooks<i64> = hooks(Primitive::Long);

impl Encodable for u32 {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const NULLABLE: bool = false;
    const SORTS_NATURALLY: bool = true;
    const KIND: EncodingKind<'static> = EncodingKind::Primitive(Primitive::Long);
    const ARRAY: Option<ArrayHooks<Self>> = Some(ArrayHooks {
        element: Primitive::Long,
        prefix_ff: LONGS.prefix_ff,
        write: |items, out| i64::write_array(&widened(items), out),
        read: |reader| narrowed(&i64::read_array(reader)?),
        skip: i64::skip_array,
        to_text: |items| (LONGS.to_text)(&widened(items)),
        from_text: |text| narrowed(&(LONGS.from_text)(text)?),
        into_value: |items| i64::into_array_value(widened(&items)),
        borrow_value: |value| narrowed(&i64::borrow_array(value)?).ok().map(Cow::Owned),
    });

    fn encoding_id() -> EncodingId {
        Primitive::Long.id()
    }

    fn nullable_id() -> Option<EncodingId> {
        Some(Primitive::Long.wrapper_id())
    }

    fn nullable_encoding() -> Arc<dyn Encoding> {
        i64::nullable_encoding()
    }

    fn default_value() -> Option<Self> {
        Some(0)
    }

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        long::write(i64::from(*self), out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        // Java can have stored a negative number, or one that is too large for this type.
        narrow(long::read(reader)?)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        long::skip(reader)
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        narrow(i64::from_text(text)?)
    }

    fn into_value(self) -> Value {
        Value::Long(i64::from(self))
    }

    fn borrow_value(value: &Value) -> Option<Cow<'_, Self>> {
        match value {
            // A number out of range is no value of this type, so the field is refused rather than
            // cut.
            Value::Long(number) => narrow(*number).ok().map(Cow::Owned),
            _ => None,
        }
    }
}

fn narrow(number: i64) -> Result<u32> {
    match u32::try_from(number) {
        Ok(number) => Ok(number),
        Err(_) => invalid(format!("{number} cannot be held as u32, which is 0 to {}", u32::MAX)),
    }
}

fn widened(items: &[u32]) -> Box<[i64]> {
    items.iter().map(|item| i64::from(*item)).collect()
}

fn narrowed(items: &[i64]) -> Result<Box<[u32]>> {
    items.iter().map(|item| narrow(*item)).collect()
}
