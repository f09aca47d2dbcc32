//! Where the value of each field of a struct comes from when an object is in another schema.

use std::sync::Arc;

use crate::model::bound_fields::BoundFields;
use crate::model::declare::{FieldDecl, Shape, ValueDecl};
use crate::object::Renamed;
use crate::schema::{ResolvedField, ResolvedSimple, ResolvedType};

/// The plan for the fields of one type of another schema. It is made once for each such type.
#[derive(Debug)]
pub(crate) struct Plan {
    /// In the order of the struct's fields.
    fields: Vec<FieldPlan>,
    /// The old fields that no field of the struct takes over.
    pub(crate) leftovers: Vec<Arc<ResolvedField>>,
    /// Whether all values stay as they are, whatever they are. References do not count, since a
    /// field may no longer allow some.
    pub(crate) keeps_all: bool,
}

/// Where the value of one field of the struct comes from.
#[derive(Debug)]
pub(crate) enum FieldPlan {
    /// The old type has the same definition. The value is used where it is.
    Same,
    /// The old type has this field instead, of the same name or a former one.
    Differs(Arc<ResolvedField>),
    /// The old type lacks the field.
    Missing,
}

impl Plan {
    /// The plan for objects of `old`, a type of the same name in another schema, under a model that
    /// declares these fields, which are bound to its own schema.
    pub(crate) fn new(old: &ResolvedType, decls: &[FieldDecl], bound: &BoundFields) -> Self {
        let own_name = |name: &str| decls.iter().any(|decl| decl.name == name);
        let plan = |(position, decl): (usize, &FieldDecl)| {
            let Ok(to) = bound.field(position) else { return FieldPlan::Missing };
            // Names do not matter here: an equal storage ID means an equal definition, which
            // includes the name.
            if old.field_by_storage_id(to.storage_id).is_some() {
                return FieldPlan::Same;
            }
            // A former name that is now the name of another field of the struct belongs to that.
            let former = || decl.was.iter().filter(|name| !own_name(name));
            // The present name comes first: a former name may be that of a field which has come
            // back.
            let from = old.field(decl.name).or_else(|| former().find_map(|name| old.field(name)));
            from.map_or(FieldPlan::Missing, |from| FieldPlan::Differs(Arc::clone(from)))
        };
        let plans: Vec<FieldPlan> = decls.iter().enumerate().map(plan).collect();
        let taken_over = |field: &ResolvedField| {
            plans.iter().enumerate().any(|(position, plan)| match plan {
                FieldPlan::Same => {
                    bound.field(position).is_ok_and(|to| to.storage_id == field.storage_id)
                }
                FieldPlan::Differs(from) => from.storage_id == field.storage_id,
                FieldPlan::Missing => false,
            })
        };
        let leftovers: Vec<_> =
            old.fields.iter().filter(|field| !taken_over(field)).cloned().collect();
        let has_reference = |field: &ResolvedField| {
            field.is_reference() || field.sub_fields().any(|part| part.is_reference())
        };
        let keeps_all = leftovers.is_empty()
            && plans.iter().all(|plan| matches!(plan, FieldPlan::Same))
            // The types that a reference allows are not part of its definition, so a reference may
            // not stay.
            && !old.fields.iter().any(|field| has_reference(field));
        Plan { fields: plans, leftovers, keeps_all }
    }

    /// The plan for the field at a position of the struct.
    pub(crate) fn field(&self, position: usize) -> &FieldPlan {
        self.fields.get(position).unwrap_or(&FieldPlan::Missing)
    }

    /// The plans of all fields, in the order of the struct.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (usize, &FieldPlan)> {
        self.fields.iter().enumerate()
    }
}

impl FieldDecl {
    /// The values of the field: of the field itself, its elements, or its keys and its values.
    pub(crate) fn values(&self) -> [Option<&ValueDecl>; 2] {
        match &self.shape {
            Shape::Simple(value) | Shape::Set(value) | Shape::List(value) => [Some(value), None],
            Shape::Map(key, value) => [Some(key), Some(value)],
            Shape::Counter => [None, None],
        }
    }

    /// The renamed constants of [`FieldDecl::values`].
    pub(crate) fn renamed(&self) -> [Renamed<'static>; 2] {
        self.values().map(|value| value.map_or(&[][..], |value| value.renamed))
    }

    /// Whether an object that lacks the field gets a value that the model states.
    pub(crate) fn has_default(&self) -> bool {
        self.default.is_some()
            || matches!(self.values(), [Some(value), _] if value.initial.is_some() && matches!(self.shape, Shape::Simple(_)))
    }

    /// Whether reading the default of the field's encoding fails, because it is null and the struct
    /// requires a value.
    pub(crate) fn requires_a_value(&self, field: &ResolvedField) -> bool {
        // Collections are empty by default, and counters 0, so nothing is missing.
        let Shape::Simple(value) = &self.shape else { return false };
        let is_null = |simple: &ResolvedSimple| {
            let default = simple.default.as_deref().map(|bytes| simple.encoding.decode_all(bytes));
            // An encoding that is not known has no known default, so nothing is said of it.
            default.is_some_and(|value| value.is_ok_and(|value| value.is_null()))
        };
        !value.optional && field.simple().is_some_and(is_null)
    }
}
