//! The physical plan: the pairs that a statement reads, and their order.

use std::collections::BTreeSet;
use std::sync::Arc;

use permazen::__internal::encoding::EncodingKind;
use permazen::__internal::layout::StorageIdKey;
use permazen::__internal::object::IndexKind;
use permazen::encoding::Encoding;
use permazen::schema::SchemaIndex;
use permazen::{ObjId, StorageId};

use crate::check::{CheckedCondition, CheckedOrder, CheckedStep};
use crate::syntax::SetOperator;

/// How objects are found and put in order.
#[derive(Debug, Clone)]
pub(crate) struct QueryPlan {
    /// Where the objects come from; each comes once.
    pub(crate) source: Source,
    /// The condition that each of them must meet.
    pub(crate) filter: Option<CheckedCondition>,
    /// In which order they are.
    pub(crate) order: Ordering,
    /// How many at most.
    pub(crate) limit: Option<u64>,
    /// Remarks about the choice.
    pub(crate) notes: Vec<String>,
    /// If all objects of a type are read for lack of an index: which index would help.
    pub(crate) no_index: Option<String>,
}

impl QueryPlan {
    /// Why all objects of types are read that have no index for what is wanted: here, and in the
    /// sets of which this one consists. A sentence without a full stop.
    pub(crate) fn scanned_without_index(&self) -> Option<String> {
        // A set of reasons: the parts of a union can lack the same index.
        let mut reasons = BTreeSet::new();
        self.add_reasons(&mut reasons);
        let reasons: Vec<_> = reasons.into_iter().collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn add_reasons<'p>(&'p self, reasons: &mut BTreeSet<&'p str>) {
        reasons.extend(self.no_index.as_deref());
        if let Source::Set(set) = &self.source {
            set.add_reasons(reasons);
        }
    }
}

impl SetPlan {
    fn add_reasons<'p>(&'p self, reasons: &mut BTreeSet<&'p str>) {
        match self {
            SetPlan::Type(_) | SetPlan::Id(_) => {}
            SetPlan::Query(plan) => plan.add_reasons(reasons),
            SetPlan::Steps(from, _) => from.add_reasons(reasons),
            SetPlan::Combined(first, rest) => {
                first.add_reasons(reasons);
                rest.iter().for_each(|(_, operand)| operand.add_reasons(reasons));
            }
        }
    }
}

/// Where objects come from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// There can be none.
    Nothing,
    /// These, as far as they exist; ascending.
    Ids(Vec<ObjId>),
    /// All objects of a type.
    Type(TypeScan),
    /// The objects with entries in an index.
    Index(IndexScan),
    /// The objects with entries in any of several indexes.
    AnyOf(Vec<IndexScan>),
    /// Another set.
    Set(SetPlan),
}

/// All objects of a type, or the ones with an ID in a range.
#[derive(Debug, Clone)]
pub(crate) struct TypeScan {
    /// The name of the type.
    pub(crate) name: Arc<str>,
    /// Its storage ID.
    pub(crate) object_type: StorageId,
    /// The schemas that have the type.
    pub(crate) schemas: Vec<SchemaIndex>,
    /// The least ID, and the ID at which the range ends.
    pub(crate) ids: (Vec<u8>, Option<Vec<u8>>),
    /// Whether that is not the range of the whole type.
    pub(crate) is_part: bool,
}

/// The objects with entries in an index.
#[derive(Debug, Clone)]
pub(crate) struct IndexScan {
    /// The name of the index.
    pub(crate) name: String,
    /// The type whose objects are wanted.
    pub(crate) object_type: StorageId,
    /// The indexes that are read. Each schema can have one of its own.
    pub(crate) parts: Vec<IndexPart>,
    /// The schemas with objects that are not in the index. These objects are all read.
    pub(crate) completed: Vec<SchemaIndex>,
    /// The condition that the objects of these schemas must meet.
    pub(crate) condition: Option<CheckedCondition>,
    /// Whether the objects come in the order of their IDs, each once.
    pub(crate) by_id: bool,
}

/// Entries of one index.
#[derive(Debug, Clone)]
pub(crate) struct IndexPart {
    /// The form of the entries.
    pub(crate) shape: EntryShape,
    /// Which are read, in order.
    pub(crate) spans: Vec<Span>,
    /// The bounds, column by column, in words.
    pub(crate) bounds: Vec<String>,
    /// Whether entries of other types can be between them, which are passed over.
    pub(crate) shared: bool,
}

