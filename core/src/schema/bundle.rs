//! All schemas of a database, ready for use.

use std::collections::HashMap;
use std::sync::Arc;

use super::encodings::{self, UnknownEncodings};
use super::error::{Problem, Problems, Result, SchemaError, note};
use super::item::{Item, Part};
use super::model::{Field, FieldKind, ObjectType, SchemaModel, Simple, SimpleKind, SubField};
use super::recorded_schemas::{RecordedSchema, RecordedSchemas};
use super::resolved::{
    Parent, ReferenceInfo, ResolvedField, ResolvedIndex, ResolvedKind, ResolvedSimple,
    ResolvedType, Schema, SubFieldRole,
};
use super::schema_id::{ItemKind, SchemaId};
use super::tables::SchemaTables;
use crate::encoding::{Encoding, EncodingKind, EncodingRegistry};
use crate::id::StorageId;
use crate::layout::SchemaIndex;

/// How many fields can be near an object's own pair. To step past more pairs costs a store as much
/// as another search.
const MOST_NEAR: usize = 8;

/// All schemas of a database with their storage IDs and encodings. It is immutable. Transactions
/// that saw the same recorded schemas share it.
#[derive(Debug)]
pub struct SchemaBundle {
    recorded: Arc<RecordedSchemas>,
    schemas: Vec<Arc<Schema>>,
    empty: Arc<Schema>,
    items: Vec<Arc<BundleItem>>,
    /// The storage IDs of all object types of all schemas, ascending.
    object_types: Vec<StorageId>,
    type_storage_ids: HashMap<Arc<str>, StorageId>,
}

/// The item of a storage ID, in all the recorded schemas that have it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BundleItem {
    /// The storage ID.
    pub storage_id: StorageId,
    /// The schema ID of the item.
    pub schema_id: SchemaId,
    /// Every place where the item occurs, by ascending schema index and then by type name; never
    /// empty.
    pub occurrences: Vec<Occurrence>,
}

/// One place where an item occurs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Occurrence {
    /// The object type that it is or belongs to.
    pub object_type: Arc<ResolvedType>,
    /// Which part of the object type it is.
    pub part: ResolvedPart,
}

/// Which part of an object type an [`Occurrence`] is.
#[derive(Debug, Clone)]
pub enum ResolvedPart {
    /// The object type itself.
    ObjectType,
    /// A field or sub-field.
    Field(Arc<ResolvedField>),
    /// A composite index.
    Index(Arc<ResolvedIndex>),
}

impl BundleItem {
    /// The kind of the item.
    pub fn kind(&self) -> ItemKind {
        self.schema_id.kind()
    }

    /// The occurrence in the highest schema; in that schema, the one in the last type by name.
    ///
    /// Java looks only at this one. Properties that do not belong to the schema ID, such as whether
    /// a field is indexed, may differ in other occurrences.
    pub fn representative(&self) -> Option<&Occurrence> {
        self.occurrences.last()
    }

    /// The field or sub-field, if the item is one. An occurrence that is indexed is preferred.
    pub fn field(&self) -> Option<&Arc<ResolvedField>> {
        let mut fields =
            self.occurrences.iter().rev().filter_map(|occurrence| match &occurrence.part {
                ResolvedPart::Field(field) => Some(field),
                _ => None,
            });
        let first = fields.next()?;
        // Any index will do for a query, and only an occurrence that is indexed has one.
        if first.is_indexed() {
            return Some(first);
        }
        Some(fields.find(|field| field.is_indexed()).unwrap_or(first))
    }

    /// The composite index, if the item is one.
    pub fn index(&self) -> Option<&Arc<ResolvedIndex>> {
        match &self.representative()?.part {
            ResolvedPart::Index(index) => Some(index),
            _ => None,
        }
    }
}

impl SchemaBundle {
    /// Decodes the tables and checks them completely.
    ///
    /// # Errors
    /// [`SchemaError::Inconsistent`] if they are damaged or contradict themselves;
    /// [`SchemaError::Invalid`] if a schema needs an encoding that is not registered.
    pub fn decode(
        tables: impl Into<Arc<SchemaTables>>,
        registry: &EncodingRegistry,
        unknown: UnknownEncodings,
    ) -> Result<SchemaBundle> {
        SchemaBundle::resolve(RecordedSchemas::decode(tables)?, registry, unknown)
    }

