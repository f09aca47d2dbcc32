//! The types that setters and queries accept as values, and the values that only models have: enums
//! and counters. Handles as values are in `kind/within.rs` and `any_obj.rs`.

use std::ops::{AddAssign, SubAssign};
use std::str::FromStr;

use crate::encoding::{
    AsText, Encodable, EncodingError, EncodingId, EnumValue, FieldType, Reader, Result, SchemaForm,
    Value, uint,
};

/// Something that can be written to a field with values of type `V`, or looked up in it: the value
/// itself, a reference to it, or something that clearly means it (`"Ann"` for an `Option<String>`,
/// `3` for an `Option<i32>`, a handle for a reference).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value for a field of type `{V}`",
    label = "expected `{V}`",
    note = "give a `{V}` or what clearly means one: text for a `String`, a value for an `Option` of it, an object for \
            a reference to objects of its type; an `Option<&str>` or an `Option` of a handle is given by reference: `&value`; \
            for a composite index, a tuple with a value for each of its fields"
)]
pub trait EncodeAs<V> {
    /// Appends the encoded form.
    ///
    /// # Errors
    /// If the encoding has no form for the value. `out` is then unchanged.
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()>;

    /// Encodes the values of a tuple one by one, and calls `each` with the column and the encoded
    /// value. If a value cannot be encoded, `each` gets the reason instead.
    #[doc(hidden)]
    fn each_encoded<E>(
        &self,
        mut each: impl FnMut(usize, Result<&[u8]>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E>
    where
        Self: Sized,
    {
        let mut bytes = Vec::new();
        let encoded = self.encode_as(&mut bytes);
        each(0, encoded.map(|()| &bytes[..]))
    }
}

/// The values of a composite index, each given as itself or as a value that means it.
macro_rules! values_of_composite {
    ($($value:ident $given:ident $position:tt),*) => {
        impl<$($value,)* $($given: EncodeAs<$value>),*> EncodeAs<($($value,)*)> for ($($given,)*) {
            fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
                let start = out.len();
                $(self.$position.encode_as(out).inspect_err(|_| out.truncate(start))?;)*
                Ok(())
            }

            fn each_encoded<Error>(
                &self,
                mut each: impl FnMut(usize, Result<&[u8]>) -> std::result::Result<(), Error>,
            ) -> std::result::Result<(), Error> {
                let mut bytes = Vec::new();
                $(
                    bytes.clear();
                    let encoded = self.$position.encode_as(&mut bytes);
                    each($position, encoded.map(|()| &bytes[..]))?;
                )*
                Ok(())
            }
        }
    };
}

values_of_composite!(A P 0, B Q 1);
values_of_composite!(A P 0, B Q 1, C R 2);
values_of_composite!(A P 0, B Q 1, C R 2, D S 3);

impl<V: FieldType> EncodeAs<V> for V {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        self.encode_to(out)
    }
}

impl<V: FieldType> EncodeAs<V> for &V {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        (**self).encode_to(out)
    }
}

impl<T: Encodable> EncodeAs<Option<T>> for T {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        encode_some(self, out)
    }
}

impl<T: Encodable> EncodeAs<Option<T>> for &T {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        encode_some(*self, out)
    }
}

/// Appends `value` in the encoding that allows null.
fn encode_some<T: Encodable>(value: &T, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    // A value that could begin like null gets a byte before it.
    if T::PREFIX_FF {
        out.push(crate::encoding::NOT_NULL);
    }
    value.write_to(out).inspect_err(|_| out.truncate(start))
}

impl EncodeAs<String> for &str {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        crate::encoding::string::write(self, out);
        Ok(())
    }
}

impl EncodeAs<Option<String>> for &str {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        crate::encoding::string::write(self, out);
        Ok(())
    }
}

/// An iterator over a slice of texts gives these.
impl EncodeAs<String> for &&str {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        crate::encoding::string::write(self, out);
        Ok(())
    }
}

impl EncodeAs<Option<String>> for &&str {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        crate::encoding::string::write(self, out);
        Ok(())
    }
}

/// A value that is stored as its text.
impl<T> EncodeAs<AsText<T>> for T
where
    AsText<T>: Encodable,
    T: std::fmt::Display,
{
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        write_text(self, out)
    }
}

impl<T> EncodeAs<AsText<T>> for &T
where
    AsText<T>: Encodable,
    T: std::fmt::Display,
{
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        write_text(*self, out)
    }
}

impl<T> EncodeAs<Option<AsText<T>>> for T
where
    AsText<T>: Encodable,
    T: std::fmt::Display,
{
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        write_text(self, out)
    }
}

