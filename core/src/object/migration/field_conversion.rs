//! The conversion of the values of one field that is defined differently
//! (docs/src/evolution.md).

use std::borrow::Cow;

use crate::encoding::{Conversion, Encoding, TypedEncoding, Value};
use crate::layout;
use crate::object::whole_object::{Narrowing, ObjectData};
use crate::object::{Error, Transaction};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedSimple};

/// Tells which references a field loses.
pub(crate) trait Narrows {
    fn lost(&self, old: &ResolvedField, new: &ResolvedField, bytes: &[u8]) -> bool;
}

impl Narrows for Transaction {
    fn lost(&self, old: &ResolvedField, new: &ResolvedField, bytes: &[u8]) -> bool {
        Narrowing::new(&self.bundle(), old, new).refused(bytes).is_some()
    }
}

/// The rest of the key after the field, and the value.
pub(crate) type Pair<'d> = (Cow<'d, [u8]>, Cow<'d, [u8]>);

/// The content that a field gets.
pub(crate) enum NewContent<'d> {
    /// These pairs.
    Pairs(Vec<Pair<'d>>),
    /// Its default.
    Default,
}

/// Why a value is lost: the value as text, and the reason.
pub(crate) type Lost = (String, String);

/// The policy for values that have no exact counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossPolicy {
    /// They must not be lost.
    Exact,
    /// They are converted as well as possible, or left out.
    Lossy,
    /// The field starts at its default, whatever it contained.
    Reset,
}

/// Enum constants that have another name now: the name now, and the name before.
pub(crate) type Renamed<'a> = &'a [(&'a str, &'a str)];