    /// Looks up the encodings of recorded schemas.
    ///
    /// # Errors
    /// [`SchemaError::Invalid`] if a schema needs an encoding that is not registered, or if a field
    /// has an encoding without a default value.
    pub fn resolve(
        recorded: impl Into<Arc<RecordedSchemas>>,
        registry: &EncodingRegistry,
        unknown: UnknownEncodings,
    ) -> Result<SchemaBundle> {
        SchemaBundle::resolve_after(None, recorded.into(), registry, unknown)
    }

    /// Does the same as [`SchemaBundle::resolve`], but takes schemas that have not changed from
    /// `before`. The same encodings must have been registered then.
    pub(super) fn resolve_after(
        before: Option<&SchemaBundle>,
        recorded: Arc<RecordedSchemas>,
        registry: &EncodingRegistry,
        unknown: UnknownEncodings,
    ) -> Result<SchemaBundle> {
        let mut resolver = Resolver {
            recorded: &recorded,
            registry,
            unknown,
            encodings: HashMap::new(),
            problems: Vec::new(),
        };
        let mut schemas = Vec::with_capacity(recorded.schemas().len());
        let mut added = Vec::new();
        let mut old = before.map(SchemaBundle::pairs).into_iter().flatten().peekable();
        let mut only_added = true;
        for schema in recorded.schemas() {
            // The old schemas are in the same order, so one pass finds which are gone.
            while old.next_if(|(old, _)| old.index < schema.index).is_some() {
                only_added = false;
            }
            match old.next_if(|(old, _)| old.index == schema.index) {
                // A schema that has not changed keeps its resolved form, so that what is known of
                // it stays valid.
                Some((old, resolved)) if old.is_same(schema) => schemas.push(Arc::clone(resolved)),
                other => {
                    only_added &= other.is_none();
                    let resolved = resolver.schema(schema);
                    added.extend(resolved.clone());
                    schemas.extend(resolved);
                }
            }
        }
        only_added &= old.next().is_none();
        // Nothing is returned unless all schemas are usable: an object of the others could not be
        // read.
        if !resolver.problems.is_empty() {
            return Err(SchemaError::Invalid(Problems(resolver.problems)));
        }
        let model = SchemaModel::new();
        let empty = Arc::new(Schema {
            index: SchemaIndex::EMPTY,
            id: model.schema_id(),
            model: Arc::new(model),
            types: Vec::new(),
            by_storage_id: Vec::new(),
        });
        // If schemas were only added, their items can be added to the old ones. Otherwise all are
        // collected anew, because items that are gone must disappear.
        let (mut items, mut type_storage_ids, added) = match before.filter(|_| only_added) {
            Some(before) => (before.items.clone(), before.type_storage_ids.clone(), &added),
            None => (Vec::new(), HashMap::new(), &schemas),
        };
        for schema in added {
            add_items(schema, &mut items);
            let types = schema.types.iter();
            type_storage_ids.extend(types.map(|t| (Arc::clone(&t.name), t.storage_id)));
        }
        let object_types = items.iter().filter(|item| item.kind() == ItemKind::ObjectType);
        let object_types = object_types.map(|item| item.storage_id).collect();
        Ok(SchemaBundle { recorded, schemas, empty, items, object_types, type_storage_ids })
    }

    /// The schemas as recorded, each with its resolved form.
    fn pairs(&self) -> impl Iterator<Item = (&RecordedSchema, &Arc<Schema>)> {
        self.recorded.schemas().iter().zip(&self.schemas)
    }

    /// The schemas as recorded.
    pub fn recorded(&self) -> &Arc<RecordedSchemas> {
        &self.recorded
    }

    /// The tables that it was decoded from.
    pub fn tables(&self) -> &Arc<SchemaTables> {
        self.recorded.tables()
    }

    /// The recorded schemas by ascending index.
    pub fn schemas(&self) -> &[Arc<Schema>] {
        &self.schemas
    }

    /// The empty schema.
    pub fn empty_schema(&self) -> &Arc<Schema> {
        &self.empty
    }

    /// The schema recorded under that index. [`SchemaIndex::EMPTY`] gives the empty schema.
    pub fn schema(&self, index: SchemaIndex) -> Option<&Arc<Schema>> {
        if index.is_empty_schema() {
            return Some(&self.empty);
        }
        let at = self.schemas.binary_search_by_key(&index, |schema| schema.index).ok()?;
        self.schemas.get(at)
    }