impl<T> EncodeAs<Option<AsText<T>>> for &T
where
    AsText<T>: Encodable,
    T: std::fmt::Display,
{
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        write_text(*self, out)
    }
}

fn write_text(value: &impl std::fmt::Display, out: &mut Vec<u8>) -> Result<()> {
    crate::encoding::string::write(&value.to_string(), out);
    Ok(())
}

/// An `Option` of another type is given by reference. By value, `None` could be of any of these
/// types.
impl EncodeAs<Option<String>> for &Option<&str> {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        encode_option::<Option<String>>(self.as_ref(), out)
    }
}

/// Appends what a value means for a field that can be null, or null.
pub(super) fn encode_option<V: FieldType>(
    value: Option<&impl EncodeAs<V>>,
    out: &mut Vec<u8>,
) -> Result<()> {
    match value {
        Some(value) => value.encode_as(out),
        None => {
            out.push(crate::encoding::NULL);
            Ok(())
        }
    }
}

/// An enum without fields that can be the type of a field. `#[derive(PermazenEnum)]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no enum that can be stored",
    note = "add `#[derive(PermazenEnum)]`"
)]
pub trait EnumType: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// The identifiers in the order of the variants.
    const IDENTIFIERS: &'static [&'static str];

    /// Identifiers that were other ones before: the one now, and the one before. Stored values are
    /// carried over by identifier.
    #[doc(hidden)]
    const RENAMED: &'static [(&'static str, &'static str)] = &[];

    /// The position of the variant that an object has if its schema lacks the field; `None` if
    /// there is no such variant.
    #[doc(hidden)]
    const INITIAL: Option<u32> = None;

    /// The position among the variants.
    fn ordinal(&self) -> u32;

    /// The variant at a position.
    fn from_ordinal(ordinal: u32) -> Option<Self>;

    /// The identifier on disk.
    fn identifier(&self) -> &'static str {
        Self::IDENTIFIERS.get(self.ordinal() as usize).copied().unwrap_or_default()
    }

    /// The variant with an identifier.
    fn from_identifier(identifier: &str) -> Option<Self> {
        let at = Self::IDENTIFIERS.iter().position(|known| *known == identifier)?;
        Self::from_ordinal(u32::try_from(at).ok()?)
    }
}

#[diagnostic::do_not_recommend]
impl<E: EnumType> Encodable for E {
    const PREFIX_FF: bool = false;
    const SCHEMA_FORM: SchemaForm = SchemaForm::Enum {
        identifiers: E::IDENTIFIERS,
        dimensions: 0,
        initial: E::INITIAL,
        renamed: E::RENAMED,
    };

    fn encoding_id() -> EncodingId {
        EncodingId::known("enum")
    }

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        uint::write(self.ordinal(), out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let ordinal = uint::read(reader)?;
        E::from_ordinal(ordinal).ok_or_else(|| {
            EncodingError::Invalid(format!(
                "ordinal {ordinal} of an enum with {} identifiers",
                E::IDENTIFIERS.len()
            ))
        })
    }

    fn to_text(&self) -> String {
        self.identifier().to_owned()
    }

    fn from_text(text: &str) -> Result<Self> {
        E::from_identifier(text)
            .ok_or_else(|| EncodingError::Invalid(format!("unknown enum identifier {text:?}")))
    }

    fn into_value(self) -> Value {
        Value::Enum(EnumValue::new(self.identifier(), self.ordinal()))
    }

    fn borrow_value(value: &Value) -> Option<std::borrow::Cow<'_, Self>> {
        match value {
            Value::Enum(value) => E::from_identifier(value.name()).map(std::borrow::Cow::Owned),
            _ => None,
        }
    }
}

/// A counter field in a model struct: a 64-bit number. Where the store supports it, transactions
/// can add to it without conflict.
///
/// In the struct it is the number the counter had when the object was loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counter(pub i64);

impl Counter {
    /// The number.
    pub fn get(self) -> i64 {
        self.0
    }
}

impl FromStr for Counter {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        text.parse().map(Counter)
    }
}

impl From<i64> for Counter {
    fn from(number: i64) -> Self {
        Counter(number)
    }
}

impl AddAssign<i64> for Counter {
    fn add_assign(&mut self, by: i64) {
        self.0 = self.0.wrapping_add(by);
    }
}

impl SubAssign<i64> for Counter {
    fn sub_assign(&mut self, by: i64) {
        self.0 = self.0.wrapping_sub(by);
    }
}

impl std::fmt::Display for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
