//! The `ipnet` crate: networks, such as `10.0.0.0/8`.
//!
//! Java Permazen has no encoding for them. They are stored as text in the encoding `String`, so
//! Java reads them as strings.

macro_rules! nets {
    ($($type:ident),*) => {
        $(impl crate::encoding::Encodable for ipnet::$type {
            const PREFIX_FF: bool = false;

            fn encoding_id() -> crate::encoding::EncodingId {
                <String as crate::encoding::Encodable>::encoding_id()
            }

            fn nullable_encoding() -> std::sync::Arc<dyn crate::encoding::Encoding> {
                <String as crate::encoding::Encodable>::nullable_encoding()
            }

            fn write_to(&self, out: &mut Vec<u8>) -> crate::encoding::Result<()> {
                crate::encoding::string::write(&self.to_string(), out);
                Ok(())
            }

            fn read_from(reader: &mut crate::encoding::Reader<'_>) -> crate::encoding::Result<Self> {
                <Self as crate::encoding::Encodable>::from_text(&crate::encoding::string::read_cow(reader)?)
            }

            fn skip_over(reader: &mut crate::encoding::Reader<'_>) -> crate::encoding::Result<()> {
                crate::encoding::string::skip(reader)
            }

            fn to_text(&self) -> String {
                self.to_string()
            }

            fn from_text(text: &str) -> crate::encoding::Result<Self> {
                text.parse().or_else(|_| super::not_held(&format_args!("{text:?}"), "a network"))
            }

            fn into_value(self) -> crate::encoding::Value {
                crate::encoding::Value::String(self.to_string())
            }

            fn borrow_value(value: &crate::encoding::Value) -> Option<std::borrow::Cow<'_, Self>> {
                value.as_str()?.parse().ok().map(std::borrow::Cow::Owned)
            }
        })*
    };
}

nets!(IpNet, Ipv4Net, Ipv6Net);