/// The conversion of the values of one field.
pub(crate) struct FieldConversion<'a, 'd> {
    /// The renamed constants of the value or of the elements or keys, and of the values of a map.
    pub(crate) renamed: [Renamed<'a>; 2],
    pub(crate) policy: LossPolicy,
    pub(crate) old: &'d ObjectData,
    pub(crate) from: &'a ResolvedField,
    pub(crate) to: &'a ResolvedField,
    pub(crate) tx: &'a dyn Narrows,
}

impl<'d> FieldConversion<'_, 'd> {
    /// The content that the field gets.
    pub(crate) fn content(&self) -> std::result::Result<NewContent<'d>, Lost> {
        use ResolvedKind::{Counter, List, Map, Set, Simple};
        // The old content does not matter, so it is not even read.
        if self.policy == LossPolicy::Reset {
            return Ok(NewContent::Default);
        }
        let [value, second] = self.renamed;
        let old = self.old;
        match (&self.from.kind, &self.to.kind) {
            (Counter, Counter) => {
                self.pair(|| self.count(), |count| Ok(count.to_be_bytes().to_vec()))
            }
            (Simple(_), Counter) => self.pair(|| self.old_value(), |bytes| self.counted(&bytes)),
            (Counter, Simple(_)) => self.pair(
                || Ok(Value::Long(self.count()?)),
                |count| self.part(None, self.to, value, &encoded_count(&count)),
            ),
            (Simple(_), Simple(_)) => self.pair(
                || self.old_value(),
                |bytes| self.part(Some(self.from), self.to, value, &bytes),
            ),
            (Simple(simple), Set { element } | List { element }) => {
                let bytes = self.old_value()?;
                // Null is no element: converted back, an empty collection is null again.
                if simple.encoding.supports_null() && is_null(&*simple.encoding, &bytes) {
                    return Ok(NewContent::Pairs(Vec::new()));
                }
                let elements = std::iter::once(Ok(bytes));
                self.elements(elements, self.from, element, value)
            }
            (Set { element: from } | List { element: from }, Simple(_)) => self.single(from, value),
            (
                Set { element: from } | List { element: from },
                Set { element: to } | List { element: to },
            ) => {
                self.check_positions()?;
                let elements = old.values_of(self.from, from).map(|bytes| Ok(Cow::Borrowed(bytes)));
                self.elements(elements, from, to, value)
            }
            (Map { key: from_key, value: from_value }, Map { key, value: to_value }) => {
                self.entries((from_key, key, value), (from_value, to_value, second))
            }
            // Nothing is lost where nothing was.
            _ if stored_text(old, self.from).is_none() => Ok(NewContent::Default),
            _ if self.policy == LossPolicy::Lossy => Ok(NewContent::Default),
            _ => {
                let text = stored_text(old, self.from).unwrap_or_default();
                Err((
                    text,
                    format!("a {} is not converted to a {}", kind(self.from), kind(self.to)),
                ))
            }
        }
    }

    /// The content of a field with one value; the default if the value may be lost and cannot be
    /// converted.
    fn pair<V>(
        &self,
        value: impl FnOnce() -> std::result::Result<V, Lost>,
        convert: impl FnOnce(V) -> std::result::Result<Vec<u8>, Lost>,
    ) -> std::result::Result<NewContent<'d>, Lost> {
        match value().and_then(convert) {
            Ok(bytes) => Ok(NewContent::Pairs(vec![(Cow::Borrowed(&[]), Cow::Owned(bytes))])),
            // A value that may be lost gives way to the default.
            Err(_) if self.policy == LossPolicy::Lossy => Ok(NewContent::Default),
            Err(lost) => Err(lost),
        }
    }

    /// The elements of a set or list.
    fn elements(
        &self,
        elements: impl Iterator<Item = std::result::Result<Cow<'d, [u8]>, Lost>>,
        from: &ResolvedField,
        to: &ResolvedField,
        renamed: Renamed<'_>,
    ) -> std::result::Result<NewContent<'d>, Lost> {
        let into_set = matches!(self.to.kind, ResolvedKind::Set { .. });
        // A set has no duplicates, but a list that becomes one can have some.
        let from_list = matches!(self.from.kind, ResolvedKind::List { .. });
        let mut converted: Vec<Vec<u8>> = Vec::new();
        for element in elements {
            let element = element?;
            match self.part(Some(from), to, renamed, &element) {
                Ok(bytes) => {
                    // In a set, elements are in order and differ. A list may have another order,
                    // which would be lost.
                    let out_of_order = converted.last().is_some_and(|last| *last >= bytes);
                    if into_set && from_list && out_of_order && self.policy != LossPolicy::Lossy {
                        let text = value_text(from.simple(), &element);
                        let reason = "a set would lose the order or the number of its elements";
                        return Err((text, reason.to_owned()));
                    }
                    converted.push(bytes);
                }
                // An element that cannot be converted is left out.
                Err(_) if self.policy == LossPolicy::Lossy => {}
                Err(lost) => return Err(lost),
            }
        }
        // In another encoding, elements can have another order, and different ones can be equal.
        if into_set {
            converted.sort();
            converted.dedup();
            let pair = |bytes| (Cow::Owned(bytes), Cow::Borrowed(&[][..]));
            return Ok(NewContent::Pairs(converted.into_iter().map(pair).collect()));
        }
        let pair = |(at, bytes): (u32, Vec<u8>)| {
            (Cow::Owned(layout::list_position(at).to_vec()), Cow::Owned(bytes))
        };
        Ok(NewContent::Pairs((0..).zip(converted).map(pair).collect()))
    }

    /// The value of a simple field that was a collection: its only element, or null if it is empty.
    fn single(
        &self,
        from: &ResolvedField,
        renamed: Renamed<'_>,
    ) -> std::result::Result<NewContent<'d>, Lost> {
        // A gap in the list would move its elements.
        self.check_positions()?;
        let elements: Vec<&[u8]> = self.old.values_of(self.from, from).collect();
        // Null stands for the empty collection, in both directions.
        let null = || self.to.simple().filter(|to| to.encoding.supports_null());
        let lossy = self.policy == LossPolicy::Lossy;
        match elements[..] {
            [] => match null() {
                Some(to) => self.pair(|| Ok(()), |()| Ok(null_of(to))),
                None if lossy => Ok(NewContent::Default),
                None => Err(("of no elements".to_owned(), "the field has no null".to_owned())),
            },
            // Converted back, null is no element at all.
            [only]
                if !lossy && from.simple().is_some_and(|part| is_null(&*part.encoding, only)) =>
            {
                Err((
                    "null as the only element".to_owned(),
                    "without the collection it means no element".to_owned(),
                ))
            }
            [only] => self.pair(|| Ok(only), |only| self.part(Some(from), self.to, renamed, only)),
            [first, ..] if lossy => {
                self.pair(|| Ok(first), |first| self.part(Some(from), self.to, renamed, first))
            }
            [_, second, ..] => {
                Err((value_text(from.simple(), second), "the field has only one value".to_owned()))
            }
        }
    }

    /// The entries of a map.
    fn entries(
        &self,
        keys: (&ResolvedField, &ResolvedField, Renamed<'_>),
        values: (&ResolvedField, &ResolvedField, Renamed<'_>),
    ) -> std::result::Result<NewContent<'d>, Lost> {
        let mut converted: Vec<Pair<'d>> = Vec::new();
        for (key, value) in self.old.pairs(self.from) {
            let entry = self
                .part(Some(keys.0), keys.1, keys.2, key)
                .and_then(|key| Ok((key, self.part(Some(values.0), values.1, values.2, value)?)));
            match entry {
                // Entries are put in order when the object is built.
                Ok((key, value)) => converted.push((Cow::Owned(key), Cow::Owned(value))),
                Err(_) if self.policy == LossPolicy::Lossy => {}
                Err(lost) => return Err(lost),
            }
        }
        Ok(NewContent::Pairs(converted))
    }

    /// A value of `from`, which is that of a counter if it is `None`, converted to one of `to`.
    fn part(
        &self,
        from: Option<&ResolvedField>,
        to: &ResolvedField,
        renamed: Renamed<'_>,
        bytes: &[u8],
    ) -> std::result::Result<Vec<u8>, Lost> {
        let from_simple = from.and_then(ResolvedField::simple);
        let Some(to_simple) = to.simple() else {
            return Err((String::new(), "the field holds no values".to_owned()));
        };
        let long;
        let from_encoding: &dyn Encoding = match from_simple {
            Some(from) => &*from.encoding,
            // The value of a counter.
            None => {
                long = TypedEncoding::<i64>::not_null();
                &long
            }
        };
        let lost = |reason: String| (value_text(from_simple, bytes), reason);
        // Which types a reference allows is not a matter of its encoding.
        if let (Some(from), true) = (from, to_simple.reference.is_some())
            && self.tx.lost(from, to, bytes)
        {
            return Err(lost(
                "the field does not allow references to objects of this type".to_owned(),
            ));
        }
        let conversion = Conversion::new(from_encoding, &*to_simple.encoding);
        let conversion = conversion.renaming(renamed);
        // The exact conversion comes first even if losses are accepted, since it may lose nothing.
        match conversion.exact(bytes) {
            Ok(converted) => Ok(converted),
            Err(_) if self.policy == LossPolicy::Lossy => {
                conversion.lossy(bytes).map_err(|error| lost(error.to_string()))
            }
            Err(inexact) => Err(lost(inexact.to_string())),
        }
    }

    /// Refuses a list with gaps: its elements would get other positions.
    fn check_positions(&self) -> std::result::Result<(), Lost> {
        match self.from.kind {
            ResolvedKind::List { .. } => self.old.check_list(self.from).map_err(|error| {
                (stored_text(self.old, self.from).unwrap_or_default(), error.to_string())
            }),
            _ => Ok(()),
        }
    }

    fn old_value(&self) -> std::result::Result<Cow<'d, [u8]>, Lost> {
        match self.old.simple_or_default(self.from) {
            Some(bytes) => Ok(Cow::Owned(bytes.to_vec())),
            None => Err((
                "that is not stored".to_owned(),
                "the default of its encoding is not known".to_owned(),
            )),
        }
    }

    fn count(&self) -> std::result::Result<i64, Lost> {
        let damaged = |error: Error| ("of a counter".to_owned(), error.to_string());
        self.old.counter(self.from).map_err(damaged)
    }

    /// The stored form of a counter, from the value of a simple field.
    fn counted(&self, bytes: &[u8]) -> std::result::Result<Vec<u8>, Lost> {
        let Some(from) = self.from.simple() else {
            return Err((String::new(), "the field holds no value".to_owned()));
        };
        let lost = |reason: String| (value_text(Some(from), bytes), reason);
        let long = TypedEncoding::<i64>::not_null();
        let counted = Conversion::new(&*from.encoding, &long).exact(bytes);
        let count = match counted {
            Ok(counted) => (&long as &dyn Encoding)
                .decode_all(&counted)
                .ok()
                .and_then(|value| value.to_counter()),
            // Java casts a number to the counter, and drops what does not fit.
            Err(_) if self.policy == LossPolicy::Lossy => {
                from.encoding.decode_all(bytes).ok().and_then(|value| value.to_counter())
            }
            Err(inexact) => return Err(lost(inexact.to_string())),
        };
        let count =
            count.ok_or_else(|| lost("it is no number that a counter can have".to_owned()))?;
        Ok(count.to_be_bytes().to_vec())
    }
}

