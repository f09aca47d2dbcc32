//! Arrays of primitive types.

use std::borrow::Cow;

use super::{ArrayHooks, base64};
use crate::bytes::{Result, invalid};
use crate::encoding::{
    Encodable, EncodingError, JavaChar, Primitive, Reader, Value, long, string, text,
};

/// How arrays of this primitive type are written, as values.
pub(in crate::encoding) const fn hooks<T: PrimitiveElement>(element: Primitive) -> ArrayHooks<T> {
    ArrayHooks {
        element,
        prefix_ff: T::ARRAY_PREFIX_FF,
        write: T::write_array,
        read: T::read_array,
        skip: T::skip_array,
        to_text,
        from_text,
        into_value: T::into_array_value,
        borrow_value: T::borrow_array,
    }
}

/// How arrays of a primitive type are written.
pub(in crate::encoding) trait PrimitiveElement: Encodable + Copy {
    /// Whether an array may start with `ff`.
    const ARRAY_PREFIX_FF: bool = false;
    /// The number of bytes of an element in the Base64 form; 0 if there is no such form.
    const WIDTH: usize;

    fn write_array(items: &[Self], out: &mut Vec<u8>);
    fn read_array(reader: &mut Reader<'_>) -> Result<Box<[Self]>>;
    fn skip_array(reader: &mut Reader<'_>) -> Result<()>;
    fn into_array_value(items: Box<[Self]>) -> Value;
    fn borrow_array(value: &Value) -> Option<Cow<'_, Box<[Self]>>>;
    /// Appends the big-endian bytes for the Base64 form.
    fn push_bytes(self, _out: &mut Vec<u8>) {}
    /// The element with these [`WIDTH`](Self::WIDTH) big-endian bytes, which are given as a number.
    fn from_bits(bits: u64) -> Self;
}

/// The longest array that is printed as a list, if there is a Base64 form.
const MAX_LIST: usize = 16;

fn to_text<T: PrimitiveElement>(items: &[T]) -> String {
    // A short array is easier to read as a list, and Java prints it as one.
    if T::WIDTH == 0 || items.len() <= MAX_LIST {
        return text::join_items(items.iter().map(|item| Some(item.to_text())));
    }
    let mut bytes = Vec::with_capacity(items.len() * T::WIDTH);
    items.iter().for_each(|item| item.push_bytes(&mut bytes));
    base64::encode_mime(&bytes)
}

/// Parses the list form, or the Base64 form if there is one.
///
/// Base64 without padding is accepted only if it is exactly what would be printed. Java Permazen
/// prints it, but cannot read it back.
fn from_text<T: PrimitiveElement>(text: &str) -> Result<Box<[T]>> {
    if T::WIDTH > 0
        && let Some(bytes) = base64::decode(text)
        && (text.ends_with('=')
            || (bytes.len() > MAX_LIST * T::WIDTH && base64::encode_mime(&bytes) == text))
    {
        if bytes.len() % T::WIDTH != 0 {
            return invalid(format!(
                "input has length {} which is not a multiple of {}",
                bytes.len(),
                T::WIDTH
            ));
        }
        let to_item = |item: &[u8]| {
            T::from_bits(item.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
        };
        return Ok(bytes.chunks_exact(T::WIDTH).map(to_item).collect());
    }
    let parse = |item: Option<String>| match item {
        Some(item) => T::from_text(&item),
        None => Err(EncodingError::NullValue(T::encoding_id().alias().to_owned())),
    };
    text::split_items(text)?.into_iter().map(parse).collect()
}

/// The variant of [`Value`] that holds an array.
macro_rules! array_value {
    ($variant:ident) => {
        fn into_array_value(items: Box<[Self]>) -> Value {
            Value::$variant(items)
        }

        fn borrow_array(value: &Value) -> Option<Cow<'_, Box<[Self]>>> {
            match value {
                Value::$variant(items) => Some(Cow::Borrowed(items)),
                _ => None,
            }
        }
    };
}

/// Arrays of integers: each element as a variable-length number, then `00`, which starts no number.
macro_rules! integers {
    ($type:ty, $variant:ident) => {
        impl PrimitiveElement for $type {
            const WIDTH: usize = size_of::<$type>();

            fn write_array(items: &[Self], out: &mut Vec<u8>) {
                for &item in items {
                    // Java writes each element as a `long`, so that all integer arrays have one
                    // form.
                    long::write(i64::from(item), out);
                }
                // No number begins with `00`, so it ends the array.
                out.push(0);
            }

            fn read_array(reader: &mut Reader<'_>) -> Result<Box<[Self]>> {
                let mut items = Vec::new();
                while reader.peek().ok_or(EncodingError::Truncated)? != 0 {
                    #[allow(
                        clippy::cast_possible_truncation,
                        reason = "upper bits are dropped, as Java does"
                    )]
                    items.push(long::read(reader)? as $type);
                }
                reader.byte()?;
                Ok(items.into())
            }

            fn skip_array(reader: &mut Reader<'_>) -> Result<()> {
                while reader.peek().ok_or(EncodingError::Truncated)? != 0 {
                    long::skip(reader)?;
                }
                reader.byte().map(drop)
            }

            array_value!($variant);

            fn push_bytes(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }

            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_possible_wrap,
                reason = "the bits are those of a number of this width"
            )]
            fn from_bits(bits: u64) -> Self {
                bits as $type
            }
        }
    };
}

