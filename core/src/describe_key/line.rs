//! The meaning of a key, in one line.

use std::fmt::Write;

use super::cut::{KeyPart, cut};
use super::part_text;
use crate::encoding::{Encoding, EncodingKind, Primitive, Value};
use crate::escape::Escaped;
use crate::id::ObjId;
use crate::layout::{KeyKind, parse_key};
use crate::schema::{ResolvedType, SchemaBundle};

/// How many characters of a value are shown.
const SHOWN: usize = 60;

/// The meaning of a key of meta-data: `storage ID table, storage ID 17`. `None` for other keys, and
/// for meta-data of an unknown kind.
pub fn meta_data(key: &[u8]) -> Option<String> {
    Some(match parse_key(key) {
        KeyKind::FormatVersion => "format version".to_owned(),
        KeyKind::Schema(index) => format!("schema table, schema {index}"),
        KeyKind::StorageId(id) => format!("storage ID table, storage ID {id}"),
        KeyKind::ObjectSchema(index, id) => {
            format!("object schema index, schema {index}, object {id}")
        }
        KeyKind::UserMetaData => "user meta-data".to_owned(),
        KeyKind::UnknownMetaData | KeyKind::Data(..) | KeyKind::Malformed => return None,
    })
}

/// The meaning of a key: `Person 1000000000000001 name`, `index Person.name: "Ann", object
/// 1000000000000001`. `None` if that is not known.
///
/// `object_type` is the type of the object that the key belongs to, in the schema of the object, if
/// it is known. Bytes after a complete key make no difference. Costs what
/// [`pieces`](super::pieces) costs.
pub fn line(
    key: &[u8],
    schemas: &SchemaBundle,
    object_type: Option<&ResolvedType>,
) -> Option<String> {
    let KeyKind::Data(..) = parse_key(key) else { return meta_data(key) };
    let parts = cut(key, schemas, object_type);
    let text = match parts.first()? {
        (_, KeyPart::ObjectType(object_type)) => {
            let id = ObjId::from_bytes(*key.first_chunk()?).ok()?;
            object(object_type, id, &parts)
        }
        (_, KeyPart::SimpleIndex { owner, field }) => {
            entry(&format!("{}.{}", owner.name, field.full_name), &parts)
        }
        (_, KeyPart::CompositeIndex { owner, index }) => {
            entry(&format!("{}#{}", owner.name, index.name), &parts)
        }
        _ => None,
    };
    text.map(|text| Escaped(text).to_string())
}

fn object(object_type: &ResolvedType, id: ObjId, parts: &[(&[u8], KeyPart<'_>)]) -> Option<String> {
    let mut text = format!("{} {id}", object_type.name);
    for (_, part) in parts {
        match part {
            KeyPart::Field(field) => write!(text, " {}", field.name),
            KeyPart::Element(element, encoding) => {
                write!(text, " element {}", value(element, *encoding)?)
            }
            KeyPart::ListIndex(index) => write!(text, "[{index}]"),
            KeyPart::MapKey(key, encoding) => write!(text, "[{}]", value(key, *encoding)?),
            // A line that leaves out a part of the key could be taken for another key's.
            KeyPart::NoField(_) | KeyPart::Undecodable => return None,
            _ => Ok(()),
        }
        .ok()?;
    }
    Some(text)
}

fn entry(index: &str, parts: &[(&[u8], KeyPart<'_>)]) -> Option<String> {
    let mut text = format!("index {index}:");
    let mut complete = false;
    for (_, part) in parts {
        match part {
            // Where a value of an unknown encoding ends is guessed.
            KeyPart::Value(_, encoding) if matches!(encoding.kind(), EncodingKind::Unknown) => {
                Ok(())
            }
            KeyPart::Value(indexed, encoding) => write!(text, " {},", value(indexed, *encoding)?),
            KeyPart::ObjectId(id) => {
                complete = true;
                write!(text, " object {id}")
            }
            KeyPart::ListIndex(position) => write!(text, " at {position}"),
            KeyPart::EntryKey(key, encoding) => {
                write!(text, " under key {}", value(key, *encoding)?)
            }
            KeyPart::Undecodable => return None,
            _ => Ok(()),
        }
        .ok()?;
    }
    // An entry without an object ID is none.
    complete.then_some(text)
}

fn value(value: &Value, encoding: &dyn Encoding) -> Option<String> {
    // A string with this text is in quotes, so the two differ.
    if value.is_null() {
        return Some("null".to_owned());
    }
    let text = part_text::text(value, encoding);
    let quoted = needs_quotes(encoding, &text);
    Some(match text.char_indices().nth(SHOWN) {
        Some((at, _)) if quoted => format!("{:?}…", text.get(..at)?),
        Some((at, _)) => format!("{}…", text.get(..at)?),
        None if quoted => format!("{text:?}"),
        None => text,
    })
}

/// Text is quoted. Numbers, references and the like are quoted only if they could be misread.
fn needs_quotes(encoding: &dyn Encoding, text: &str) -> bool {
    match encoding.kind() {
        EncodingKind::String
        | EncodingKind::Primitive(Primitive::Char)
        | EncodingKind::Wrapper(Primitive::Char) => true,
        _ => {
            let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | ',' | '[' | ']');
            text.is_empty() || text == "null" || !text.chars().all(plain)
        }
    }
}
