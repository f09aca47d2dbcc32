//! The words for a part of a key. They are those of Permazen for Java.

use super::cut::KeyPart;
use super::java_type::{java_type, java_type_of};
use crate::encoding::{Encoding, Value};
use crate::id::ObjId;
use crate::schema::{
    ItemKind, ResolvedField, ResolvedKind, ResolvedSimple, ResolvedType, SchemaBundle,
};

/// How many characters of a value are shown.
const SHOWN: usize = 1000;

pub(super) fn of(part: &KeyPart<'_>, schemas: &SchemaBundle) -> String {
    match part {
        KeyPart::Fixed(words) => (*words).to_owned(),
        KeyPart::SchemaIndex(index) => format!("Schema index #{index}"),
        KeyPart::StorageId(id) => format!("Storage ID #{id}"),
        KeyPart::ObjectType(object_type) => {
            let ResolvedType { name, storage_id, schema, schema_of, .. } = object_type;
            format!("[#{storage_id}] object type \"{name}\" in {schema_of}@{schema}")
        }
        KeyPart::Unique => "Random/unique part of ObjId".to_owned(),
        KeyPart::Field(field) => format!("[#{}] {}", field.storage_id, of_field(field)),
        KeyPart::NoField(id) => format!("Invalid storage ID {id}"),
        KeyPart::Unknown(id) => format!("Unknown storage ID {id}"),
        KeyPart::SimpleIndex { field, .. } => {
            format!("[#{}] Simple index on {}", field.storage_id, of_field(field))
        }
        KeyPart::CompositeIndex { index, .. } => {
            let fields: Vec<_> = index.fields.iter().map(|field| of_field(field)).collect();
            let (id, name) = (index.storage_id, &index.name);
            format!("[#{id}] Composite index \"{name}\" on {}", fields.join(", "))
        }
        KeyPart::Value(value, encoding) => format!("Value {}", of_value(value, *encoding, schemas)),
        KeyPart::ObjectId(id) => of_object(*id, schemas),
        KeyPart::Element(value, encoding) => {
            format!("Set element {}", of_value(value, *encoding, schemas))
        }
        KeyPart::ListIndex(index) => format!("List index {index}"),
        // Java has two spaces in the keys of objects.
        KeyPart::MapKey(value, encoding) => {
            format!("Map key  {}", of_value(value, *encoding, schemas))
        }
        KeyPart::EntryKey(value, encoding) => {
            format!("Map key {}", of_value(value, *encoding, schemas))
        }
        // Java has the same words for both.
        KeyPart::Undecodable | KeyPart::Garbage => "Trailing garbage".to_owned(),
    }
}

fn of_object(id: ObjId, schemas: &SchemaBundle) -> String {
    match schemas.type_name(id.storage_id()) {
        Some(name) => format!("Object ID {id} of type \"{name}\""),
        None => format!("Object ID {id} (invalid type #{})", id.storage_id()),
    }
}

fn of_value(value: &Value, encoding: &dyn Encoding, schemas: &SchemaBundle) -> String {
    let text = match value {
        Value::Null => "null".to_owned(),
        Value::Ref(id) => of_object(*id, schemas),
        value => text(value, encoding),
    };
    // Values can have megabytes, and this is for people.
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

/// The text of a value: a string as it is, with escapes for what is no character; everything else
/// in the form of its encoding.
pub(super) fn text(value: &Value, encoding: &dyn Encoding) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Utf16(units) => char::decode_utf16(units.units())
            .map(|unit| match unit {
                Ok(character) => character.to_string(),
                Err(error) => format!("\\u{:04x}", error.unpaired_surrogate()),
            })
            .collect(),
        value => encoding.to_text(value).unwrap_or_else(|error| error.to_string()),
    }
}

fn of_field(field: &ResolvedField) -> String {
    let name = &field.full_name;
    match &field.kind {
        ResolvedKind::Counter => format!("counter field \"{name}\""),
        ResolvedKind::Set { .. } => format!("set field \"{name}\""),
        ResolvedKind::List { element } => {
            format!("list field \"{name}\" containing {}", of_field(element))
        }
        ResolvedKind::Map { key, value } => format!(
            "map field \"{name}\" containing key {} and value {}",
            of_encoding(key),
            of_encoding(value)
        ),
        ResolvedKind::Simple(simple) => match field.item_kind() {
            ItemKind::ReferenceField => format!("reference field \"{name}\""),
            ItemKind::EnumField => format!("enum field \"{name}\""),
            ItemKind::EnumArrayField => format!("enum array field \"{name}\""),
            _ => {
                let indexed = if simple.indexed { "indexed " } else { "" };
                format!("{indexed}field \"{name}\" of type {}", of_type(simple))
            }
        },
    }
}

/// The Java type of a field with a registered encoding.
fn of_type(simple: &ResolvedSimple) -> String {
    match simple.encoding.id() {
        Some(id) => java_type(id.alias()),
        None => simple.encoding.name().into_owned(),
    }
}

fn of_encoding(field: &ResolvedField) -> String {
    let Some(simple) = field.simple() else { return String::new() };
    match (simple.encoding.id(), simple.encoding.kind()) {
        (Some(id), _) => format!("encoding \"{}\" <{}>", id.alias(), java_type(id.alias())),
        // References and enums have no encoding ID. Java calls such an encoding anonymous.
        (None, kind) => format!("encoding anonymous <{}>", java_type_of(kind)),
    }
}
