//! How surely the values of one encoding have an exact counterpart in another, judged from the
//! encodings alone.
//!
//! To have an exact counterpart works both ways: if a value has one, then the value is the exact
//! counterpart of its counterpart. So a conversion in one direction tells much about the other.

use std::collections::BTreeSet;

use super::convert::{element, unwrap};
use super::exact_conversion::Conversion;
use super::{Encoding, EncodingId, EncodingKind, Primitive, Value, ids};

/// How surely the values of one encoding have an exact counterpart in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Exactness {
    /// Every value has one.
    Always,
    /// Some values have one, or it is not known whether all or none have.
    Sometimes,
    /// No value has one, except perhaps null.
    Never,
}

impl Conversion<'_> {
    /// How surely the values have an exact counterpart, without looking at any.
    ///
    /// This is known for the built-in encodings, arrays of them, enums and references. With other
    /// encodings the answer is [`Exactness::Sometimes`] unless both are the same.
    pub fn exactness(&self) -> Exactness {
        of(self)
    }

    /// The [`exactness`](Conversion::exactness) for all values except null.
    pub(crate) fn exactness_without_null(&self) -> Exactness {
        match of(self) {
            // Null may be the only value that has no counterpart.
            Exactness::Sometimes => values(self),
            exactness => exactness,
        }
    }

    /// Whether no value but null has an exact counterpart.
    pub(super) fn is_never_exact(&self) -> bool {
        of(self) == Exactness::Never
    }
}

fn of(conversion: &Conversion<'_>) -> Exactness {
    let (from, to) = (conversion.from, conversion.to);
    // The same bytes are kept, so no value is looked at.
    if from.is_same(to) {
        return Exactness::Always;
    }
    // The bytes of an unknown encoding can be copied only to the same encoding, which was the case
    // above.
    if [from, to].into_iter().any(|e| matches!(e.kind(), EncodingKind::Unknown)) {
        return Exactness::Never;
    }
    // Null is a value too, and only this one is judged apart from the others.
    let null_is_lost = from.supports_null() && !to.supports_null();
    // Without other values, null alone decides.
    if has_only_null(from) {
        return if null_is_lost { Exactness::Never } else { Exactness::Always };
    }
    match values(conversion) {
        Exactness::Always if null_is_lost => Exactness::Sometimes,
        exactness => exactness,
    }
}

fn has_only_null(encoding: &dyn Encoding) -> bool {
    match unwrap(encoding) {
        EncodingKind::Enum(constants) => constants.identifiers().is_empty(),
        EncodingKind::Reference(reference) => reference.allowed().is_some_and(BTreeSet::is_empty),
        _ => encoding.id() == Some(&ids::VOID),
    }
}

/// The same for all values except null.
fn values(conversion: &Conversion<'_>) -> Exactness {
    use EncodingKind as Kind;
    let (from, to) = (conversion.from, conversion.to);
    if has_only_null(to) {
        return Exactness::Never;
    }
    match (unwrap(from), unwrap(to)) {
        (Kind::Reference(from), Kind::Reference(to)) => match (from.allowed(), to.allowed()) {
            (_, None) => Exactness::Always,
            (Some(from), Some(to)) if from.is_subset(to) => Exactness::Always,
            (Some(from), Some(to)) if from.is_disjoint(to) => Exactness::Never,
            _ => Exactness::Sometimes,
        },
        // `convert` makes no reference of anything else.
        (Kind::Reference(_), _) | (_, Kind::Reference(_)) => Exactness::Never,
        // All values of a small type can be tried, which is surer than a rule.
        (small, _) if is_small(small) => match tried(conversion) {
            (exact, all) if exact == all => Exactness::Always,
            (0, _) => Exactness::Never,
            _ => Exactness::Sometimes,
        },
        // A type with few values cannot hold all values of a type with many.
        (_, small) if is_small(small) => match tried(&conversion.back()) {
            (0, _) => Exactness::Never,
            _ => Exactness::Sometimes,
        },
        (Kind::Primitive(from), Kind::Primitive(to)) => primitives(from, to),
        // The texts of numbers are like those of few other types.
        (Kind::Primitive(from), Kind::Plain) => primitive_and_plain(from, to, true),
        (Kind::Plain, Kind::Primitive(to)) => primitive_and_plain(to, from, false),
        (Kind::String, Kind::String | Kind::PrimitiveArray(Primitive::Char))
        | (Kind::PrimitiveArray(Primitive::Char), Kind::String) => Exactness::Always,
        (_, Kind::String) if text_reads_back(from) => Exactness::Always,
        (Kind::Plain, Kind::Plain) => plain(from, to),
        _ => match (element(from), element(to)) {
            (Some(from), Some(to)) => arrays(conversion, from.get(), to.get()),
            // A text of an array is in brackets or in Base64, so few other texts can be one.
            (Some(_), None) => array_and_other(to),
            (None, Some(_)) => array_and_other(from),
            (None, None) => Exactness::Sometimes,
        },
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
        // The constants are tried by name, since names are what a conversion looks at.
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
        // A `float` has all its values in a `double`, but a `long` has more digits than a `double`.
        | (Float, Double) => Exactness::Always,
        // 65 is in all of them.
        _ => Exactness::Sometimes,
    }
}

