//! The use of an index for a query: the conditions that its entries meet, and their order.

use std::collections::BTreeSet;
use std::sync::Arc;

use permazen::__internal::object::IndexKind;
use permazen::StorageId;
use permazen::schema::{ResolvedField, SchemaIndex};

use super::known::known;
use super::physical::{EntryShape, IndexPart, Span, is_of_fields};
use super::spans::{self, Range};
use crate::catalog::{IndexEntry, TypeEntry};
use crate::check::{
    Access, CheckedCondition, CheckedOrder, CheckedPath, Matcher, Read, Test, Version,
    counter_encoding,
};
use crate::syntax::Special;

/// The conditions on objects of a type that must all be met, and the order.
pub(super) struct Wanted<'q> {
    /// The type.
    pub(super) object_type: StorageId,
    pub(super) conditions: &'q [&'q CheckedCondition],
    pub(super) order: &'q [CheckedOrder],
}

/// The use of an index for a query.
pub(super) struct Candidate {
    /// The name of the index.
    pub(super) name: Arc<str>,
    /// The smallest storage ID of its parts.
    pub(super) storage_id: StorageId,
    pub(super) parts: Vec<IndexPart>,
    /// The schemas whose objects are in it.
    pub(super) schemas: BTreeSet<SchemaIndex>,
    /// How many columns have given values.
    pub(super) equal: usize,
    /// Whether the column after these has bounds.
    pub(super) range: bool,
    /// The positions of the conditions that its entries meet.
    pub(super) met: Vec<usize>,
    /// Whether its entries are in the order that is wanted; from the end if it is `Some(true)`.
    pub(super) order: Option<bool>,
    /// Whether the entries that are read have the order of the IDs, each once.
    pub(super) by_id: bool,
}

/// The bounds that conditions put on the columns of an index.
struct Columns {
    /// The values of the first columns.
    equal: Vec<Matcher>,
    /// The bounds of the column after these, and as they are shown.
    range: Option<(Range, Range)>,
    met: Vec<usize>,
}

impl Candidate {
    /// The use of the indexes of one name together; `None` if they are of no use.
    pub(super) fn of(
        wanted: &Wanted<'_>,
        entry: &TypeEntry,
        indexes: &[IndexEntry],
        is_shared: impl Fn(StorageId) -> bool,
    ) -> Option<Candidate> {
        // The newest schema gives the name that a reader of the plan knows.
        let newest = indexes.iter().max_by_key(|index| index.schemas.last().copied())?;
        let mut candidate = Candidate {
            name: Arc::clone(&newest.name),
            // The smallest storage ID breaks ties, so the choice does not depend on the order of a
            // map.
            storage_id: indexes.iter().map(|index| index.storage_id).min()?,
            parts: Vec::new(),
            schemas: indexes.iter().flat_map(|index| index.schemas.iter().copied()).collect(),
            equal: 0,
            range: false,
            met: Vec::new(),
            order: None,
            by_id: false,
        };
        for index in indexes {
            // No object of these schemas can be wanted.
            let version = |schema: &SchemaIndex| (entry.storage_id, *schema);
            if index.schemas.iter().all(|schema| is_hopeless(wanted, version(schema))) {
                continue;
            }
            // One version is enough: the same storage ID means the same name, kind and encoding.
            let version = version(index.schemas.last()?);
            let columns = columns(wanted, index, version);
            // The parts have the same names, so they usually meet the same conditions.
            if !candidate.parts.is_empty() && candidate.met != columns.met {
                return None;
            }
            // Only then do the entries differ in nothing but the object ID, which orders them.
            let one_value = columns.equal.len() == index.fields.len()
                && columns.equal.iter().all(|matcher| matches!(matcher, Matcher::Equal(_)));
            let is_first = candidate.parts.is_empty();
            // A second part starts again at the least ID, so the parts together are not in order.
            candidate.by_id = is_first && one_value;
            // The same holds for the order of values: each part has its own.
            candidate.order = order(wanted, index, &columns, version).filter(|_| is_first);
            candidate.equal = columns.equal.len();
            candidate.range = columns.range.is_some();
            candidate.parts.push(part(wanted, index, &columns, is_shared(index.storage_id))?);
            candidate.met = columns.met;
        }
        Some(candidate)
    }

    /// Whether it serves any condition.
    pub(super) fn serves_conditions(&self) -> bool {
        self.equal > 0 || self.range
    }
}

/// Whether no object of a version can meet the conditions.
pub(super) fn is_hopeless(wanted: &Wanted<'_>, version: Version) -> bool {
    wanted.conditions.iter().any(|condition| known(condition, version) == Some(false))
}

