//! How surely the values of one encoding have an exact counterpart in another, told from the
//! encodings alone.
//!
//! To have an exact counterpart works both ways: if a value has one, then the value is the exact
//! counterpart of its counterpart. So a conversion in one direction tells much about the other.

use super::convert::unwrap;
use super::exact::Conversion;
use super::{Encoding, EncodingKind, Exactness, Primitive, Value, ids};

pub(super) fn of(conversion: &Conversion<'_>) -> Exactness {
    let (from, to) = (conversion.from, conversion.to);
    if from.is_same(to) {
        return Exactness::Always;
    }
    if [from, to].into_iter().any(|e| matches!(e.kind(), EncodingKind::Unknown)) {
        return Exactness::Never;
    }
    let null_is_lost = from.supports_null() && !to.supports_null();
    if is_void(from) {
        return if null_is_lost { Exactness::Never } else { Exactness::Always };
    }
    match values(conversion) {
        Exactness::Always if null_is_lost => Exactness::Sometimes,
        exactness => exactness,
    }
}

fn is_void(encoding: &dyn Encoding) -> bool {
    encoding.id() == Some(&ids::VOID)
}

/// The same for all values except null.
fn values(conversion: &Conversion<'_>) -> Exactness {
    use EncodingKind::{PrimitiveArray, Reference, String};
    let (from, to) = (conversion.from, conversion.to);
    if is_void(to) {
        return Exactness::Never;
    }
    match (unwrap(from), unwrap(to)) {
        (Reference(from), Reference(to)) => match (from.allowed(), to.allowed()) {
            (_, None) => Exactness::Always,
            (Some(from), Some(to)) if from.is_subset(to) => Exactness::Always,
            (Some(from), Some(to)) if from.is_disjoint(to) => Exactness::Never,
            (None, Some(to)) if to.is_empty() => Exactness::Never,
            _ => Exactness::Sometimes,
        },
        // `convert` makes no reference of anything else.
        (Reference(_), _) | (_, Reference(_)) => Exactness::Never,
        (small, _) if is_small(small) => match tried(conversion) {
            (exact, all) if exact == all => Exactness::Always,
            (0, _) => Exactness::Never,
            _ => Exactness::Sometimes,
        },
        // What has few values cannot hold all the values of what has many.
        (_, small) if is_small(small) => match tried(&conversion.back()) {
            (0, _) => Exactness::Never,
            _ => Exactness::Sometimes,
        },
        (EncodingKind::Primitive(from), EncodingKind::Primitive(to)) => primitives(from, to),
        // The text of a number, or of a character, reads back as the same.
        (EncodingKind::Primitive(_) | PrimitiveArray(Primitive::Char), String)
        | (String, PrimitiveArray(Primitive::Char)) => Exactness::Always,
        _ => Exactness::Sometimes,
    }
}

/// Whether all values can be tried.
fn is_small(kind: EncodingKind<'_>) -> bool {
    match kind {
        EncodingKind::Primitive(primitive) => {
            matches!(primitive, Primitive::Boolean | Primitive::Byte)
        }
        EncodingKind::Enum(_) => true,
        _ => false,
    }
}

/// How many values have an exact counterpart, and how many values there are, without null.
fn tried(conversion: &Conversion<'_>) -> (usize, usize) {
    let values: Vec<Value> = match unwrap(conversion.from) {
        EncodingKind::Primitive(Primitive::Boolean) => vec![Value::Bool(false), Value::Bool(true)],
        EncodingKind::Primitive(Primitive::Byte) => (i8::MIN..=i8::MAX).map(Value::Byte).collect(),
        EncodingKind::Enum(constants) => {
            let names = constants.identifiers().iter();
            names.filter_map(|name| constants.by_name(name)).map(Value::Enum).collect()
        }
        _ => Vec::new(),
    };
    let exact = values.iter().filter(|value| conversion.attempt(value).is_ok()).count();
    (exact, values.len())
}

fn primitives(from: Primitive, to: Primitive) -> Exactness {
    use Primitive::{Char, Double, Float, Int, Long, Short};
    match (from, to) {
        _ if from == to => Exactness::Always,
        (Short, Int | Long | Float | Double)
        | (Char, Int | Long | Float | Double)
        | (Int, Long | Double)
        | (Float, Double) => Exactness::Always,
        // At least one number is in both.
        _ => Exactness::Sometimes,
    }
}
