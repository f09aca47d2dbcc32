//! The objects: what each says about itself, and what that calls for in the indexes.

use std::collections::BTreeSet;
use std::sync::Arc;

use permazen::encoding::uint;
use permazen::kv::{Direction, KeySpan, KvRead};
use permazen::layout::{SchemaIndex, object_info, object_schema_key};
use permazen::schema::{ResolvedField, ResolvedKind, ResolvedType, SchemaBundle};
use permazen::{ObjId, StorageId};

use crate::content::{Content, Place};
use crate::finding::{Class, Finding};
use crate::known::{Known, Meta, MetaFlaw};
use crate::output::{Checked, Output};
use crate::selection::Selection;
use crate::sort::Sorter;

/// What a scan of objects needs.
pub(crate) struct ObjectScan<'a, 'o> {
    pub(crate) kv: &'a dyn KvRead,
    pub(crate) bundle: &'a SchemaBundle,
    pub(crate) known: &'a Known,
    pub(crate) selection: &'a Selection,
    pub(crate) expected: &'a mut Sorter,
    /// Collects the schemas objects are in.
    pub(crate) used: &'a mut BTreeSet<SchemaIndex>,
    /// Counts the objects.
    pub(crate) objects: &'a mut u64,
    pub(crate) out: &'a mut Output<'o>,
}

impl ObjectScan<'_, '_> {
    /// Checks the objects of a type in a span of keys, which must not begin or end inside one.
    pub(crate) fn check_span(&mut self, type_id: StorageId, span: KeySpan<'_>) -> Checked {
        let bundle = self.bundle;
        let mut state = State::Nothing;
        let mut object = Object::default();
        for pair in self.kv.scan(span, Direction::Forward)? {
            let (key, value) = pair?;
            self.out.entry()?;
            let Some((id, rest)) = key.split_first_chunk::<8>() else {
                self.out.report(
                    Finding::new(Class::BadObjectKey, &key, "the key ends inside an object ID")
                        .value(&value)
                        .item(type_name(bundle, type_id)),
                )?;
                continue;
            };
            if !self.selection.includes(id) {
                continue;
            }
            if state.id() != Some(id) {
                self.finish(&mut state, &mut object)?;
                state = self.begin(type_id, *id, rest, &value, &mut object)?;
                if rest.is_empty() {
                    continue;
                }
            }
            match &state {
                State::Invalid { detail, class, .. } => {
                    let finding = Finding::new(*class, &key, *detail).value(&value);
                    self.out.report(self.about(finding, type_id, id))?;
                }
                State::Valid { id, object_type, .. } => {
                    let (id, object_type) = (*id, Arc::clone(object_type));
                    self.content(&object_type, id, &key, rest, &value, &mut object)?;
                }
                State::Nothing => {}
            }
        }
        self.finish(&mut state, &mut object)
    }

    fn begin(
        &mut self,
        type_id: StorageId,
        bytes: [u8; 8],
        rest: &[u8],
        value: &[u8],
        object: &mut Object,
    ) -> Checked<State> {
        if !rest.is_empty() {
            let class = if self.in_schema_index(bytes)? {
                Class::MissingObjectMeta
            } else {
                Class::OrphanField
            };
            return Ok(State::Invalid {
                bytes,
                class,
                detail: "content of an object that does not exist",
            });
        }
        let bundle = self.bundle;
        let invalid = |class: Class, detail: String| (class, detail);
        let (class, detail) = match Meta::read(bundle, type_id, value) {
            Meta::Object { object_type, schema, flaw } => {
                let id = ObjId::from_bytes(bytes)?;
                if let Some(flaw) = flaw {
                    self.flawed_meta(object_type, id, schema, flaw, value)?;
                }
                object.start(object_type);
                return Ok(State::Valid {
                    bytes,
                    id,
                    object_type: Arc::clone(object_type),
                    schema,
                });
            }
            Meta::Undecodable(e) => {
                invalid(Class::BadObjectMeta, format!("the meta-data cannot be used: {e}"))
            }
            Meta::UnknownSchema(n) => invalid(
                Class::UnknownSchemaIndex,
                format!("the meta-data names schema index {n}, which is not recorded"),
            ),
            Meta::TypeNotInSchema(index) => invalid(
                Class::TypeNotInSchema,
                format!("the meta-data names schema index {index}, which has no such object type"),
            ),
        };
        let finding = Finding::new(class, &bytes, detail).value(value);
        self.out.report(self.about(finding, type_id, &bytes))?;
        Ok(State::Invalid {
            bytes,
            class: Class::OrphanField,
            detail: "content of an object that is not valid",
        })
    }

