//! What two trees have changed since their common base.

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
    pub(crate) ours: Option<Stored>,
    pub(crate) theirs: Option<Stored>,
}

/// The changes of two trees by their keys.
#[derive(Debug)]
pub(crate) struct ThreeWayDiff<N> {
    ours: Diff<N>,
    theirs: Diff<N>,
    direction: Direction,
    /// The next difference of each.
    next: (Option<Difference>, Option<Difference>),
}

impl<N: NodeStore + Clone> ThreeWayDiff<N> {
    pub(crate) fn new(
        nodes: &N,
        base: &Arc<Node>,
        (ours, theirs): (&Arc<Node>, &Arc<Node>),
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<Self> {
        let mut ours = Diff::new(nodes, (base, ours), span, direction)?;
        let mut theirs = Diff::new(nodes, (base, theirs), span, direction)?;
        let next = (ours.next()?, theirs.next()?);
        Ok(ThreeWayDiff { ours, theirs, direction, next })
    }

    /// The next changed entry.
    pub(crate) fn next(&mut self) -> Result<Option<ThreeWay>> {
        let order = match &self.next {
            (None, None) => return Ok(None),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(ours), Some(theirs)) => match self.direction {
                Direction::Forward => ours.key.cmp(&theirs.key),
                Direction::Reverse => theirs.key.cmp(&ours.key),
            },
        };
        let ours = match order.is_le() {
            true => std::mem::replace(&mut self.next.0, self.ours.next()?),
            false => None,
        };
        let theirs = match order.is_ge() {
            true => std::mem::replace(&mut self.next.1, self.theirs.next()?),
            false => None,
        };
        Ok(match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                Some(ThreeWay { key: ours.key, base: ours.old, ours: ours.new, theirs: theirs.new })
            }
            (Some(Difference { key, old, new }), None) => {
                Some(ThreeWay { key, theirs: old.clone(), base: old, ours: new })
            }
            (None, Some(Difference { key, old, new })) => {
                Some(ThreeWay { key, ours: old.clone(), base: old, theirs: new })
            }
            (None, None) => None,
        })
    }
}
