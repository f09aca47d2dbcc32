//! Merging sorted streams of object ids.

use std::ops::Bound;
use std::sync::Arc;

use permazen_kv::Direction;

use super::column::{ColumnFilter, Place, push_lower, push_upper, span_of};
use super::error::{Error, Result, hex};
use super::id_set::Node;
use super::scan::{LiveScan, ScanSource, extend_to_after_prefix};
use crate::id::ObjId;

impl Node {
    /// The ids of the set in one direction.
    pub(super) fn stream<'t>(
        &self,
        source: &'t dyn ScanSource,
        direction: Direction,
    ) -> Stream<'t> {
        match self {
            Node::Keys { prefix, filter } => {
                Stream::Keys(Box::new(KeyIds::new(source, prefix, filter, direction)))
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

/// Ids in one direction, each once.
pub(super) enum Stream<'t> {
    Keys(Box<KeyIds<'t>>),
    Sorted { ids: Arc<[ObjId]>, from: usize, to: usize, direction: Direction },
    Union(Vec<Peeked<'t>>, Direction),
    Intersection(Vec<Peeked<'t>>, Direction),
    Difference(Box<Stream<'t>>, Box<Peeked<'t>>, Direction),
    Within(Box<Stream<'t>>, ColumnFilter, Direction),
}

/// A stream with the id that comes next.
pub(super) struct Peeked<'t> {
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
    /// The next id.
    pub(super) fn next(&mut self) -> Result<Option<ObjId>> {
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
    pub(super) fn skip_to(&mut self, id: ObjId) {
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
pub(super) struct KeyIds<'t> {
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
