//! Conversions that a model states for a field, and that are not called for the objects of a
//! recorded schema, because the field has the same definition there (docs/src/evolution.md).

use std::sync::Arc;

use super::counted::count;
use super::plan::FieldPlan;
use super::report::NeverCalled;
use crate::model::binding::{Binding, Bindings, Models};
use crate::model::declare::{FieldDecl, Upgrade};
use crate::model::error::Result;
use crate::object::Transaction;
use crate::schema::Schema;

/// The statement of a model for a field that has the same definition. A statement of a model for
/// all of its fields is meant for those that have changed.
fn stated(decl: &FieldDecl) -> Option<&'static str> {
    match (decl.upgrade_with, decl.upgrade) {
        (Some(_), _) => Some("upgrade_with"),
        // A statement for the whole model is not meant for each of its fields.
        (None, Some(Upgrade::Reset)) if !decl.is_upgrade_of_all => Some("upgrade = \"reset\""),
        _ => None,
    }
}

/// Whether a model states a conversion for a field.
pub(super) fn states_conversions(models: &Models) -> bool {
    models.iter().any(|binding| binding.info.fields.iter().any(|decl| stated(decl).is_some()))
}

/// The conversions of the models that are not called for some recorded schema. Cost: nothing if no
/// model states one; otherwise as for the report, for the types concerned.
pub(crate) fn never_called(tx: &Transaction, bindings: &Bindings) -> Result<Vec<NeverCalled>> {
    let mut found = Vec::new();
    for binding in bindings.models().iter() {
        for (position, decl) in binding.info.fields.iter().enumerate() {
            if let Some(stated) = stated(decl) {
                found.extend(of_field(tx, bindings, binding, position, stated)?);
            }
        }
    }
    Ok(found)
}

fn of_field(
    tx: &Transaction,
    bindings: &Bindings,
    binding: &Binding,
    position: usize,
    stated: &'static str,
) -> Result<Vec<NeverCalled>> {
    let bundle = tx.bundle();
    let name = binding.info.name;
    let with_type =
        |schema: &Arc<Schema>| Some((Arc::clone(schema), schema.object_type(name)?.clone()));
    let types: Vec<_> = bundle.schemas().iter().filter_map(with_type).collect();
    let is_own = |schema: &Schema| schema.index == bindings.schema.index;
    let is_same = |old| matches!(binding.plan(old).field(position), FieldPlan::Same);
    let called = types.iter().any(|(schema, old)| !is_own(schema) && !is_same(old));
    let mut found = Vec::new();
    for (schema, old) in &types {
        // The schema of the models is named only if the conversion is called for no other schema.
        if is_own(schema) && called || !is_own(schema) && !is_same(old) {
            continue;
        }
        let objects = count(tx, old)?;
        // New objects are in the schema of the models from the beginning, so without any, nothing
        // is missed there.
        if is_own(schema) && objects.counted == 0 {
            continue;
        }
        let field = binding.info.fields.get(position).map_or("", |decl| decl.name);
        found.push(NeverCalled {
            object_type: name.to_owned(),
            field: field.to_owned(),
            stated: stated.to_owned(),
            schema: schema.id,
            number: schema.index.get(),
            objects,
            called_for_others: called,
        });
    }
    Ok(found)
}

/// Says which conversions are called for no recorded schema although there are objects.
pub(crate) fn warn_of_never_called(tx: &Transaction, bindings: &Bindings) -> Result<()> {
    // Objects that other transactions store meanwhile do not matter.
    let found = tx.untracked(|tx| never_called(tx, bindings))?;
    for it in found.iter().filter(|it| it.objects.counted > 0 && !it.called_for_others) {
        tracing::warn!(object_type = it.object_type, field = it.field, schema = it.number, "{it}");
    }
    Ok(())
}
