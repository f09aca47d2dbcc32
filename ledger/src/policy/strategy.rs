//! Decides a merge by the policy of a page.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::factory::{Fallback, MergePolicy};
use super::resolver::{Decision, Decisions, End, OpenMerge};
use super::rules::Rules;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::merge::content::{ByMerger, Changed, MergedContent, Outcome, changed};
use crate::merge::sides::{ALL, MergeSides, changes};
use crate::merge::strategy::{Strategy, ThreeVersions, Version};
use crate::page::shared::Shared;
use crate::page::snapshot::PageSnapshot;
use crate::page::write::Draft;

/// The running call of the resolver of a page.
#[derive(Default)]
pub(super) struct Running {
    state: Mutex<RunningState>,
    came_back: Condvar,
}

#[derive(Default)]
struct RunningState {
    merge: Option<Arc<OpenMerge>>,
    /// The resolver was called and has not returned.
    is_called: bool,
    /// The resolver has missed its time limit.
    is_late: bool,
    /// How often the policy of the page has changed.
    changes: u64,
}

/// The result of an attempt to call a resolver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStart {
    Called,
    /// The last call has not returned.
    StillRunning,
    /// The policy has changed since the rules were read.
    Cancelled,
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, RunningState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often the policy of the page has changed. Read before the rules are.
    pub(super) fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// Ends the merge that is being decided, and those that began with earlier rules.
    pub(super) fn cancel(&self) {
        let mut state = self.lock();
        state.changes += 1;
        let merge = state.merge.clone();
        drop(state);
        self.came_back.notify_all();
        if let Some(merge) = merge {
            merge.end(End::Cancelled);
        }
    }

    /// Begins a call with the rules that were read after this number of changes. Waits for an
    /// earlier call, unless that one has missed its limit.
    pub(super) fn begin(
        &self,
        merge: &Arc<OpenMerge>,
        limit: Option<Duration>,
        changes: u64,
    ) -> CallStart {
        let is_called = |state: &mut RunningState| {
            state.is_called && !state.is_late && state.changes == changes
        };
        let state = self.lock();
        let mut state = match limit {
            None => self.came_back.wait_while(state, is_called),
            Some(limit) => match self.came_back.wait_timeout_while(state, limit, is_called) {
                Ok((state, _)) => Ok(state),
                Err(poisoned) => Ok(poisoned.into_inner().0),
            },
        }
        .unwrap_or_else(PoisonError::into_inner);
        if state.changes != changes {
            return CallStart::Cancelled;
        }
        if state.is_called {
            // The next merge does not wait for this call again.
            state.is_late = true;
            return CallStart::StillRunning;
        }
        let merge = Some(Arc::clone(merge));
        *state = RunningState { merge, is_called: true, is_late: false, changes };
        CallStart::Called
    }

    /// Records that the resolver has returned.
    fn end(&self) {
        let mut state = self.lock();
        (state.is_called, state.is_late) = (false, false);
        drop(state);
        self.came_back.notify_all();
    }

    /// Records that the merge has ended, perhaps before the resolver has returned.
    fn decided(&self, is_late: bool) {
        let mut state = self.lock();
        let merge = state.merge.take();
        state.is_late = is_late && state.is_called;
        drop(state);
        // Dropped without the lock, because it runs code of the factory.
        drop(merge);
    }
}

/// Decides a merge by the policy of a page.
pub(super) struct ByPolicy<'p> {
    pub(super) rules: &'p Rules,
    pub(super) running: &'p Arc<Running>,
    /// The number of policy changes before the rules were read.
    pub(super) changes: u64,
    /// The resolver has failed, so the next merge needs another one.
    pub(super) resolver_failed: bool,
    /// The policy of the page has changed meanwhile.
    pub(super) cancelled: bool,
}

impl Strategy for ByPolicy<'_> {
    fn content(&mut self, shared: &Arc<Shared>, versions: &ThreeVersions) -> Result<Draft> {
        // A panic in code of the program must not end the thread that merges.
        match catch_unwind(AssertUnwindSafe(|| self.by_rules(shared, versions))) {
            Ok(content) => content,
            Err(_) => {
                self.resolver_failed = true;
                let (page, commits) = (shared.number(), versions.commits());
                let reason = "the merger has panicked".to_owned();
                Err(LedgerError::Resolver { page, commits, reason })
            }
        }
    }
}

