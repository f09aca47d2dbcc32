//! Which index a query on the objects of a type reads. The guide has the rule:
//! docs/src/query-language.md#which-index-is-read.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

use permazen::__internal::object::IndexKind;
use permazen::schema::SchemaIndex;
use permazen::{ObjId, StorageId};

use super::candidate::{Candidate, Wanted, is_hopeless};
use super::other_way::other_way;
use super::physical::{IndexScan, Ordering, QueryPlan, Source, TypeScan, comes_by_id, repeats};
use crate::catalog::{Catalog, IndexEntry, TypeEntry};
use crate::check::{CheckedCondition, CheckedOrder, CheckedUsing, Matcher};
use crate::error::QueryError;
use crate::mistake::Mistake;
use crate::syntax::Special;
use crate::text::escaped;

type Result<T> = std::result::Result<T, QueryError>;

/// Chooses how objects are found.
pub(super) struct Chooser<'p> {
    pub(super) catalog: &'p Catalog,
    /// Whether there are objects of a type in a schema.
    pub(super) occupied: &'p dyn Fn(StorageId, SchemaIndex) -> Result<bool>,
}

/// A query on the objects of one type.
pub(super) struct TypeQuery<'q> {
    pub(super) entry: &'q TypeEntry,
    /// The conditions that the objects must meet.
    pub(super) conditions: Vec<&'q CheckedCondition>,
    pub(super) order: &'q [CheckedOrder],
    pub(super) limit: Option<u64>,
    pub(super) using: &'q CheckedUsing,
}

/// A candidate, and the schemas with objects that it lacks.
struct Usable {
    candidate: Candidate,
    completed: Vec<SchemaIndex>,
}