/// The entries of an index that can be of wanted objects.
fn part(
    wanted: &Wanted<'_>,
    index: &IndexEntry,
    columns: &Columns,
    shared: bool,
) -> Option<IndexPart> {
    let encoding = |field: &Arc<ResolvedField>| {
        // Indexed fields are simple, so the encoding of counters is never used.
        field.simple().map_or_else(counter_encoding, |simple| Arc::clone(&simple.encoding))
    };
    let values: Vec<_> = index.fields.iter().map(encoding).collect();
    let fields = index.fields.iter().map(|field| field.storage_id).collect();
    let shape = EntryShape::new(index.storage_id, index.kind, fields, values);
    // Where a value ends is not known for an encoding that is not registered.
    if !shape.is_divisible() {
        return None;
    }
    // Each value of a list gives a range of keys of its own.
    let mut prefixes = vec![shape.key.to_vec()];
    let mut bounds = Vec::new();
    for (matcher, encoding) in columns.equal.iter().zip(&shape.values) {
        let points: &[Vec<u8>] = match matcher {
            Matcher::Equal(value) => std::slice::from_ref(value),
            Matcher::OneOf(values) => values,
            // These give no single points, and never stand among the equal columns.
            Matcher::NotEqual(_) | Matcher::Within(..) | Matcher::Decimal(_) => &[],
        };
        prefixes = prefixes
            .iter()
            .flat_map(|prefix| points.iter().map(|point| [&prefix[..], point].concat()))
            .collect();
        bounds.push(spans::shown_values(matcher, &**encoding));
    }
    let all_fixed = columns.equal.len() == shape.values.len();
    let spans: Vec<Span> = match &columns.range {
        Some((range, shown)) => {
            if let Some(encoding) = shape.values.get(columns.equal.len()) {
                bounds.push(spans::shown(shown, &**encoding));
            }
            prefixes.iter().filter_map(|prefix| spans::span(prefix, range)).collect()
        }
        // Only the object ID follows, which begins with the storage ID of the type.
        None if all_fixed && shared => {
            let of_type = wanted.object_type.prefix();
            prefixes.iter().map(|prefix| spans::all(&[&prefix[..], &of_type].concat())).collect()
        }
        None => prefixes.iter().map(|prefix| spans::all(prefix)).collect(),
    };
    // If all columns are fixed, the spans are narrowed to the type, so no other entries are met.
    Some(IndexPart { shape, spans, bounds, shared: shared && !all_fixed })
}

/// The bounds that the conditions put on the columns of an index, for objects of this version.
fn columns(wanted: &Wanted<'_>, index: &IndexEntry, version: Version) -> Columns {
    // A collection has many values, so two conditions on it can be met by different elements.
    let single = is_of_fields(index.kind);
    let mut found = Columns { equal: Vec::new(), range: None, met: Vec::new() };
    let mut has_list = false;
    // Keys are sorted by the first column first, so a column is of use only if those before it are
    // fixed.
    for field in &index.fields {
        let tests: Vec<Told<'_>> = wanted
            .conditions
            .iter()
            .enumerate()
            .filter_map(|(at, condition)| told(at, condition, index.kind, field, version))
            .collect();
        let equal = tests.iter().find(|told| match told.matcher {
            Matcher::Equal(_) => true,
            // A second list would need a range for each combination, which can be very many.
            Matcher::OneOf(_) => !has_list,
            Matcher::NotEqual(_) | Matcher::Within(..) | Matcher::Decimal(_) => false,
        });
        if let Some(told) = equal {
            has_list |= matches!(told.matcher, Matcher::OneOf(_));
            found.equal.push(told.matcher.clone());
            found.met.extend(told.met());
            continue;
        }
        for told in tests {
            let Some((numbers, range)) = told.matcher.bounds() else { continue };
            // Entries next to the ends of a range of decimal numbers may be outside.
            let (shown, met) = match numbers {
                Some(numbers) => (numbers, None),
                None => (range.clone(), told.met()),
            };
            found.range = Some(match found.range.take() {
                None => (range, shown),
                Some((before, shown_before)) => {
                    (spans::intersection(before, range), spans::intersection(shown_before, shown))
                }
            });
            found.met.extend(met);
            // Another one of several values can be within other bounds.
            if !single {
                break;
            }
        }
        // After a range the next column is in no order, so it narrows nothing.
        break;
    }
    found
}

