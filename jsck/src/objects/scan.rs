//! Checks the objects, and collects the index entries that they require.

use std::collections::BTreeSet;

use permazen::__internal::layout::{
    StorageIdKey, append_index_key, append_object_schema_key, object_info, object_schema_key,
    split_field_key,
};
use permazen::__internal::schema::{ResolvedKind, SchemaBundle};
use permazen::kv::{KeySpan, KvRead};
use permazen::schema::{ResolvedField, ResolvedType, SchemaIndex};
use permazen::{ObjId, StorageId};

use crate::entries::required::RequiredEntries;
use crate::objects::content::{Content, ContentPair, Elements};
use crate::objects::info::{Meta, MetaFlaw, MetaReader};
use crate::objects::known::Known;
use crate::report::finding::{Class, Finding};
use crate::report::output::{Checked, Output};
use crate::running::workers::visit;
use crate::selection::Selection;

/// The context of a scan of objects.
pub(crate) struct ObjectScan<'a, 'c, 'o> {
    pub(crate) kv: &'a dyn KvRead,
    pub(crate) bundle: &'a SchemaBundle,
    pub(crate) known: &'a Known,
    pub(crate) selection: &'a Selection,
    /// Takes the index entries that the objects require.
    pub(crate) required: &'c mut dyn RequiredEntries,
    pub(crate) seen: &'c mut Seen,
    /// A buffer in which the keys of entries are built.
    pub(crate) entry: Vec<u8>,
    pub(crate) out: &'c mut Output<'o>,
}

/// The results of a scan.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// How many valid objects there were.
    pub(crate) objects: u64,
    /// The schemas of these objects.
    pub(crate) schemas: BTreeSet<SchemaIndex>,
}

impl<'a> ObjectScan<'a, '_, '_> {
    /// Checks the objects of a type in a span of keys. The span must not begin or end inside an
    /// object.
    pub(crate) fn check_span(&mut self, type_id: StorageId, span: KeySpan<'_>) -> Checked {
        let mut object = Object::new(self.bundle, type_id);
        visit(self.kv, span, |key, value| self.pair(type_id, key, value, &mut object))?;
        self.finish(&mut object)
    }

    #[inline]
    fn pair(
        &mut self,
        type_id: StorageId,
        key: &[u8],
        value: &[u8],
        object: &mut Object<'a>,
    ) -> Checked {
        self.out.read()?;
        let Some((id, rest)) = key.split_first_chunk::<8>() else {
            self.out.position.pairs += 1;
            return self.out.report(
                Finding::new(Class::BadObjectKey, key, "the key ends inside an object ID")
                    .value(value)
                    .item(type_name(self.bundle, type_id)),
            );
        };
        if !self.selection.includes(id) {
            return Ok(());
        }
        self.out.position.pairs += 1;
        // The first pair of an object is its meta-data. If the first pair is another one, there is
        // no meta-data.
        if object.state.id() != Some(id) {
            self.finish(object)?;
            object.state = self.begin(type_id, *id, rest, value, object)?;
            if rest.is_empty() {
                return Ok(());
            }
        }
        match &object.state {
            State::Invalid { detail, class, .. } => {
                let finding = Finding::new(*class, key, *detail).value(value);
                self.out.report(self.about(finding, type_id, id))
            }
            &State::Valid { id, object_type, .. } => {
                self.content(object_type, id, key, rest, value, object)
            }
            State::Nothing => Ok(()),
        }
    }

