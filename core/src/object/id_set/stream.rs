//! The IDs of any set, in one direction.

use permazen_kv::Direction;

use super::merge::Merge;
use super::node::Node;
use super::plain::{Plain, Position};
use crate::id::ObjId;
use crate::object::error::Result;
use crate::object::store::ScanSource;

/// IDs in one direction, each once.
pub(in crate::object) enum Stream<'t> {
    Plain(Plain<'t>),
    Merge(Box<Merge<'t>>),
}

impl<'t> Stream<'t> {
    /// The IDs of a set in one direction.
    pub(in crate::object) fn new(
        node: &Node,
        source: &'t dyn ScanSource,
        direction: Direction,
    ) -> Self {
        match Plain::new(node, source, direction) {
            Some(plain) => Stream::Plain(plain),
            None => Stream::Merge(Box::new(Merge::new(node, source, direction))),
        }
    }

    /// The next ID.
    pub(in crate::object) fn next(&mut self) -> Result<Option<ObjId>> {
        match self {
            Stream::Plain(plain) => plain.next(),
            Stream::Merge(merge) => merge.next(),
        }
    }

    /// Skips the IDs before `position`.
    pub(in crate::object) fn skip_to(&mut self, position: Position) {
        match self {
            Stream::Plain(plain) => plain.skip_to(position),
            Stream::Merge(merge) => merge.skip_to(position),
        }
    }
}
