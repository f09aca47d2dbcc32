//! The entries of an index view with their values decoded. This is how programs mostly read an
//! index.

use std::sync::Arc;

use permazen_kv::Direction;

use super::both_ends::{BothEnds, FoundEntry, Room};
use super::plain::EndOfValue;
use super::selection::{IndexSource, Selection};
use super::walk::IndexEntryRef;
use crate::object::error::Error;

/// An iterator over the entries of an [`IndexView`](super::IndexView), from both ends. A closure
/// decodes all columns of each.
pub(crate) struct Rows<'t, F> {
    entries: BothEnds<'t>,
    decode: F,
}

impl<'t, F> Rows<'t, F> {
    pub(super) fn new(source: &'t dyn IndexSource, selection: Arc<Selection>, decode: F) -> Self {
        Rows { entries: BothEnds::new(source, selection, EndOfValue::Trusted), decode }
    }

    /// The error for an entry that could not be decoded: what is wrong with the whole entry, which
    /// ends the iteration, or else what was wrong for the closure.
    #[cold]
    fn failed<E: From<Error>>(&mut self, direction: Direction, error: E) -> Box<E> {
        match self.entries.check(direction) {
            Ok(()) => error.into(),
            Err(damaged) => converted(damaged),
        }
    }

    /// Decodes the entry that was found last in a direction.
    #[inline]
    fn decoded<T, E: From<Error>>(
        &mut self,
        direction: Direction,
        found: FoundEntry,
    ) -> Option<Result<T, E>>
    where
        F: FnMut(IndexEntryRef<'_, 't>) -> Result<T, E>,
    {
        let mut room = Room::default();
        let entry = self.entries.entry(direction, found, &mut room)?;
        match (self.decode)(entry) {
            Err(error) => Some(Err(*self.failed(direction, error))),
            // Returned as it is: to take it apart and put it together again would be copying.
            row => Some(row),
        }
    }
}

#[cold]
fn converted<E: From<Error>>(error: Error) -> Box<E> {
    Box::new(error.into())
}

impl<'t, F, T, E: From<Error>> Iterator for Rows<'t, F>
where
    F: FnMut(IndexEntryRef<'_, 't>) -> Result<T, E>,
{
    type Item = Result<T, E>;

    #[inline]
    fn next(&mut self) -> Option<Result<T, E>> {
        let found = match self.entries.at_hand() {
            Some(kept) => FoundEntry::Plain(kept),
            None => match self.entries.find(Direction::Forward) {
                Ok(found) => found?,
                Err(error) => return Some(Err(*converted(*error))),
            },
        };
        self.decoded(Direction::Forward, found)
    }
}

impl<'t, F, T, E: From<Error>> DoubleEndedIterator for Rows<'t, F>
where
    F: FnMut(IndexEntryRef<'_, 't>) -> Result<T, E>,
{
    fn next_back(&mut self) -> Option<Result<T, E>> {
        match self.entries.find(Direction::Reverse) {
            Ok(found) => self.decoded(Direction::Reverse, found?),
            Err(error) => Some(Err(*converted(*error))),
        }
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
