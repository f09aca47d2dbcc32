//! Entries of indexes in recorded form.

use std::ops::Bound;
use std::sync::Arc;

use permazen::__internal::object::IndexKind;
use permazen::__internal::schema::{ResolvedKind, ResolvedPart};
use permazen::StorageId;
use permazen::encoding::{EncodingError, Value};
use permazen::object::{Error, IndexEntry, IndexView, Transaction};
use permazen::schema::{ResolvedField, ResolvedType};
use serde_json::{Value as Json, json};

use super::text::{encoding_of, field_text, text_of, value_of};

/// Restricts a column to values between two bounds, which are given as recorded.
pub fn restricted<'t>(
    tx: &Transaction,
    view: &IndexView<'t>,
    column: usize,
    lower: Bound<&Json>,
    upper: Bound<&Json>,
) -> Result<IndexView<'t>, Error> {
    let value = |bound: Bound<&Json>| -> Result<Bound<Value>, Error> {
        Ok(match bound {
            Bound::Included(text) => Bound::Included(column_value(tx, view, column, text)?),
            Bound::Excluded(text) => Bound::Excluded(column_value(tx, view, column, text)?),
            Bound::Unbounded => Bound::Unbounded,
        })
    };
    let (lower, upper) = (value(lower)?, value(upper)?);
    view.with_bounds(column, lower.as_ref(), upper.as_ref())
}

/// The value of a column for a recorded one.
pub fn column_value(
    tx: &Transaction,
    view: &IndexView<'_>,
    column: usize,
    recorded: &Json,
) -> Result<Value, Error> {
    let shape = view.shape();
    let invalid = |source: EncodingError| Error::InvalidValue {
        field: format!("column {column} of index {}", shape.name()),
        source,
    };
    let text = recorded.as_str();
    if let Some(encoding) = shape.values().get(column) {
        return value_of(&**encoding, text).map_err(invalid);
    }
    if column == shape.id_column() {
        return text.unwrap_or_default().parse().map(Value::Ref).map_err(invalid);
    }
    if shape.kind() == IndexKind::ListElement {
        let position = recorded.as_i64().and_then(|position| i32::try_from(position).ok());
        return Ok(Value::Int(position.unwrap_or_default()));
    }
    let bundle = tx.bundle();
    let item = bundle.item(shape.storage_id());
    let key = item.and_then(|item| item.representative()).and_then(|place| match &place.part {
        ResolvedPart::Field(field) => map_key(&place.object_type, field.storage_id),
        _ => None,
    });
    match key.as_deref().and_then(encoding_of) {
        Some(encoding) => value_of(encoding, text).map_err(invalid),
        None => Err(Error::UnknownIndex { name: shape.name().to_owned() }),
    }
}

/// The columns of an entry: texts, and numbers for list positions.
pub fn row(
    tx: &Transaction,
    view: &IndexView<'_>,
    entry: &IndexEntry<'_>,
) -> Result<Vec<Json>, Error> {
    let shape = view.shape();
    let mut row = Vec::with_capacity(entry.columns());
    for column in 0..entry.columns() {
        row.push(if let Some(encoding) = shape.values().get(column) {
            let text = text_of(&**encoding, &entry.value(column)?);
            let field = shape.name().to_owned();
            json!(text.map_err(|source| Error::InvalidValue { field, source })?)
        } else if column == shape.id_column() {
            json!(entry.id()?.to_string())
        } else if shape.kind() == IndexKind::ListElement {
            json!(entry.position()?)
        } else {
            let object_type = tx.object_type(entry.id()?)?;
            let key = map_key(&object_type, shape.storage_id())
                .ok_or_else(|| Error::UnknownIndex { name: shape.name().to_owned() })?;
            json!(field_text(&key, &entry.value(column)?)?)
        });
    }
    Ok(row)
}

/// The key sub-field of the map whose value sub-field has this storage ID.
fn map_key(object_type: &ResolvedType, value_id: StorageId) -> Option<Arc<ResolvedField>> {
    object_type.fields.iter().find_map(|field| match &field.kind {
        ResolvedKind::Map { key, value } if value.storage_id == value_id => Some(Arc::clone(key)),
        _ => None,
    })
}
