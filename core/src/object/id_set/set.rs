//! Sorted sets of object IDs from keys, and their union, intersection and difference.

use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use permazen_kv::Direction;

use super::node::{Node, Op};
use super::plain::{count_ids, first_id, position};
use super::stream::Stream;
use crate::id::{ObjId, StorageId};
use crate::object::error::Result;
use crate::object::index::{ColumnFilter, EncodedRange};
use crate::object::store::ScanSource;

/// A live, ordered set of object IDs: the objects of a type, the objects of a schema, the objects
/// with a value in an index, or a combination of such sets.
///
/// A set is a description: nothing is read until it is used. To combine sets, their sorted streams
/// are merged. Each operand is read at most once. An intersection or difference skips with seeks
/// the IDs that the other operand cannot contain. Any number of sets can be combined in any way. A
/// step of a union of *k* sets takes time proportional to log *k* for each of them that contains
/// the ID; the first step, and each after a change of the transaction, takes a seek for each of the
/// *k* sets.
#[derive(Clone)]
pub struct IdSet<'t> {
    source: &'t dyn ScanSource,
    node: Arc<Node>,
}

impl std::fmt::Debug for IdSet<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Node { op, operands } = &*self.node;
        f.debug_struct("IdSet").field("op", op).field("operands", &operands.len()).finish()
    }
}

/// The filter that wants every ID.
pub(crate) fn any_id() -> ColumnFilter {
    ColumnFilter::range(Bound::Unbounded, Bound::Unbounded)
}

/// The filter that wants the IDs of these types.
pub(crate) fn ids_of_types(types: impl IntoIterator<Item = StorageId>) -> ColumnFilter {
    let mut types: Vec<_> = types.into_iter().collect();
    // Equal types would give overlapping ranges.
    types.sort_unstable();
    // The ranges of a filter must not overlap.
    types.dedup();
    let range = |id: &StorageId| -> EncodedRange {
        let (min, max) = id.key_range();
        (Bound::Included(min), Bound::Excluded(max))
    };
    ColumnFilter::union(types.iter().map(range).collect())
}

/// The filter that wants the IDs of all types but one.
pub(crate) fn ids_of_other_types(hidden: StorageId) -> ColumnFilter {
    let (min, max) = hidden.key_range();
    ColumnFilter::union(vec![
        (Bound::Unbounded, Bound::Excluded(min)),
        (Bound::Included(max), Bound::Unbounded),
    ])
}

/// The filter that wants the IDs of a range.
pub(crate) fn ids_between(range: impl RangeBounds<ObjId>) -> ColumnFilter {
    let bytes = |bound: Bound<&ObjId>| bound.map(|id| id.as_bytes().to_vec());
    ColumnFilter::range(bytes(range.start_bound()), bytes(range.end_bound()))
}

/// The smallest and the largest ID that a filter wants, if it wants all between them and both are
/// known.
pub(in crate::object) fn ids_within(filter: &ColumnFilter) -> Option<(ObjId, ObjId)> {
    // Between two ranges there are IDs that are not wanted, so two numbers do not say it.
    if !filter.is_one_range() {
        return None;
    }
    let number = |bytes: &[u8]| {
        let mut id = [0; ObjId::LEN];
        id.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_be_bytes(id))
    };
    // Without bounds on both sides, there is no smallest or largest ID to name.
    let (lower, upper) = filter.hull()?;
    let first = match lower {
        Bound::Included(bytes) => number(bytes)?,
        // After the greatest ID there is none.
        Bound::Excluded(id) => u64::from_be_bytes(id.try_into().ok()?).checked_add(1)?,
        Bound::Unbounded => return None,
    };
    let last = match upper {
        Bound::Included(id) => u64::from_be_bytes(id.try_into().ok()?),
        Bound::Excluded(bytes) => number(bytes)?.checked_sub(1)?,
        Bound::Unbounded => return None,
    };
    let id = |number: u64| ObjId::from_bytes(number.to_be_bytes()).ok();
    Some((id(first)?, id(last)?))
}

impl<'t> IdSet<'t> {
    fn of(source: &'t dyn ScanSource, node: Node) -> Self {
        IdSet { source, node: Arc::new(node) }
    }

    /// The IDs that follow `prefix` in the keys of the store.
    pub(crate) fn of_keys(
        source: &'t dyn ScanSource,
        prefix: Vec<u8>,
        filter: ColumnFilter,
    ) -> Self {
        Self::of(source, Node::plain(Op::Keys { prefix, filter }))
    }

    /// These IDs.
    pub(crate) fn of_ids(source: &'t dyn ScanSource, mut ids: Vec<ObjId>) -> Self {
        // A merge needs its lists in order, each ID once.
        ids.sort_unstable();
        ids.dedup();
        Self::of(source, Node::plain(Op::Sorted(ids.into())))
    }

