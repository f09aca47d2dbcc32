//! The functions that the object layer calls on the models when an object moves: they give the new
//! content of the object, and the old values for hooks.

use super::plan::FieldPlan;
use super::upgrade::{Move, after_move, is_given, judge_dropped, push};
use crate::model::binding::{Binding, Models};
use crate::model::error::{About, Error, Result, about};
use crate::object::{self, Converter, Moving, ObjectBuilder, ObjectData, Transaction};

impl Converter for Models {
    fn convert(&self, tx: &Transaction, moving: &Moving<'_>) -> object::Result<Option<ObjectData>> {
        // A type without a model keeps the rules of the object layer.
        let Some(binding) = self.of_type(moving.id.storage_id()) else { return Ok(None) };
        // A copy can move an object to yet another schema. Nothing is converted then.
        let content = if moving.kept.object_type().schema != binding.fields.object_type.schema {
            judge_dropped(self.evolution(), binding, moving).map(|()| None)
        } else {
            let plan = binding.plan(moving.old.object_type());
            // Nothing is converted: all values stay as they are. This is the common case, for
            // example if only indexes have changed.
            if binding.info.upgrade_with.is_none() && plan.keeps_all {
                return Ok(None);
            }
            Move::new(self, binding, tx, moving, plan).and_then(Move::content)
        };
        content.map_err(refused)
    }

    fn before(&self, tx: &Transaction, moving: &Moving<'_>) -> object::Result<Option<ObjectData>> {
        match self.of_type(moving.id.storage_id()) {
            Some(binding)
                if moving.kept.object_type().schema == binding.fields.object_type.schema =>
            {
                before(self, binding, tx, moving).map_err(refused)
            }
            _ => Ok(None),
        }
    }
}

fn refused(error: Error) -> object::Error {
    match error {
        // The object layer knows its own errors, and acts on some of them.
        Error::Object(error) => error,
        error => object::Error::MoveRefused(Box::new(error)),
    }
}

/// The content that an object keeps, with the old values of the watched fields that the caller
/// gives, as far as these are converted or a default that the model states.
fn before(
    models: &Models,
    binding: &Binding,
    tx: &Transaction,
    moving: &Moving<'_>,
) -> Result<Option<ObjectData>> {
    let plan = binding.plan(moving.old.object_type());
    let mut positions = Vec::new();
    for (position, field) in plan.fields().filter(|(at, _)| is_given(binding, moving, *at)) {
        let (Some(decl), to) = (binding.info.fields.get(position), binding.field(position)?) else {
            continue;
        };
        // A field that is kept as it is, or that has no old value, needs no other old value.
        let is_kept = matches!(field, FieldPlan::Same)
            || (binding.is_missing(&plan, position) && !decl.has_default());
        if !is_kept && !to.is_counter() && tx.is_monitored(&binding.fields.object_type, to) {
            positions.push(position);
        }
    }
    if positions.is_empty() {
        return Ok(None);
    }
    let seen = |positions: &[usize]| {
        let seen = after_move(models, binding, tx, (moving.id, moving.old), positions);
        match seen {
            // A failure of the store must not pass for a value that cannot be converted.
            Err(error) if about(&error) != About::Transaction => Ok(None),
            seen => seen.map(Some),
        }
    };
    let mut new = ObjectBuilder::of(moving.kept);
    let mut take = |positions: &[usize], seen: &ObjectData| -> Result<()> {
        for &position in positions {
            let to = binding.field(position)?;
            // The kept content may have the field already, as the object layer sees it.
            new.forget(to);
            push(&mut new, to, seen.pairs(to));
        }
        Ok(())
    };
    match seen(&positions)? {
        Some(all) => take(&positions, &all)?,
        // If one value cannot be converted, the others are converted one by one.
        None => {
            for at in &positions {
                let one = std::slice::from_ref(at);
                if let Some(seen) = seen(one)? {
                    take(one, &seen)?;
                }
            }
        }
    }
    Ok(Some(new.finish()))
}
