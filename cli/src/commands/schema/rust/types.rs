//! The Rust types of encodings.

use permazen::encoding::EncodingId;

/// A Rust type for simple values.
#[derive(Clone)]
pub(super) struct RustType {
    pub(super) text: String,
    /// Whether it implements `Ord`, so that it can be in a `BTreeSet`.
    pub(super) is_ord: bool,
}

/// How deep arrays can be nested: the compiler gives up on types that are nested much deeper.
pub(super) const MAX_DIMENSIONS: usize = 40;

/// The encodings whose values are never null.
const PRIMITIVE: &[(&str, &str, bool)] = &[
    ("boolean", "bool", true),
    ("byte", "i8", true),
    ("char", "permazen::encoding::JavaChar", true),
    ("short", "i16", true),
    ("int", "i32", true),
    ("long", "i64", true),
    ("float", "f32", false),
    ("double", "f64", false),
];

/// The others: the type inside an `Option`.
pub(super) const NULLABLE: &[(&str, &str, bool)] = &[
    ("Boolean", "bool", true),
    ("Byte", "i8", true),
    ("Character", "permazen::encoding::JavaChar", true),
    ("Short", "i16", true),
    ("Integer", "i32", true),
    ("Long", "i64", true),
    ("Float", "f32", false),
    ("Double", "f64", false),
    ("Void", "permazen::encoding::Void", true),
    ("String", "String", true),
    ("byte[]", "permazen::encoding::ByteArray", true),
    ("BigDecimal", "permazen::encoding::number::BigDecimal", true),
    ("BigInteger", "permazen::encoding::number::BigInteger", true),
    ("BitSet", "permazen::encoding::number::BitSet", true),
    ("Date", "permazen::encoding::time::Date", true),
    ("UUID", "permazen::encoding::Uuid", true),
    ("IntSummaryStatistics", "permazen::encoding::number::IntSummaryStatistics", false),
    ("LongSummaryStatistics", "permazen::encoding::number::LongSummaryStatistics", false),
    ("DoubleSummaryStatistics", "permazen::encoding::number::DoubleSummaryStatistics", false),
    ("File", "permazen::encoding::textual::FilePath", true),
    ("URI", "permazen::encoding::textual::Uri", true),
    ("Pattern", "permazen::encoding::textual::Pattern", true),
    ("InternetAddress", "permazen::encoding::textual::InternetAddress", true),
    ("Inet4Address", "std::net::Ipv4Addr", true),
    ("Inet6Address", "std::net::Ipv6Addr", true),
    ("InetAddress", "std::net::IpAddr", true),
    ("Duration", "permazen::encoding::time::Duration", true),
    ("Instant", "permazen::encoding::time::Instant", true),
    ("LocalDate", "permazen::encoding::time::LocalDate", true),
    ("LocalDateTime", "permazen::encoding::time::LocalDateTime", true),
    ("LocalTime", "permazen::encoding::time::LocalTime", true),
    ("MonthDay", "permazen::encoding::time::MonthDay", true),
    ("OffsetDateTime", "permazen::encoding::time::OffsetDateTime", true),
    ("OffsetTime", "permazen::encoding::time::OffsetTime", true),
    ("Period", "permazen::encoding::time::Period", true),
    ("Year", "permazen::encoding::time::Year", true),
    ("YearMonth", "permazen::encoding::time::YearMonth", true),
    ("ZoneOffset", "permazen::encoding::time::ZoneOffset", true),
    ("ZoneId", "permazen::encoding::time::ZoneId", true),
    ("ZonedDateTime", "permazen::encoding::time::ZonedDateTime", true),
];

/// The type of values with this encoding, or why there is none. It has a place for null if the
/// encoding has one.
pub(super) fn of_encoding(id: &EncodingId) -> Result<RustType, String> {
    if id.dimensions() > MAX_DIMENSIONS {
        return Err(too_deep());
    }
    let find = |list: &'static [(&str, &str, bool)]| {
        let mut entries = list.iter();
        entries.find(|(alias, _, _)| *alias == id.alias())
    };
    if let Some(&(_, text, is_ord)) = find(PRIMITIVE) {
        return Ok(RustType { text: text.to_owned(), is_ord });
    }
    if let Some(&(_, text, is_ord)) = find(NULLABLE) {
        return Ok(optional(text, is_ord));
    }
    match id.element() {
        Some(element) => Ok(array_of(&of_encoding(&element)?)),
        None => Err(format!(
            "its encoding {} is none of the built-in ones: give it a type of your own that implements \
             permazen::encoding::Encodable",
            id.as_str()
        )),
    }
}

pub(super) fn optional(text: &str, is_ord: bool) -> RustType {
    RustType { text: format!("Option<{text}>"), is_ord }
}

/// Arrays as single values. They may be null.
pub(super) fn array_of(element: &RustType) -> RustType {
    optional(&format!("Box<[{}]>", element.text), element.is_ord)
}

pub(super) fn too_deep() -> String {
    format!("it has arrays of more than {MAX_DIMENSIONS} dimensions, which the compiler refuses")
}
