//! A walk over the entries of a selection from both ends.

use std::borrow::Cow;
use std::sync::Arc;

use permazen_kv::Direction;

use super::plain::{EndOfValue, KeptEntry, PlainWalk};
use super::selection::{IndexSource, Selection};
use super::walk::{IndexEntryRef, IndexScan};
use crate::id::ObjId;
use crate::object::error::{Error, Result};
use crate::object::store::has_met;

/// A walk from both ends. Every entry is found once.
pub(super) struct BothEnds<'t> {
    source: &'t dyn IndexSource,
    selection: Arc<Selection>,
    end: EndOfValue,
    front: Option<Walk<'t>>,
    back: Option<Walk<'t>>,
    done: bool,
}

/// The entry that a walk has found.
#[derive(Clone, Copy)]
pub(super) enum FoundEntry {
    /// A plain entry.
    Plain(KeptEntry),
    /// The current entry of a walk that cuts keys.
    Cut,
}

/// Room for the bytes of a plain entry.
#[derive(Default)]
pub(super) struct Room {
    id: Option<ObjId>,
    value: [u8; 8],
}

/// A walk in one direction.
enum Walk<'t> {
    Plain(PlainWalk<'t>),
    /// All cases that are not plain.
    Cut(IndexScan<'t>),
}

impl<'t> Walk<'t> {
    fn new(
        source: &'t dyn IndexSource,
        selection: &Arc<Selection>,
        direction: Direction,
        end: EndOfValue,
    ) -> Self {
        match PlainWalk::new(source, selection, direction, end) {
            Some(walk) => Walk::Plain(walk),
            None => Walk::Cut(IndexScan::new(source, selection.clone(), direction)),
        }
    }

    /// The returned columns of the last entry.
    fn returned(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Walk::Plain(walk) => walk.current_key(),
            Walk::Cut(scan) => scan.current().map(|entry| entry.returned()),
        }
    }

    /// Whether this walk has reached the one from the other end.
    fn has_met(&self, other: &Walk<'_>, direction: Direction) -> bool {
        let both = self.returned().zip(other.returned());
        both.is_some_and(|(returned, other)| has_met(direction, &returned, &other))
    }
}

impl<'t> BothEnds<'t> {
    /// A walk that reads nothing yet.
    pub(super) fn new(
        source: &'t dyn IndexSource,
        selection: Arc<Selection>,
        end: EndOfValue,
    ) -> Self {
        BothEnds { source, selection, end, front: None, back: None, done: false }
    }

    pub(super) fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The next entry when going forward, if it is plain and in the batch, and no other walk can
    /// meet this one. This is the most frequent case. Small enough to become a part of the caller's
    /// loop.
    #[inline(always)]
    pub(super) fn at_hand(&mut self) -> Option<KeptEntry> {
        match (&mut self.front, &self.back) {
            (Some(Walk::Plain(walk)), None) => walk.at_hand(),
            _ => None,
        }
    }

    /// Finds the next entry. An error ends the walk.
    ///
    /// The error is boxed, and so are others below: an error takes much room, and a caller that
    /// merges a small result with one that has room for an error copies that room for each entry.
    #[inline(never)]
    pub(super) fn find(&mut self, direction: Direction) -> Result<Option<FoundEntry>, Box<Error>> {
        if self.done {
            return Ok(None);
        }
        let BothEnds { source, selection, end, front, back, done } = self;
        let (walk, other) = match direction {
            Direction::Forward => (front, back),
            Direction::Reverse => (back, front),
        };
        let walk = walk.get_or_insert_with(|| Walk::new(*source, selection, direction, *end));
        // An error ends the walk too.
        *done = true;
        let found = match walk {
            Walk::Plain(walk) => walk.next()?.map(FoundEntry::Plain),
            Walk::Cut(scan) => scan.next()?.map(|_| FoundEntry::Cut),
        };
        // Where the walks from both ends meet, every entry has been returned.
        let met = other.as_ref().is_some_and(|other| walk.has_met(other, direction));
        let found = found.filter(|_| !met);
        *done = found.is_none();
        Ok(found)
    }

    /// The entry that was found last in a direction; `None` if it was none. `room` is for its
    /// bytes.
    #[inline]
    pub(super) fn entry<'e>(
        &'e self,
        direction: Direction,
        found: FoundEntry,
        room: &'e mut Room,
    ) -> Option<IndexEntryRef<'e, 't>> {
        let walk = match direction {
            Direction::Forward => self.front.as_ref(),
            Direction::Reverse => self.back.as_ref(),
        };
        match (walk?, found) {
            (Walk::Plain(walk), FoundEntry::Plain(kept)) => {
                // The bytes of a short value are in `kept`, so they get a place that lives as long
                // as the entry.
                *room = Room { id: Some(kept.id()), value: kept.short_value() };
                let id = room.id.as_ref()?;
                let value = walk.value(kept, &room.value);
                Some(IndexEntryRef::plain(value, id, self.source, &self.selection))
            }
            (Walk::Cut(scan), _) => scan.current(),
            (Walk::Plain(_), FoundEntry::Cut) => None,
        }
    }

    /// Checks the entry that was read last in a direction, unless that was done. An error ends the
    /// walk.
    #[cold]
    pub(super) fn check(&mut self, direction: Direction) -> Result<()> {
        let walk = match direction {
            Direction::Forward => &mut self.front,
            Direction::Reverse => &mut self.back,
        };
        let checked = match walk {
            Some(Walk::Plain(walk)) => walk.check(),
            _ => Ok(()),
        };
        self.done |= checked.is_err();
        checked
    }
}
