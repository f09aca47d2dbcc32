//! Sorted sets of object ids that stand in keys, and their union, intersection and difference.

use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use permazen_kv::Direction;

use super::node::{Node, Op};
use super::plain::position;
use super::stream::Stream;
use crate::id::{ObjId, StorageId};
use crate::object::error::Result;
use crate::object::index::{ColumnFilter, EncodedRange};
use crate::object::store::ScanSource;

/// A live, ordered set of object ids: the objects of a type, of a schema, those having a value in an
/// index, or a combination of such sets.
///
/// A set is a description; nothing is read before it is asked. Combining sets is a merge of sorted
/// streams: each operand is read at most once, and an intersection or difference seeks over what the
/// other operand cannot contain. Any number of sets can be combined, in any way; a step of a union of
/// *k* sets takes time of the order of log *k* for each of them that has the id.
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

/// The filter that lets every id pass.
pub(crate) fn any_id() -> ColumnFilter {
    ColumnFilter::range(Bound::Unbounded, Bound::Unbounded)
}

/// The filter that lets the ids of these types pass.
pub(crate) fn ids_of_types(types: impl IntoIterator<Item = StorageId>) -> ColumnFilter {
    let mut types: Vec<_> = types.into_iter().collect();
    types.sort_unstable();
    types.dedup();
    let range = |id: &StorageId| -> EncodedRange {
        let (min, max) = id.key_range();
        (Bound::Included(min), Bound::Excluded(max))
    };
    ColumnFilter::union(types.iter().map(range).collect())
}

/// The filter that lets the ids of a range pass.
pub(crate) fn ids_between(range: impl RangeBounds<ObjId>) -> ColumnFilter {
    let bytes = |bound: Bound<&ObjId>| bound.map(|id| id.as_bytes().to_vec());
    ColumnFilter::range(bytes(range.start_bound()), bytes(range.end_bound()))
}

/// The smallest and the largest id that pass a filter, if all between them pass too and both are known.
pub(in crate::object) fn ids_within(filter: &ColumnFilter) -> Option<(ObjId, ObjId)> {
    if !filter.is_one_range() {
        return None;
    }
    let number = |bytes: &[u8]| {
        let mut id = [0; ObjId::LEN];
        id.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_be_bytes(id))
    };
    let (lower, upper) = filter.hull()?;
    let first = match lower {
        Bound::Included(bytes) => number(bytes)?,
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

    /// The ids that follow `prefix` in the keys of the store.
    pub(crate) fn of_keys(
        source: &'t dyn ScanSource,
        prefix: Vec<u8>,
        filter: ColumnFilter,
    ) -> Self {
        Self::of(source, Node::plain(Op::Keys { prefix, filter }))
    }

    /// These ids.
    pub(crate) fn of_ids(source: &'t dyn ScanSource, mut ids: Vec<ObjId>) -> Self {
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

    /// The ids in this set or the other one. Both must be of the same transaction.
    #[must_use]
    pub fn union(&self, other: &IdSet<'t>) -> IdSet<'t> {
        self.union_all([other])
    }

    /// The ids in both sets. Both must be of the same transaction.
    #[must_use]
    pub fn intersection(&self, other: &IdSet<'t>) -> IdSet<'t> {
        self.intersection_all([other])
    }

    /// The ids in this set and not in the other one. Both must be of the same transaction.
    #[must_use]
    pub fn difference(&self, other: &IdSet<'t>) -> IdSet<'t> {
        self.combined(Op::Difference, [other])
    }

    /// The ids in this set or any of the others. All must be of the same transaction.
    ///
    /// ```
    /// # use permazen::object::{IdSet, Result, Transaction};
    /// /// The objects that refer to any of these through an indexed field.
    /// fn referrers<'t>(
    ///     tx: &'t Transaction<'_>,
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

    /// The ids in this set and all of the others. All must be of the same transaction.
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

    /// The ids of this set within a range.
    #[must_use]
    pub fn range(&self, range: impl RangeBounds<ObjId>) -> IdSet<'t> {
        self.within(ids_between(range))
    }

    /// The ids of this set that belong to one of these object types.
    #[must_use]
    pub fn of_types(&self, types: impl IntoIterator<Item = StorageId>) -> IdSet<'t> {
        self.within(ids_of_types(types))
    }

    pub(crate) fn within(&self, wanted: ColumnFilter) -> IdSet<'t> {
        match &self.node.op {
            Op::Keys { prefix, filter } => {
                let filter = filter.intersect(&wanted);
                self.with(Node::plain(Op::Keys { prefix: prefix.clone(), filter }))
            }
            Op::Within(filter) => self.with(Node {
                op: Op::Within(filter.intersect(&wanted)),
                operands: self.node.operands.clone(),
            }),
            _ => self.combined(Op::Within(wanted), [] as [&IdSet<'t>; 0]),
        }
    }

    /// Whether `id` is in the set. At most one seek for each plain set it is made of.
    ///
    /// # Errors
    /// [`Error::Kv`](crate::object::Error::Kv) if the store fails; [`Error::Ended`](crate::object::Error::Ended) after the
    /// end of the transaction.
    pub fn contains(&self, id: ObjId) -> Result<bool> {
        self.node.contains(self.source, id)
    }

    /// The ids, ascending; also readable from the back.
    ///
    /// The iterator is live: it may be held while the transaction is changed, ids removed ahead of it
    /// are not returned and ids inserted ahead of it are; where sets are combined, each of them has been
    /// read up to one id ahead, which stays as it was read, and one that had no more ids stays so. It ends
    /// after the first error.
    /// Cost: one step per key read, a seek per batch and per jump.
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

    /// The smallest id. One seek for each plain set it is made of; the first few keys are read.
    ///
    /// # Errors
    /// As the first step of [`IdSet::iter`].
    pub fn first(&self) -> Result<Option<ObjId>> {
        self.iter().next().transpose()
    }

    /// The largest id. Costs as [`IdSet::first`].
    ///
    /// # Errors
    /// As the first step of [`IdSet::iter`].
    pub fn last(&self) -> Result<Option<ObjId>> {
        self.iter().next_back().transpose()
    }

    /// Whether there are no ids. Costs as [`IdSet::first`].
    ///
    /// # Errors
    /// As the first step of [`IdSet::iter`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.first()?.is_none())
    }

    /// How many ids there are. Reads all of them.
    ///
    /// # Errors
    /// As [`IdSet::iter`].
    pub fn count(&self) -> Result<usize> {
        self.iter().try_fold(0, |count, id| id.map(|_| count + 1))
    }

    /// All ids, ascending.
    ///
    /// # Errors
    /// As [`IdSet::iter`].
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

/// The ids of an [`IdSet`], ascending from the front and descending from the back.
pub struct Ids<'t> {
    source: &'t dyn ScanSource,
    node: Arc<Node>,
    front: Option<Stream<'t>>,
    back: Option<Stream<'t>>,
    last_front: Option<ObjId>,
    last_back: Option<ObjId>,
    /// The smallest id that was not skipped.
    from: Option<ObjId>,
    done: bool,
}

impl std::fmt::Debug for Ids<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ids").field("front", &self.last_front).finish_non_exhaustive()
    }
}

impl Ids<'_> {
    /// Leaves out the ids below `id`, from both ends. Cheap if that is near.
    pub fn skip_to(&mut self, id: ObjId) {
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
            Ok(_) => {
                self.done = true;
                None
            }
            Err(error) => {
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