/// Encodings of texts of which few are refused. The text of a value of another encoding may be one
/// of these.
const FREE_TEXT: [EncodingId; 4] = [ids::FILE, ids::URI, ids::PATTERN, ids::INTERNET_ADDRESS];

/// Encodings whose values are all printed as texts that read back as the same value.
const TEXT_READS_BACK: [EncodingId; 26] = [
    ids::BIG_DECIMAL,
    ids::BIG_INTEGER,
    ids::BIT_SET,
    ids::UUID,
    ids::INT_SUMMARY_STATISTICS,
    ids::LONG_SUMMARY_STATISTICS,
    ids::DOUBLE_SUMMARY_STATISTICS,
    ids::FILE,
    ids::URI,
    ids::PATTERN,
    ids::INTERNET_ADDRESS,
    ids::INET4_ADDRESS,
    ids::INET6_ADDRESS,
    ids::INET_ADDRESS,
    ids::DURATION,
    ids::INSTANT,
    ids::LOCAL_DATE,
    ids::LOCAL_DATE_TIME,
    ids::LOCAL_TIME,
    ids::MONTH_DAY,
    ids::OFFSET_DATE_TIME,
    ids::OFFSET_TIME,
    ids::PERIOD,
    ids::ZONE_OFFSET,
    ids::ZONE_ID,
    ids::ZONED_DATE_TIME,
];

/// Encodings whose texts are not all read back. Some are read as another value: `Date` prints years
/// before 1 as years after. Some are refused: a `Year` after 9999 has no sign.
const TEXT_READS_BACK_IN_PART: [EncodingId; 3] = [ids::DATE, ids::YEAR, ids::YEAR_MONTH];

/// Encodings whose texts are in brackets, as those of arrays are.
const IN_BRACKETS: [EncodingId; 4] = [
    ids::BIT_SET,
    ids::INT_SUMMARY_STATISTICS,
    ids::LONG_SUMMARY_STATISTICS,
    ids::DOUBLE_SUMMARY_STATISTICS,
];

/// Encodings of which the first has all values of the second.
const WIDER: [(EncodingId, EncodingId); 5] = [
    (ids::INET_ADDRESS, ids::INET4_ADDRESS),
    (ids::INET_ADDRESS, ids::INET6_ADDRESS),
    (ids::ZONE_ID, ids::ZONE_OFFSET),
    (ids::ZONED_DATE_TIME, ids::OFFSET_DATE_TIME),
    (ids::BIG_DECIMAL, ids::BIG_INTEGER),
];

/// Pairs of encodings that share values, but of which neither has all values of the other.
const SHARING: [(EncodingId, EncodingId); 8] = [
    (ids::BIG_DECIMAL, ids::YEAR),
    (ids::BIG_INTEGER, ids::YEAR),
    (ids::DATE, ids::INSTANT),
    (ids::DATE, ids::OFFSET_DATE_TIME),
    (ids::DATE, ids::ZONED_DATE_TIME),
    (ids::INSTANT, ids::OFFSET_DATE_TIME),
    (ids::INSTANT, ids::ZONED_DATE_TIME),
    (ids::INT_SUMMARY_STATISTICS, ids::LONG_SUMMARY_STATISTICS),
];

