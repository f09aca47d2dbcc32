//! Values as recorded: texts in the form of their encoding, null for null.

use permazen::__internal::schema::ResolvedKind;
use permazen::encoding::{Encoding, EncodingError, Value};
use permazen::object::{Error, FieldValue, ObjectData};
use permazen::schema::ResolvedField;
use serde_json::{Map, Value as Json, json};

/// A value in the text form of its encoding; `None` for null.
pub type Text = Option<String>;

/// The value of a text.
pub fn value_of(encoding: &dyn Encoding, text: Option<&str>) -> Result<Value, EncodingError> {
    text.map_or(Ok(Value::Null), |text| encoding.from_text(text))
}

/// The text of a value.
pub fn text_of(encoding: &dyn Encoding, value: &Value) -> Result<Text, EncodingError> {
    match value {
        Value::Null => Ok(None),
        value => encoding.to_text(value).map(Some),
    }
}

/// The encoding of a simple field or a sub-field.
pub fn encoding_of(field: &ResolvedField) -> Option<&dyn Encoding> {
    field.simple().map(|simple| &*simple.encoding)
}

/// The text of a value of this simple field or sub-field.
pub fn field_text(field: &ResolvedField, value: &Value) -> Result<Text, Error> {
    let encoding = encoding_of(field).ok_or_else(|| Error::UnknownField {
        type_name: None,
        field: field.full_name.to_string(),
    })?;
    text_of(encoding, value)
        .map_err(|source| Error::InvalidValue { field: field.full_name.to_string(), source })
}

/// All fields of an object: texts, lists of texts, lists of `[key, value]`.
pub fn object_texts(data: &ObjectData) -> Result<Map<String, Json>, Error> {
    let mut texts = Map::new();
    for field in &data.object_type().fields {
        texts.insert(field.name.to_string(), content_text(field, &data.decode_field(field)?)?);
    }
    Ok(texts)
}

fn content_text(field: &ResolvedField, content: &FieldValue) -> Result<Json, Error> {
    let list = |part: &ResolvedField, values: &[Value]| -> Result<Json, Error> {
        values
            .iter()
            .map(|value| field_text(part, value))
            .collect::<Result<Vec<_>, _>>()
            .map(Json::from)
    };
    Ok(match (&field.kind, content) {
        (ResolvedKind::Simple(_), FieldValue::Simple(value)) => json!(field_text(field, value)?),
        (ResolvedKind::Counter, FieldValue::Counter(count)) => json!(count.to_string()),
        (ResolvedKind::Set { element }, FieldValue::Set(values))
        | (ResolvedKind::List { element }, FieldValue::List(values)) => list(element, values)?,
        (ResolvedKind::Map { key, value }, FieldValue::Map(entries)) => entries
            .iter()
            .map(|(k, v)| Ok(json!([field_text(key, k)?, field_text(value, v)?])))
            .collect::<Result<Json, Error>>()?,
        (_, content) => json!(format!("{content:?} in field {}", field.full_name)),
    })
}
