//! Models bound to the schema recorded in a database. Accessors find here what they would otherwise
//! look up at each call.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::bound_fields::{BoundFields, FieldPart, FieldsOfModels};
use super::declare::{Shape, ValueDecl};
use super::error::{Error, Result};
use super::evolution::{Evolution, FieldPlan, Plan};
use super::index::Other;
use super::load::ObjectWriter;
use super::model_info::ModelInfo;
use super::rules::{RuleOptions, Rules};
use crate::encoding::uint;
use crate::id::StorageId;
use crate::layout::SchemaIndex;
use crate::object::{self, IndexShape, ListenerSet, Migrate, ObjectData, WatchedFields};
use crate::schema::{ResolvedField, ResolvedType, Schema, SchemaBundle, SchemaId};

/// All registered models, bound to one recorded schema.
#[derive(Debug)]
pub(crate) struct Bindings {
    pub(crate) schema: Arc<Schema>,
    pub(super) bundle: Arc<SchemaBundle>,
    pub(super) models: Arc<Models>,
    /// Which changes the rules of the models must know of.
    pub(super) watched: Arc<WatchedFields>,
    pub(super) hooks: Arc<ListenerSet>,
    /// How rules are checked, unless a transaction says otherwise.
    pub(super) rule_options: RuleOptions,
}

/// The bound models, in the order of their type IDs.
#[derive(Debug)]
pub struct Models {
    /// Sorted for the binary search in `with_type_id`.
    bindings: Vec<Binding>,
    /// The fields in them, for own conversions.
    fields: FieldsOfModels,
    evolution: Evolution,
}

impl Models {
    pub(super) fn new(mut bindings: Vec<Binding>, evolution: Evolution) -> Self {
        // The binary search finds a model by its type, which a handle knows without a name.
        bindings.sort_unstable_by_key(|binding| binding.info.type_id);
        let fields = bindings.iter().map(|it| (it.info.type_id, it.fields.clone()));
        Models { fields: FieldsOfModels::new(fields.collect()), bindings, evolution }
    }

    /// The fields of all models.
    pub(crate) fn fields(&self) -> &FieldsOfModels {
        &self.fields
    }

    /// When objects move to the schema of the models, and which values may be lost.
    pub(crate) fn evolution(&self) -> Evolution {
        self.evolution
    }

    /// The binding of the model that is this type.
    pub(crate) fn with_type_id(&self, type_id: TypeId) -> Option<&Binding> {
        let at = self.bindings.binary_search_by_key(&type_id, |binding| binding.info.type_id);
        at.ok().and_then(|at| self.bindings.get(at))
    }

    /// The binding of the model of a type, by its name.
    pub(crate) fn named(&self, type_name: &'static str) -> Result<&Binding> {
        let found = self.iter().find(|binding| binding.info.name == type_name);
        found.ok_or(Error::NotRegistered { type_name })
    }

    /// The binding of the model for the objects of a type.
    pub(crate) fn of_type(&self, id: StorageId) -> Option<&Binding> {
        self.iter().find(|binding| binding.storage_id() == id)
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Binding> {
        self.bindings.iter()
    }
}

/// The results of [`Bindings::others`], by the storage ID of the index and whether the query
/// returns map keys.
type KnownOthers = BTreeMap<(StorageId, bool), Arc<[Other]>>;

/// One model, bound to its object type.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) info: ModelInfo,
    /// Whether an access to an object moves it to the transaction's schema in any case.
    pub(crate) access: Migrate,
    pub(crate) fields: BoundFields,
    /// For each field, the index of the field, its elements or its keys, then the index of the
    /// values of a map.
    pub(super) shapes: Vec<[Option<Arc<IndexShape>>; 2]>,
    /// The shapes of the composite indexes, in the order of the struct's list.
    pub(super) composites: Vec<Arc<IndexShape>>,
    pub(crate) rules: Rules,
    /// The plans for the type in other recorded schemas, as far as they were asked for.
    pub(super) plans: RwLock<BTreeMap<(SchemaIndex, SchemaId), Arc<Plan>>>,
    /// The results of [`Bindings::others`], as far as they were asked for.
    pub(super) others: RwLock<KnownOthers>,
}

impl Bindings {
    /// Whether these bindings fit a transaction.
    pub(crate) fn fit(&self, tx: &object::Transaction) -> bool {
        tx.has_schema(&self.schema) && tx.has_bundle(&self.bundle)
    }

    pub(crate) fn models(&self) -> &Arc<Models> {
        &self.models
    }

    /// How rules are checked, unless a transaction says otherwise.
    pub(crate) fn rule_options(&self) -> RuleOptions {
        self.rule_options
    }

    /// The recorded schemas to which the models are bound.
    pub(crate) fn bundle(&self) -> &Arc<SchemaBundle> {
        &self.bundle
    }

    /// Which changes the rules of the models must know of.
    pub(crate) fn watched(&self) -> &Arc<WatchedFields> {
        &self.watched
    }

    /// Lets a transaction call the hooks of the models.
    pub(crate) fn hook(&self, tx: &object::Transaction) {
        if !self.hooks.is_empty() {
            tx.set_hooks(Arc::clone(&self.hooks));
        }
    }

    /// The listeners that call the hooks of the models.
    pub(crate) fn hooks(&self) -> &Arc<ListenerSet> {
        &self.hooks
    }

    /// The storage IDs of all registered object types.
    pub(crate) fn storage_ids(&self) -> impl Iterator<Item = StorageId> {
        self.models.iter().map(Binding::storage_id)
    }
}