/// A range of keys, without the upper bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) min: Vec<u8>,
    pub(crate) max: Option<Vec<u8>>,
}

/// The form of the entries of an index.
#[derive(Debug, Clone)]
pub(crate) struct EntryShape {
    /// The storage ID with which the keys begin.
    pub(crate) storage_id: StorageId,
    /// The same, as in keys.
    pub(crate) key: StorageIdKey,
    /// The field or fields of the index.
    pub(crate) kind: IndexKind,
    /// The encodings of the indexed values.
    pub(crate) values: Vec<Arc<dyn Encoding>>,
    /// The storage IDs of the indexed fields, if these are simple fields.
    pub(crate) fields: Vec<StorageId>,
    /// Whether only the object ID follows the last value, and the value's end cannot be found
    /// otherwise.
    pub(crate) opaque_end: bool,
}

impl EntryShape {
    pub(crate) fn new(
        storage_id: StorageId,
        kind: IndexKind,
        fields: Vec<StorageId>,
        values: Vec<Arc<dyn Encoding>>,
    ) -> Self {
        let last = values.last().map(|value| value.kind());
        EntryShape {
            storage_id,
            key: storage_id.into(),
            kind,
            // An index on elements has no simple field, so the values of its entries cover no path.
            fields: if is_of_fields(kind) { fields } else { Vec::new() },
            opaque_end: matches!(last, Some(EncodingKind::Unknown)),
            values,
        }
    }

    /// Whether entries can be taken apart. The end of a value is not known if its encoding is not
    /// registered, unless only the object ID follows.
    pub(crate) fn is_divisible(&self) -> bool {
        let unknown = |value: &Arc<dyn Encoding>| matches!(value.kind(), EncodingKind::Unknown);
        let last = self.values.len().saturating_sub(1);
        let mut values = self.values.iter().enumerate();
        // Only at the end of the key can an unknown length be computed from what follows.
        !values.any(|(at, value)| unknown(value) && (self.has_suffix() || at != last))
    }

    /// Whether a position or a map key follows the object ID.
    pub(crate) fn has_suffix(&self) -> bool {
        matches!(self.kind, IndexKind::ListElement | IndexKind::MapValue)
    }
}

/// Whether an index is on simple fields, so that an object has one entry.
pub(crate) fn is_of_fields(kind: IndexKind) -> bool {
    matches!(kind, IndexKind::Field | IndexKind::Composite)
}

/// Whether the objects of a plan come in the order of their IDs, each once, without being sorted.
pub(crate) fn comes_by_id(source: &Source) -> bool {
    match source {
        // The IDs come sorted from these sources, so no object is met again.
        Source::Nothing | Source::Ids(_) | Source::Type(_) | Source::Set(_) => true,
        Source::Index(scan) => scan.by_id,
        Source::AnyOf(_) => false,
    }
}

/// Whether a source can give an object several times.
pub(crate) fn repeats(source: &Source) -> bool {
    match source {
        Source::Nothing | Source::Ids(_) | Source::Type(_) | Source::Set(_) => false,
        Source::Index(scan) => {
            // With one value for all columns, entries of one object follow each other and are
            // merged.
            !scan.by_id && scan.parts.iter().any(|part| !is_of_fields(part.shape.kind))
        }
        // An object can meet several branches of an `or`.
        Source::AnyOf(_) => true,
    }
}

/// In which order objects are given.
#[derive(Debug, Clone)]
pub(crate) enum Ordering {
    /// By ID.
    ById,
    /// By ID, the greatest first. The source is all objects of a type.
    ByIdFromEnd,
    /// As the index has them; then the objects that it lacks, by ID.
    AsFound,
    /// As the index has them, from its end if `reverse` is set; objects with equal values by ID.
    ByIndex { reverse: bool },
    /// They are sorted.
    Sorted(Vec<CheckedOrder>),
}

/// A set of objects that is read in the order of the IDs.
#[derive(Debug, Clone)]
pub(crate) enum SetPlan {
    /// All objects of a type.
    Type(TypeScan),
    /// One object, if it exists.
    Id(ObjId),
    /// Objects that are found by conditions.
    Query(Box<QueryPlan>),
    /// The objects that are reached by steps.
    Steps(Box<SetPlan>, Vec<CheckedStep>),
    /// Sets combined from the left to the right.
    Combined(Box<SetPlan>, Vec<(SetOperator, SetPlan)>),
}
