//! Entries of indexes.

use permazen::__internal::layout::prefix_end;
use permazen::__internal::object::IndexKind;
use permazen::encoding::{self, uint};
use permazen::kv::{Direction, KeySpan};
use permazen::{ObjId, StorageId};

use super::fail::Result;
use super::reader::Reader;
use super::subject::{Flow, visit};
use crate::plan::{EntryShape, Span};

/// Takes entries of an index apart.
pub(crate) struct Cutter<'s> {
    shape: &'s EntryShape,
    /// Where each value ends.
    ends: Vec<usize>,
}

/// An entry, borrowed from the store.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'e> {
    pub(crate) key: &'e [u8],
    pub(crate) id: ObjId,
    start: usize,
    ends: &'e [usize],
}

impl<'e> Entry<'e> {
    /// An indexed value.
    pub(crate) fn value(&self, column: usize) -> &'e [u8] {
        let from = match column.checked_sub(1) {
            None => self.start,
            // A missing end gives an empty value instead of a panic: damage must not stop a
            // statement.
            Some(before) => self.ends.get(before).copied().unwrap_or(usize::MAX),
        };
        self.ends.get(column).and_then(|to| self.key.get(from..*to)).unwrap_or_default()
    }

    /// The key up to the object ID.
    pub(crate) fn before_id(&self) -> &'e [u8] {
        self.ends.last().and_then(|end| self.key.get(..*end)).unwrap_or(self.key)
    }

    /// The bytes after the object ID.
    pub(crate) fn suffix(&self) -> &'e [u8] {
        self.key.get(self.before_id().len() + ObjId::LEN..).unwrap_or_default()
    }
}

impl<'s> Cutter<'s> {
    pub(crate) fn new(shape: &'s EntryShape) -> Self {
        Cutter { shape, ends: Vec::with_capacity(shape.values.len()) }
    }

    /// The parts of a key; `None` if it is damaged.
    pub(crate) fn cut<'e>(&'e mut self, key: &'e [u8]) -> Option<Entry<'e>> {
        // The buffer is used again for each entry, so that an index scan allocates nothing.
        self.ends.clear();
        let start = self.shape.key.len();
        // A damaged key is the caller's to note: some callers have noted it before.
        let id = self.try_cut(key, start).ok()?;
        Some(Entry { key, id, start, ends: &self.ends })
    }

    fn try_cut(&mut self, key: &[u8], start: usize) -> encoding::Result<ObjId> {
        let mut reader = encoding::Reader::new(key);
        reader.take(start)?;
        let last = self.shape.values.len().saturating_sub(1);
        for (column, value) in self.shape.values.iter().enumerate() {
            if self.shape.opaque_end && column == last {
                // Only the object ID follows a value whose end is not known.
                // A value takes one byte at least, so a shorter key is damaged.
                let length = reader.rest().len().checked_sub(ObjId::LEN).filter(|len| *len > 0);
                reader.take(length.ok_or(encoding::EncodingError::Truncated)?)?;
            } else {
                value.skip(&mut reader)?;
            }
            self.ends.push(key.len() - reader.rest().len());
        }
        let id = ObjId::read_from(&mut reader)?;
        match self.shape.kind {
            // The position after the ID must be whole, and nothing may follow it.
            IndexKind::ListElement => {
                uint::skip(&mut reader)?;
                reader.finish()?;
            }
            // The keys of different maps can have different encodings.
            IndexKind::MapValue if !reader.is_empty() => {}
            _ => reader.finish()?,
        }
        Ok(id)
    }
}

