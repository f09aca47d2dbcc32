//! The names of Java's types.

use crate::encoding::EncodingKind;

/// The Java type of the values of a built-in encoding. For another encoding, its ID.
pub(super) fn java_type(alias: &str) -> String {
    let element = alias.trim_end_matches("[]");
    let package = match element {
        "Boolean" | "Byte" | "Character" | "Short" | "Integer" | "Long" | "Float" | "Double"
        | "Void" | "String" => "java.lang.",
        "BigDecimal" | "BigInteger" => "java.math.",
        "BitSet"
        | "Date"
        | "UUID"
        | "IntSummaryStatistics"
        | "LongSummaryStatistics"
        | "DoubleSummaryStatistics" => "java.util.",
        "Pattern" => "java.util.regex.",
        "File" => "java.io.",
        "URI" | "Inet4Address" | "Inet6Address" | "InetAddress" => "java.net.",
        "InternetAddress" => "jakarta.mail.internet.",
        "Duration" | "Instant" | "LocalDate" | "LocalDateTime" | "LocalTime" | "MonthDay"
        | "OffsetDateTime" | "OffsetTime" | "Period" | "Year" | "YearMonth" | "ZoneId"
        | "ZoneOffset" | "ZonedDateTime" => "java.time.",
        // Primitive types have no package, and the class of an encoding of your own is not known.
        _ => "",
    };
    format!("{package}{alias}")
}

/// The Java type of the values of an encoding that has no ID.
pub(super) fn java_type_of(kind: EncodingKind<'_>) -> String {
    match kind {
        EncodingKind::Reference(_) => "io.permazen.core.ObjId".to_owned(),
        EncodingKind::Enum(_) => "io.permazen.core.EnumValue".to_owned(),
        EncodingKind::Array(element) => format!("{}[]", java_type_of(element.kind())),
        EncodingKind::NullSafe(inner) => java_type_of(inner.kind()),
        _ => "java.lang.Object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::EncodingRegistry;

    #[test]
    fn every_class_has_a_package() {
        for id in EncodingRegistry::new().ids() {
            let alias = id.alias();
            let is_class = alias.starts_with(|first: char| first.is_ascii_uppercase());
            assert_eq!(java_type(alias).contains('.'), is_class, "{alias}");
        }
    }
}
