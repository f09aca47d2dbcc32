//! Several sets read together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use permazen::ObjId;

use super::fail::Result;
use crate::syntax::SetOperator;

/// IDs in order, each once.
pub(crate) type Ids<'s> = Box<dyn Iterator<Item = Result<ObjId>> + 's>;

/// Sets that are combined from the left to the right. Each is read once, in the order of the IDs,
/// and all of them are in one heap: a statement can have many.
pub(super) struct Combined<'s> {
    sets: Vec<(SetOperator, Ids<'s>)>,
    /// The next ID of each set that is not at its end, with the position of the set.
    next: BinaryHeap<Reverse<(ObjId, usize)>>,
    /// The positions of the sets with `intersect`, ascending.
    intersects: Vec<usize>,
    /// How many sets that can add something are not at their end.
    adding: usize,
    /// The positions of the sets that have an ID.
    having: Vec<usize>,
    /// Whether a set with `intersect` is at its end.
    intersect_ended: bool,
}

impl<'s> Combined<'s> {
    /// One set.
    pub(super) fn new(first: Ids<'s>) -> Result<Self> {
        let mut combined = Combined {
            sets: Vec::new(),
            next: BinaryHeap::new(),
            intersects: Vec::new(),
            adding: 0,
            having: Vec::new(),
            intersect_ended: false,
        };
        // The first set can only add, so it counts as a union with nothing.
        combined.push(SetOperator::Union, first)?;
        Ok(combined)
    }

    /// Adds a set on the right.
    pub(super) fn push(&mut self, operator: SetOperator, set: Ids<'s>) -> Result<()> {
        // The position tells which operator is further to the right when several sets have an ID.
        let at = self.sets.len();
        match operator {
            SetOperator::Union => self.adding += 1,
            SetOperator::Intersect => self.intersects.push(at),
            SetOperator::Minus => {}
        }
        self.sets.push((operator, set));
        // Each set has its first ID in the heap from the start, since any of them can have the
        // least.
        self.advance(at)
    }

    fn advance(&mut self, at: usize) -> Result<()> {
        let Some((operator, set)) = self.sets.get_mut(at) else { return Ok(()) };
        match (set.next(), operator) {
            (Some(id), _) => self.next.push(Reverse((id?, at))),
            // A statement that can find nothing more ends, even if sets to subtract have IDs left.
            (None, SetOperator::Union) => self.adding -= 1,
            (None, SetOperator::Intersect) => self.intersect_ended = true,
            (None, SetOperator::Minus) => {}
        }
        Ok(())
    }

    /// Whether an ID that the sets at the positions in `having` have is in the whole set.
    fn is_in(&self) -> bool {
        // The verdict of the last operator that matters for this ID.
        // The sets on the right of a set that lacks the ID decide; what stands on its left is cut
        // away.
        let missing = self.last_missing();
        let after = self.having.iter().rev().take_while(|at| Some(**at) > missing);
        for at in after {
            match self.sets.get(*at).map(|(operator, _)| *operator) {
                Some(SetOperator::Union) => return true,
                Some(SetOperator::Minus) => return false,
                // `intersect` with the ID keeps what the sets on its left say.
                Some(SetOperator::Intersect) | None => {}
            }
        }
        false
    }

    /// The position of the last set with `intersect` that does not have the ID.
    fn last_missing(&self) -> Option<usize> {
        let mut having = self.having.iter().rev().peekable();
        // Both lists are ascending, so one walk from the end finds it.
        for at in self.intersects.iter().rev() {
            while having.next_if(|other| *other > at).is_some() {}
            if having.next_if_eq(&at).is_none() {
                return Some(*at);
            }
        }
        None
    }

    /// Whether no ID can come any more that is in the whole set.
    fn is_at_end(&self) -> bool {
        // With a union on the right, IDs can still come that the ended set does not have.
        let only_intersects = self.intersects.len() + 1 == self.sets.len();
        self.adding == 0 || self.intersect_ended && only_intersects
    }

    fn try_next(&mut self) -> Result<Option<ObjId>> {
        while !self.is_at_end() {
            let Some(Reverse((id, _))) = self.next.peek().copied() else { break };
            self.having.clear();
            // All sets that have the ID must give it up together, or it would come again.
            while let Some(Reverse((other, at))) = self.next.peek().copied()
                && other == id
            {
                self.next.pop();
                self.having.push(at);
            }
            // The positions are judged before the sets go on, since going on can end a set.
            let is_in = self.is_in();
            for at in std::mem::take(&mut self.having) {
                self.advance(at)?;
            }
            if is_in {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

impl Iterator for Combined<'_> {
    type Item = Result<ObjId>;

    fn next(&mut self) -> Option<Result<ObjId>> {
        let next = self.try_next();
        // After an error there are no more IDs.
        if next.is_err() {
            self.adding = 0;
        }
        next.transpose()
    }
}