    /// The recorded schema with that ID, or the empty schema.
    pub fn schema_by_id(&self, id: SchemaId) -> Option<&Arc<Schema>> {
        if id == self.empty.id {
            return Some(&self.empty);
        }
        self.recorded.index_of(id).and_then(|index| self.schema(index))
    }

    /// The item of a storage ID.
    pub fn item(&self, id: StorageId) -> Option<&BundleItem> {
        let at = self.items.binary_search_by_key(&id, |item| item.storage_id).ok()?;
        self.items.get(at).map(|item| &**item)
    }

    /// All items by ascending storage ID.
    pub fn items(&self) -> &[Arc<BundleItem>] {
        &self.items
    }

    /// The storage ID of the item with that schema ID.
    pub fn storage_id(&self, item: SchemaId) -> Option<StorageId> {
        self.recorded.storage_id(item)
    }

    /// The storage ID of the object type with that name, in any schema.
    pub fn type_storage_id(&self, name: &str) -> Option<StorageId> {
        self.type_storage_ids.get(name).copied()
    }

    /// The name of the object type with that storage ID, in any schema.
    pub fn type_name(&self, id: StorageId) -> Option<&Arc<str>> {
        let item = self.item(id)?;
        let is_type = item.kind() == ItemKind::ObjectType;
        item.representative().filter(|_| is_type).map(|occurrence| &occurrence.object_type.name)
    }

    /// The storage IDs of all object types of all schemas, ascending.
    pub fn type_ids(&self) -> impl Iterator<Item = StorageId> {
        self.object_types.iter().copied()
    }

    /// Whether a schema has an object type with this storage ID.
    #[inline]
    pub(crate) fn has_type(&self, id: StorageId) -> bool {
        self.object_types.binary_search(&id).is_ok()
    }
}

/// Adds the items of a schema to `items`, which are sorted by storage ID. The order of occurrences
/// is the order in which Java registers them.
fn add_items(schema: &Schema, items: &mut Vec<Arc<BundleItem>>) {
    for object_type in &schema.types {
        let mut add = |storage_id, schema_id, part| {
            let at = items.binary_search_by_key(&storage_id, |item| item.storage_id);
            let at = at.unwrap_or_else(|at| {
                let occurrences = Vec::new();
                items.insert(at, Arc::new(BundleItem { storage_id, schema_id, occurrences }));
                at
            });
            if let Some(item) = items.get_mut(at) {
                // Other bundles share the item, so it is copied before it changes.
                let occurrences = &mut Arc::make_mut(item).occurrences;
                // Of equal schema indexes, the later type by name comes last, as Java registers
                // them.
                let is_before = |other: &Occurrence| other.object_type.schema <= schema.index;
                let at = occurrences.partition_point(is_before);
                let object_type = Arc::clone(object_type);
                occurrences.insert(at, Occurrence { object_type, part });
            }
        };
        add(object_type.storage_id, object_type.schema_id, ResolvedPart::ObjectType);
        for field in object_type.all_fields() {
            add(field.storage_id, field.schema_id, ResolvedPart::Field(Arc::clone(field)));
        }
        for index in &object_type.indexes {
            add(index.storage_id, index.schema_id, ResolvedPart::Index(Arc::clone(index)));
        }
    }
}

struct Resolver<'b> {
    recorded: &'b RecordedSchemas,
    registry: &'b EncodingRegistry,
    unknown: UnknownEncodings,
    /// The encodings of items seen before, or why there is none.
    encodings: HashMap<SchemaId, std::result::Result<Arc<dyn Encoding>, String>>,
    problems: Vec<Problem>,
}

/// The IDs of a schema's items, in visit order. Each item takes the next one.
type Ids<'b> = std::slice::Iter<'b, (SchemaId, StorageId)>;

/// Its methods return `None` when they have noted a problem.
impl<'b> Resolver<'b> {
    fn schema(&mut self, schema: &'b RecordedSchema) -> Option<Arc<Schema>> {
        let mut ids = schema.items.iter();
        // All types are checked, even after one with a problem, so that every problem is reported.
        let types: Vec<_> = schema
            .model
            .object_types()
            .iter()
            .map(|object_type| self.object_type(schema, object_type, &mut ids).map(Arc::new))
            .collect();
        let types: Vec<_> = types.into_iter().collect::<Option<_>>()?;
        Some(Arc::new(Schema {
            index: schema.index,
            id: schema.id,
            model: Arc::clone(&schema.model),
            by_storage_id: sorted_positions(types.iter().map(|t| t.storage_id)),
            types,
        }))
    }

