//! Walking typed paths.

use std::collections::BTreeSet;

use super::step::ReferenceField;
use super::typed::Step;
use crate::id::{ObjId, StorageId};
use crate::model::error::Result;
use crate::model::objects::Objs;
use crate::model::tx::Tx;
use crate::object::IdSet;

/// A path in a transaction.
pub(super) struct Walk<'a, 't> {
    pub(super) tx: &'t Tx,
    pub(super) steps: &'a [Step],
    /// Which types are allowed before the first step, after it, and so on; `None` allows all.
    pub(super) allowed: &'a [Option<Vec<StorageId>>],
}

impl<'t> Walk<'_, 't> {
    /// What the path reaches.
    pub(super) fn from(&self, starts: Vec<ObjId>) -> Result<IdSet<'t>> {
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

/// The objects that refer to `target` through a field.
pub(crate) fn referrers<F: ReferenceField>(
    tx: &Tx,
    field: F,
    target: ObjId,
) -> Result<Objs<'_, F::Owner>> {
    Ok(Objs::new(tx, field.at().of(tx.models()?)?.referrers(tx, target)?))
}