    fn begin(
        &mut self,
        type_id: StorageId,
        bytes: [u8; 8],
        rest: &[u8],
        value: &[u8],
        object: &mut Object<'a>,
    ) -> Checked<State<'a>> {
        if !rest.is_empty() {
            // If the object schema index has the object, it existed, and its meta-data is lost.
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
        let invalid = |class: Class, detail: String| (class, detail);
        let (class, detail) = match object.meta.read(value) {
            Meta::Object { object_type, schema, flaw } => {
                let id = ObjId::from_bytes(bytes)?;
                if let Some(flaw) = flaw {
                    self.flawed_meta(object_type, id, schema, flaw, value)?;
                }
                object.start(object_type);
                return Ok(State::Valid { bytes, id, object_type, schema });
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
        // Damaged meta-data tells of an object, and which entries that requires is not known. Where
        // there is no meta-data, there is no object either.
        let finding = Finding::new(class, &bytes, detail).value(value).unsettles(vec![None]);
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

    /// Whether the object schema index has an entry of the object, under any schema.
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
        object_type: &'a ResolvedType,
        id: ObjId,
        key: &[u8],
        rest: &[u8],
        value: &[u8],
        object: &mut Object<'a>,
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
        let pair = ContentPair { id, object_type, field, key, tail, value };
        let mut content = Content {
            kv: self.kv,
            bundle: self.bundle,
            known: self.known,
            required: self.required,
            entry: &mut self.entry,
            out: self.out,
        };
        match &field.kind {
            ResolvedKind::Simple(simple) => {
                if let Some(usable) = content.simple(&pair, simple)?
                    && has_index(field)
                    && let Some(slot) = object.values.get_mut(position)
                {
                    slot.clear();
                    slot.extend_from_slice(&usable);
                }
                Ok(())
            }
            ResolvedKind::Counter => content.counter(&pair),
            ResolvedKind::Set { element } => content.set_element(&pair, element),
            ResolvedKind::List { element } => {
                content.list_element(&pair, element, object.list(position))
            }
            ResolvedKind::Map { key, value } => content.map_entry(&pair, key, value),
        }
    }

    /// Collects the index entries that are only known when the whole object was read.
    fn finish(&mut self, object: &mut Object<'a>) -> Checked {
        let State::Valid { id, object_type, schema, .. } =
            std::mem::replace(&mut object.state, State::Nothing)
        else {
            return Ok(());
        };
        self.out.moves_are_complete()?;
        self.seen.objects += 1;
        // Most objects have the schema of the one before: this saves looking it up for each.
        if object.last_schema.replace(schema) != Some(schema) {
            self.seen.schemas.insert(schema);
        }
        self.entry.clear();
        append_object_schema_key(schema, id, &mut self.entry);
        self.required.add(&self.entry)?;
        for (field, value) in object_type.fields.iter().zip(&object.values) {
            // Empty means that the value is not known, and so the entry is not known.
            if field.is_indexed() && !value.is_empty() {
                self.call_for(&field.key, value, id)?;
            }
        }
        for index in &object_type.indexes {
            let mut values = std::mem::take(&mut object.scratch);
            values.clear();
            let mut known = true;
            for field in &index.fields {
                let value = object.value(object_type, field).unwrap_or_default();
                known &= !value.is_empty();
                values.extend_from_slice(value);
            }
            // If one value is not known, the entry is not known either.
            if known {
                self.call_for(&index.key, &values, id)?;
            }
            object.scratch = values;
        }
        Ok(())
    }

    fn call_for(&mut self, index: &StorageIdKey, values: &[u8], id: ObjId) -> Checked {
        self.entry.clear();
        append_index_key(index, values, id, &[], &mut self.entry);
        Ok(self.required.add(&self.entry)?)
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

/// The object that the scan is at.
enum State<'a> {
    Nothing,
    Valid { bytes: [u8; 8], id: ObjId, object_type: &'a ResolvedType, schema: SchemaIndex },
    Invalid { bytes: [u8; 8], class: Class, detail: &'static str },
}

impl State<'_> {
    #[inline]
    fn id(&self) -> Option<&[u8; 8]> {
        match self {
            State::Nothing => None,
            State::Valid { bytes, .. } | State::Invalid { bytes, .. } => Some(bytes),
        }
    }
}

/// The state of an object, as far as the scan has seen it. Buffers are kept from one object to the
/// next.
struct Object<'a> {
    state: State<'a>,
    meta: MetaReader<'a>,
    /// The encoded values, including defaults, of the simple fields that have an index, by position
    /// in the type's list. Empty for fields without an index, and for fields whose default value is
    /// not known and that store nothing.
    values: Vec<Vec<u8>>,
    /// The last field: its position, and the part of its keys after the object ID.
    last: Option<(usize, StorageIdKey)>,
    /// The last list and its elements so far.
    list: Option<(usize, Elements)>,
    /// The last schema.
    last_schema: Option<SchemaIndex>,
    scratch: Vec<u8>,
}

impl<'a> Object<'a> {
    fn new(bundle: &'a SchemaBundle, type_id: StorageId) -> Self {
        Object {
            state: State::Nothing,
            meta: MetaReader::new(bundle, type_id),
            values: Vec::new(),
            last: None,
            list: None,
            last_schema: None,
            scratch: Vec::new(),
        }
    }

    fn start(&mut self, object_type: &ResolvedType) {
        self.values.resize_with(object_type.fields.len(), Vec::new);
        for (field, value) in object_type.fields.iter().zip(&mut self.values) {
            value.clear();
            if let Some(simple) = field.simple()
                && has_index(field)
            {
                value.extend_from_slice(simple.default.as_deref().unwrap_or_default());
            }
        }
        self.last = None;
        self.list = None;
    }

    /// The position of the field whose storage ID `rest` starts with, and what follows the storage
    /// ID.
    fn field<'k>(
        &mut self,
        object_type: &ResolvedType,
        rest: &'k [u8],
    ) -> Option<(usize, &'k [u8])> {
        if let Some((position, key)) = &self.last
            && let Some(tail) = rest.strip_prefix(&**key)
        {
            return Some((*position, tail));
        }
        let (id, tail) = split_field_key(rest)?;
        let position = object_type.field_position(id)?;
        let field = object_type.fields.get(position)?;
        self.last = Some((position, field.key));
        Some((position, tail))
    }

    /// The elements of the list so far.
    fn list(&mut self, position: usize) -> &mut Elements {
        // The pairs of a list are adjacent: another field is another list, which starts empty.
        if self.list.is_none_or(|(at, _)| at != position) {
            self.list = None;
        }
        &mut self.list.get_or_insert((position, Elements::default())).1
    }

    fn value(&self, object_type: &ResolvedType, field: &ResolvedField) -> Option<&[u8]> {
        let position = object_type.field_position(field.storage_id)?;
        self.values.get(position).map(Vec::as_slice)
    }
}

/// Whether some index holds the field's values.
fn has_index(field: &ResolvedField) -> bool {
    field.is_indexed() || !field.indexes.is_empty()
}
