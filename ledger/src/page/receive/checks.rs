//! Compares a received commit with its parents and with the clock.

use super::{KnownParent, Receiver};
use crate::commit::encoding::{Commit, GENERATIONS, Origin};
use crate::commit::time::CommitTime;
use crate::digest::Kind;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::history::{is_ancestor, is_pruned_ancestor};
use crate::process::clock::millis;
use crate::rows::retention::Pruned;

/// How many milliseconds a commit can be ahead of the clock.
const DAY: u64 = 24 * 60 * 60 * 1_000;

/// A received commit must have a smaller generation, so that 2³² changes can follow it.
const MAX_GENERATION: u64 = GENERATIONS - (1 << 32);

/// A change that is ahead of the clock and has this time or a later one must be the next tick after
/// its parent. So there is room for nearly 2⁶² ticks after each commit that comes.
const FAR: u64 = CommitTime::FAR;

impl Receiver {
    /// Whether a commit is more than a day ahead of the clock.
    pub(super) fn is_ahead(&self, time: CommitTime) -> bool {
        time.as_millis() > millis(self.page.open.process.clock.now()).saturating_add(DAY)
    }

    /// Checks the generation and time of the commit against its parents and the clock, and that no
    /// parent is an ancestor of the other.
    pub(super) fn check_time_and_generation(
        &self,
        id: &CommitId,
        commit: &Commit,
        parents: &[KnownParent],
    ) -> Result<()> {
        let wrong = |expected: String, found: String| {
            let error = LedgerError::integrity(Kind::Commit, &id.0, expected, found);
            error.needed(|by| (by.page, by.received) = (self.page.number(), true))
        };
        let places = parents.iter().map(KnownParent::time_and_generation);
        let (time, generation) = places
            .fold((CommitTime::default(), 0), |all, next| (all.0.max(next.0), all.1.max(next.1)));
        if commit.generation != generation.saturating_add(1) {
            let found = commit.generation;
            return Err(wrong(
                format!("generation {}", generation + 1),
                format!("generation {found}"),
            ));
        }
        let fits = match commit.origin {
            Origin::Change { .. } => commit.time > time,
            Origin::Merge { .. } => commit.time == time,
        };
        if !fits {
            let expected = match commit.origin {
                Origin::Change { .. } => format!("a time after {time}"),
                Origin::Merge { .. } => format!("time {time}"),
            };
            return Err(wrong(expected, format!("time {}", commit.time)));
        }
        if commit.generation >= MAX_GENERATION {
            let what =
                format!("commit {id} has generation {}: 2⁴⁰ − 2³² or more", commit.generation);
            return Err(LedgerError::InvalidArgument(what));
        }
        let is_ahead = self.is_ahead(commit.time);
        if is_ahead && !self.accepts_future {
            let (page, millis) = (self.page.number(), commit.time.as_millis());
            return Err(LedgerError::ClockAhead { page, commit: *id, millis });
        }
        // From [`FAR`] on, a change is exactly one tick after its parent, so a history of fewer
        // than 2⁴⁰ generations stays far below the limit. The time of a pruned parent is a claim of
        // the sender, so it is limited too.
        let is_tick = commit.time.to_bits() <= time.to_bits().saturating_add(1);
        let is_far = commit.time.to_bits() >= FAR && !is_tick;
        if is_ahead && is_far {
            let what = format!("commit {id} has time {}: 2⁶² ticks or more", commit.time);
            return Err(LedgerError::InvalidArgument(what));
        }
        if is_ahead && time.to_bits() >= FAR + GENERATIONS {
            let what =
                format!("commit {id} has a parent with time {time}: 2⁶² + 2⁴⁰ ticks or more");
            return Err(LedgerError::InvalidArgument(what));
        }
        self.check_parents(parents, commit, &wrong)
    }

    /// Checks that no parent of a merge is an ancestor of the other.
    fn check_parents(
        &self,
        parents: &[KnownParent],
        commit: &Commit,
        wrong: &dyn Fn(String, String) -> LedgerError,
    ) -> Result<()> {
        if let ([one, another], [first, second]) = (parents, commit.parents()) {
            for (known, ancestor, below, other) in
                [(one, first, another, second), (another, second, one, first)]
            {
                let leads = match (known, below) {
                    (_, KnownParent::First | KnownParent::Pruned(_)) => continue,
                    (KnownParent::Pruned(pruned), _) => {
                        is_pruned_ancestor(&self.page, (ancestor, pruned.generation), other)
                    }
                    (KnownParent::First | KnownParent::Here { .. }, _) => {
                        is_ancestor(&self.page, ancestor, other)
                    }
                };
                match leads {
                    Ok(false) => {}
                    // Pruned history hides it. The commit is accepted, as the copy that made it
                    // knew more.
                    Err(LedgerError::BaseMissing { .. }) => {}
                    Ok(true) => {
                        let expected =
                            "parents of which none is an ancestor of the other".to_owned();
                        return Err(wrong(
                            expected,
                            format!("parent {ancestor}, which is an ancestor of parent {other}"),
                        ));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Compares the commit with the generation and time that were recorded for it as a pruned
    /// parent.
    pub(super) fn check_recorded(
        &self,
        id: &CommitId,
        commit: &Commit,
        recorded: Pruned,
    ) -> Result<()> {
        let Pruned { generation, time } = recorded;
        if (generation, time) == (commit.generation, commit.time) {
            return Ok(());
        }
        let expected = format!("generation {generation} and time {time}, as its children recorded");
        let found = format!("generation {} and time {}", commit.generation, commit.time);
        let error = LedgerError::integrity(Kind::Commit, &id.0, expected, found);
        Err(error.needed(|by| (by.page, by.received) = (self.page.number(), true)))
    }
}
