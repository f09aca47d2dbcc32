//! Binds models to the schema recorded in a database, with their rules and hooks.

use std::sync::Arc;

use super::binding::{Binding, Bindings, Models};
use super::bound_fields::BoundFields;
use super::error::{Error, ModelErrors, Result};
use super::evolution::Evolution;
use super::hook;
use super::model_info::ModelInfo;
use super::model_set::{ModelSet, Registered};
use super::rules::{RuleOptions, Rules, watched};
use crate::object::{self, IndexShape, Migrate, WatchedFields};
use crate::schema::{ResolvedField, ResolvedKind, Schema, SchemaBundle};

impl Bindings {
    /// Binds `models` to `schema`, which was made from them.
    pub(crate) fn new(
        set: &ModelSet,
        schema: Arc<Schema>,
        bundle: &Arc<SchemaBundle>,
        evolution: Evolution,
        rule_options: RuleOptions,
    ) -> Result<Self> {
        let mut problems = Vec::new();
        let bind = |model: &Registered| {
            let mut binding = Binding::new(model.info.clone(), &schema, bundle, evolution)?;
            binding.rules = Rules::of(&binding, &model.hooks, &mut problems)?;
            Ok(binding)
        };
        // All problems of all models are reported at once.
        let mut bound = set.registered().iter().map(bind).collect::<Result<Vec<_>>>()?;
        if !problems.is_empty() {
            return Err(ModelErrors(problems).into());
        }
        // Kinds and mix-ins concern several models, so they follow when all models are bound.
        Rules::add_kinds(&mut bound, set.hooked_kinds());
        Rules::share(&mut bound);
        let watched = Arc::new(watched(bound.iter(), bundle)?);
        let models = Arc::new(Models::new(bound, evolution));
        // In the order in which the models were registered.
        let hooks = hook::compile(set, &models, bundle)?;
        let bundle = Arc::clone(bundle);
        Ok(Bindings { schema, bundle, models, watched, hooks, rule_options })
    }

    /// The same models, bound to the schema of a transaction.
    pub(crate) fn again(&self, set: &ModelSet, tx: &object::Transaction) -> Result<Self> {
        let (evolution, rules) = (self.models.evolution(), self.rule_options);
        Bindings::new(set, tx.schema(), &tx.bundle(), evolution, rules)
    }

    /// The same with other recorded schemas.
    pub(crate) fn watched_with(&self, bundle: &SchemaBundle) -> Result<WatchedFields> {
        watched(self.models.iter(), bundle)
    }
}

impl Binding {
    fn new(
        info: ModelInfo,
        schema: &Schema,
        bundle: &SchemaBundle,
        evolution: Evolution,
    ) -> Result<Self> {
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
        let fields = BoundFields::new(Arc::clone(object_type), fields);
        let (plans, others) = Default::default();
        let access = match evolution {
            Evolution::Exact => Migrate::No,
            Evolution::AsJava => Migrate::Yes,
        };
        let rules = Rules::default();
        Ok(Binding { info, access, fields, shapes, composites, rules, plans, others })
    }
}
