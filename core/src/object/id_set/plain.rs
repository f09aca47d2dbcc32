//! The IDs of a set that is not a combination: IDs from keys, or a list of IDs.

use std::ops::ControlFlow;
use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use super::node::{Node, Op};
use crate::id::ObjId;
use crate::layout;
use crate::object::error::{Error, Result, hex};
use crate::object::index::{
    ColumnFilter, FilterPosition, OwnedSpan, push_lower, push_upper, short_span_of, span_of,
};
use crate::object::store::{LiveScan, ScanSource, ShortKey, extend_to_after_prefix};

/// The place of an ID in a direction. It is the ID as a number, complemented when going backward,
/// so that the position of a later ID is always greater.
pub(in crate::object) type Position = u64;

/// The position of `id` when going in `direction`.
pub(in crate::object) fn position(id: ObjId, direction: Direction) -> Position {
    turned(u64::from_be_bytes(id.to_bytes()), direction)
}

/// The ID at a position as a number, or the position of that number.
pub(in crate::object) fn turned(number: u64, direction: Direction) -> u64 {
    match direction {
        Direction::Forward => number,
        // The complement of a number falls as the number rises.
        Direction::Reverse => !number,
    }
}

/// The IDs of a set that is not a combination.
pub(in crate::object) enum Plain<'t> {
    Keys(Box<KeyIds<'t>>),
    Sorted { ids: Arc<[ObjId]>, from: usize, to: usize, direction: Direction },
}

impl<'t> Plain<'t> {
    /// `None` if the set is a combination.
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

    /// The next ID.
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

    /// Goes back to the beginning, and forgets the IDs that were read.
    pub(super) fn restart(&mut self) {
        match self {
            Plain::Keys(keys) => keys.restart(),
            Plain::Sorted { ids, from, to, .. } => (*from, *to) = (0, ids.len()),
        }
    }

    /// Skips the IDs before `position`.
    pub(in crate::object) fn skip_to(&mut self, target: Position) {
        match self {
            Plain::Keys(keys) => keys.skip_to(target),
            Plain::Sorted { ids, from, to, direction } => {
                let before = ids.partition_point(|id| match direction {
                    Direction::Forward => position(*id, *direction) < target,
                    Direction::Reverse => position(*id, *direction) >= target,
                });
                match direction {
                    // A place before the present one is no step back.
                    Direction::Forward => *from = (*from).max(before),
                    Direction::Reverse => *to = (*to).min(before),
                }
            }
        }
    }
}

/// After this many keys of one object, a seek to after the object is faster than further steps.
const KEYS_OF_ONE: u32 = 16;

