//! Walking paths.

use std::collections::BTreeSet;

use super::way::{Step, TypeNames, Way};
use crate::id::{ObjId, StorageId};
use crate::model::binding::{Binding, Models};
use crate::model::error::Result;
use crate::model::tx::Tx;
use crate::object::{IdFilter, IdSet, PathStep};

/// A path in a transaction.
struct Walk<'a, 't> {
    tx: &'t Tx,
    steps: &'a [Step],
    /// Which types are allowed before the first step, after it, and so on; `None` allows all.
    allowed: &'a [Option<Vec<StorageId>>],
}

impl<'t> Walk<'_, 't> {
    /// The objects that the path reaches.
    fn from(&self, starts: Vec<ObjId>) -> Result<IdSet<'t>> {
        let tx = self.tx;
        let starts = starts.into_iter().filter(|id| self.allows(0, *id));
        let mut reached: BTreeSet<ObjId> = starts.collect();
        for (at, step) in (1..).zip(self.steps) {
            let field = step.field.of(tx.models()?)?;
            if at == self.steps.len() && step.back {
                let sets = reached.iter().map(|id| field.referrers(tx, *id));
                let sets = sets.collect::<Result<Vec<_>>>()?;
                let all = tx.core.id_set([])?.union_all(sets);
                let allowed = self.allowed.get(at).and_then(Option::as_ref);
                return Ok(allowed.map_or(all.clone(), |types| all.of_types(types.iter().copied())));
            }
            let mut next = BTreeSet::new();
            for id in reached {
                if step.back {
                    for holder in field.referrers(tx, id)?.iter() {
                        next.insert(holder?);
                    }
                } else {
                    field.each_reference(tx, id, &mut |target| {
                        next.insert(target);
                    })?;
                }
            }
            next.retain(|id| self.allows(at, *id));
            reached = next;
        }
        Ok(tx.core.id_set(reached)?)
    }

    fn allows(&self, at: usize, id: ObjId) -> bool {
        match self.allowed.get(at) {
            Some(Some(types)) => types.contains(&id.storage_id()),
            _ => true,
        }
    }
}

impl Step {
    /// The types that can be at the end of the step where the field is, if `owner`, or else at the
    /// end to which it refers. `None` means all types.
    fn types(&self, owner: bool, models: &Models) -> Result<Option<BTreeSet<StorageId>>> {
        if owner {
            Ok(Some(self.field.of(models)?.types()))
        } else {
            storage_ids(self.field.to, models)
        }
    }
}

impl Way {
    /// The objects that the path reaches from these.
    pub(super) fn follow<'t>(&self, tx: &'t Tx, starts: Vec<ObjId>) -> Result<IdSet<'t>> {
        let allowed = self.allowed(tx.models()?)?;
        Walk { tx, steps: &self.steps, allowed: &allowed }.from(starts)
    }

    /// The path as the object layer sees it, for models that are bound.
    pub(in crate::model) fn resolve(
        &self,
        models: &Models,
    ) -> Result<(Vec<PathStep>, Vec<Option<IdFilter>>)> {
        let step = |step: &Step| {
            let field = step.field.of(models)?.storage_id()?;
            Ok(if step.back { PathStep::Inverse(field) } else { PathStep::Forward(field) })
        };
        let steps = self.steps.iter().map(step).collect::<Result<_>>()?;
        let filters = self.allowed(models)?.into_iter().map(|types| types.map(IdFilter::of_types));
        Ok((steps, filters.collect()))
    }

    /// Which types are allowed before the first step, after it, and so on: those that are declared
    /// there, as far as the steps before and after can have them.
    fn allowed(&self, models: &Models) -> Result<Vec<Option<Vec<StorageId>>>> {
        let position = |(at, declared): (usize, &TypeNames)| {
            let ends = at.checked_sub(1).and_then(|before| self.steps.get(before));
            let begins = self.steps.get(at);
            let wanted = [
                Some(storage_ids(*declared, models)),
                ends.map(|step| step.types(step.back, models)),
                begins.map(|step| step.types(!step.back, models)),
            ];
            let mut allowed: Option<BTreeSet<StorageId>> = None;
            for types in wanted.into_iter().flatten() {
                let Some(types) = types? else { continue };
                allowed = Some(match allowed {
                    None => types,
                    Some(before) => &before & &types,
                });
            }
            Ok(allowed.map(|types| types.into_iter().collect()))
        };
        self.types.iter().enumerate().map(position).collect()
    }
}

/// The storage IDs of the named types. `None` means all types.
fn storage_ids(names: TypeNames, models: &Models) -> Result<Option<BTreeSet<StorageId>>> {
    let Some(names) = names else { return Ok(None) };
    let id_of = |name: &&'static str| models.named(name).map(Binding::storage_id);
    names.iter().map(id_of).collect::<Result<_>>().map(Some)
}