impl Chooser<'_> {
    /// How the objects of a query on one type are found.
    pub(super) fn plan(&self, query: &TypeQuery<'_>) -> Result<QueryPlan> {
        let conditions = conjuncts(&query.conditions);
        let object_type = query.entry.storage_id;
        let wanted = Wanted { object_type, conditions: &conditions, order: query.order };
        let mut plan = QueryPlan {
            // If no version can meet the conditions, this plan stays as it is, and nothing is read.
            source: Source::Nothing,
            filter: None,
            order: sorted(query.order),
            limit: query.limit,
            notes: Vec::new(),
            no_index: None,
        };
        // A condition can be hopeless in one schema only, so the schemas are looked at one by one.
        let possible: Vec<_> = query
            .entry
            .versions
            .iter()
            .map(|version| version.schema)
            .filter(|schema| !is_hopeless(&wanted, (object_type, *schema)))
            .collect();
        if possible.is_empty() {
            return Ok(plan);
        }
        let scan = matches!(query.using, CheckedUsing::Scan);
        // A statement that names an index or `scan` gets that, even if it gives IDs too.
        if matches!(query.using, CheckedUsing::Any)
            && let Some((ids, met)) = ids_of(&conditions, object_type)
        {
            plan.source = Source::Ids(ids);
            plan.filter = all_but(&conditions, &[met]);
            return Ok(plan);
        }
        let mut candidates = Vec::new();
        // Indexes of one name belong together: each schema can have one of its own.
        let indexes = indexes(query);
        if !scan {
            for candidate in self.candidates(query, &indexes, &wanted)? {
                candidates.push(self.completed(candidate, &possible, object_type)?);
            }
        }
        if let Some(best) = best(candidates, &mut plan.notes, query) {
            // Objects that the index lacks come after its entries, so its order would not hold.
            if best.candidate.order.is_some() && best.completed.is_empty() {
                plan.order = ordering(&best.candidate, query.order);
            }
            plan.filter = all_but(&conditions, &best.candidate.met);
            plan.source = Source::Index(index_scan(best, query.entry, &conditions));
            // An object that can come several times comes once if the IDs are sorted.
            if query.order.is_empty() && !comes_by_id(&plan.source) && !repeats(&plan.source) {
                plan.order = Ordering::AsFound;
            }
            return Ok(plan);
        }
        // An `or` is used last: one index that serves a condition reads fewer entries than several.
        if !scan && let Some(found) = self.any_of(query, &indexes, &conditions, &possible)? {
            // Another condition beside the `or` is not met by its indexes, so it stays in the
            // filter.
            let is_met = found.all_met && conditions.len() == 1;
            plan.filter = if is_met { None } else { all_but(&conditions, &[]) };
            plan.source = Source::AnyOf(found.scans);
            return Ok(plan);
        }
        // The statement names an index, and a scan in its place would surprise.
        if let CheckedUsing::Index { text, span, .. } = query.using {
            let what = format!("{} serves no condition and no order of this query", escaped(text));
            return Err(Mistake::new(*span, what).into());
        }
        if !scan {
            plan.no_index = lacking(query, &conditions).map(|why| {
                match other_way(self.catalog, query.entry, &conditions) {
                    Some(other) => format!("{why}; with indexes: {other}"),
                    None => why,
                }
            });
        }
        // The keys of a type are ordered by ID, so the greatest ID is found without a sort.
        if query.order.first().is_some_and(|by| is_id(by) && by.descending) {
            plan.order = Ordering::ByIdFromEnd;
        }
        // A scan narrows the IDs only, and not exactly, so all conditions stay in the filter.
        plan.filter = all_but(&conditions, &[]);
        plan.source = Source::Type(type_scan(query.entry, &conditions));
        Ok(plan)
    }

    /// The use of each index of the type.
    fn candidates(
        &self,
        query: &TypeQuery<'_>,
        indexes: &[Vec<IndexEntry>],
        wanted: &Wanted<'_>,
    ) -> Result<Vec<Candidate>> {
        let is_shared = |id| self.is_shared(id, query.entry.storage_id);
        let of = |indexes: &[_]| Candidate::of(wanted, query.entry, indexes, is_shared);
        let mut candidates = Vec::new();
        for together in indexes {
            match of(&self.with_objects(together, query.entry.storage_id)?) {
                Some(candidate) => candidates.push(candidate),
                // They do not meet the same conditions, but each can meet some.
                None if is_composite(together) => {
                    candidates
                        .extend(together.iter().filter_map(|one| of(std::slice::from_ref(one))));
                }
                // One filter holds for all parts, so indexes on fields of one name are read
                // together or not at all.
                None => {}
            }
        }
        Ok(candidates)
    }

    /// Of several indexes that belong together, the ones of schemas that have objects: only one
    /// index has an order. All of them if no schema has any.
    fn with_objects<'i>(
        &self,
        indexes: &'i [IndexEntry],
        object_type: StorageId,
    ) -> Result<Cow<'i, [IndexEntry]>> {
        // A single index is used in any case, so the seeks are saved.
        if indexes.len() < 2 {
            return Ok(indexes.into());
        }
        let mut found = Vec::new();
        for index in indexes {
            for schema in &index.schemas {
                if (self.occupied)(object_type, *schema)? {
                    found.push(index.clone());
                    break;
                }
            }
        }
        Ok(if found.is_empty() { indexes.into() } else { found.into() })
    }

    /// Whether objects of another type have entries in an index.
    fn is_shared(&self, index: StorageId, object_type: StorageId) -> bool {
        let item = self.catalog.schemas().item(index);
        // No other type uses a storage ID that the schemas no longer have.
        item.is_some_and(|item| {
            item.occurrences.iter().any(|of| of.object_type.storage_id != object_type)
        })
    }

    /// The candidate with the schemas that have objects which it lacks.
    fn completed(
        &self,
        candidate: Candidate,
        possible: &[SchemaIndex],
        object_type: StorageId,
    ) -> Result<Usable> {
        let mut completed = Vec::new();
        for schema in possible {
            // A schema without objects needs no completion, and one seek tells.
            if !candidate.schemas.contains(schema) && (self.occupied)(object_type, *schema)? {
                completed.push(*schema);
            }
        }
        Ok(Usable { candidate, completed })
    }

    /// If one of the conditions is an `or` each of whose branches has an index: these indexes.
    fn any_of(
        &self,
        query: &TypeQuery<'_>,
        indexes: &[Vec<IndexEntry>],
        conditions: &[&CheckedCondition],
        possible: &[SchemaIndex],
    ) -> Result<Option<AnyOf>> {
        // Only an `or` at the top can be replaced: its union of entries has all objects that can
        // match.
        for condition in conditions {
            let CheckedCondition::Or(branches) = condition else { continue };
            let mut found = AnyOf { scans: Vec::new(), all_met: true };
            let mut all_have_one = true;
            for branch in branches {
                // One branch without an index makes the whole `or` a scan.
                all_have_one &= self.branch(query, indexes, branch, possible, &mut found)?;
            }
            if all_have_one {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Adds the index for a branch of an `or`. Returns `false` if there is none.
    fn branch(
        &self,
        query: &TypeQuery<'_>,
        indexes: &[Vec<IndexEntry>],
        branch: &CheckedCondition,
        possible: &[SchemaIndex],
        found: &mut AnyOf,
    ) -> Result<bool> {
        let conditions = conjuncts(&[branch]);
        let object_type = query.entry.storage_id;
        // The order does not matter: the entries of several indexes are sorted by ID.
        let wanted = Wanted { object_type, conditions: &conditions, order: &[] };
        let mut possible = possible.to_vec();
        possible.retain(|schema| !is_hopeless(&wanted, (object_type, *schema)));
        // No object meets this branch.
        if possible.is_empty() {
            return Ok(true);
        }
        let mut candidates = Vec::new();
        for candidate in self.candidates(query, indexes, &wanted)? {
            candidates.push(self.completed(candidate, &possible, object_type)?);
        }
        // An index that only has the order would read all objects for one branch.
        candidates.retain(|usable| usable.candidate.serves_conditions());
        let Some(best) = best(candidates, &mut Vec::new(), query) else { return Ok(false) };
        // If a branch has a part that its index does not serve, the `or` must be tested again.
        found.all_met &= best.candidate.met.len() == conditions.len();
        found.scans.push(index_scan(best, query.entry, &conditions));
        Ok(true)
    }
}

/// Whether these are composite indexes.
fn is_composite(indexes: &[IndexEntry]) -> bool {
    indexes.iter().all(|index| index.kind == IndexKind::Composite)
}

/// The indexes of the type that can be used, in groups that belong together: indexes on fields of
/// one name, and composite ones of one name that are on fields of the same names in the same order.
fn indexes(query: &TypeQuery<'_>) -> Vec<Vec<IndexEntry>> {
    let indexes = query.entry.indexes().into_iter().filter(|index| match query.using {
        CheckedUsing::Any => true,
        CheckedUsing::Scan => false,
        // A storage ID can be shared by types, but the statement names the index of one type.
        CheckedUsing::Index { storage_ids, object_type, .. } => {
            *object_type == query.entry.storage_id && storage_ids.contains(&index.storage_id)
        }
    });
    // The order of the map makes the choice the same each time.
    let mut groups = BTreeMap::<(Vec<Arc<str>>, Arc<str>), Vec<_>>::new();
    for index in indexes {
        let columns = match index.kind {
            // Composite indexes of one name can be on other fields in another schema.
            IndexKind::Composite => {
                index.fields.iter().map(|field| Arc::clone(&field.name)).collect()
            }
            _ => Vec::new(),
        };
        groups.entry((columns, Arc::clone(&index.name))).or_default().push(index);
    }
    groups.into_values().collect()
}

/// Indexes for the branches of an `or`.
struct AnyOf {
    scans: Vec<IndexScan>,
    /// Whether their entries meet the branches.
    all_met: bool,
}

/// The candidate that the rule chooses.
fn best(candidates: Vec<Usable>, notes: &mut Vec<String>, query: &TypeQuery<'_>) -> Option<Usable> {
    // Without an order in the statement, the order of an index is worth nothing.
    let by_order = |usable: &Usable| usable.candidate.order.is_some() && !query.order.is_empty();
    let mut usable = Vec::new();
    for one in candidates {
        // An index that serves a condition is of use even if it lacks objects: these are read as
        // well.
        if one.candidate.serves_conditions() {
            usable.push(one);
        } else if by_order(&one) {
            // An index for the order alone must have all objects: the missing ones have no place in
            // it.
            if one.completed.is_empty() {
                usable.push(one);
            } else {
                notes.push(format!(
                    "index {}.{} has the order, but not the objects of {}",
                    escaped(&query.entry.name),
                    escaped(&one.candidate.name),
                    schemas(&one.completed)
                ));
            }
        }
    }
    // The order of these parts is the rule of the guide: the first that differs decides.
    usable.into_iter().min_by_key(|usable| {
        let Usable { candidate, completed } = usable;
        let has_order = by_order(usable) && completed.is_empty();
        (
            !candidate.serves_conditions(),
            !completed.is_empty(),
            Reverse(candidate.equal),
            !candidate.range,
            !has_order,
            // The last part makes the choice the same in each run.
            candidate.storage_id,
        )
    })
}

/// Schemas in words.
pub(super) fn schemas(schemas: &[SchemaIndex]) -> String {
    let list: Vec<_> = schemas.iter().map(ToString::to_string).collect();
    match list.as_slice() {
        [one] => format!("schema {one}"),
        _ => format!("schemas {}", list.join(", ")),
    }
}

fn index_scan(usable: Usable, entry: &TypeEntry, conditions: &[&CheckedCondition]) -> IndexScan {
    let Usable { candidate, completed } = usable;
    IndexScan {
        name: format!("{}.{}", entry.name, candidate.name),
        object_type: entry.storage_id,
        by_id: candidate.by_id && completed.is_empty(),
        parts: candidate.parts,
        // Entries meet the conditions of the index already; objects outside it must meet all of
        // them.
        condition: if completed.is_empty() { None } else { all_but(conditions, &[]) },
        completed,
    }
}

fn ordering(candidate: &Candidate, order: &[CheckedOrder]) -> Ordering {
    match candidate.order {
        _ if order.is_empty() => Ordering::ById,
        // All objects have the same values.
        Some(_) if candidate.by_id => Ordering::ById,
        Some(reverse) => Ordering::ByIndex { reverse },
        None => sorted(order),
    }
}

/// The order without an index.
pub(super) fn sorted(order: &[CheckedOrder]) -> Ordering {
    match order {
        [] => Ordering::ById,
        // All IDs differ, so what comes after them in the order does not matter.
        [first, ..] if is_id(first) && !first.descending => Ordering::ById,
        order => Ordering::Sorted(order.to_vec()),
    }
}

fn is_id(by: &CheckedOrder) -> bool {
    by.path.hops.is_empty() && by.path.special == Some(Special::Id)
}

/// The parts of conditions that must all be met.
pub(super) fn conjuncts<'q>(conditions: &[&'q CheckedCondition]) -> Vec<&'q CheckedCondition> {
    let mut parts = Vec::new();
    for condition in conditions {
        match condition {
            CheckedCondition::And(inner) => {
                // An `and` in an `and` is opened too, so that an index sees each part.
                parts.extend(conjuncts(&inner.iter().collect::<Vec<_>>()));
            }
            condition => parts.push(*condition),
        }
    }
    parts
}