/// How many distinct IDs follow a prefix in keys. The filter must want one range of them.
pub(super) fn count_ids(
    source: &dyn ScanSource,
    prefix: &[u8],
    filter: &ColumnFilter,
) -> Result<usize> {
    let Some((mut min, max)) = span_of(prefix, filter) else { return Ok(0) };
    let (mut count, mut last) = (0, None);
    loop {
        // The seek behind the last object can leave nothing of the range.
        if max.as_ref().is_some_and(|max| min >= *max) {
            return Ok(count);
        }
        // The count goes on over several visits, each of which begins behind an object.
        let (mut passed, mut fault) = (0, None);
        source.with_read(&mut |kv| {
            let span = KeySpan::new(&min, max.as_deref());
            kv.visit(span, Direction::Forward, &mut |key, _| {
                match layout::object_after(key, prefix.len()) {
                    // A list has a key for each position, and a map one for each key, but the
                    // object counts once.
                    Some(id) if last == Some(id) => passed += 1,
                    Some(id) => (count, last, passed) = (count + 1, Some(id), 0),
                    None => fault = Some(no_id_in(key)),
                }
                match fault.is_none() && passed < KEYS_OF_ONE {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })?;
            Ok(())
        })?;
        match (fault, last) {
            (Some(fault), _) => return Err(fault),
            // The object has many keys, so the next visit begins behind all of them.
            (None, Some(id)) if passed >= KEYS_OF_ONE => {
                min.truncate(prefix.len());
                min.extend_from_slice(id.as_bytes());
                if !extend_to_after_prefix(&mut min) {
                    return Ok(count);
                }
            }
            (None, _) => return Ok(count),
        }
    }
}

/// The first ID in a direction that follows a prefix in keys. The filter must want one range of
/// them. Cost: one seek.
#[inline]
pub(super) fn first_id(
    source: &dyn ScanSource,
    prefix: &[u8],
    filter: &ColumnFilter,
    direction: Direction,
) -> Result<Option<ObjId>> {
    let Some((min, max)) = short_span_of(prefix, filter) else { return Ok(None) };
    let (min, max) = (min.as_slice(), max.as_ref().map(ShortKey::as_slice));
    // Bounds can exclude each other. Then the store need not be asked.
    if max.is_some_and(|max| min >= max) {
        return Ok(None);
    }
    let mut found = Ok(None);
    source.with_read(&mut |kv| {
        let pair = match direction {
            Direction::Forward => kv.at_least(min, max)?,
            Direction::Reverse => kv.at_most(min, max)?,
        };
        if let Some((key, _)) = pair {
            let id = layout::object_after(&key, prefix.len());
            found = id.map(Some).ok_or_else(|| no_id_in(&key));
        }
        Ok(())
    })?;
    found
}

#[cold]
fn no_id_in(key: &[u8]) -> Error {
    Error::inconsistent(format!("key {} holds no object id where one should be", hex(key, 64)))
}

/// The span of the keys with IDs that the filter can want; empty if there can be none.
fn span_or_none(prefix: &[u8], filter: &ColumnFilter) -> OwnedSpan {
    span_of(prefix, filter).unwrap_or_else(|| (prefix.to_vec(), Some(prefix.to_vec())))
}

/// The distinct IDs that follow a prefix in keys.
pub(in crate::object) struct KeyIds<'t> {
    scan: LiveScan<'t>,
    prefix_len: usize,
    filter: ColumnFilter,
    /// Whether the bounds of the scan express the whole filter.
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
        let (min, max) = span_or_none(prefix, filter);
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
        // How many keys of one object were skipped one by one.
        let mut passed = 0;
        loop {
            let Some((key, _)) = self.scan.next()? else { return Ok(None) };
            let id = match layout::object_after(key, self.prefix_len) {
                Some(id) => id,
                None => {
                    let error = no_id_in(key);
                    // After damage the place is not known, so the scan ends.
                    self.scan.finish();
                    return Err(error);
                }
            };
            if self.last == Some(id) {
                passed += 1;
                if passed >= KEYS_OF_ONE {
                    passed = 0;
                    self.skip_past(id);
                }
                continue;
            }
            // The scan has no other keys, so the filter need not be asked for each of them.
            if self.one_range {
                self.last = Some(id);
                return Ok(Some(id));
            }
            let direction = self.scan.direction();
            match self.filter.locate(id.as_bytes(), direction) {
                FilterPosition::Inside => {
                    self.last = Some(id);
                    return Ok(Some(id));
                }
                FilterPosition::Past => {
                    // In this direction no more IDs are wanted.
                    self.scan.finish();
                    return Ok(None);
                }
                FilterPosition::Ahead(bound) => {
                    self.target.truncate(self.prefix_len);
                    let reachable = match direction {
                        Direction::Forward => push_lower(&mut self.target, bound),
                        Direction::Reverse => push_upper(&mut self.target, bound),
                    };
                    // A bound that no key reaches needs no seek, and the next key is looked at.
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
        // Backward, the scan continues before this key, and no key of the object comes before it.
        if self.scan.direction() == Direction::Reverse || extend_to_after_prefix(&mut self.target) {
            self.scan.skip_to(&self.target);
        } else {
            self.scan.finish();
        }
    }

    fn restart(&mut self) {
        // The prefix is kept at the start of the target, so that it needs no memory of its own.
        self.target.truncate(self.prefix_len);
        let (min, max) = span_or_none(&self.target, &self.filter);
        self.scan.restart(min, max);
        self.last = None;
    }

    fn skip_to(&mut self, position: Position) {
        // Nothing comes before this. The key after the last ID would not begin with the prefix.
        if position == 0 {
            return;
        }
        let direction = self.scan.direction();
        self.target.truncate(self.prefix_len);
        self.target.extend_from_slice(&turned(position, direction).to_be_bytes());
        // Backward, the scan stops before the key, so the key after the ID is given.
        if direction == Direction::Forward || extend_to_after_prefix(&mut self.target) {
            self.scan.skip_to(&self.target);
        }
    }
}

#[cfg(test)]
mod tests {
    use permazen_kv::memory::MemoryStore;
    use proptest::prelude::*;

    use super::*;
    use crate::object::id_set::{IdSet, any_id, ids_between};
    use crate::object::store::Undo;
    use crate::object::{Database, TransactionConfig};
    use crate::schema::SchemaModel;

    proptest! {
        /// A set finds its ends without a stream, and a stream finds the same.
        #[test]
        fn the_ends_of_a_set_are_those_of_its_stream(
            keys in prop::collection::vec(
                (0u8..4, 1u8..6, prop::collection::vec(any::<u8>(), 0..3)), 0..20,
            ),
            prefix in prop_oneof![
                Just(vec![]), (0u8..4).prop_map(|at| vec![at]), Just(vec![0xff; 70]),
            ],
            range in prop::option::of((1u8..7, 1u8..7)),
            damaged in any::<bool>(),
        ) {
            let db = Database::new(Arc::new(MemoryStore::new()));
            let tx = db.begin(&TransactionConfig::new(SchemaModel::new()).unwrap()).unwrap();
            let id = |last: u8| ObjId::from_bytes([10, 0, 0, 0, 0, 0, 0, last]).unwrap();
            let put = |key: &[u8]| tx.store().put(key, &[], Undo::Absent).unwrap();
            for (at, last, rest) in &keys {
                put(&[&[*at][..], id(*last).as_bytes(), rest].concat());
                put(&[&[0xff; 70][..], id(*last).as_bytes(), rest].concat());
            }
            if damaged {
                put(&[1, 10]);
            }
            let filter = range.map_or_else(any_id, |(from, to)| ids_between(id(from)..id(to)));
            let set = IdSet::of_keys(tx.store(), prefix, filter);
            let text = |found: Result<Option<ObjId>>| found.map_err(|error| error.to_string());
            prop_assert_eq!(text(set.first()), text(set.iter().next().transpose()));
            prop_assert_eq!(text(set.last()), text(set.iter().next_back().transpose()));
        }
    }
}