/// The value of a counter in the encoding of `long`.
fn encoded_count(count: &Value) -> Vec<u8> {
    let long = TypedEncoding::<i64>::not_null();
    (&long as &dyn Encoding).encode_all(count).unwrap_or_default()
}

/// The encoded null of a field that has null.
fn null_of(simple: &ResolvedSimple) -> Vec<u8> {
    simple.encoding.encode_all(&Value::Null).unwrap_or_default()
}

fn is_null(encoding: &dyn Encoding, bytes: &[u8]) -> bool {
    encoding.decode_all(bytes).is_ok_and(|value| value.is_null())
}

pub(crate) fn kind(field: &ResolvedField) -> &'static str {
    match &field.kind {
        ResolvedKind::Simple(_) => "single value",
        ResolvedKind::Counter => "counter",
        ResolvedKind::Set { .. } => "set",
        ResolvedKind::List { .. } => "list",
        ResolvedKind::Map { .. } => "map",
    }
}

/// An encoded value for messages, as it would be written: numbers, booleans, constants of enums and
/// object IDs as they are, all else as text in quotes.
pub(crate) fn value_text(simple: Option<&ResolvedSimple>, bytes: &[u8]) -> String {
    let long = TypedEncoding::<i64>::not_null();
    let encoding = simple.map_or(&long as &dyn Encoding, |simple| &*simple.encoding);
    let value = encoding.decode_all(bytes);
    let text = value.and_then(|value| match value.is_null() {
        true => Ok("null".to_owned()),
        false => encoding.to_text(&value).map(|text| match is_plain(&value) {
            true => shortened(&text),
            false => shown(&text),
        }),
    });
    // Damaged bytes are shown as they are, since the message is about them.
    text.unwrap_or_else(|_| format!("{} (damaged)", permazen_kv::Hex(bytes)))
}

