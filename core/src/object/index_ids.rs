//! The object ids of an index view, without its values: the most frequent way to read an index.

use permazen_kv::Direction;

use super::error::Result;
use super::index_entry::IndexScan;
use super::index_view::IndexView;
use super::scan::LiveScan;
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
    /// Every key of a span counts, and the object id ends it.
    Plain(LiveScan<'t>),
    /// Anything else.
    Checked(IndexScan<'t>),
}

impl<'t> Walk<'t> {
    fn new(view: &IndexView<'t>, direction: Direction) -> Self {
        let (min, max, checked) = view.selection.span();
        let plain = checked.is_empty()
            && view.selection.schema.is_none()
            && view.selection.columns == view.shape().columns();
        if plain {
            let source = view.source.as_scan_source();
            Walk::Plain(LiveScan::new(source, min, max, direction, false))
        } else {
            Walk::Checked(view.starts_at(direction))
        }
    }

    /// The columns returned last.
    fn returned(&self) -> Option<&[u8]> {
        match self {
            Walk::Plain(scan) => scan.current().map(|(key, _)| key),
            Walk::Checked(scan) => scan.current().map(|entry| entry.returned()),
        }
    }

    /// The next id and the columns it ends.
    #[inline]
    fn next(&mut self, view: &IndexView<'t>) -> Result<Option<(ObjId, &[u8])>> {
        match self {
            Walk::Plain(scan) => match scan.next()? {
                Some((key, _)) => Ok(Some((view.shape().id_at_end(key)?, key))),
                None => Ok(None),
            },
            Walk::Checked(scan) => match scan.next()? {
                Some(entry) => Ok(Some((entry.id()?, entry.returned()))),
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
        match walk.next(&self.view) {
            Ok(Some((id, columns))) => {
                let met =
                    other.as_ref().and_then(Walk::returned).is_some_and(|other| match direction {
                        Direction::Forward => columns >= other,
                        Direction::Reverse => columns <= other,
                    });
                if !met {
                    return Some(Ok(id));
                }
                self.done = true;
                None
            }
            Ok(None) => {
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