/// The conditions but for those at some positions.
pub(super) fn all_but(conditions: &[&CheckedCondition], met: &[usize]) -> Option<CheckedCondition> {
    let met: HashSet<usize> = met.iter().copied().collect();
    let rest = conditions.iter().enumerate().filter(|(at, _)| !met.contains(at));
    let mut rest: Vec<_> = rest.map(|(_, condition)| (*condition).clone()).collect();
    match rest.len() {
        // An `and` with no part or with one is no `and`.
        0 | 1 => rest.pop(),
        _ => Some(CheckedCondition::And(rest)),
    }
}

/// The matcher that conditions put on the object's own ID.
fn about_id(condition: &CheckedCondition) -> Option<&Matcher> {
    let CheckedCondition::Test(test) = condition else { return None };
    // Of a path with hops, the ID is that of another object.
    let is_id = test.path.hops.is_empty() && test.path.special == Some(Special::Id);
    test.matchers.first().filter(|_| is_id)?.as_ref()
}

/// If a condition gives the IDs: those of the type, and the position of the condition.
fn ids_of(conditions: &[&CheckedCondition], object_type: StorageId) -> Option<(Vec<ObjId>, usize)> {
    let (at, values) =
        conditions.iter().enumerate().find_map(|(at, condition)| match about_id(condition)? {
            Matcher::Equal(id) => Some((at, std::slice::from_ref(id))),
            Matcher::OneOf(ids) => Some((at, ids.as_slice())),
            // `!=` leaves nearly all IDs, and a range of them is a scan.
            Matcher::NotEqual(_) | Matcher::Within(..) | Matcher::Decimal(_) => None,
        })?;
    // A malformed ID is no object's, so it is left out, like the IDs of other types.
    let ids = values.iter().filter_map(|bytes| ObjId::from_slice(bytes).ok());
    // The objects of other types do not belong to the query.
    Some((ids.filter(|id| id.storage_id() == object_type).collect(), at))
}