    fn object_type(
        &mut self,
        schema: &RecordedSchema,
        object_type: &ObjectType,
        ids: &mut Ids<'b>,
    ) -> Option<ResolvedType> {
        let &(schema_id, storage_id) = ids.next()?;
        let type_name = object_type.name().into();
        let place = TypeInSchema { schema, object_type, type_name };
        let mut fields = Vec::with_capacity(object_type.fields().len());
        for field in object_type.fields() {
            fields.push(self.field(&place, field, ids));
        }
        // Take the IDs of all indexes, even after a problem: the next type's IDs follow them.
        let index_ids: Vec<_> = ids.take(object_type.indexes().len()).collect();
        let mut fields: Vec<_> = fields.into_iter().collect::<Option<_>>()?;
        let by_storage_id = sorted_positions(fields.iter().map(|field| field.storage_id));
        for &(_, position) in by_storage_id.iter().take(MOST_NEAR) {
            // The order of the pairs is that of the storage IDs.
            let Some(field) = fields.get_mut(position) else { break };
            // A collection can have any number of pairs.
            if !matches!(field.kind, ResolvedKind::Simple(_) | ResolvedKind::Counter) {
                break;
            }
            field.near = true;
        }
        let fields: Vec<_> = fields.into_iter().map(Arc::new).collect();
        let mut indexes = Vec::with_capacity(index_ids.len());
        for (index, &&(schema_id, storage_id)) in object_type.indexes().iter().zip(&index_ids) {
            let position =
                |name: &String| object_type.fields().iter().position(|field| field.name() == name);
            let fields: Option<Vec<_>> = index
                .fields()
                .iter()
                .map(|name| fields.get(position(name)?).map(Arc::clone))
                .collect();
            indexes.push(Arc::new(ResolvedIndex {
                name: index.name().into(),
                storage_id,
                key: storage_id.into(),
                schema_id,
                fields: fields?,
            }));
        }
        Some(ResolvedType {
            name: object_type.name().into(),
            storage_id,
            key: storage_id.into(),
            schema_id,
            schema: schema.index,
            schema_of: schema.id,
            by_storage_id,
            fields,
            indexes,
        })
    }

