//! The present work of a collection.

use roaring::RoaringTreemap;

use crate::collect::mark::Mark;
use crate::collect::prune::Prune;
use crate::collect::references::Build;
use crate::collect::streams::Leftovers;
use crate::collect::suspects::Suspects;
use crate::collect::sweep::Sweep;

#[derive(Debug)]
pub(super) enum CollectorState {
    Idle,
    /// Removes reference rows of a page that no longer keeps them.
    ClearReferences,
    /// Writes the reference rows of pieces that are older than the option.
    Build(Build),
    /// Removes commits that are not in the keep set.
    Prune(Box<Prune>, PrunePass),
    /// Removes rows that unfinished streams have left.
    Streams(Leftovers),
    /// Begins a round; with reference rows, continues with the suspects instead.
    Begin,
    /// Removes pieces that are unreachable by the reference rows.
    Suspects(Suspects),
    Mark(Box<Mark>),
    /// Writes the marks: the set, its bytes, the next part.
    WriteMarks(RoaringTreemap, Vec<u8>, u32),
    Sweep(Box<Sweep>),
    Clear,
}

impl CollectorState {
    /// Whether this is a part of a round.
    pub(super) fn is_round(&self) -> bool {
        matches!(
            self,
            CollectorState::Mark(_)
                | CollectorState::WriteMarks(..)
                | CollectorState::Sweep(_)
                | CollectorState::Clear
        )
    }
}

/// How often the commits were read in this collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PrunePass {
    /// How often the keep set has changed before commits could be removed.
    pub(super) changes: usize,
    /// The pass before has given the commits their rows with a grace time.
    pub(super) is_second: bool,
}
