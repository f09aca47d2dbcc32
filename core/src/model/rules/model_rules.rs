//! Binds the rules of models to their fields and indexes, and says which changes the object layer
//! must note for them.

use std::sync::Arc;

use super::bound::Rules;
use super::unique::Unique;
use crate::encoding::{Encoding, Value};
use crate::model::binding::Binding;
use crate::model::bound_fields::FieldPart;
use crate::model::declare::{Shape, ValueDecl};
use crate::model::error::{ModelError, Result};
use crate::model::evolution::FieldPlan;
use crate::model::hook::Checker;
use crate::model::model_set::{HookedKind, HooksAt};
use crate::object::{IndexShape, NullAs, NullIn, WatchedFields, WatchedType};
use crate::schema::{ResolvedField, ResolvedKind, SchemaBundle};

impl Unique {
    /// The rules of a model. Their mistakes are added to `problems`.
    pub(super) fn of(binding: &Binding, problems: &mut Vec<ModelError>) -> Result<Vec<Self>> {
        let info = &binding.info;
        let mut rules = Vec::new();
        for (position, decl) in info.fields.iter().enumerate().filter(|(_, decl)| decl.unique) {
            let field = binding.field(position)?;
            let path = binding.path(field);
            let Ok(shape) = binding.index_shape(position, FieldPart::Main) else {
                // Without an index, each check would read all objects.
                let problem = "a unique field is looked up by value: it must be indexed".to_owned();
                problems.push(ModelError { path, problem });
                continue;
            };
            let mut rule = Unique::new(binding, path, shape, vec![Arc::clone(field)]);
            rule.declared_in = decl.declared_in.map(|mixin| mixin());
            if !decl.excludes.is_empty() {
                rule.exempt(&[decl.excludes], problems);
            }
            rules.push(rule);
        }
        for (position, decl) in info.composites.iter().enumerate().filter(|(_, it)| it.unique) {
            let columns = decl.fields().map(|field| binding.field(field).cloned());
            let path = format!("{}#{}", info.name, decl.name);
            let shape = binding.composite_shape(position)?;
            let mut rule = Unique::new(binding, path, shape, columns.collect::<Result<_>>()?);
            rule.declared_in = decl.declared_in.map(|mixin| mixin());
            for exempt in decl.excludes {
                rule.exempt(exempt, problems);
            }
            rules.push(rule);
        }
        Ok(rules)
    }

    fn new(
        binding: &Binding,
        path: String,
        shape: Arc<IndexShape>,
        columns: Vec<Arc<ResolvedField>>,
    ) -> Self {
        let scope = vec![binding.storage_id()];
        Unique { path, shape, columns, scope, declared_in: None, excludes: Vec::new() }
    }
}

impl Rules {
    /// The rules of a model. Their mistakes are added to `problems`.
    pub(in crate::model) fn of(
        binding: &Binding,
        hooks: &[HooksAt],
        problems: &mut Vec<ModelError>,
    ) -> Result<Self> {
        let unique = Unique::of(binding, problems)?;
        let (mut required, mut required_in) = (Vec::new(), Vec::new());
        for (position, decl) in binding.info.fields.iter().enumerate() {
            let field = binding.field(position)?;
            if let Shape::Simple(decl) = &decl.shape {
                required.extend(null_in(field, decl).map(|_| position));
            }
            required_in.extend(required_in_of(field, field, &decl.shape).map(|it| (position, it)));
        }
        let checkers = hooks.iter().flat_map(|at| Checker::all(at.hooks, at.start)).collect();
        Ok(Rules { unique, required, required_in, checkers })
    }

    /// Adds the hooks of kinds that validate to the rules of their models.
    pub(in crate::model) fn add_kinds(models: &mut [Binding], kinds: &[HookedKind]) {
        for kind in kinds {
            for binding in &mut *models {
                if let Some(start) = kind.among.start_in(&binding.info) {
                    binding.rules.checkers.extend(Checker::all(kind.hooks, start));
                }
            }
        }
    }

    /// Extends the rules of mix-ins to all models that have them.
    pub(in crate::model) fn share(models: &mut [Binding]) {
        let mut mixins = Vec::new();
        for binding in &*models {
            let of_type = binding.storage_id();
            mixins.extend(binding.info.mixins.iter().map(|mixin| ((mixin.type_id)(), of_type)));
        }
        // In the order of the types, so that the first model of each rule is always the same one.
        mixins.sort_unstable_by_key(|(_, of_type)| *of_type);
        for rule in models.iter_mut().flat_map(|binding| &mut binding.rules.unique) {
            rule.share(&mixins);
        }
    }
}