impl ByPolicy<'_> {
    fn by_rules(&mut self, shared: &Arc<Shared>, versions: &ThreeVersions) -> Result<Draft> {
        match self.rules.policy {
            MergePolicy::None | MergePolicy::LastWriterWins => {
                self.last_writer_wins(shared, versions)
            }
            MergePolicy::Merger => ByMerger(&mut *self.rules.merger()).content(shared, versions),
            MergePolicy::AutomaticWithFallback if !self.has_conflict(shared, versions)? => {
                self.last_writer_wins(shared, versions)
            }
            MergePolicy::AutomaticWithFallback | MergePolicy::Custom => {
                self.resolve(shared, versions)
            }
        }
    }

    fn last_writer_wins(&self, shared: &Arc<Shared>, versions: &ThreeVersions) -> Result<Draft> {
        ByMerger(&mut *self.rules.last_writer_wins()).content(shared, versions)
    }

    fn has_conflict(&self, shared: &Arc<Shared>, versions: &ThreeVersions) -> Result<bool> {
        let merger = self.rules.merger();
        let mut changes = changes(shared, versions, ALL)?;
        while let Some(found) = changes.next()? {
            if changed(&found, merger.class(&found.key)) == Changed::Both {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn resolve(&mut self, shared: &Arc<Shared>, versions: &ThreeVersions) -> Result<Draft> {
        let (page, commits) = (shared.number(), versions.commits());
        let resolver = self.rules.resolver().map_err(|error| error.of_merge(page, &commits))?;
        // A merger that refuses the merge is asked before a person is.
        self.rules.merger().begin(&MergeSides::new(shared, versions))?;
        let rules = self.rules.clone();
        let merger = Box::new(move || rules.merger());
        let merge = OpenMerge::new(Arc::clone(shared), versions.clone(), merger);
        let snapshot = |version: &Version| {
            PageSnapshot::new(Arc::clone(shared), version.pin.clone(), &version.root)
        };
        let (newer, older) = (snapshot(&versions.newer)?, snapshot(&versions.older)?);
        let (common, result) = (snapshot(&versions.base)?, merge.result());
        let limit = self.rules.time_limit.limit;
        match self.running.begin(&merge, limit, self.changes) {
            CallStart::Called => {}
            CallStart::StillRunning => return self.fall_back(shared, versions),
            CallStart::Cancelled => return Err(self.cancelled(page, commits)),
        }
        let running = Arc::clone(self.running);
        let call = move || {
            let call = || resolver.resolve(&newer, &older, &common, &result);
            match catch_unwind(AssertUnwindSafe(call)) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => result.fail(format!("the resolver has failed: {error}")),
                Err(_) => result.fail("the resolver has panicked".to_owned()),
            }
            drop((newer, older, common, result, resolver));
            running.end();
        };
        let named = thread::Builder::new().name("permazen-ledger-resolver".to_owned());
        if let Err(error) = named.spawn(call) {
            self.running.decided(false);
            self.running.end();
            return Err(LedgerError::Thread(error.to_string()));
        }
        let (end, decisions) = merge.wait(limit);
        self.running.decided(end == End::TimedOut);
        match end {
            End::Done => self.decided(shared, versions, decisions),
            End::TimedOut => self.fall_back(shared, versions),
            End::Misused(what) => Err(LedgerError::InvalidArgument(what)),
            End::Cancelled => Err(self.cancelled(page, commits)),
            End::Failed(reason) => {
                self.resolver_failed = true;
                Err(LedgerError::Resolver { page, commits, reason })
            }
        }
    }

    fn cancelled(&mut self, page: u64, commits: Vec<CommitId>) -> LedgerError {
        self.cancelled = true;
        LedgerError::MergeEnded { page, commits, reason: End::Cancelled.reason() }
    }

    fn fall_back(&self, shared: &Arc<Shared>, versions: &ThreeVersions) -> Result<Draft> {
        match self.rules.time_limit.fallback {
            Fallback::LastWriterWins => self.last_writer_wins(shared, versions),
            Fallback::Nothing => {
                let reason = "the resolver has not decided in time".to_owned();
                let (page, commits) = (shared.number(), versions.commits());
                Err(LedgerError::Resolver { page, commits, reason })
            }
        }
    }

    /// The content of the merge, by the decisions of a resolver.
    fn decided(
        &self,
        shared: &Arc<Shared>,
        versions: &ThreeVersions,
        decisions: Decisions,
    ) -> Result<Draft> {
        let mut merger = self.rules.merger();
        merger.begin(&MergeSides::new(shared, versions))?;
        let mut content = MergedContent::new(shared, versions);
        let (mut keys, rest) = (decisions.keys, decisions.rest);
        let mut changes = changes(shared, versions, ALL)?;
        while let Some(found) = changes.next()? {
            // Decisions about keys that no side has changed come between the changes.
            while let Some(entry) = keys.first_entry().filter(|first| *first.key() < found.key) {
                let (key, decision) = entry.remove_entry();
                content.set(key, unchanged(decision))?;
            }
            let outcome = match (keys.remove(&found.key), changed(&found, merger.class(&found.key)))
            {
                (Some(Decision::Older), _) => Outcome::Stored(found.older),
                (Some(decision), _) => unchanged(decision),
                (None, Changed::Sum(sum)) => Outcome::sum(sum, &found),
                (None, Changed::Older) if rest => Outcome::Stored(found.older),
                (None, _) => Outcome::Newer,
            };
            content.set(found.key, outcome)?;
        }
        for (key, decision) in keys {
            content.set(key, unchanged(decision))?;
        }
        content.draft(&mut *merger)
    }
}

/// The outcome of a decision about an entry that is the same on both sides.
fn unchanged(decision: Decision) -> Outcome {
    match decision {
        Decision::Older => Outcome::Newer,
        Decision::New(value, priority) => Outcome::New(value, priority),
        Decision::Delete => Outcome::Stored(None),
    }
}