/// The bounds that a condition puts on the values of an indexed field.
struct Told<'c> {
    /// The position of the condition.
    at: usize,
    matcher: &'c Matcher,
    /// Whether the objects of all such entries meet the condition. Otherwise the value may be at
    /// another key or position than the one that is meant.
    exact: bool,
}

impl Told<'_> {
    /// The condition, if its entries meet it.
    fn met(&self) -> Option<usize> {
        self.exact.then_some(self.at)
    }
}

/// The bounds that a condition puts on the values of an indexed field, if it is about that field
/// alone.
fn told<'c>(
    at: usize,
    condition: &'c CheckedCondition,
    kind: IndexKind,
    field: &ResolvedField,
    version: Version,
) -> Option<Told<'c>> {
    // A negation or an `or` does not bound the values of one field.
    let CheckedCondition::Test(test) = condition else { return None };
    let Test { path, matchers, .. } = &**test;
    // A path through a reference reads another object, whose values are not in this index.
    let access = only_hop(path)?.get(version)?;
    // An entry tells that some element has the value, but not at which key or position.
    let exact = is_read_by(access, kind, field);
    if !exact && !is_one_of(access, kind, field) {
        return None;
    }
    Some(Told { at, matcher: matchers.get(access.kind)?.as_ref()?, exact })
}

fn only_hop(path: &CheckedPath) -> Option<&crate::check::Versions<Access>> {
    match path.hops.as_slice() {
        // `#id` and the like are not in the index, even after a single hop.
        [hop] if path.special.is_none() => Some(hop),
        _ => None,
    }
}

/// Whether the values that are read are those in an index on a field or sub-field.
fn is_read_by(access: &Access, kind: IndexKind, field: &ResolvedField) -> bool {
    let read = match access.read {
        Read::Simple => is_of_fields(kind),
        Read::Elements => matches!(kind, IndexKind::SetElement | IndexKind::ListElement),
        Read::Keys => kind == IndexKind::MapKey,
        Read::Values => kind == IndexKind::MapValue,
        // A counter has no index, and no index tells the key or the position that is meant.
        Read::Counter | Read::AtKey(_) | Read::AtPosition(_) | Read::Whole => false,
    };
    read && is_of(access, field)
}

/// Whether the value that is read is one of those in an index on a sub-field.
fn is_one_of(access: &Access, kind: IndexKind, field: &ResolvedField) -> bool {
    let read = match access.read {
        Read::AtKey(_) => kind == IndexKind::MapValue,
        Read::AtPosition(_) => kind == IndexKind::ListElement,
        _ => false,
    };
    read && is_of(access, field)
}

/// Whether the values that are read are stored as those of a field or sub-field.
fn is_of(access: &Access, field: &ResolvedField) -> bool {
    // A version without the field has no entries for it, whatever its default is.
    access.stored && access.of().is_some_and(|of| of.storage_id == field.storage_id)
}

/// Whether the entries have the order that is wanted: `Some(true)` if from the end.
fn order(
    wanted: &Wanted<'_>,
    index: &IndexEntry,
    columns: &Columns,
    version: Version,
) -> Option<bool> {
    // An object can have many elements, so an index on them gives no order of objects.
    if !is_of_fields(index.kind) {
        return None;
    }
    let reads = |by: &CheckedOrder, field: &ResolvedField| {
        let access = only_hop(&by.path).and_then(|hop| hop.get(version));
        access.is_some_and(|access| is_read_by(access, index.kind, field))
    };
    // Columns with one value do not matter.
    let fixed = columns.equal.iter().take_while(|matcher| matches!(matcher, Matcher::Equal(_)));
    let (fixed, rest) = index.fields.split_at_checked(fixed.count())?;
    // The order by a fixed column changes nothing, so it need not be a column of the index.
    let mut order = wanted.order.iter().filter(|by| !fixed.iter().any(|field| reads(by, field)));
    let mut descending = None;
    for field in rest {
        // The rest of the order must be exactly the rest of the columns: further columns would sort
        // too.
        let by = order.next().filter(|by| reads(by, field))?;
        // An index is read in one direction, so it cannot mix ascending and descending columns.
        if descending.is_some_and(|before| before != by.descending) {
            return None;
        }
        descending = Some(by.descending);
    }
    // Objects with the same values are in the order of their IDs.
    let last_is_id = |by: &CheckedOrder| by.path.special == Some(Special::Id) && !by.descending;
    match order.next() {
        Some(by) if !(by.path.hops.is_empty() && last_is_id(by)) => None,
        // Without a column that sorts, the direction is that of the keys.
        _ => Some(descending.unwrap_or(false)),
    }
}