/// All objects of a type, as far as conditions on the ID do not exclude them.
pub(super) fn type_scan(entry: &TypeEntry, conditions: &[&CheckedCondition]) -> TypeScan {
    let (mut min, mut max) = entry.storage_id.key_range();
    // The plan tells whether the range is narrowed, so the whole range is kept to compare.
    let whole = (min.clone(), max.clone());
    for condition in conditions {
        // Only ranges narrow the scan here: single IDs were looked at before.
        let Some(Matcher::Within(lower, upper)) = about_id(condition) else { continue };
        // An ID is followed by the pairs of its fields, which belong to it.
        let next =
            |id: &[u8]| permazen::__internal::layout::prefix_end(id).unwrap_or_else(|| id.to_vec());
        let lower = match lower {
            Bound::Unbounded => None,
            Bound::Included(id) => Some(id.clone()),
            Bound::Excluded(id) => Some(next(id)),
        };
        let upper = match upper {
            Bound::Unbounded => None,
            Bound::Excluded(id) => Some(id.clone()),
            Bound::Included(id) => Some(next(id)),
        };
        // Several conditions on the ID all hold, so the range is where they overlap.
        min = min.max(lower.unwrap_or_default());
        if let Some(upper) = upper {
            max = max.min(upper);
        }
    }
    // Bounds that exclude each other must not give an inverted range, which stores refuse.
    max = max.max(min.clone());
    let is_part = (&min, &max) != (&whole.0, &whole.1);
    TypeScan {
        name: Arc::clone(&entry.name),
        object_type: entry.storage_id,
        schemas: entry.versions.iter().map(|version| version.schema).collect(),
        ids: (min, Some(max)),
        is_part,
    }
}

/// Why all objects are read, if an index would help.
fn lacking(query: &TypeQuery<'_>, conditions: &[&CheckedCondition]) -> Option<String> {
    let name = escaped(&query.entry.name);
    // A condition on the ID narrows the scan itself, so an index is not what is missing.
    let about_ids = conditions.iter().any(|condition| about_id(condition).is_some());
    match conditions {
        // Without a limit, all objects are wanted anyway, and the sort is the smaller part.
        [] if query.order.first().is_none_or(is_id) || query.limit.is_none() => None,
        [] => Some(format!("all objects of {name} are read, because no index has the order")),
        _ if about_ids => None,
        _ => Some(format!("all objects of {name} are read, because no index serves the condition")),
    }
}
