//! Models bound to the schema recorded in a database. Accessors find here what they would otherwise
//! look up at each call.

use std::any::TypeId;
use std::sync::Arc;

use super::error::{Error, Result};
use super::target::{Model, ModelInfo};
use super::upgrade;
use crate::encoding::EncodingRegistry;
use crate::id::StorageId;
use crate::object::{self, IndexShape, ListenerSet};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType, Schema, SchemaBundle};

/// All registered models, bound to one recorded schema.
#[derive(Debug)]
pub(crate) struct Bindings {
    pub(crate) schema: Arc<Schema>,
    /// Carries values over from other schemas.
    upgrades: Arc<ListenerSet>,
    models: Arc<Models>,
}

/// The bound models, in the order of their type IDs.
#[derive(Debug)]
pub(crate) struct Models(Vec<Binding>);

impl Models {
    /// The binding of a model. Cost: a binary search without hashing.
    pub(crate) fn of<M: Model>(&self) -> Result<&Binding> {
        let missing = Error::NotRegistered { type_name: M::TYPE_NAME };
        let type_id = TypeId::of::<M>();
        let at = self.0.binary_search_by_key(&type_id, |binding| binding.info.type_id);
        at.ok().and_then(|at| self.0.get(at)).ok_or(missing)
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Binding> {
        self.0.iter()
    }
}

/// Which index of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// The index of the field itself, of the elements, or of the keys.
    Main,
    /// The index of the values of a map.
    MapValue,
}

/// One model, bound to its object type.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) info: ModelInfo,
    pub(crate) object_type: Arc<ResolvedType>,
    /// In the order of the struct's fields.
    fields: Vec<Arc<ResolvedField>>,
    /// For each field, the index of the field, its elements or its keys, then the index of the
    /// values of a map.
    shapes: Vec<[Option<Arc<IndexShape>>; 2]>,
    /// The shapes of the composite indexes, in the order of the struct's list.
    composites: Vec<Arc<IndexShape>>,
}

impl Bindings {
    /// Binds `models` to `schema`, which was made from them.
    pub(crate) fn new(
        models: &[ModelInfo],
        schema: Arc<Schema>,
        bundle: &Arc<SchemaBundle>,
        encodings: &EncodingRegistry,
    ) -> Result<Self> {
        let bind = |info: &ModelInfo| Binding::new(*info, &schema, bundle);
        let mut bound: Vec<Binding> = models.iter().map(bind).collect::<Result<_>>()?;
        // Sorted for the binary search in `find`.
        bound.sort_unstable_by_key(|binding| binding.info.type_id);
        let models = Arc::new(Models(bound));
        let upgrades = upgrade::listeners(&models, bundle, encodings);
        Ok(Bindings { schema, upgrades, models })
    }

    /// Whether these bindings fit a transaction.
    pub(crate) fn fit(&self, tx: &object::Transaction<'_>) -> bool {
        Arc::ptr_eq(&self.schema, &tx.schema()) && self.upgrades.is_for(&tx.bundle())
    }

    pub(crate) fn upgrades(&self) -> &Arc<ListenerSet> {
        &self.upgrades
    }

    pub(crate) fn models(&self) -> &Models {
        &self.models
    }

    /// The storage IDs of all registered object types.
    pub(crate) fn storage_ids(&self) -> impl Iterator<Item = StorageId> {
        self.models.iter().map(Binding::storage_id)
    }
}

impl Binding {
    fn new(info: ModelInfo, schema: &Schema, bundle: &SchemaBundle) -> Result<Self> {
        let missing = |what: String| {
            Error::Object(object::Error::Inconsistent {
                what: format!("{what} is missing in the schema"),
            })
        };
        let object_type =
            schema.object_type(info.name).ok_or_else(|| missing(info.name.to_owned()))?;
        let fields = info.fields.iter().map(|field| {
            let found = object_type.field(field.name).cloned();
            found.ok_or_else(|| missing(format!("{}.{}", info.name, field.name)))
        });
        let fields: Vec<_> = fields.collect::<Result<_>>()?;
        let composites = info.composites.iter().map(|index| {
            let found =
                object_type.index(index.name).ok_or_else(|| missing(index.name.to_owned()))?;
            Ok(Arc::new(IndexShape::of_index(object_type, found)))
        });
        let composites = composites.collect::<Result<_>>()?;
        let shape =
            |field: &ResolvedField| IndexShape::of_field(bundle, object_type, field).map(Arc::new);
        let shapes = fields.iter().map(|field| match &field.kind {
            ResolvedKind::Set { element } | ResolvedKind::List { element } => {
                [shape(element), None]
            }
            ResolvedKind::Map { key, value } => [shape(key), shape(value)],
            ResolvedKind::Simple(_) | ResolvedKind::Counter => [shape(field), None],
        });
        let shapes = shapes.collect();
        let object_type = object_type.clone();
        Ok(Binding { info, object_type, fields, shapes, composites })
    }

    pub(crate) fn storage_id(&self) -> StorageId {
        self.object_type.storage_id
    }

    /// The field at a position of the struct.
    pub(crate) fn field(&self, position: usize) -> Result<&Arc<ResolvedField>> {
        self.fields.get(position).ok_or_else(|| self.misused(position))
    }

    /// An index of the field at a position of the struct.
    pub(crate) fn index_shape(&self, position: usize, part: Part) -> Result<Arc<IndexShape>> {
        let shapes = self.shapes.get(position).and_then(|shapes| match part {
            Part::Main => shapes[0].clone(),
            Part::MapValue => shapes[1].clone(),
        });
        shapes.ok_or_else(|| self.misused(position))
    }

    /// The composite index at a position of the struct's list.
    pub(crate) fn composite_shape(&self, position: usize) -> Result<Arc<IndexShape>> {
        self.composites.get(position).cloned().ok_or_else(|| self.misused(position))
    }

    fn misused(&self, position: usize) -> Error {
        let what = format!("object type {} has no field or index {position}", self.info.name);
        Error::Object(object::Error::InvalidArgument { what })
    }

    /// `Person.name`
    pub(crate) fn path(&self, field: &ResolvedField) -> String {
        format!("{}.{}", self.info.name, field.full_name)
    }
}