    /// The empty set.
    pub(crate) fn empty(source: &'t dyn ScanSource) -> Self {
        Self::of_ids(source, Vec::new())
    }

    fn with(&self, node: Node) -> Self {
        Self::of(self.source, node)
    }

    /// The IDs in this set or the other one. Both must belong to the same transaction.
    #[must_use]
    pub fn union(&self, other: &IdSet<'t>) -> IdSet<'t> {
        self.union_all([other])
    }

    /// The IDs in both sets. Both must belong to the same transaction.
    #[must_use]
    pub fn intersection(&self, other: &IdSet<'t>) -> IdSet<'t> {
        self.intersection_all([other])
    }

    /// The IDs in this set that are not in the other one. Both must belong to the same transaction.
    #[must_use]
    pub fn difference(&self, other: &IdSet<'t>) -> IdSet<'t> {
        self.combined(Op::Difference, [other])
    }

    /// The IDs in this set or any of the others. All must belong to the same transaction.
    ///
    /// ```
    /// # use permazen::object::{IdSet, Result, Transaction};
    /// /// The objects that refer to any of these through an indexed field.
    /// fn referrers<'t>(
    ///     tx: &'t Transaction,
    ///     field: permazen::StorageId,
    ///     targets: &IdSet<'_>,
    /// ) -> Result<IdSet<'t>> {
    ///     let index = tx.simple_index(field)?;
    ///     let sets = targets.iter().map(|id| index.get(&[id?.into()]));
    ///     Ok(tx.id_set([])?.union_all(sets.collect::<Result<Vec<_>>>()?))
    /// }
    /// ```
    #[must_use]
    pub fn union_all(&self, others: impl IntoIterator<Item = impl Borrow<IdSet<'t>>>) -> IdSet<'t> {
        self.combined(Op::Union, others)
    }

    /// The IDs in this set and in all of the others. All must belong to the same transaction.
    #[must_use]
    pub fn intersection_all(
        &self,
        others: impl IntoIterator<Item = impl Borrow<IdSet<'t>>>,
    ) -> IdSet<'t> {
        self.combined(Op::Intersection, others)
    }

    fn combined(
        &self,
        op: Op,
        others: impl IntoIterator<Item = impl Borrow<IdSet<'t>>>,
    ) -> IdSet<'t> {
        let others = others.into_iter().map(|other| other.borrow().node.clone());
        let operands = std::iter::once(self.node.clone()).chain(others).collect();
        self.with(Node { op, operands })
    }

    /// The IDs of this set within a range.
    #[must_use]
    pub fn range(&self, range: impl RangeBounds<ObjId>) -> IdSet<'t> {
        self.within(ids_between(range))
    }

    /// The IDs of this set that belong to one of these object types.
    #[must_use]
    pub fn of_types(&self, types: impl IntoIterator<Item = StorageId>) -> IdSet<'t> {
        self.within(ids_of_types(types))
    }

    pub(crate) fn within(&self, wanted: ColumnFilter) -> IdSet<'t> {
        // A filter on keys narrows the scan itself, so it is joined with the filter that is there.
        match &self.node.op {
            Op::Keys { prefix, filter } => {
                let filter = filter.intersect(&wanted);
                self.with(Node::plain(Op::Keys { prefix: prefix.clone(), filter }))
            }
            Op::Within(filter) => self.with(Node {
                op: Op::Within(filter.intersect(&wanted)),
                operands: self.node.operands.clone(),
            }),
            // A combination has no keys of its own, so the filter goes around it.
            _ => self.combined(Op::Within(wanted), [] as [&IdSet<'t>; 0]),
        }
    }

    /// Whether `id` is in the set. Cost: at most one seek for each simple set of which it is
    /// composed.
    ///
    /// # Errors
    /// [`Error::Kv`](crate::object::Error::Kv) if the store fails;
    /// [`Error::Ended`](crate::object::Error::Ended).
    pub fn contains(&self, id: ObjId) -> Result<bool> {
        self.node.contains(self.source, id)
    }

    /// The IDs in ascending order; can also be read from the back.
    ///
    /// The iterator is live: it may be held while the transaction changes. IDs that are removed
    /// ahead of it are not returned; IDs that are inserted ahead of it are. This also holds for any
    /// combination of sets. After its end or an error, the iterator does not begin again. Cost: one
    /// step per key, and a seek per batch and per jump. A step after a change of the transaction
    /// reads the next IDs anew: a seek for each simple set that it asks.
    pub fn iter(&self) -> Ids<'t> {
        Ids {
            source: self.source,
            node: self.node.clone(),
            front: None,
            back: None,
            last_front: None,
            last_back: None,
            from: None,
            done: false,
        }
    }