    fn flawed_meta(
        &mut self,
        object_type: &ResolvedType,
        id: ObjId,
        schema: SchemaIndex,
        flaw: MetaFlaw,
        value: &[u8],
    ) -> Checked {
        let (class, detail) = match flaw {
            MetaFlaw::Flags(flags) => {
                (Class::BadObjectFlags, format!("the flags byte is {flags:02x}, not 00"))
            }
            MetaFlaw::TrailingGarbage => {
                (Class::ObjectMetaTrailingGarbage, "bytes follow the object flags".to_owned())
            }
            MetaFlaw::NonCanonical => (
                Class::NonCanonicalValue,
                "the schema index is written longer than necessary".to_owned(),
            ),
        };
        self.out.report(
            Finding::new(class, id.as_bytes(), detail)
                .value(value)
                .put(&object_info(schema))
                .object(id)
                .item(&*object_type.name),
        )
    }

    /// Whether some schema's part of the object schema index holds the object.
    fn in_schema_index(&self, bytes: [u8; 8]) -> Checked<bool> {
        let Ok(id) = ObjId::from_bytes(bytes) else { return Ok(false) };
        for schema in self.bundle.schemas() {
            if self.kv.get(&object_schema_key(schema.index, id))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn content(
        &mut self,
        object_type: &ResolvedType,
        id: ObjId,
        key: &[u8],
        rest: &[u8],
        value: &[u8],
        object: &mut Object,
    ) -> Checked {
        let Some((position, tail)) = object.field(object_type, rest) else {
            return self.out.report(
                Finding::new(Class::UnknownField, key, "the object's type has no such field")
                    .value(value)
                    .object(id)
                    .item(&*object_type.name),
            );
        };
        let Some(field) = object_type.fields.get(position) else { return Ok(()) };
        let place = Place { id, object_type, field, key, tail, value };
        let mut content = Content {
            kv: self.kv,
            bundle: self.bundle,
            known: self.known,
            expected: self.expected,
            out: self.out,
        };
        match &field.kind {
            ResolvedKind::Simple(simple) => {
                if let Some(usable) = content.simple(&place, simple)?
                    && let Some(slot) = object.values.get_mut(position)
                {
                    slot.clear();
                    slot.extend_from_slice(&usable);
                }
                Ok(())
            }
            ResolvedKind::Counter => content.counter(&place),
            ResolvedKind::Set { element } => content.set_element(&place, element),
            ResolvedKind::List { element } => {
                content.list_element(&place, element, object.list(position))
            }
            ResolvedKind::Map { key, value } => content.map_entry(&place, key, value),
        }
    }

    /// What the object calls for now that all of it is known.
    fn finish(&mut self, state: &mut State, object: &mut Object) -> Checked {
        let State::Valid { id, object_type, schema, .. } = std::mem::replace(state, State::Nothing)
        else {
            return Ok(());
        };
        *self.objects += 1;
        self.used.insert(schema);
        self.expected.push(&[&object_schema_key(schema, id)])?;
        for (field, value) in object_type.fields.iter().zip(&object.values) {
            if field.is_indexed() && !value.is_empty() {
                self.expected.push(&[&field.key, value, id.as_bytes()])?;
            }
        }
        for index in &object_type.indexes {
            let mut key = std::mem::take(&mut object.scratch);
            key.clear();
            key.extend_from_slice(&index.key);
            let mut known = true;
            for field in &index.fields {
                let value = object.value(&object_type, field).unwrap_or_default();
                known &= !value.is_empty();
                key.extend_from_slice(value);
            }
            if known {
                self.expected.push(&[&key, id.as_bytes()])?;
            }
            object.scratch = key;
        }
        Ok(())
    }

    fn about(&self, finding: Finding, type_id: StorageId, id: &[u8; 8]) -> Finding {
        let finding = finding.item(type_name(self.bundle, type_id));
        match ObjId::from_bytes(*id) {
            Ok(id) => finding.object(id),
            Err(_) => finding,
        }
    }
}

fn type_name(bundle: &SchemaBundle, type_id: StorageId) -> String {
    bundle.type_name(type_id).map_or_else(|| format!("#{type_id}"), |name| name.to_string())
}

/// Where the scan stands.
enum State {
    Nothing,
    Valid { bytes: [u8; 8], id: ObjId, object_type: Arc<ResolvedType>, schema: SchemaIndex },
    Invalid { bytes: [u8; 8], class: Class, detail: &'static str },
}

impl State {
    fn id(&self) -> Option<&[u8; 8]> {
        match self {
            State::Nothing => None,
            State::Valid { bytes, .. } | State::Invalid { bytes, .. } => Some(bytes),
        }
    }
}

/// What has been seen of an object; buffers are kept from one object to the next.
#[derive(Debug, Default)]
struct Object {
    /// Encoded values of the simple fields, defaults included, by position in the type's list. Empty
    /// where nothing is stored and the default value is not known.
    values: Vec<Vec<u8>>,
    /// The field last met: its position and how its keys go on after the object ID.
    last: Option<(usize, Vec<u8>)>,
    /// The list last met and how many good elements it had so far.
    list: Option<(usize, u32)>,
    scratch: Vec<u8>,
}

impl Object {
    fn start(&mut self, object_type: &ResolvedType) {
        self.values.resize_with(object_type.fields.len(), Vec::new);
        for (field, value) in object_type.fields.iter().zip(&mut self.values) {
            value.clear();
            if let Some(simple) = field.simple() {
                value.extend_from_slice(simple.default.as_deref().unwrap_or_default());
            }
        }
        self.last = None;
        self.list = None;
    }

    /// Position of the field whose storage ID `rest` starts with, and what follows it.
    fn field<'k>(
        &mut self,
        object_type: &ResolvedType,
        rest: &'k [u8],
    ) -> Option<(usize, &'k [u8])> {
        if let Some((position, prefix)) = &self.last
            && let Some(tail) = rest.strip_prefix(&prefix[..])
        {
            return Some((*position, tail));
        }
        let mut reader = permazen::encoding::Reader::new(rest);
        let id = StorageId::read_from(&mut reader).ok()?;
        let position = object_type.field_position(id)?;
        let field = object_type.fields.get(position)?;
        // An over-long form of the storage ID is a different key.
        let tail = rest.strip_prefix(&field.key[..])?;
        let mut prefix = self.last.take().map(|(_, prefix)| prefix).unwrap_or_default();
        prefix.clear();
        prefix.extend_from_slice(&field.key);
        self.last = Some((position, prefix));
        Some((position, tail))
    }

    /// The number of good elements of the list so far.
    fn list(&mut self, position: usize) -> &mut u32 {
        if self.list.is_none_or(|(at, _)| at != position) {
            self.list = None;
        }
        &mut self.list.get_or_insert((position, 0)).1
    }

    fn value(&self, object_type: &ResolvedType, field: &ResolvedField) -> Option<&[u8]> {
        let position = object_type.field_position(field.storage_id)?;
        self.values.get(position).map(Vec::as_slice)
    }
}

/// A list index as it stands in keys.
pub(crate) fn list_index(index: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(5);
    uint::write(index, &mut bytes);
    bytes
}
