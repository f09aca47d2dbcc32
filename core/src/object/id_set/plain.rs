//! The ids of a set that is not made of others: those in keys, or a list of them.

use std::sync::Arc;

use permazen_kv::Direction;

use super::node::{Node, Op};
use crate::id::ObjId;
use crate::layout;
use crate::object::error::{Error, Result, hex};
use crate::object::index::{ColumnFilter, Place, push_lower, push_upper, span_of};
use crate::object::store::{LiveScan, ScanSource, extend_to_after_prefix};

/// Where an id stands in the order of a direction: the id as a number, complemented going backward, so
/// that what comes later is always greater.
pub(in crate::object) type Position = u64;

/// The place of `id` when going in `direction`.
pub(in crate::object) fn position(id: ObjId, direction: Direction) -> Position {
    turned(u64::from_be_bytes(id.to_bytes()), direction)
}

/// The number of the id at a position, or the position of that number.
pub(in crate::object) fn turned(number: u64, direction: Direction) -> u64 {
    match direction {
        Direction::Forward => number,
        Direction::Reverse => !number,
    }
}

/// The ids of a set that is not made of others.
pub(in crate::object) enum Plain<'t> {
    Keys(Box<KeyIds<'t>>),
    Sorted { ids: Arc<[ObjId]>, from: usize, to: usize, direction: Direction },
}

impl<'t> Plain<'t> {
    /// None if the set is made of others.
    pub(in crate::object) fn new(
        node: &Node,
        source: &'t dyn ScanSource,
        direction: Direction,
    ) -> Option<Self> {
        match &node.op {
            Op::Keys { prefix, filter } => {
                Some(Plain::Keys(Box::new(KeyIds::new(source, prefix, filter, direction))))
            }
            Op::Sorted(ids) => {
                Some(Plain::Sorted { ids: ids.clone(), from: 0, to: ids.len(), direction })
            }
            Op::Union | Op::Intersection | Op::Difference | Op::Within(_) => None,
        }
    }

    /// The next id.
    pub(in crate::object) fn next(&mut self) -> Result<Option<ObjId>> {
        match self {
            Plain::Keys(keys) => keys.next(),
            Plain::Sorted { ids, from, to, direction } => {
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
        }
    }

    /// Leaves out what comes before `position`.
    pub(in crate::object) fn skip_to(&mut self, target: Position) {
        match self {
            Plain::Keys(keys) => keys.skip_to(target),
            Plain::Sorted { ids, from, to, direction } => {
                let before = ids.partition_point(|id| match direction {
                    Direction::Forward => position(*id, *direction) < target,
                    Direction::Reverse => position(*id, *direction) >= target,
                });
                match direction {
                    Direction::Forward => *from = (*from).max(before),
                    Direction::Reverse => *to = (*to).min(before),
                }
            }
        }
    }
}

/// The distinct ids that follow a prefix in keys.
pub(in crate::object) struct KeyIds<'t> {
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
            let id = match layout::object_after(key, self.prefix_len) {
                Some(id) => id,
                None => {
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

    fn skip_to(&mut self, position: Position) {
        let direction = self.scan.direction();
        self.target.truncate(self.prefix_len);
        self.target.extend_from_slice(&turned(position, direction).to_be_bytes());
        if direction == Direction::Forward || extend_to_after_prefix(&mut self.target) {
            self.scan.skip_to(&self.target);
        }
    }
}