/// Reads the entries in a span that are of objects of a type. Damaged ones are left out and noted.
pub(crate) fn each_entry(
    reader: &Reader<'_>,
    shape: &EntryShape,
    span: &Span,
    direction: Direction,
    object_type: StorageId,
    entry: &mut dyn FnMut(Entry<'_>) -> Result<Flow>,
) -> Result<Flow> {
    each_entry_noting(reader, shape, span, direction, object_type, None, entry)
}

/// As [`each_entry`]. Damaged entries after the key `noted_after` were noted before.
fn each_entry_noting(
    reader: &Reader<'_>,
    shape: &EntryShape,
    span: &Span,
    direction: Direction,
    object_type: StorageId,
    noted_after: Option<&[u8]>,
    entry: &mut dyn FnMut(Entry<'_>) -> Result<Flow>,
) -> Result<Flow> {
    let mut cutter = Cutter::new(shape);
    let of_type = object_type.prefix();
    let keys = KeySpan::new(&span.min, span.max.as_deref());
    visit(reader, keys, direction, &mut |key, _| match cutter.cut(key) {
        Some(found) if found.id.as_bytes().starts_with(&of_type) => entry(found),
        // Objects of several types can have entries in one index.
        Some(_) => Ok(Flow::More),
        None => {
            // An entry that is read a second time must not be counted twice.
            if noted_after.is_none_or(|noted| key <= noted) {
                reader.note_damage();
            }
            Ok(Flow::More)
        }
    })
}

/// How many objects with equal values are kept in memory while an index is read from its end.
const GROUP: usize = 4096;

/// Reads entries of an index from the end, but entries with equal values in the order of their
/// objects' IDs. Cost: as [`each_entry`]; if more than 4,096 objects have equal values, their
/// entries are read twice, with two more seeks.
pub(crate) fn each_entry_from_end(
    reader: &Reader<'_>,
    shape: &EntryShape,
    span: &Span,
    object_type: StorageId,
    entry: &mut dyn FnMut(Entry<'_>) -> Result<Flow>,
) -> Result<Flow> {
    let mut rest = span.clone();
    loop {
        // The key up to the ID, and the keys of the group in descending order.
        let mut values: Vec<u8> = Vec::new();
        let mut group: Vec<Vec<u8>> = Vec::new();
        // The first key of the group that did not find room.
        let mut too_many: Option<Vec<u8>> = None;
        let mut cutter = Cutter::new(shape);
        let mut ended = Flow::More;
        each_entry(reader, shape, &rest, Direction::Reverse, object_type, &mut |found| {
            // Another value begins, so the group before it is complete.
            if values != found.before_id() {
                ended = give(&mut cutter, &mut group, entry)?;
                if ended.is_break() {
                    return Ok(ended);
                }
                values.clear();
                values.extend_from_slice(found.before_id());
            }
            // Without a bound, an index with one value for all objects would be kept in memory.
            if group.len() == GROUP {
                too_many = Some(found.key.to_vec());
                // The group is read again forward, so reading on from the end is of no use.
                return Ok(Flow::Enough);
            }
            group.push(found.key.to_vec());
            Ok(Flow::More)
        })?;
        // The consumer wants no more, so the rest of the group is not given either.
        if ended.is_break() {
            return Ok(ended);
        }
        // The range is at its end, and the last group has no other value after it.
        let Some(lowest) = too_many else {
            return give(&mut cutter, &mut group, entry);
        };
        // The range that is wanted can begin or end within the group.
        let whole = Span {
            min: values.clone().max(rest.min.clone()),
            max: match (prefix_end(&values), rest.max.take()) {
                (Some(end), Some(max)) => Some(end.min(max)),
                (end, max) => end.or(max),
            },
        };
        // The entries after `lowest` are read again.
        let (forward, noted) = (Direction::Forward, Some(&lowest[..]));
        let read = each_entry_noting(reader, shape, &whole, forward, object_type, noted, entry)?;
        if read.is_break() {
            return Ok(Flow::Enough);
        }
        // Nothing of the range comes before this group.
        if values <= rest.min {
            return Ok(Flow::More);
        }
        // The next round begins below this group.
        rest.max = Some(values);
    }
}

/// Gives the entries of a group, whose keys are in descending order.
fn give(
    cutter: &mut Cutter<'_>,
    group: &mut Vec<Vec<u8>>,
    entry: &mut dyn FnMut(Entry<'_>) -> Result<Flow>,
) -> Result<Flow> {
    // The keys were pushed in descending order, so the last one is the least ID.
    while let Some(key) = group.pop() {
        if let Some(found) = cutter.cut(&key)
            && entry(found)?.is_break()
        {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}
