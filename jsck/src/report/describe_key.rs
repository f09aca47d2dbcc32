//! Describes a key of the store in words: which object, field or index entry it belongs to.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use permazen::encoding::{Encoding, EncodingKind, Primitive, Reader, Value, uint};
use permazen::layout::{KeyKind, parse_key};
use permazen::schema::{ResolvedKind, ResolvedType, SchemaBundle};
use permazen::{ObjId, StorageId};

use crate::objects::info::Meta;
use crate::tables::ranges::{IndexRange, Range, Tail};

/// Says what a key stands for.
#[derive(Clone)]
pub(crate) struct Describer {
    pub(crate) bundle: Arc<SchemaBundle>,
    pub(crate) ranges: Arc<BTreeMap<StorageId, Range>>,
}

/// What a key stands for without the schemas.
pub(crate) fn meta_data(key: &[u8]) -> Option<String> {
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

impl Describer {
    /// What the key stands for; `None` if that is not known.
    pub(crate) fn describe(
        &self,
        key: &[u8],
        object_type: Option<&ResolvedType>,
    ) -> Option<String> {
        let KeyKind::Data(storage_id, _) = parse_key(key) else { return meta_data(key) };
        match self.ranges.get(&storage_id)? {
            Range::Objects => self.object(key, storage_id, object_type),
            Range::Index(index) => index.describe(key),
        }
    }

    fn object(
        &self,
        key: &[u8],
        type_id: StorageId,
        object_type: Option<&ResolvedType>,
    ) -> Option<String> {
        let (id, rest) = key.split_first_chunk::<8>()?;
        let id = ObjId::from_bytes(*id).ok()?;
        let name = self.bundle.type_name(type_id)?;
        if rest.is_empty() {
            return Some(format!("{name} {id}"));
        }
        let mut reader = Reader::new(rest);
        let field_id = StorageId::read_from(&mut reader).ok()?;
        // Without usable meta-data, the object may have had any of the recorded versions of its
        // type.
        let field = match object_type {
            Some(object_type) => object_type.field_by_storage_id(field_id),
            None => self
                .bundle
                .schemas()
                .iter()
                .filter_map(|schema| schema.type_by_storage_id(type_id))
                .find_map(|object_type| object_type.field_by_storage_id(field_id)),
        }?;
        let mut text = format!("{name} {id} {}", field.name);
        match &field.kind {
            ResolvedKind::Simple(_) | ResolvedKind::Counter => {}
            ResolvedKind::Set { element } => {
                write!(text, " element {}", value(&mut reader, &*element.simple()?.encoding)?)
                    .ok()?;
            }
            ResolvedKind::List { .. } => {
                write!(text, "[{}]", uint::read(&mut reader).ok()?).ok()?;
            }
            ResolvedKind::Map { key, .. } => {
                write!(text, "[{}]", value(&mut reader, &*key.simple()?.encoding)?).ok()?;
            }
        }
        Some(text)
    }

    /// The type of the object with this meta-data.
    pub(crate) fn type_of(&self, id: ObjId, meta: Option<&[u8]>) -> Option<&ResolvedType> {
        Meta::read(&self.bundle, id.storage_id(), meta?).object_type().map(|t| &**t)
    }
}

impl IndexRange {
    fn describe(&self, key: &[u8]) -> Option<String> {
        let mut reader = Reader::new(key.strip_prefix(&self.key[..])?);
        let mut text = format!("index {}:", self.item);
        if self.is_opaque() {
            write!(text, " object {}", self.parse(key).ok()?.0).ok()?;
            return Some(text);
        }
        for column in &self.columns {
            write!(text, " {},", value(&mut reader, &**column)?).ok()?;
        }
        write!(text, " object {}", ObjId::read_from(&mut reader).ok()?).ok()?;
        match &self.tail {
            Tail::Nothing => {}
            Tail::ListPosition => {
                write!(text, " at {}", uint::read(&mut reader).ok()?).ok()?;
            }
            Tail::MapKey(encodings) => {
                let key = encodings
                    .iter()
                    .find_map(|encoding| value(&mut reader.clone(), &**encoding))?;
                write!(text, " under key {key}").ok()?;
            }
        }
        Some(text)
    }
}

fn value(reader: &mut Reader<'_>, encoding: &dyn Encoding) -> Option<String> {
    const SHOWN: usize = 60;
    let text = match encoding.decode(reader).ok()? {
        Value::Null => return Some("null".to_owned()),
        value => encoding.to_text(&value).ok()?,
    };
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
