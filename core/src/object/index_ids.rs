//! The object ids of an index view, without its values: the most frequent way to read an index.

use std::sync::Arc;

use permazen_kv::Direction;

use super::column::{ColumnFilter, Place};
use super::error::Result;
use super::id_set::ids_within;
use super::index_entry::IndexScan;
use super::index_view::{IndexView, Selection, push_jump};
use super::scan::{Keep, LiveScan, extend_to_after_prefix};
use crate::id::ObjId;

/// The object ids of an [`IndexView`] in index order, each once per value; from both ends.
pub struct IndexIds<'t> {
    view: IndexView<'t>,
    front: Option<Walk<'t>>,
    back: Option<Walk<'t>>,
    done: bool,
}

impl std::fmt::Debug for IndexIds<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexIds").field("view", &self.view).finish_non_exhaustive()
    }
}

/// A walk over the entries, one way.
enum Walk<'t> {
    /// The object id ends every key of a span, and nothing but the id says which of them count.
    Plain { scan: LiveScan<'t, IdAtEnd>, wanted: Option<WantedIds>, target: Vec<u8> },
    /// Anything else.
    Checked(IndexScan<'t>),
}

/// Keeps the object id that ends each key.
struct IdAtEnd(Arc<Selection>);

impl Keep for IdAtEnd {
    type Kept = ObjId;

    #[inline]
    fn keep(&self, key: &[u8], _value: &[u8], _bytes: &mut Vec<u8>) -> Result<ObjId> {
        self.0.shape.id_at_end(key)
    }

    #[inline]
    fn end(_kept: ObjId, key_end: usize) -> usize {
        key_end
    }
}

/// Which ids are wanted.
struct WantedIds {
    filter: ColumnFilter,
    /// The smallest and the largest, if all between them are wanted too.
    between: Option<(ObjId, ObjId)>,
}

impl WantedIds {
    #[inline]
    fn contains(&self, id: ObjId) -> bool {
        match self.between {
            Some((first, last)) => first <= id && id <= last,
            None => self.filter.contains(id.as_bytes()),
        }
    }

    /// Moves `scan` from an entry whose id is not wanted to where the next one can be.
    #[cold]
    fn pass(&self, scan: &mut LiveScan<'_, IdAtEnd>, target: &mut Vec<u8>) {
        let direction = scan.direction();
        let Some((key, _)) = scan.current() else { return };
        let Some((values, id)) = key.split_last_chunk::<{ ObjId::LEN }>() else { return };
        target.clear();
        target.extend_from_slice(values);
        let reachable = match self.filter.locate(id, direction) {
            Place::Inside => false,
            Place::Ahead(bound) => push_jump(target, bound, direction),
            Place::Past => direction == Direction::Reverse || extend_to_after_prefix(target),
        };
        if reachable {
            scan.skip_to(target);
        }
    }
}

impl<'t> Walk<'t> {
    fn new(view: &IndexView<'t>, direction: Direction) -> Self {
        let selection = &*view.selection;
        let (min, max, checked) = selection.span();
        let id_column = view.shape().id_column();
        let plain = selection.schema.is_none()
            && selection.columns == view.shape().columns()
            && checked.iter().all(|column| *column == id_column);
        if !plain {
            return Walk::Checked(view.starts_at(direction));
        }
        let filter = match checked[..] {
            [] => None,
            _ => selection.filters.get(id_column).cloned().flatten(),
        };
        let wanted = filter.map(|filter| WantedIds { between: ids_within(&filter), filter });
        let source = view.source.as_scan_source();
        let keep = IdAtEnd(view.selection.clone());
        let scan = LiveScan::keeping(keep, source, min, max, direction);
        Walk::Plain { scan, wanted, target: Vec::new() }
    }

    /// The columns returned last.
    fn returned(&self) -> Option<&[u8]> {
        match self {
            Walk::Plain { scan, .. } => scan.current().map(|(key, _)| key),
            Walk::Checked(scan) => scan.current().map(|entry| entry.returned()),
        }
    }

    /// Whether this walk has come to where the opposite one is.
    fn has_met(&self, other: &Walk<'_>, direction: Direction) -> bool {
        let (Some(returned), Some(other)) = (self.returned(), other.returned()) else {
            return false;
        };
        match direction {
            Direction::Forward => returned >= other,
            Direction::Reverse => returned <= other,
        }
    }

    /// The next id.
    #[inline]
    fn next(&mut self) -> Result<Option<ObjId>> {
        match self {
            Walk::Plain { scan, wanted, target } => loop {
                let Some(id) = scan.next_kept()? else { return Ok(None) };
                match wanted {
                    Some(wanted) if !wanted.contains(id) => wanted.pass(scan, target),
                    _ => return Ok(Some(id)),
                }
            },
            Walk::Checked(scan) => match scan.next()? {
                Some(entry) => Ok(Some(entry.id()?)),
                None => Ok(None),
            },
        }
    }
}

impl<'t> IndexIds<'t> {
    /// The ids of a view that has the id as its last column.
    pub(super) fn new(view: IndexView<'t>) -> Self {
        IndexIds { view, front: None, back: None, done: false }
    }

    #[inline]
    fn step(&mut self, direction: Direction) -> Option<Result<ObjId>> {
        if self.done {
            return None;
        }
        let (walk, other) = match direction {
            Direction::Forward => (&mut self.front, &self.back),
            Direction::Reverse => (&mut self.back, &self.front),
        };
        let walk = walk.get_or_insert_with(|| Walk::new(&self.view, direction));
        let next = walk.next();
        if let Ok(Some(id)) = next
            && !other.as_ref().is_some_and(|other| walk.has_met(other, direction))
        {
            return Some(Ok(id));
        }
        self.done = true;
        next.err().map(Err)
    }
}

impl Iterator for IndexIds<'_> {
    type Item = Result<ObjId>;

    #[inline]
    fn next(&mut self) -> Option<Result<ObjId>> {
        self.step(Direction::Forward)
    }
}

impl DoubleEndedIterator for IndexIds<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Result<ObjId>> {
        self.step(Direction::Reverse)
    }
}

impl std::iter::FusedIterator for IndexIds<'_> {}
