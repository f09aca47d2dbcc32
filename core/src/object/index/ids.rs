//! The object IDs of an index view without its values. This is the most frequent way to read an
//! index.

use std::sync::Arc;

use permazen_kv::Direction;

use super::both_ends::{BothEnds, Room};
use super::plain::EndOfValue;
use super::selection::{IndexSource, Selection};
use crate::id::ObjId;
use crate::object::error::{Error, Result};

/// The object IDs of an [`IndexView`](super::IndexView) in index order, each once per value. Can be
/// read from both ends.
pub(super) struct IndexIds<'t> {
    entries: BothEnds<'t>,
}

impl std::fmt::Debug for IndexIds<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let selection = self.entries.selection();
        f.debug_struct("IndexIds").field("selection", selection).finish_non_exhaustive()
    }
}

impl<'t> IndexIds<'t> {
    /// The IDs of a selection whose last column is the ID.
    pub(super) fn new(source: &'t dyn IndexSource, selection: Arc<Selection>) -> Self {
        IndexIds { entries: BothEnds::new(source, selection, EndOfValue::Checked) }
    }

    #[inline(never)]
    fn step(&mut self, direction: Direction) -> Result<Option<ObjId>, Box<Error>> {
        let Some(found) = self.entries.find(direction)? else { return Ok(None) };
        let mut room = Room::default();
        let entry = self.entries.entry(direction, found, &mut room);
        Ok(entry.map(|entry| entry.id()).transpose()?)
    }
}

impl Iterator for IndexIds<'_> {
    type Item = Result<ObjId>;

    #[inline]
    fn next(&mut self) -> Option<Result<ObjId>> {
        match self.entries.at_hand() {
            Some(kept) => Some(Ok(kept.id())),
            None => match self.step(Direction::Forward) {
                Ok(id) => id.map(Ok),
                Err(error) => Some(Err(*error)),
            },
        }
    }
}

impl DoubleEndedIterator for IndexIds<'_> {
    fn next_back(&mut self) -> Option<Result<ObjId>> {
        self.step(Direction::Reverse).map_err(|error| *error).transpose()
    }
}

impl std::iter::FusedIterator for IndexIds<'_> {}