impl Binding {
    pub(crate) fn storage_id(&self) -> StorageId {
        self.fields.object_type.storage_id
    }

    /// The field at a position of the struct.
    pub(crate) fn field(&self, position: usize) -> Result<&Arc<ResolvedField>> {
        self.fields.field(position)
    }

    /// An index of the field at a position of the struct.
    pub(crate) fn index_shape(&self, position: usize, part: FieldPart) -> Result<Arc<IndexShape>> {
        let shapes = self.shapes.get(position).and_then(|shapes| match part {
            FieldPart::Main => shapes[0].clone(),
            FieldPart::MapValue => shapes[1].clone(),
        });
        shapes.ok_or_else(|| self.fields.misused(position))
    }

    /// The composite index at a position of the struct's list.
    pub(crate) fn composite_shape(&self, position: usize) -> Result<Arc<IndexShape>> {
        self.composites.get(position).cloned().ok_or_else(|| self.fields.misused(position))
    }

    /// All indexes of the model.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = &Arc<IndexShape>> {
        self.shapes.iter().flatten().flatten().chain(&self.composites)
    }

    /// The position of the field that has this storage ID, or a sub-field that has it.
    pub(crate) fn field_with(&self, id: StorageId) -> Option<usize> {
        self.fields.with_storage_id(id)
    }

    /// The positions of the fields whose values are in an index of the model.
    pub(crate) fn indexed_fields(&self, shape: &IndexShape) -> impl Iterator<Item = usize> {
        let id = shape.storage_id();
        let composite = self.fields.object_type.indexes.iter().find(|index| index.storage_id == id);
        let columns = composite.into_iter().flat_map(|index| &index.fields);
        let columns = columns.filter_map(|field| self.field_with(field.storage_id));
        let field = composite.is_none().then(|| self.field_with(id)).flatten();
        columns.chain(field)
    }

    /// The plan for the fields of `old`, which is this type in another recorded schema.
    pub(crate) fn plan(&self, old: &ResolvedType) -> Arc<Plan> {
        let key = (old.schema, old.schema_of);
        let plans = self.plans.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get(&key) {
            return Arc::clone(plan);
        }
        // The lock is not held while the plan is made, so that other threads need not wait.
        drop(plans);
        let plan = Arc::new(Plan::new(old, self.info.fields, &self.fields));
        let mut plans = self.plans.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have made the plan meanwhile. Its plan is the same.
        Arc::clone(plans.entry(key).or_insert(plan))
    }

    /// Writes the value that the field at a position has in objects whose schema lacks it. Writes
    /// nothing if that is the default of the field's encoding.
    pub(crate) fn write_default(&self, position: usize, to: &mut ObjectWriter<'_>) -> Result<()> {
        let Some(decl) = self.info.fields.get(position) else { return Ok(()) };
        match (decl.default, &decl.shape) {
            (Some(write), _) => to.after(decl.start, write),
            // An enum without a default of its own starts with the constant that the model states.
            (None, Shape::Simple(ValueDecl { initial: Some(initial), .. })) => {
                let initial = *initial;
                to.encoded(position, |out| {
                    uint::write(initial, out);
                    Ok(())
                })
            }
            (None, _) => Ok(()),
        }
    }

    /// Content in which only the field at a position has a value: the one it has in objects whose
    /// schema lacks it.
    pub(crate) fn default_of(&self, position: usize) -> Result<ObjectData> {
        let mut writer = ObjectWriter::new(&self.fields);
        self.write_default(position, &mut writer)?;
        Ok(writer.finish().0)
    }

    /// The content of a new object with the values that the model states, else with those of the
    /// encodings, and the fields whose values the model states; `None` if it states none.
    pub(crate) fn defaults(&self) -> Result<Option<(ObjectData, Vec<StorageId>)>> {
        let mut writer = ObjectWriter::new(&self.fields);
        for position in 0..self.info.fields.len() {
            self.write_default(position, &mut writer)?;
        }
        let (data, written) = writer.finish();
        let stated = written.into_iter().map(|position| Ok(self.field(position)?.storage_id));
        let stated = stated.collect::<Result<Vec<_>>>()?;
        // Without stated values the object layer makes the defaults itself, which costs less.
        Ok((!stated.is_empty()).then_some((data, stated)))
    }

    /// Whether objects of another schema lack the field at a position, and no own conversion makes
    /// a value for it.
    pub(crate) fn is_missing(&self, plan: &Plan, position: usize) -> bool {
        let decl = self.info.fields.get(position);
        matches!(plan.field(position), FieldPlan::Missing)
            // An own conversion needs the object to move, so a field that it may make is not just
            // missing.
            && self.info.upgrade_with.is_none()
            && decl.is_some_and(|decl| decl.upgrade_with.is_none())
    }

    /// Whether objects of another schema have fields that the model neither takes over nor names as
    /// removed. One of them may be a field of the struct under a name that this program does not
    /// know.
    pub(crate) fn has_unknown_fields(&self, plan: &Plan) -> bool {
        plan.leftovers.iter().any(|field| !self.may_go(&field.name))
    }

    /// Whether the model says that a field it lacks may go (`removed`).
    pub(crate) fn may_go(&self, field: &str) -> bool {
        self.info.removed.contains(&field)
    }

    /// Whether the model can read objects of another schema where they are.
    pub(crate) fn fits_in_place(&self, plan: &Plan) -> bool {
        plan.fields().all(|(position, field)| {
            matches!(field, FieldPlan::Same) || self.is_missing(plan, position)
        })
    }

    /// `Person.name`
    pub(crate) fn path(&self, field: &ResolvedField) -> String {
        self.fields.path(field)
    }
}