/// The content of a field, for messages; `None` if that is its default.
pub(crate) fn stored_text(data: &ObjectData, field: &ResolvedField) -> Option<String> {
    match &field.kind {
        ResolvedKind::Simple(simple) => {
            // A stored default is no loss.
            let stored = data.stored(field).filter(|bytes| !simple.is_default(bytes))?;
            Some(value_text(Some(simple), stored))
        }
        ResolvedKind::Counter => match data.counter(field) {
            Ok(0) => None,
            Ok(count) => Some(count.to_string()),
            Err(_) => Some("(damaged)".to_owned()),
        },
        kind => {
            let entries =
                if matches!(kind, ResolvedKind::Map { .. }) { "entries" } else { "elements" };
            let count = data.pairs(field).len();
            (count > 0).then(|| format!("of {count} {entries}"))
        }
    }
}

/// How much of a value is shown.
const SHOWN: usize = 64;

/// Whether a value is written without quotes.
fn is_plain(value: &Value) -> bool {
    matches!(
        value,
        Value::Bool(_)
            | Value::Byte(_)
            | Value::Short(_)
            | Value::Int(_)
            | Value::Long(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::BigInteger(_)
            | Value::BigDecimal(_)
            | Value::Enum(_)
            | Value::Ref(_)
    )
}

/// A text, escaped and shortened.
fn shortened(text: &str) -> String {
    let (start, more) = beginning(text);
    format!("{}{more}", start.escape_debug())
}

/// The same in quotes.
fn shown(text: &str) -> String {
    let (start, more) = beginning(text);
    format!("{start:?}{more}")
}

fn beginning(text: &str) -> (String, &'static str) {
    let start: String = text.chars().take(SHOWN).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    (start, more)
}
