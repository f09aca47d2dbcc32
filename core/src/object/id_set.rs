//! Sorted sets of object ids that stand in keys, and their union, intersection and difference.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use permazen_kv::Direction;

use super::column::{ColumnFilter, EncodedRange, Place, push_lower, push_upper, span_of};
use super::error::{Error, Result, hex};
use super::scan::{LiveScan, ScanSource, after_prefix, extend_to_after_prefix};
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
enum Node {
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
    /// [`Error::Kv`] if the store fails; [`Error::Ended`] after the end of the transaction.
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

    /// The smallest id.
    ///
    /// # Errors
    /// As the first step of [`IdSet::iter`].
    pub fn first(&self) -> Result<Option<ObjId>> {
        self.iter().next().transpose()
    }

    /// The largest id.
    ///
    /// # Errors
    /// As the first step of [`IdSet::iter`].
    pub fn last(&self) -> Result<Option<ObjId>> {
        self.iter().next_back().transpose()
    }

    /// Whether there are no ids.
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

    fn stream<'t>(&self, source: &'t dyn ScanSource, direction: Direction) -> Stream<'t> {
        match self {
            Node::Keys { prefix, filter } => {
                Stream::Keys(KeyIds::new(source, prefix, filter, direction))
            }
            Node::Sorted(ids) => {
                Stream::Sorted { ids: ids.clone(), from: 0, to: ids.len(), direction }
            }
            Node::Union(nodes) => Stream::Union(
                nodes.iter().map(|node| Peeked::new(node.stream(source, direction))).collect(),
                direction,
            ),
            Node::Intersection(nodes) => Stream::Intersection(
                nodes.iter().map(|node| Peeked::new(node.stream(source, direction))).collect(),
                direction,
            ),
            Node::Difference(from, without) => Stream::Difference(
                Box::new(from.stream(source, direction)),
                Box::new(Peeked::new(without.stream(source, direction))),
                direction,
            ),
            Node::Within(node, filter) => {
                Stream::Within(Box::new(node.stream(source, direction)), filter.clone(), direction)
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

/// Ids in one direction, each once.
enum Stream<'t> {
    Keys(KeyIds<'t>),
    Sorted { ids: Arc<[ObjId]>, from: usize, to: usize, direction: Direction },
    Union(Vec<Peeked<'t>>, Direction),
    Intersection(Vec<Peeked<'t>>, Direction),
    Difference(Box<Stream<'t>>, Box<Peeked<'t>>, Direction),
    Within(Box<Stream<'t>>, ColumnFilter, Direction),
}

/// A stream with the id that comes next.
struct Peeked<'t> {
    stream: Stream<'t>,
    next: Option<Option<ObjId>>,
}

impl<'t> Peeked<'t> {
    fn new(stream: Stream<'t>) -> Self {
        Peeked { stream, next: None }
    }

    fn peek(&mut self) -> Result<Option<ObjId>> {
        match self.next {
            Some(next) => Ok(next),
            None => {
                let next = self.stream.next()?;
                self.next = Some(next);
                Ok(next)
            }
        }
    }

    /// The first id at or behind `id`.
    fn seek(&mut self, id: ObjId, direction: Direction) -> Result<Option<ObjId>> {
        match self.peek()? {
            Some(next) if before(next, id, direction) => {
                self.stream.skip_to(id);
                self.next = None;
                self.peek()
            }
            next => Ok(next),
        }
    }
}

/// Whether `a` comes before `b` in `direction`.
fn before(a: ObjId, b: ObjId, direction: Direction) -> bool {
    match direction {
        Direction::Forward => a < b,
        Direction::Reverse => a > b,
    }
}

impl Stream<'_> {
    fn next(&mut self) -> Result<Option<ObjId>> {
        match self {
            Stream::Keys(keys) => keys.next(),
            Stream::Sorted { ids, from, to, direction } => {
                if from >= to {
                    return Ok(None);
                }
                let at = match direction {
                    Direction::Forward => {
                        *from += 1;
                        *from - 1
                    }
                    Direction::Reverse => {
                        *to -= 1;
                        *to
                    }
                };
                Ok(ids.get(at).copied())
            }
            Stream::Union(streams, direction) => {
                let mut first = None;
                for stream in streams.iter_mut() {
                    if let Some(id) = stream.peek()?
                        && first.is_none_or(|first| before(id, first, *direction))
                    {
                        first = Some(id);
                    }
                }
                for stream in streams.iter_mut() {
                    if first.is_some() && stream.next == Some(first) {
                        stream.next = None;
                    }
                }
                Ok(first)
            }
            Stream::Intersection(streams, direction) => {
                let Some((first, others)) = streams.split_first_mut() else { return Ok(None) };
                let Some(mut id) = first.peek()? else { return Ok(None) };
                loop {
                    let mut agreed = true;
                    for other in others.iter_mut() {
                        let Some(next) = other.seek(id, *direction)? else { return Ok(None) };
                        if next != id {
                            id = next;
                            agreed = false;
                            break;
                        }
                    }
                    if agreed {
                        first.next = None;
                        return Ok(Some(id));
                    }
                    match first.seek(id, *direction)? {
                        Some(next) => id = next,
                        None => return Ok(None),
                    }
                }
            }
            Stream::Difference(from, without, direction) => {
                while let Some(id) = from.next()? {
                    if without.seek(id, *direction)? != Some(id) {
                        return Ok(Some(id));
                    }
                }
                Ok(None)
            }
            Stream::Within(stream, filter, direction) => {
                while let Some(id) = stream.next()? {
                    match filter.locate(id.as_bytes(), *direction) {
                        Place::Inside => return Ok(Some(id)),
                        Place::Past => return Ok(None),
                        Place::Ahead(bound) => {
                            if let Some(id) = id_at(bound, *direction) {
                                stream.skip_to(id);
                            }
                        }
                    }
                }
                Ok(None)
            }
        }
    }

    /// Leaves out what comes before `id`.
    fn skip_to(&mut self, id: ObjId) {
        match self {
            Stream::Keys(keys) => keys.skip_to(id),
            Stream::Sorted { ids, from, to, direction } => match direction {
                Direction::Forward => *from = (*from).max(ids.partition_point(|other| *other < id)),
                Direction::Reverse => *to = (*to).min(ids.partition_point(|other| *other <= id)),
            },
            Stream::Union(streams, direction) | Stream::Intersection(streams, direction) => {
                for stream in streams {
                    if stream.next.flatten().is_none_or(|next| before(next, id, *direction)) {
                        stream.next = None;
                        stream.stream.skip_to(id);
                    }
                }
            }
            Stream::Difference(from, ..) => from.skip_to(id),
            Stream::Within(stream, ..) => stream.skip_to(id),
        }
    }
}

/// The id at a bound of a filter, if the bytes there make one.
fn id_at(bound: Bound<&[u8]>, direction: Direction) -> Option<ObjId> {
    let (Bound::Included(bytes) | Bound::Excluded(bytes)) = bound else { return None };
    let fill = match (direction, bound) {
        (Direction::Reverse, Bound::Included(_)) => 0xff,
        _ => 0,
    };
    let mut id = [fill; ObjId::LEN];
    for (to, from) in id.iter_mut().zip(bytes) {
        *to = *from;
    }
    ObjId::from_bytes(id).ok()
}

/// The distinct ids that follow a prefix in keys.
struct KeyIds<'t> {
    scan: LiveScan<'t>,
    prefix_len: usize,
    filter: ColumnFilter,
    /// Whether the bounds of the scan say all that the filter says.
    one_range: bool,
    last: Option<ObjId>,
    target: Vec<u8>,
}

impl<'t> KeyIds<'t> {
    fn new(
        source: &'t dyn ScanSource,
        prefix: &[u8],
        filter: &ColumnFilter,
        direction: Direction,
    ) -> Self {
        let (min, max) =
            span_of(prefix, filter).unwrap_or_else(|| (prefix.to_vec(), Some(prefix.to_vec())));
        KeyIds {
            scan: LiveScan::new(source, min, max, direction, false),
            prefix_len: prefix.len(),
            filter: filter.clone(),
            one_range: filter.is_one_range(),
            last: None,
            target: prefix.to_vec(),
        }
    }

    fn next(&mut self) -> Result<Option<ObjId>> {
        // Keys of one object that were passed over one by one; then a seek behind the object is
        // better.
        let mut passed = 0;
        loop {
            let Some((key, _)) = self.scan.next()? else { return Ok(None) };
            let bytes = key.get(self.prefix_len..).unwrap_or_default();
            let id = match bytes.get(..ObjId::LEN).map(ObjId::from_slice) {
                Some(Ok(id)) => id,
                _ => {
                    let error = Error::inconsistent(format!(
                        "key {} holds no object id where one should be",
                        hex(key, 64)
                    ));
                    self.scan.finish();
                    return Err(error);
                }
            };
            if self.last == Some(id) {
                passed += 1;
                if passed >= 16 {
                    passed = 0;
                    self.skip_past(id);
                }
                continue;
            }
            if self.one_range {
                self.last = Some(id);
                return Ok(Some(id));
            }
            let direction = self.scan.direction();
            match self.filter.locate(id.as_bytes(), direction) {
                Place::Inside => {
                    self.last = Some(id);
                    return Ok(Some(id));
                }
                Place::Past => {
                    self.scan.finish();
                    return Ok(None);
                }
                Place::Ahead(bound) => {
                    self.target.truncate(self.prefix_len);
                    let reachable = match direction {
                        Direction::Forward => push_lower(&mut self.target, bound),
                        Direction::Reverse => push_upper(&mut self.target, bound),
                    };
                    if reachable {
                        self.scan.skip_to(&self.target);
                    }
                }
            }
        }
    }

    fn skip_past(&mut self, id: ObjId) {
        self.target.truncate(self.prefix_len);
        self.target.extend_from_slice(id.as_bytes());
        if self.scan.direction() == Direction::Reverse || extend_to_after_prefix(&mut self.target) {
            self.scan.skip_to(&self.target);
        } else {
            self.scan.finish();
        }
    }

    fn skip_to(&mut self, id: ObjId) {
        self.target.truncate(self.prefix_len);
        self.target.extend_from_slice(id.as_bytes());
        if self.scan.direction() == Direction::Forward || extend_to_after_prefix(&mut self.target) {
            self.scan.skip_to(&self.target);
        }
    }
}