/// The encoded form of null.
pub(super) fn null_of(encoding: &dyn Encoding) -> Option<Vec<u8>> {
    encoding.supports_null().then(|| encoding.encode_all(&Value::Null).ok()).flatten()
}

/// How a field of a model that requires a value can be null, where it is stored as `stored`.
fn required(field: &ResolvedField, stored: &ResolvedField) -> NullAs {
    let null = stored.simple().and_then(|simple| null_of(&*simple.encoding));
    NullAs { stored: stored.storage_id, null, field: field.storage_id }
}

/// The null of a part of a field, if the struct cannot have it there.
fn null_in(part: &ResolvedField, decl: &ValueDecl) -> Option<Vec<u8>> {
    // A part that is an `Option` may be null in the struct too.
    null_of(&*part.simple().filter(|_| !decl.optional)?.encoding)
}

/// The nulls that a collection of a model may not have, where it is stored as `stored`.
fn required_in_of(field: &ResolvedField, stored: &ResolvedField, shape: &Shape) -> Option<NullIn> {
    let (key, value) = match (&stored.kind, shape) {
        (ResolvedKind::Set { element }, Shape::Set(decl) | Shape::List(decl)) => {
            (null_in(element, decl), None)
        }
        (ResolvedKind::List { element }, Shape::Set(decl) | Shape::List(decl)) => {
            (None, null_in(element, decl))
        }
        (ResolvedKind::Map { key, value }, Shape::Map(keys, values)) => {
            (null_in(key, keys), null_in(value, values))
        }
        _ => (None, None),
    };
    let (field, stored) = (field.storage_id, stored.storage_id);
    (key.is_some() || value.is_some()).then_some(NullIn { stored, field, key, value })
}

impl Binding {
    /// The changes that the object layer notes for objects of this model.
    fn watched(&self, bundle: &SchemaBundle) -> Result<Option<WatchedType>> {
        let (rules, validates) = (&self.rules, &self.info.validates);
        let mut watched = WatchedType {
            // Required values are left out: those of a new object that are null are noted by
            // themselves.
            created: self.info.singleton
                || !rules.unique.is_empty()
                || validates.any()
                || !rules.checkers.is_empty(),
            any: validates.object || rules.checkers.iter().any(|it| it.fields.is_none()),
            ..WatchedType::default()
        };
        let columns = rules.unique.iter().flat_map(|rule| &rule.columns);
        watched.fields.extend(columns.map(|field| field.storage_id));
        let of_checkers = rules.checkers.iter().filter_map(|it| it.fields.as_ref()).flatten();
        for position in validates.fields.iter().chain(of_checkers) {
            watched.fields.insert(self.field(*position)?.storage_id);
        }
        for position in &rules.required {
            let field = self.field(*position)?;
            watched.required.push(required(field, field));
        }
        watched.required_in.extend(rules.required_in.iter().map(|(_, nulls)| nulls.clone()));
        // A field that is defined differently in another recorded schema has another ID there.
        let types = bundle.schemas().iter();
        for old in types.filter_map(|schema| schema.type_by_storage_id(self.storage_id())) {
            for (position, plan) in self.plan(old).fields() {
                let FieldPlan::Differs(from) = plan else { continue };
                if watched.fields.contains(&self.field(position)?.storage_id) {
                    watched.fields.insert(from.storage_id);
                }
                if rules.required.contains(&position) {
                    watched.required.push(required(self.field(position)?, from));
                }
                if let Some(decl) = self.info.fields.get(position) {
                    let nulls = required_in_of(self.field(position)?, from, &decl.shape);
                    watched.required_in.extend(nulls);
                }
            }
        }
        // Every rule about fields is one about new objects too, so these two decide.
        let nothing = !watched.created && !rules.require_values();
        Ok((!nothing).then_some(watched))
    }
}

/// The changes that the object layer notes for the rules of these models.
pub(in crate::model) fn watched<'b>(
    bindings: impl Iterator<Item = &'b Binding>,
    bundle: &SchemaBundle,
) -> Result<WatchedFields> {
    let mut all = WatchedFields::default();
    for binding in bindings {
        if let Some(watched) = binding.watched(bundle)? {
            all.0.insert(binding.storage_id(), watched);
        }
    }
    Ok(all)
}
