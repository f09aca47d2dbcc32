//! Moving the elements of a list up and down.
//!
//! Elements are moved in chunks. A chunk is copied during a short borrow, then written to its new
//! place. Two neighbouring chunks are held at a time. They are at least as long as the distance
//! moved, so the overwritten bytes are always in memory and need not be read again for an undo.

use permazen_kv::KeySpan;

use super::list::ListView;
use super::position::position_in;
use crate::layout::{self, list_position};
use crate::object::error::Result;
use crate::object::whole_object::KeyList;
use crate::schema::ResolvedField;

/// The smallest number of elements in a chunk.
const CHUNK: u32 = 512;

/// Consecutive elements of a list, in one buffer.
#[derive(Debug, Default)]
struct Chunk {
    from: u32,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Chunk {
    /// Copies the elements from `from` up to, but not including, `to`. Cost: one scan.
    fn read(list: &ListView<'_>, from: u32, to: u32) -> Result<Chunk> {
        let (min, max) = (list.element_key(from), list.element_key(to));
        let prefix_len = list.content.prefix().len();
        let mut chunk = Chunk { from, bytes: Vec::new(), ends: Vec::new() };
        let mut expected = from;
        list.content.tx.store().each(KeySpan::new(&min, Some(&max)), |key, value| {
            // A gap would move to another place unseen, so an operation that moves elements refuses
            // it.
            if position_in(key.get(prefix_len..).unwrap_or_default()) != Ok(expected) {
                return Err(hole(list, expected));
            }
            expected += 1;
            chunk.bytes.extend_from_slice(value);
            chunk.ends.push(chunk.bytes.len());
            Ok(())
        })?;
        // The scan ended early: the list is shorter than its last position says.
        if expected != to {
            return Err(hole(list, expected));
        }
        Ok(chunk)
    }

    fn get(&self, position: u32) -> Option<&[u8]> {
        let at = usize::try_from(position.checked_sub(self.from)?).ok()?;
        let start = at.checked_sub(1).and_then(|at| self.ends.get(at)).copied().unwrap_or(0);
        self.bytes.get(start..*self.ends.get(at)?)
    }
}

fn hole(list: &ListView<'_>, position: u32) -> crate::object::Error {
    list.content.damaged(
        &list.element_key(position),
        &format_args!("the list has a hole or a malformed key at position {position}"),
    )
}

/// Inserts elements at position `at` into a list of `size` elements.
pub(in crate::object) fn insert(
    list: &ListView<'_>,
    part: &ResolvedField,
    at: u32,
    size: u32,
    elements: &[&[u8]],
) -> Result<()> {
    let outside = || list.outside(at, size);
    let by = u32::try_from(elements.len()).map_err(|_| outside())?;
    let content = &list.content;
    let chunk_len = by.max(CHUNK);
    let (mut chunk, mut above) = (Chunk::default(), Chunk::default());
    let mut to = size;
    // Elements move up, so the last one moves first.
    while to > at {
        let from = to.saturating_sub(chunk_len).max(at);
        above = std::mem::replace(&mut chunk, Chunk::read(list, from, to)?);
        for position in (from..to).rev() {
            let value = chunk.get(position).ok_or_else(|| hole(list, position))?;
            let target = position.checked_add(by).ok_or_else(outside)?;
            // The old value of the target is in this chunk or the one above, so it is not read
            // again.
            let old = chunk.get(target).or_else(|| above.get(target));
            content.unindex(part, value, &list_position(position))?;
            content.put(&list.element_key(target), value, old)?;
            content.index(part, value, &list_position(target))?;
        }
        to = from;
    }
    // The store gets index entries in key order.
    let mut entries = KeyList::default();
    for (position, element) in (at..).zip(elements) {
        let old = chunk.get(position).or_else(|| above.get(position));
        content.put(&list.element_key(position), element, old)?;
        entries.add_entry(part, element, content.id, &list_position(position));
    }
    entries.sort();
    for key in entries.iter() {
        content.tx.store().put_entry(key)?;
    }
    Ok(())
}

/// Removes elements between positions `first` and `end` of a list of `size` elements: those for
/// which `goes` returns `true`. It must do so for `first`. `removed` is shown each of them before
/// it is removed, in ascending order.
pub(in crate::object) fn remove(
    list: &ListView<'_>,
    part: &ResolvedField,
    size: u32,
    first: u32,
    end: u32,
    goes: impl Fn(u32) -> bool,
    mut removed: impl FnMut(u32, &[u8]) -> Result<()>,
) -> Result<()> {
    let content = &list.content;
    // A chunk as long as the distance keeps all values that are overwritten in memory.
    let chunk_len = (end - first).max(CHUNK);
    let (mut chunk, mut below);
    chunk = Chunk::default();
    let mut by = 0;
    let mut from = first;
    // Elements move down, so the first one moves first.
    while from < size {
        let to = from.saturating_add(chunk_len).min(size);
        below = std::mem::replace(&mut chunk, Chunk::read(list, from, to)?);
        for position in from..to {
            let value = chunk.get(position).ok_or_else(|| hole(list, position))?;
            let goes = position < end && goes(position);
            if goes {
                removed(position, value)?;
            }
            // The old position gets another element, so its entry goes in any case.
            content.unindex(part, value, &list_position(position))?;
            if goes {
                by += 1;
                continue;
            }
            let target = position - by;
            let old = chunk.get(target).or_else(|| below.get(target));
            content.put(&list.element_key(target), value, old)?;
            content.index(part, value, &list_position(target))?;
        }
        from = to;
    }
    // Only the last position goes, and its value is known. A delete is enough then; a range removal
    // would read the value again.
    if by == 1
        && let Some(last) = chunk.get(size - 1)
    {
        return content.remove(&list.element_key(size - 1), last);
    }
    let min = list.element_key(size - by);
    let max = layout::prefix_end(&content.prefix());
    content.tx.store().remove_span(KeySpan::new(&min, max.as_deref()))
}
