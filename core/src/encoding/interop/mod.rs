//! Types of other crates as fields. Each needs the feature with the crate's name, except those of
//! the standard library.
//!
//! Each type has the encoding of one of this crate's own types. A field can change from one to the
//! other, and the database stays the same. If a type has a smaller range, reading a value outside
//! it is an error.

#[cfg(feature = "bigdecimal")]
mod bigdecimal;
#[cfg(feature = "chrono")]
mod chrono;
#[cfg(feature = "ipnet")]
mod ipnet;
#[cfg(feature = "jiff")]
mod jiff;
#[cfg(feature = "num-bigint")]
mod num_bigint;
#[cfg(feature = "regex")]
mod regex;
#[cfg(feature = "rust_decimal")]
mod rust_decimal;
mod standard;
#[cfg(feature = "time")]
mod time;
#[cfg(feature = "url")]
mod url;
#[cfg(feature = "uuid")]
mod uuid;

use super::EncodingError;

impl From<std::convert::Infallible> for EncodingError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// The error for a value that the type of the other crate, or ours, cannot hold.
pub(crate) fn not_held<T>(value: &dyn std::fmt::Display, other: &str) -> super::Result<T> {
    crate::bytes::invalid(format!("{value} cannot be held as {other}"))
}

/// Gives `$type` the encoding of `$own`. Each must be convertible into the other.
macro_rules! encode_as {
    ($($type:ty => $own:ty),* $(,)?) => {
        $(impl crate::encoding::Encodable for $type {
            const PREFIX_00: bool = <$own as crate::encoding::Encodable>::PREFIX_00;
            const PREFIX_FF: bool = <$own as crate::encoding::Encodable>::PREFIX_FF;
            const FIXED_WIDTH: Option<usize> = <$own as crate::encoding::Encodable>::FIXED_WIDTH;
            const SORTS_NATURALLY: bool = <$own as crate::encoding::Encodable>::SORTS_NATURALLY;

            fn encoding_id() -> crate::encoding::EncodingId {
                <$own as crate::encoding::Encodable>::encoding_id()
            }

            fn nullable_encoding() -> std::sync::Arc<dyn crate::encoding::Encoding> {
                <$own as crate::encoding::Encodable>::nullable_encoding()
            }

            fn write_to(&self, out: &mut Vec<u8>) -> crate::encoding::Result<()> {
                <$own>::try_from(self.clone())?.write_to(out)
            }

            fn read_from(reader: &mut crate::encoding::Reader<'_>) -> crate::encoding::Result<Self> {
                let value: Self = <$own as crate::encoding::Encodable>::read_from(reader)?.try_into()?;
                Ok(value)
            }

            fn skip_over(reader: &mut crate::encoding::Reader<'_>) -> crate::encoding::Result<()> {
                <$own as crate::encoding::Encodable>::skip_over(reader)
            }

            fn to_text(&self) -> String {
                <$own>::try_from(self.clone()).map_or_else(|_| format!("{self:?}"), |own| own.to_text())
            }

            fn from_text(text: &str) -> crate::encoding::Result<Self> {
                let value: Self = <$own as crate::encoding::Encodable>::from_text(text)?.try_into()?;
                Ok(value)
            }

            fn into_value(self) -> crate::encoding::Value {
                <$own>::try_from(self).map_or_else(|_| crate::encoding::typed::unstorable::<$own>(), |own| own.into_value())
            }

            fn borrow_value(value: &crate::encoding::Value) -> Option<std::borrow::Cow<'_, Self>> {
                let own = <$own as crate::encoding::Encodable>::borrow_value(value)?;
                own.into_owned().try_into().ok().map(std::borrow::Cow::Owned)
            }
        })*
    };
}
pub(crate) use encode_as;
