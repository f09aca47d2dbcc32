//! The texts of values in documents. A text in a document must be read back as the same value, here
//! and by Permazen for Java (docs/src/export.md#values-without-a-text).
//!
//! Java prints some values in a way that it reads as another value, or does not read. For some of
//! them, Java reads another spelling, which is written here. For the others there is no text.

use crate::encoding::{
    Encodable, Encoding, EncodingId, EncodingKind, Result, Value, ids, join_items,
};

/// The element that has the hex digits of an encoded value, for a value without a text.
pub(super) const ENCODED: &str = "encoded";

/// The text of a value other than null: as Java prints it if that can be read back, otherwise in a
/// spelling that Java reads. `None` if no text is read back as the same value.
pub(super) fn text_that_reads_back(
    encoding: &dyn Encoding,
    value: &Value,
) -> Result<Option<String>> {
    let text = spelled(encoding, value)?;
    if always_reads_back(encoding) {
        return Ok(Some(text));
    }
    let wanted = encoding.encode_all(value)?;
    let again = encoding.from_text(&text).and_then(|value| encoding.encode_all(&value));
    Ok((again.as_ref() == Ok(&wanted)).then_some(text))
}

/// Whether every value has a text that is read back as the same value. A test tries the ends of all
/// built-in encodings.
fn always_reads_back(encoding: &dyn Encoding) -> bool {
    matches!(
        encoding.kind(),
        EncodingKind::Primitive(_)
            | EncodingKind::Wrapper(_)
            | EncodingKind::String
            | EncodingKind::Enum(_)
            | EncodingKind::Reference(_)
    )
}

fn spelled(encoding: &dyn Encoding, value: &Value) -> Result<String> {
    let is = |id: EncodingId| encoding.id() == Some(&id);
    match (value, encoding.kind()) {
        (Value::Date(date), _) if is(ids::DATE) => Ok(date.spelled()),
        (Value::Year(year), _) if is(ids::YEAR) => Ok(year.spelled()),
        (Value::YearMonth(month), _) if is(ids::YEAR_MONTH) => Ok(month.spelled()),
        (Value::Array(items), EncodingKind::Array(element)) => items_spelled(element, items),
        (Value::Array(items), EncodingKind::NullSafe(inner)) => match inner.kind() {
            EncodingKind::Array(element) => items_spelled(element, items),
            _ => encoding.to_text(value),
        },
        (_, EncodingKind::PrimitiveArray(_)) => {
            let text = encoding.to_text(value)?;
            // Java prints Base64 without padding, but does not read it.
            match text.starts_with('[') || text.ends_with('=') {
                true => Ok(text),
                false => Ok(as_list(value).unwrap_or(text)),
            }
        }
        _ => encoding.to_text(value),
    }
}

fn items_spelled(element: &std::sync::Arc<dyn Encoding>, items: &[Value]) -> Result<String> {
    let texts = items.iter().map(|item| match item {
        Value::Null => Ok(None),
        item => spelled(&**element, item).map(Some),
    });
    Ok(join_items(texts.collect::<Result<Vec<_>>>()?))
}

/// The list form of an array of numbers.
fn as_list(value: &Value) -> Option<String> {
    fn list<T: Encodable>(items: &[T]) -> Option<String> {
        Some(join_items(items.iter().map(|item| Some(item.to_text()))))
    }
    match value {
        Value::Bytes(items) => list(items),
        Value::Shorts(items) => list(items),
        Value::Ints(items) => list(items),
        Value::Longs(items) => list(items),
        Value::Floats(items) => list(items),
        Value::Doubles(items) => list(items),
        _ => None,
    }
}