/// The ID of a built-in encoding of this file's tables.
fn known(encoding: &dyn Encoding) -> Option<&EncodingId> {
    let id = match (encoding.id(), encoding.kind()) {
        // An encoding with null that wraps another has no ID of its own.
        (None, EncodingKind::NullSafe(inner)) => inner.id(),
        (id, _) => id,
    };
    id.filter(|id| TEXT_READS_BACK.contains(id) || TEXT_READS_BACK_IN_PART.contains(id))
}

/// Both directions between a primitive type with many values and another encoding.
fn primitive_and_plain(primitive: Primitive, plain: &dyn Encoding, is_from: bool) -> Exactness {
    use Primitive::{Boolean, Byte, Char, Double, Float, Int, Long, Short};
    // An encoding that a program added can do anything with a text.
    let Some(id) = known(plain) else { return Exactness::Sometimes };
    let is_decimal = *id == ids::BIG_DECIMAL;
    let is_integer = is_decimal || *id == ids::BIG_INTEGER;
    let shares = match primitive {
        // Every whole number is a big number, but not the other way.
        Short | Int | Long if is_integer && is_from => return Exactness::Always,
        Short | Int | Long => is_integer || *id == ids::YEAR,
        Float | Double => is_decimal,
        // The digit 7 and the number 7, and the time zone `Z`.
        Char => is_integer || *id == ids::ZONE_ID || *id == ids::ZONE_OFFSET,
        Boolean | Byte => true,
    };
    if shares || FREE_TEXT.contains(id) { Exactness::Sometimes } else { Exactness::Never }
}

/// Two encodings that are converted through texts.
fn plain(from: &dyn Encoding, to: &dyn Encoding) -> Exactness {
    let (Some(from), Some(to)) = (known(from), known(to)) else { return Exactness::Sometimes };
    let pair = |(a, b): &(EncodingId, EncodingId)| (a, b) == (from, to) || (a, b) == (to, from);
    if WIDER.iter().any(|(wide, narrow)| (narrow, wide) == (from, to)) {
        Exactness::Always
    } else if WIDER.iter().any(pair)
        || SHARING.iter().any(pair)
        || FREE_TEXT.contains(from)
        || FREE_TEXT.contains(to)
    {
        Exactness::Sometimes
    } else {
        // No text that the one prints is a text that the other prints.
        Exactness::Never
    }
}

/// Whether the text of every value reads back as the same value.
fn text_reads_back(encoding: &dyn Encoding) -> bool {
    match unwrap(encoding) {
        EncodingKind::Primitive(_) | EncodingKind::String | EncodingKind::Enum(_) => true,
        EncodingKind::Plain => known(encoding).is_some_and(|id| TEXT_READS_BACK.contains(id)),
        // Long arrays of other types are printed in Base64. Some of them lack padding, and then
        // `convert` refuses them.
        EncodingKind::PrimitiveArray(primitive) => primitive == Primitive::Boolean,
        EncodingKind::Array(element) => {
            text_reads_back(element.as_ref()) && !may_have_quotes(element.as_ref())
        }
        _ => false,
    }
}

/// Whether texts of the encoding may have quotes. Inside the text of an array they are written as
/// `\"`, which a string does not read.
fn may_have_quotes(encoding: &dyn Encoding) -> bool {
    match unwrap(encoding) {
        EncodingKind::Primitive(primitive) => primitive == Primitive::Char,
        EncodingKind::Enum(_) => false,
        EncodingKind::Plain => {
            known(encoding).is_none_or(|id| FREE_TEXT.contains(id) || IN_BRACKETS.contains(id))
        }
        _ => true,
    }
}

/// Two arrays, which are converted element by element.
fn arrays(conversion: &Conversion<'_>, from: &dyn Encoding, to: &dyn Encoding) -> Exactness {
    match of(&conversion.of_elements(from, to)) {
        Exactness::Always => Exactness::Always,
        // The array without elements is in both.
        Exactness::Sometimes | Exactness::Never => Exactness::Sometimes,
    }
}

/// Both directions between an array and something else, through a text in brackets or in Base64.
fn array_and_other(other: &dyn Encoding) -> Exactness {
    match unwrap(other) {
        // No number and no character is such a text.
        EncodingKind::Primitive(_) => Exactness::Never,
        EncodingKind::Plain => match known(other) {
            Some(id) if !FREE_TEXT.contains(id) && !IN_BRACKETS.contains(id) => Exactness::Never,
            _ => Exactness::Sometimes,
        },
        _ => Exactness::Sometimes,
    }
}
