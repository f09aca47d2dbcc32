//! From checked queries to plans.

use permazen::StorageId;

use super::choose::{Chooser, TypeQuery, all_but, conjuncts, sorted, type_scan};
use super::physical::{Ordering, QueryPlan, SetPlan, Source};
use super::shown::shown;
use crate::check::{
    CheckedCondition, CheckedObjects, CheckedObjectsKind, CheckedQuery, CheckedUsing,
};
use crate::error::QueryError;
use crate::mistake::Mistake;
use crate::syntax::SetOperator;
use crate::text::quoted_name;

type Result<T> = std::result::Result<T, QueryError>;

impl Chooser<'_> {
    /// How a query is run.
    pub(super) fn query(&self, query: &CheckedQuery) -> Result<QueryPlan> {
        let (base, conditions) = peeled(&query.objects);
        // The objects of one type can come from an index, so they have a chooser of their own.
        if let CheckedObjectsKind::Type(id) = base.kind {
            return self.of_type(id, conditions, query);
        }
        // An index has the objects of one type only, so it cannot serve a combined set.
        if let CheckedUsing::Index { span, .. } = query.using {
            let what = "`using` with an index is for the objects of one type";
            return Err(Mistake::new(span, what).into());
        }
        // A single ID needs no set: a plan with IDs costs one get.
        let source = match &base.kind {
            CheckedObjectsKind::Id(id) => Source::Ids(vec![*id]),
            _ => Source::Set(self.set(base, &query.using)?),
        };
        let filter = all_but(&conjuncts(&conditions), &[]);
        // A statement that asks for a scan wants no index, so it gets no note on one.
        let is_wanted = !matches!(query.using, CheckedUsing::Scan);
        let no_index = filter.as_ref().filter(|_| is_wanted);
        Ok(QueryPlan {
            no_index: no_index.and_then(|filter| self.whole_types(base, filter)),
            source,
            filter,
            order: sorted(&query.order),
            limit: query.limit,
            notes: Vec::new(),
        })
    }

    /// The note on a condition on a union of whole types, all objects of which are read.
    fn whole_types(&self, objects: &CheckedObjects, filter: &CheckedCondition) -> Option<String> {
        // Only a union of types can be written as a union of queries, each of which has an index.
        let CheckedObjectsKind::Combined(first, rest) = &objects.kind else { return None };
        // With `intersect` or `minus` the parts mean something else than their union.
        let operands = rest
            .iter()
            .map(|(operator, operand)| (*operator == SetOperator::Union).then_some(operand));
        let names = std::iter::once(Some(&**first)).chain(operands).map(|operand| {
            // Only a whole type can be written again with a condition of its own.
            let CheckedObjectsKind::Type(id) = operand?.kind else { return None };
            Some(quoted_name(&self.catalog.type_with_id(id)?.name))
        });
        let names: Vec<_> = names.collect::<Option<_>>()?;
        let filter = shown(filter);
        let each: Vec<_> = names.iter().map(|name| format!("({name} where {filter})")).collect();
        Some(format!(
            "all objects of {} are read, because a condition on a union is served by no index; with indexes: {}",
            names.join(" and "),
            each.join(" union ")
        ))
    }

    fn of_type(
        &self,
        id: StorageId,
        conditions: Vec<&CheckedCondition>,
        query: &CheckedQuery,
    ) -> Result<QueryPlan> {
        // The statement was checked with schemas that had the type.
        let Some(entry) = self.catalog.type_with_id(id) else {
            return Err(QueryError::SchemasChanged);
        };
        self.plan(&TypeQuery {
            entry,
            conditions,
            order: &query.order,
            limit: query.limit,
            using: &query.using,
        })
    }

    /// How a set is read in the order of the IDs.
    fn set(&self, objects: &CheckedObjects, using: &CheckedUsing) -> Result<SetPlan> {
        Ok(match &objects.kind {
            CheckedObjectsKind::Type(id) => match self.catalog.type_with_id(*id) {
                Some(entry) => SetPlan::Type(type_scan(entry, &[])),
                None => return Err(QueryError::SchemasChanged),
            },
            CheckedObjectsKind::Id(id) => SetPlan::Id(*id),
            // A condition inside a set can use an index of its own, so it is planned as a query.
            CheckedObjectsKind::Where(..) => {
                let query = CheckedQuery {
                    objects: objects.clone(),
                    // A set has no order: the sets are read together by ID.
                    order: Vec::new(),
                    limit: None,
                    using: using.clone(),
                };
                let mut plan = self.query(&query)?;
                // Alone, the query could come in the order of an index. Sets are read together by
                // ID.
                plan.order = Ordering::ById;
                SetPlan::Query(Box::new(plan))
            }
            CheckedObjectsKind::Path(from, steps) => {
                SetPlan::Steps(Box::new(self.set(from, using)?), steps.clone())
            }
            CheckedObjectsKind::Combined(first, rest) => {
                let rest = rest
                    .iter()
                    .map(|(operator, operand)| Ok((*operator, self.set(operand, using)?)))
                    .collect::<Result<_>>()?;
                SetPlan::Combined(Box::new(self.set(first, using)?), rest)
            }
        })
    }
}

/// A set without its conditions, and these.
fn peeled(objects: &CheckedObjects) -> (&CheckedObjects, Vec<&CheckedCondition>) {
    let mut base = objects;
    let mut conditions = Vec::new();
    while let CheckedObjectsKind::Where(from, condition) = &base.kind {
        // The inner condition comes first, as the statement has it: `where a` before `where b`.
        conditions.insert(0, condition);
        base = from;
    }
    (base, conditions)
}
