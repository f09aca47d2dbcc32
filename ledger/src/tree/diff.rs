//! The differences of two trees, and of two trees and their common base.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;
use permazen_kv::{Direction, KeySpan};

use super::cursor::Cursor;
use super::nodes::NodeStore;
use crate::error::Result;
use crate::node::items::Payload;
use crate::node::view::Node;

/// A value as it lies in a leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) flags: u16,
    pub(crate) bytes: Bytes,
}

impl Stored {
    fn of(payload: Payload<'_>) -> Self {
        Stored { flags: payload.flags, bytes: Bytes::copy_from_slice(payload.bytes) }
    }

    pub(crate) fn payload(&self) -> Payload<'_> {
        Payload { flags: self.flags, bytes: &self.bytes }
    }
}

/// An entry that two trees do not share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) key: Vec<u8>,
    /// `None` if the entry is new.
    pub(crate) old: Option<Stored>,
    /// `None` if the entry is gone.
    pub(crate) new: Option<Stored>,
}

/// The differences of two trees by their keys.
///
/// Shared nodes are not loaded: each run of differences costs at most two loads for each level, and
/// one for each node that has only differences.
#[derive(Debug)]
pub(crate) struct Diff<N> {
    old: Cursor<N>,
    new: Cursor<N>,
    direction: Direction,
    /// Where it ends: forward, the first key that does not belong to it; in reverse, the last one
    /// that does.
    end: Option<Vec<u8>>,
    done: bool,
}

impl<N: NodeStore + Clone> Diff<N> {
    pub(crate) fn new(
        nodes: &N,
        (old, new): (&Arc<Node>, &Arc<Node>),
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<Self> {
        let from = match direction {
            Direction::Forward => Some(span.min).filter(|min| !min.is_empty()),
            Direction::Reverse => span.max,
        };
        let done = old.as_bytes() == new.as_bytes();
        // Equal trees need no descent.
        let from = from.filter(|_| !done);
        let cursor = |root: &Arc<Node>| match from {
            Some(key) => Cursor::at(nodes.clone(), Arc::clone(root), key, direction),
            None => Ok(Cursor::new(nodes.clone(), Arc::clone(root), direction)),
        };
        let end = match direction {
            Direction::Forward => span.max,
            Direction::Reverse => Some(span.min).filter(|min| !min.is_empty()),
        };
        Ok(Diff {
            old: cursor(old)?,
            new: cursor(new)?,
            direction,
            end: end.map(<[u8]>::to_vec),
            done,
        })
    }

    /// The next difference.
    pub(crate) fn next(&mut self) -> Result<Option<Difference>> {
        while !self.done {
            let levels = (self.old.level(), self.new.level());
            match levels {
                (None, None) => break,
                (Some(old), Some(new)) if old > new => self.old.enter()?,
                (Some(old), Some(new)) if new > old => self.new.enter()?,
                (Some(1..), None) => self.old.enter()?,
                (None, Some(1..)) => self.new.enter()?,
                (Some(level), Some(_)) if level > 0 => {
                    if self.same_payload() {
                        self.skip();
                    } else if self.is_after_end() {
                        break;
                    } else {
                        self.old.enter()?;
                        self.new.enter()?;
                    }
                }
                _ => {
                    if self.is_after_end() {
                        break;
                    }
                    // Checked again after a skipped run, which may have passed the end.
                    if self.skip_run() {
                        continue;
                    }
                    if let Some(difference) = self.compare() {
                        return Ok(Some(difference));
                    }
                }
            }
        }
        self.done = true;
        Ok(None)
    }

    fn same_payload(&self) -> bool {
        match (self.old.item(), self.new.item()) {
            (Some((_, old)), Some((_, new))) => old == new,
            _ => false,
        }
    }

    /// Steps over a shared subtree.
    fn skip(&mut self) {
        // Forward, the keys of the next items are greater than that of this one.
        if let (Direction::Forward, Some(end), Some((key, _))) =
            (self.direction, &self.end, self.old.item())
        {
            self.done = key.cmp_key(end).is_ge();
        }
        self.old.step();
        self.new.step();
    }

    /// Steps over equal entries of both leaves, except the last ones of a leaf. Returns `false` if
    /// there are none.
    fn skip_run(&mut self) -> bool {
        if self.direction == Direction::Reverse {
            return false;
        }
        if let (Some((old, old_at)), Some((new, new_at))) =
            (self.old.position(), self.new.position())
            && old.level() == 0
            && new.level() == 0
        {
            let rest = (old.len() - old_at).min(new.len() - new_at) - 1;
            let same = old.same_items(old_at, new, new_at).min(rest);
            self.old.step_over(same);
            self.new.step_over(same);
            return same > 0;
        }
        false
    }

    /// Whether all keys of both items are outside.
    fn is_after_end(&self) -> bool {
        let Some(end) = &self.end else { return false };
        let is_outside = |cursor: &Cursor<N>| {
            cursor.item().is_none_or(|(key, _)| match self.direction {
                // The keys of an inner item are at most its own, so it can begin before the end.
                Direction::Forward => cursor.level() == Some(0) && key.cmp_key(end).is_ge(),
                Direction::Reverse => key.cmp_key(end).is_lt(),
            })
        };
        is_outside(&self.old) && is_outside(&self.new)
    }

    /// Compares the entries at both positions, and steps over the first one or both.
    fn compare(&mut self) -> Option<Difference> {
        let (old, new) = (self.old.item(), self.new.item());
        let order = match (&old, &new) {
            (Some((old, _)), Some((new, _))) => match self.direction {
                Direction::Forward => old.cmp(new),
                Direction::Reverse => new.cmp(old),
            },
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        let old = old.filter(|_| order.is_le());
        let new = new.filter(|_| order.is_ge());
        let differs = old.map(|(_, payload)| payload) != new.map(|(_, payload)| payload);
        let difference = match old.or(new) {
            Some((key, _)) if differs => Some(Difference {
                key: key.to_vec(),
                old: old.map(|(_, payload)| Stored::of(payload)),
                new: new.map(|(_, payload)| Stored::of(payload)),
            }),
            _ => None,
        };
        if order.is_le() {
            self.old.step();
        }
        if order.is_ge() {
            self.new.step();
        }
        difference
    }
}
