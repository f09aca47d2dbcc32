//! Sorted sets of object ids that stand in keys, and their union, intersection and difference.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use permazen_kv::Direction;
use permazen_kv::key::after_prefix;

use super::column::{ColumnFilter, EncodedRange};
use super::error::Result;
use super::id_stream::Stream;
use super::scan::ScanSource;
use crate::id::{ObjId, StorageId};

/// A live, ordered set of object ids: the objects of a type, of a schema, those having a value in an
/// index, or a combination of such sets.
///
/// A set is a description; nothing is read before it is asked. Combining sets is a merge of sorted
/// streams: each operand is read at most once, and an intersection or difference seeks over what the
/// other operand cannot contain.
#[derive(Clone)]
pub struct IdSet<'t> {
    source: &'t dyn ScanSource,
    node: Arc<Node>,
}

impl std::fmt::Debug for IdSet<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("IdSet").field(&self.node).finish()
    }
}

#[derive(Debug)]
pub(super) enum Node {
    /// The ids that follow `prefix` in any key.
    Keys {
        prefix: Vec<u8>,
        filter: ColumnFilter,
    },
    /// These ids.
    Sorted(Arc<[ObjId]>),
    Union(Vec<Arc<Node>>),
    Intersection(Vec<Arc<Node>>),
    Difference(Arc<Node>, Arc<Node>),
    Within(Arc<Node>, ColumnFilter),
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
pub(super) fn ids_within(filter: &ColumnFilter) -> Option<(ObjId, ObjId)> {
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
        Self::of(source, Node::Keys { prefix, filter })
    }

    /// These ids.
    pub(crate) fn of_ids(source: &'t dyn ScanSource, mut ids: Vec<ObjId>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        Self::of(source, Node::Sorted(ids.into()))
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
        self.with(Node::Union(vec![self.node.clone(), other.node.clone()]))
    }

    /// The ids in both sets. Both must be of the same transaction.
    #[must_use]
    pub fn intersection(&self, other: &IdSet<'t>) -> IdSet<'t> {
        self.with(Node::Intersection(vec![self.node.clone(), other.node.clone()]))
    }

    /// The ids in this set and not in the other one. Both must be of the same transaction.
    #[must_use]
    pub fn difference(&self, other: &IdSet<'t>) -> IdSet<'t> {
        self.with(Node::Difference(self.node.clone(), other.node.clone()))
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
        match &*self.node {
            Node::Keys { prefix, filter } => {
                self.with(Node::Keys { prefix: prefix.clone(), filter: filter.intersect(&wanted) })
            }
            _ => self.with(Node::Within(self.node.clone(), wanted)),
        }
    }

    /// Whether `id` is in the set. One seek for each plain set it is made of.
    ///
    /// # Errors
    /// [`Error::Kv`](super::Error::Kv) if the store fails; [`Error::Ended`](super::Error::Ended) after the
    /// end of the transaction.
    pub fn contains(&self, id: ObjId) -> Result<bool> {
        self.node.contains(self.source, id)
    }

    /// The ids, ascending; also readable from the back.
    ///
    /// The iterator is live: it may be held while the transaction is changed, ids removed ahead of it
    /// are not returned and ids inserted ahead of it are. It ends after the first error.
    /// Cost: one step per key read, a seek per batch and per jump.
    pub fn iter(&self) -> Ids<'t> {
        Ids {
            source: self.source,
            node: self.node.clone(),
            front: None,
            back: None,
            last_front: None,
            last_back: None,
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

impl Node {
    fn contains(&self, source: &dyn ScanSource, id: ObjId) -> Result<bool> {
        match self {
            Node::Keys { prefix, filter } => {
                if !filter.contains(id.as_bytes()) {
                    return Ok(false);
                }
                let mut min = prefix.clone();
                min.extend_from_slice(id.as_bytes());
                let max = after_prefix(&min);
                let mut found = false;
                source.with_read(&mut |kv| {
                    found = kv.at_least(&min, max.as_deref())?.is_some();
                    Ok(())
                })?;
                Ok(found)
            }
            Node::Sorted(ids) => Ok(ids.binary_search(&id).is_ok()),
            Node::Union(nodes) => {
                for node in nodes {
                    if node.contains(source, id)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Node::Intersection(nodes) => {
                for node in nodes {
                    if !node.contains(source, id)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Node::Difference(from, without) => {
                Ok(from.contains(source, id)? && !without.contains(source, id)?)
            }
            Node::Within(node, filter) => {
                Ok(filter.contains(id.as_bytes()) && node.contains(source, id)?)
            }
        }
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
    done: bool,
}

impl std::fmt::Debug for Ids<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ids").field("front", &self.last_front).finish_non_exhaustive()
    }
}

impl Ids<'_> {
    /// Leaves out the ids below `id`. Cheap if that is near.
    pub fn skip_to(&mut self, id: ObjId) {
        let front =
            self.front.get_or_insert_with(|| self.node.stream(self.source, Direction::Forward));
        front.skip_to(id);
    }

    fn step(&mut self, direction: Direction) -> Option<Result<ObjId>> {
        if self.done {
            return None;
        }
        let stream = match direction {
            Direction::Forward => &mut self.front,
            Direction::Reverse => &mut self.back,
        };
        let found = stream.get_or_insert_with(|| self.node.stream(self.source, direction)).next();
        let met = |id: ObjId| match direction {
            Direction::Forward => self.last_back.is_some_and(|back| id >= back),
            Direction::Reverse => self.last_front.is_some_and(|front| id <= front),
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