    fn field(
        &mut self,
        place: &TypeInSchema<'_>,
        field: &Field,
        ids: &mut Ids<'b>,
    ) -> Option<ResolvedField> {
        let &(schema_id, storage_id) = ids.next()?;
        let name: Arc<str> = field.name().into();
        let sub_field =
            |resolver: &mut Self, ids: &mut Ids<'b>, role, sub_field_name, sub_field| {
                let parent =
                    Parent { name: Arc::clone(&name), storage_id, key: storage_id.into(), role };
                let part = Part::SubField { parent: field, name: sub_field_name, sub_field };
                resolver.sub_field(place, part, parent, sub_field, ids).map(Arc::new)
            };
        let mut indexes = Vec::new();
        let kind = match field.kind() {
            FieldKind::Counter => ResolvedKind::Counter,
            FieldKind::Simple(simple) => {
                // The positions of the indexes are looked up once, since each change of the field
                // asks for them.
                let in_index = place.object_type.indexes().iter().enumerate();
                indexes = in_index
                    .filter(|(_, index)| index.fields().iter().any(|n| n == field.name()))
                    .map(|(at, _)| at)
                    .collect();
                let simple = self.simple(place, Part::Field(field), schema_id, simple)?;
                ResolvedKind::Simple(simple)
            }
            FieldKind::Set(element) => {
                let role = SubFieldRole::SetElement;
                let element = sub_field(self, ids, role, super::model::ELEMENT, element)?;
                ResolvedKind::Set { element }
            }
            FieldKind::List(element) => {
                let role = SubFieldRole::ListElement;
                let element = sub_field(self, ids, role, super::model::ELEMENT, element)?;
                ResolvedKind::List { element }
            }
            FieldKind::Map { key, value } => {
                // Both take their IDs before an error of one counts: the next field's IDs follow
                // them.
                let key = sub_field(self, ids, SubFieldRole::MapKey, super::model::KEY, key);
                let role = SubFieldRole::MapValue;
                let value = sub_field(self, ids, role, super::model::VALUE, value);
                ResolvedKind::Map { key: key?, value: value? }
            }
        };
        Some(ResolvedField {
            full_name: Arc::clone(&name),
            type_name: Arc::clone(&place.type_name),
            name,
            storage_id,
            key: storage_id.into(),
            schema_id,
            parent: None,
            indexes,
            kind,
            near: false,
        })
    }

    fn sub_field(
        &mut self,
        place: &TypeInSchema<'_>,
        part: Part<'_>,
        parent: Parent,
        sub_field: &SubField,
        ids: &mut Ids<'b>,
    ) -> Option<ResolvedField> {
        let &(schema_id, storage_id) = ids.next()?;
        let simple = self.simple(place, part, schema_id, sub_field.simple())?;
        let name = Item { object_type: place.object_type, part }.name();
        Some(ResolvedField {
            name: name.into(),
            full_name: format!("{}.{name}", parent.name).into(),
            type_name: Arc::clone(&place.type_name),
            storage_id,
            key: storage_id.into(),
            schema_id,
            parent: Some(parent),
            indexes: Vec::new(),
            kind: ResolvedKind::Simple(simple),
            near: false,
        })
    }

    fn simple(
        &mut self,
        place: &TypeInSchema<'_>,
        part: Part<'_>,
        schema_id: SchemaId,
        simple: &Simple,
    ) -> Option<ResolvedSimple> {
        let (registry, unknown) = (self.registry, self.unknown);
        // Fields with the same schema ID have the same encoding, in all types and schemas.
        let found = self
            .encodings
            .entry(schema_id)
            .or_insert_with(|| encodings::find(simple.kind(), registry, unknown));
        let encoding = match found {
            Ok(encoding) => Arc::clone(encoding),
            Err(message) => {
                let message = message.clone();
                return self.problem(place, part, message);
            }
        };
        let default: Option<Box<[u8]>> = encoding.default_bytes().map(Into::into);
        // Elements, keys and values are always stored. The default value of an unknown encoding is
        // unknown.
        let needs_default = !matches!(part, Part::SubField { .. })
            && !matches!(encoding.kind(), EncodingKind::Unknown);
        if default.is_none() && needs_default {
            let message = format!(
                "encoding {} has neither null nor a default value, which objects without a value \
                 need: give it one, or wrap it so that it has null",
                encoding.name()
            );
            return self.problem(place, part, message);
        }
        let identifiers = match simple.kind() {
            SimpleKind::Enum { identifiers } | SimpleKind::EnumArray { identifiers, .. } => {
                Some(identifiers.as_slice().into())
            }
            SimpleKind::Plain(_) | SimpleKind::Reference(_) => None,
        };
        let reference = simple.as_reference().map(|reference| ReferenceInfo {
            // The IDs are sorted for the binary search of `allows`.
            allowed: reference.object_types().map(|names| {
                let mut ids: Vec<StorageId> = names
                    .iter()
                    .filter_map(|name| self.recorded.storage_id(SchemaId::of_type_name(name)))
                    .collect();
                ids.sort_unstable();
                ids.into()
            }),
            inverse_delete: reference.inverse_delete(),
            forward_delete: reference.forward_delete(),
            allow_deleted: reference.allow_deleted(),
        });
        Some(ResolvedSimple {
            encoding,
            indexed: simple.is_indexed(),
            default,
            reference,
            identifiers,
        })
    }

    fn problem<T>(
        &mut self,
        place: &TypeInSchema<'_>,
        part: Part<'_>,
        message: String,
    ) -> Option<T> {
        let item = Item { object_type: place.object_type, part };
        let schema = place.schema.index;
        note(&mut self.problems, || Problem {
            location: format!("recorded schema {schema} / {}", item.location()),
            message,
        });
        None
    }
}

struct TypeInSchema<'p> {
    schema: &'p RecordedSchema,
    object_type: &'p ObjectType,
    type_name: Arc<str>,
}

fn sorted_positions(ids: impl Iterator<Item = StorageId>) -> Vec<(StorageId, usize)> {
    let mut positions: Vec<_> = ids.enumerate().map(|(at, id)| (id, at)).collect();
    positions.sort_unstable();
    positions
}
