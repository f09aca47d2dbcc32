//! The code of the types that are stored as strings.

/// The code of the types that are stored as strings. `new` makes the type from the string, and
/// `as_java` returns the string. `$check`, if given, is the method that refuses values whose string
/// cannot be read back.
macro_rules! string_type {
    ($type:ident, $id:expr $(, $check:ident)?) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.as_java(), f)
            }
        }

        impl std::str::FromStr for $type {
            type Err = crate::encoding::EncodingError;

            fn from_str(text: &str) -> crate::encoding::Result<Self> {
                Self::from_java(text.into())
            }
        }

        impl crate::encoding::Encodable for $type {
            const PREFIX_FF: bool = false;
            crate::encoding::value::plain_value!($type, $id);

            fn write_to(&self, out: &mut Vec<u8>) -> crate::encoding::Result<()> {
                $(self.$check()?;)?
                self.as_java().write_to(out)
            }

            fn read_from(
                reader: &mut crate::encoding::Reader<'_>,
            ) -> crate::encoding::Result<Self> {
                Self::from_java(crate::encoding::string::read_java(reader)?)
            }

            fn skip_over(reader: &mut crate::encoding::Reader<'_>) -> crate::encoding::Result<()> {
                crate::encoding::string::skip(reader)
            }

            fn to_text(&self) -> String {
                crate::encoding::text::escape(self.as_java().units(), false)
            }

            fn from_text(text: &str) -> crate::encoding::Result<Self> {
                Self::from_java(crate::encoding::text::unescape(text)?)
            }
        }
    };
}
pub(crate) use string_type;
