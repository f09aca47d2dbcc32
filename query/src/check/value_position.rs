//! Where a number lies among the values of a type that does not have it.

use std::ops::Bound;

use permazen::__internal::encoding::{EncodingKind, Primitive};
use permazen::encoding::{Encoding, Value, ids};

use crate::syntax::{Literal, LiteralKind};
use crate::text::encoded;

/// A position among the encoded values of a type.
pub(super) enum ValuePosition {
    /// At this value.
    At(Vec<u8>),
    /// Just before this value.
    Before(Vec<u8>),
    /// Just after this value.
    After(Vec<u8>),
    /// Before all values.
    First,
    /// After all values that are not null.
    Last,
}

impl ValuePosition {
    /// Where the values begin that are greater than this, or also equal if `with` is set. `None` if
    /// there are none.
    pub(super) fn lower(self, with: bool) -> Option<Bound<Vec<u8>>> {
        match self {
            ValuePosition::At(value) if !with => Some(Bound::Excluded(value)),
            ValuePosition::At(value) | ValuePosition::Before(value) => Some(Bound::Included(value)),
            ValuePosition::After(value) => Some(Bound::Excluded(value)),
            ValuePosition::First => Some(Bound::Unbounded),
            // Null comes after all numbers, and is in no range.
            ValuePosition::Last => None,
        }
    }

    /// Where the values end that are less than this, or also equal if `with` is set. `end` is where
    /// all values end that are not null. `None` if there are none.
    pub(super) fn upper(self, with: bool, end: Bound<Vec<u8>>) -> Option<Bound<Vec<u8>>> {
        match self {
            ValuePosition::At(value) if with => Some(Bound::Included(value)),
            ValuePosition::At(value) | ValuePosition::Before(value) => Some(Bound::Excluded(value)),
            ValuePosition::After(value) => Some(Bound::Included(value)),
            ValuePosition::First => None,
            ValuePosition::Last => Some(end),
        }
    }
}

/// The position of a number, as written, among the values of a type of numbers. `None` if it is
/// another type.
pub(super) fn value_position(number: &str, encoding: &dyn Encoding) -> Option<ValuePosition> {
    match encoding.kind() {
        EncodingKind::NullSafe(inner) => value_position(number, &**inner),
        EncodingKind::Primitive(primitive) | EncodingKind::Wrapper(primitive) => match primitive {
            Primitive::Byte | Primitive::Short | Primitive::Int | Primitive::Long => {
                Some(among_whole(number, encoding))
            }
            Primitive::Float | Primitive::Double => among_floats(number, encoding),
            Primitive::Boolean | Primitive::Char => None,
        },
        // BigInteger has no kind of its own, so its ID tells.
        _ if encoding.id().is_some_and(|id| *id == ids::BIG_INTEGER) => {
            Some(among_whole(number, encoding))
        }
        _ => None,
    }
}

/// Infinity is greater than any number that is written with digits.
fn among_floats(number: &str, encoding: &dyn Encoding) -> Option<ValuePosition> {
    let value = encoding.from_text(number).ok()?;
    let double = match value {
        Value::Float(float) => f64::from(float),
        Value::Double(double) => double,
        _ => return None,
    };
    let bytes = encoding.encode_all(&value).ok()?;
    Some(match double {
        // A number with digits is finite, so it lies below infinity even if it is beyond the type.
        f64::INFINITY => ValuePosition::Before(bytes),
        f64::NEG_INFINITY => ValuePosition::After(bytes),
        _ => ValuePosition::At(bytes),
    })
}

fn among_whole(number: &str, encoding: &dyn Encoding) -> ValuePosition {
    let is_negative = number.starts_with('-');
    let outside = if is_negative { ValuePosition::First } else { ValuePosition::Last };
    let Some((digits, has_rest)) = without_fraction(number) else { return outside };
    let sign = if is_negative { "-" } else { "" };
    let literal = Literal::of(LiteralKind::Number(format!("{sign}{digits}")));
    match encoded(&literal, encoding) {
        // Too large for the type: all its values lie on one side.
        Err(_) => outside,
        Ok(value) if !has_rest => ValuePosition::At(value),
        // The fraction was cut off towards zero, so a negative number lies before the result.
        Ok(value) if is_negative => ValuePosition::Before(value),
        Ok(value) => ValuePosition::After(value),
    }
}

/// Whole numbers of more digits than this are greater than any value.
const MOST_DIGITS: i64 = 1 << 20;

/// The digits before the point of a number, without exponent and sign, and whether anything but
/// zeros comes after it. `None` if they are too many.
fn without_fraction(number: &str) -> Option<(String, bool)> {
    let number = number.trim_start_matches('-');
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    // Zero stays zero with any exponent, also with one that cannot be read.
    if digits.bytes().all(|digit| digit == b'0') {
        return Some(("0".to_owned(), false));
    }
    // An exponent that no number holds is still negative or not.
    let least = if exponent.starts_with('-') { -MOST_DIGITS } else { MOST_DIGITS };
    let exponent: i64 = exponent.trim_start_matches('+').parse().unwrap_or(least * 4);
    let point = exponent.saturating_add(i64::try_from(whole.len()).ok()?);
    if point <= 0 {
        return Some(("0".to_owned(), true));
    }
    if point > MOST_DIGITS {
        return None;
    }
    let point = usize::try_from(point).ok()?;
    let (before, after) = digits.split_at_checked(point).unwrap_or((&digits, ""));
    let zeros = point.saturating_sub(digits.len());
    let before = format!("{before}{}", "0".repeat(zeros));
    let before = before.trim_start_matches('0');
    let before = if before.is_empty() { "0" } else { before };
    Some((before.to_owned(), after.bytes().any(|digit| digit != b'0')))
}

#[cfg(test)]
mod tests {
    use super::without_fraction;

    #[test]
    fn digits_before_the_point() {
        let rows = [
            ("12", "12", false),
            ("-12", "12", false),
            ("2.5", "2", true),
            ("2.0", "2", false),
            ("0.00", "0", false),
            ("1e3", "1000", false),
            ("1.25E1", "12", true),
            ("1.25e+2", "125", false),
            ("125e-2", "1", true),
            ("0.01e2", "1", false),
            ("5e-99999999999999999999", "0", true),
            ("0e99999999999999999999", "0", false),
        ];
        for (number, digits, has_rest) in rows {
            assert_eq!(without_fraction(number), Some((digits.to_owned(), has_rest)), "{number}");
        }
        assert_eq!(without_fraction("1e99999999999999999999"), None);
    }
}
