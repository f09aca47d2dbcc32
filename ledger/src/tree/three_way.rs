//! The changes of two trees since their common base.

use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use super::diff::{Diff, Difference, Stored};
use super::nodes::NodeStore;
use crate::error::Result;
use crate::node::view::Node;

/// An entry that at least one of two trees has changed since their base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThreeWay {
    pub(crate) key: Vec<u8>,
    pub(crate) base: Option<Stored>,
    pub(crate) older: Option<Stored>,
    pub(crate) newer: Option<Stored>,
}

/// The changes of two trees by their keys.
#[derive(Debug)]
pub(crate) struct ThreeWayDiff<N> {
    older: Diff<N>,
    newer: Diff<N>,
    direction: Direction,
    /// The next difference of each.
    next: (Option<Difference>, Option<Difference>),
}

impl<N: NodeStore + Clone> ThreeWayDiff<N> {
    pub(crate) fn new(
        nodes: &N,
        base: &Arc<Node>,
        (older, newer): (&Arc<Node>, &Arc<Node>),
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<Self> {
        let mut older = Diff::new(nodes, (base, older), span, direction)?;
        let mut newer = Diff::new(nodes, (base, newer), span, direction)?;
        let next = (older.next()?, newer.next()?);
        Ok(ThreeWayDiff { older, newer, direction, next })
    }

    /// The next changed entry.
    pub(crate) fn next(&mut self) -> Result<Option<ThreeWay>> {
        let order = match &self.next {
            (None, None) => return Ok(None),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(older), Some(newer)) => match self.direction {
                Direction::Forward => older.key.cmp(&newer.key),
                Direction::Reverse => newer.key.cmp(&older.key),
            },
        };
        let older = match order.is_le() {
            true => std::mem::replace(&mut self.next.0, self.older.next()?),
            false => None,
        };
        let newer = match order.is_ge() {
            true => std::mem::replace(&mut self.next.1, self.newer.next()?),
            false => None,
        };
        Ok(match (older, newer) {
            (Some(older), Some(newer)) => Some(ThreeWay {
                key: older.key,
                base: older.old,
                older: older.new,
                newer: newer.new,
            }),
            (Some(Difference { key, old, new }), None) => {
                Some(ThreeWay { key, newer: old.clone(), base: old, older: new })
            }
            (None, Some(Difference { key, old, new })) => {
                Some(ThreeWay { key, older: old.clone(), base: old, newer: new })
            }
            (None, None) => None,
        })
    }
}