integers!(i8, Bytes);
integers!(i16, Shorts);
integers!(i32, Ints);
integers!(i64, Longs);

/// Arrays of floating-point numbers: the elements, then as many zero bytes as an element has. No
/// element has only zero bytes.
macro_rules! floats {
    ($type:ty, $bits:ty, $variant:ident) => {
        impl PrimitiveElement for $type {
            const ARRAY_PREFIX_FF: bool = true;
            const WIDTH: usize = size_of::<$type>();

            fn write_array(items: &[Self], out: &mut Vec<u8>) {
                for item in items {
                    // Writing a number of this type cannot fail.
                    let _ = item.write_to(out);
                }
                out.extend_from_slice(&[0; size_of::<$type>()]);
            }

            fn read_array(reader: &mut Reader<'_>) -> Result<Box<[Self]>> {
                let mut items = Vec::new();
                let mut ahead = reader.clone();
                // The end looks like an element, so it is read ahead and compared.
                while ahead.array::<{ size_of::<$type>() }>()? != [0; size_of::<$type>()] {
                    items.push(<$type>::read_from(reader)?);
                }
                *reader = ahead;
                Ok(items.into())
            }

            fn skip_array(reader: &mut Reader<'_>) -> Result<()> {
                while reader.array::<{ size_of::<$type>() }>()? != [0; size_of::<$type>()] {}
                Ok(())
            }

            array_value!($variant);

            fn push_bytes(self, out: &mut Vec<u8>) {
                let value =
                    // All NaNs are written as the same bytes, so they have one Base64 text too.
                    if self.is_nan() { <$type>::from_bits((<$type>::NAN).to_bits()) } else { self };
                out.extend_from_slice(&value.to_be_bytes());
            }

            #[allow(
                clippy::cast_possible_truncation,
                reason = "the bits are those of a number of this width"
            )]
            fn from_bits(bits: u64) -> Self {
                <$type>::from_bits(bits as $bits)
            }
        }
    };
}

floats!(f32, u32, Floats);
floats!(f64, u64, Doubles);

impl PrimitiveElement for JavaChar {
    // One character is two bytes in Java, but Java prints these arrays as a list.
    const WIDTH: usize = 0;

    fn write_array(items: &[Self], out: &mut Vec<u8>) {
        string::write_units(items.iter().map(|char| char.0), out);
    }

    fn read_array(reader: &mut Reader<'_>) -> Result<Box<[Self]>> {
        Ok(string::read_units(reader)?.into_iter().map(JavaChar).collect())
    }

    fn skip_array(reader: &mut Reader<'_>) -> Result<()> {
        string::skip(reader)
    }

    array_value!(Chars);

    #[allow(
        clippy::cast_possible_truncation,
        reason = "the bits are those of a character; there is no Base64 form that has others"
    )]
    fn from_bits(bits: u64) -> Self {
        JavaChar(bits as u16)
    }
}

/// Two bits for each element, from the high end of each byte: `01` is false, `10` is true, `00`
/// ends the array.
impl PrimitiveElement for bool {
    const WIDTH: usize = 0;

    fn write_array(items: &[Self], out: &mut Vec<u8>) {
        for group in items.chunks(4) {
            let byte = group
                .iter()
                .zip([6, 4, 2, 0])
                .fold(0, |byte, (&item, shift)| byte | (1 + u8::from(item)) << shift);
            out.push(byte);
        }
        // Four elements fill a byte and leave no room for the end.
        if items.len().is_multiple_of(4) {
            out.push(0);
        }
    }

    fn read_array(reader: &mut Reader<'_>) -> Result<Box<[Self]>> {
        let mut items = Vec::new();
        for_bools(reader, |item| items.push(item))?;
        Ok(items.into())
    }

    fn skip_array(reader: &mut Reader<'_>) -> Result<()> {
        for_bools(reader, drop)
    }

    array_value!(Bools);

    fn from_bits(bits: u64) -> Self {
        bits != 0
    }
}

fn for_bools(reader: &mut Reader<'_>, mut found: impl FnMut(bool)) -> Result<()> {
    loop {
        let byte = reader.byte()?;
        for shift in [6, 4, 2, 0] {
            // The elements stand from the high end, so that arrays sort by their first element
            // first.
            match byte >> shift & 3 {
                0 => return Ok(()),
                1 => found(false),
                2 => found(true),
                _ => return invalid(format!("invalid encoding of boolean[]: 0x{byte:02x}")),
            }
        }
    }
}