    /// The smallest ID. Cost: one seek for each simple set of which the set is composed; if there
    /// are several, the first few keys of each are read.
    ///
    /// # Errors
    /// The errors of the first step of [`IdSet::iter`].
    pub fn first(&self) -> Result<Option<ObjId>> {
        match &self.node.op {
            // A single range is answered with one seek and without a scan.
            Op::Keys { prefix, filter } if filter.is_one_range() => {
                first_id(self.source, prefix, filter, Direction::Forward)
            }
            _ => self.iter().next().transpose(),
        }
    }

    /// The largest ID. Costs as much as [`IdSet::first`].
    ///
    /// # Errors
    /// The errors of the first step of [`IdSet::iter`].
    pub fn last(&self) -> Result<Option<ObjId>> {
        match &self.node.op {
            Op::Keys { prefix, filter } if filter.is_one_range() => {
                first_id(self.source, prefix, filter, Direction::Reverse)
            }
            _ => self.iter().next_back().transpose(),
        }
    }

    /// Whether there are no IDs. Costs as much as [`IdSet::first`].
    ///
    /// # Errors
    /// The errors of the first step of [`IdSet::iter`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.first()?.is_none())
    }

    /// How many IDs there are. Cost: all of them are read.
    ///
    /// # Errors
    /// The errors of [`IdSet::iter`].
    pub fn count(&self) -> Result<usize> {
        match &self.node.op {
            Op::Keys { prefix, filter } if filter.is_one_range() => {
                // Keys are counted where they lie, without a scan that could go on after changes.
                count_ids(self.source, prefix, filter)
            }
            _ => self.iter().try_fold(0, |count, id| id.map(|_| count + 1)),
        }
    }

    /// The filter of the IDs, if the set has all objects that the filter wants.
    pub(crate) fn filter_of_all(&self) -> Option<&ColumnFilter> {
        match &self.node.op {
            // A prefix means the keys of an index, which need not have all objects.
            Op::Keys { prefix, filter } if prefix.is_empty() => Some(filter),
            _ => None,
        }
    }

    /// All IDs in ascending order.
    ///
    /// # Errors
    /// The errors of [`IdSet::iter`].
    pub fn to_vec(&self) -> Result<Vec<ObjId>> {
        self.iter().collect()
    }
}

impl<'t> IntoIterator for &IdSet<'t> {
    type Item = Result<ObjId>;
    type IntoIter = Ids<'t>;

    fn into_iter(self) -> Ids<'t> {
        self.iter()
    }
}

/// The IDs of an [`IdSet`], ascending from the front and descending from the back.
pub struct Ids<'t> {
    source: &'t dyn ScanSource,
    node: Arc<Node>,
    front: Option<Stream<'t>>,
    back: Option<Stream<'t>>,
    last_front: Option<ObjId>,
    last_back: Option<ObjId>,
    /// The smallest ID that was not skipped.
    from: Option<ObjId>,
    done: bool,
}

impl std::fmt::Debug for Ids<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ids").field("front", &self.last_front).finish_non_exhaustive()
    }
}

impl Ids<'_> {
    /// Skips the IDs below `id`, from both ends. Cheap if `id` is near.
    pub fn skip_to(&mut self, id: ObjId) {
        // The back end learns of the skip by this ID, since it reaches the place only later.
        self.from = self.from.max(Some(id));
        let new = || Stream::new(&self.node, self.source, Direction::Forward);
        self.front.get_or_insert_with(new).skip_to(position(id, Direction::Forward));
    }

    fn step(&mut self, direction: Direction) -> Option<Result<ObjId>> {
        if self.done {
            return None;
        }
        let stream = match direction {
            Direction::Forward => &mut self.front,
            Direction::Reverse => &mut self.back,
        };
        let found =
            stream.get_or_insert_with(|| Stream::new(&self.node, self.source, direction)).next();
        // Whether the ID was returned from the other end, or skipped.
        let met = |id: ObjId| match direction {
            Direction::Forward => self.last_back.is_some_and(|back| id >= back),
            Direction::Reverse => {
                self.last_front.is_some_and(|front| id <= front)
                    || self.from.is_some_and(|from| id < from)
            }
        };
        match found {
            Ok(Some(id)) if !met(id) => {
                match direction {
                    Direction::Forward => self.last_front = Some(id),
                    Direction::Reverse => self.last_back = Some(id),
                }
                Some(Ok(id))
            }
            // Where both ends meet, neither gives more.
            Ok(_) => {
                self.done = true;
                None
            }
            Err(error) => {
                // After an error the next ID is not known.
                self.done = true;
                Some(Err(error))
            }
        }
    }
}

impl Iterator for Ids<'_> {
    type Item = Result<ObjId>;

    fn next(&mut self) -> Option<Result<ObjId>> {
        self.step(Direction::Forward)
    }
}

impl DoubleEndedIterator for Ids<'_> {
    fn next_back(&mut self) -> Option<Result<ObjId>> {
        self.step(Direction::Reverse)
    }
}

impl std::iter::FusedIterator for Ids<'_> {}
