//! Inputs of encodings that Java accepts in another way, each with the reason. The reasons are in
//! `docs/deviations.md`.

use permazen::__internal::encoding::{EncodingKind, Primitive};
use permazen::encoding::Encoding;

use crate::encodings::{Answer, Input};
use crate::values::depends_on_rules;

/// Why a difference is no error; `None` if it is one.
pub fn left_out(
    encoding: &dyn Encoding,
    from: &dyn Encoding,
    input: &Input,
    ours: &Answer,
    theirs: &Answer,
) -> Option<&'static str> {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs))
            if (ours.0 == theirs.0 && has_floats(encoding))
                || (matches!(input, Input::From(..)) && has_floats(from)) =>
        {
            Some("digits of floating-point numbers before Java 19")
        }
        (Ok((_, Some(text))), Ok(_)) if depends_on_rules(text) => {
            Some("offsets of regions, which depend on the age of the zone rules")
        }
        (Ok((_, Some(_))), Err(error)) if error.contains("No such interface") => {
            Some("names of network interfaces that Java's machine does not have")
        }
        (Ok(_), Err(error)) if error.contains("PatternSyntaxException: Unknown character") => {
            Some("names of characters and properties in regular expressions, which Java looks up")
        }
        (Ok(_), Err(_)) if matches!(input, Input::Text(text) if has_unpadded_base64(encoding, text)) => {
            Some("Base64 without padding, which Java prints and does not read (encodings D4)")
        }
        _ => None,
    }
}

fn has_floats(encoding: &dyn Encoding) -> bool {
    match encoding.kind() {
        EncodingKind::Array(element) | EncodingKind::NullSafe(element) => {
            has_floats(element.as_ref())
        }
        EncodingKind::Primitive(primitive)
        | EncodingKind::Wrapper(primitive)
        | EncodingKind::PrimitiveArray(primitive) => {
            matches!(primitive, Primitive::Float | Primitive::Double)
        }
        _ => encoding.name().contains("DoubleSummaryStatistics"),
    }
}

fn has_unpadded_base64(encoding: &dyn Encoding, text: &str) -> bool {
    let mut innermost = encoding.kind();
    while let EncodingKind::Array(element) | EncodingKind::NullSafe(element) = innermost {
        innermost = element.kind();
    }
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "+/\n\\=".contains(c)));
    matches!(innermost, EncodingKind::PrimitiveArray(_))
        && words.any(|word| word.len() >= 24 && !word.ends_with('='))
}
