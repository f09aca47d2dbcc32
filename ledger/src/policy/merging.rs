//! Merges the heads of the branches of a page by its policy.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::backoff::Backoff;
use super::factory::{Factories, MergePolicy};
use super::rules::Rules;
use super::strategy::{ByPolicy, Running};
use crate::commit::encoding::Origin;
use crate::error::{LedgerError, Result};
use crate::ids::{CommitId, PageId};
use crate::merge::heads::{HeadMerge, merge_two_heads};
use crate::page::shared::Shared;

/// How often a merge is made again because the branch was changed meanwhile.
const ATTEMPTS: usize = 100;

/// How often [`PageMerging::wait`] polls the host for merges of other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Why heads are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trigger {
    /// Another process may have committed, a head was added, or a pause is over.
    Others,
    /// This process has committed, or the policy has changed.
    Own,
    /// The program asks for it: no pause is respected.
    Asked,
}

/// How waiting for merges has ended: [`Page::wait_for_merges`](crate::Page::wait_for_merges).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeWait {
    /// Every branch had one head.
    NothingToMerge,
    /// Every branch has one head again.
    Resolved,
    /// The time was over first.
    TimedOut,
}

/// Merges the heads of a page: one for all of its handles.
pub(crate) struct PageMerging {
    shared: Arc<Shared>,
    ledger: Arc<str>,
    page: PageId,
    factories: Arc<Factories>,
    /// `None` until a factory has answered.
    rules: Mutex<Option<Rules>>,
    running: Arc<Running>,
    signal: Arc<MergingSignal>,
    /// No thread is started.
    is_manual: bool,
}

/// The state that the thread waits on. It does not keep the page open.
#[derive(Default)]
struct MergingSignal {
    state: Mutex<MergingState>,
    news: Condvar,
}

#[derive(Default)]
struct MergingState {
    /// Why the heads must be read next.
    trigger: Option<Trigger>,
    has_thread: bool,
    /// A thread is merging.
    is_merging: bool,
    /// The page is closed.
    is_over: bool,
    branches: HashMap<String, BranchMerging>,
}

/// The state of the merges of a branch.
#[derive(Debug, Clone, Default)]
struct BranchMerging {
    /// The pause after errors.
    errors: Backoff,
    /// The pause before heads that are merges of other copies are merged.
    merges: Backoff,
    /// The number of policy changes at the last attempt.
    changes: u64,
    /// The heads of which every pair needs something that is missing, and the version of the keep
    /// set then, which received commits raise.
    missing: Option<(Vec<CommitId>, u64)>,
}

impl fmt::Debug for PageMerging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageMerging").field("page", &self.page).finish_non_exhaustive()
    }
}

impl PageMerging {
    /// The ID of the page.
    pub(crate) fn page_id(&self) -> PageId {
        self.page
    }
}

impl Drop for PageMerging {
    fn drop(&mut self) {
        self.signal.lock().is_over = true;
        self.signal.news.notify_all();
    }
}

impl MergingSignal {
    fn lock(&self) -> MutexGuard<'_, MergingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MergingSignal {
    /// Lets the next merging thread read the heads once more.
    fn repeat(&self, trigger: Trigger) {
        let mut state = self.lock();
        state.trigger = state.trigger.max(Some(trigger));
    }

    /// Waits while another thread merges.
    fn wait_for_others(&self) {
        let state = self.lock();
        let is_merging = |state: &mut MergingState| state.is_merging && !state.is_over;
        drop(self.news.wait_while(state, is_merging));
    }
}

/// Lets other threads merge again when it is dropped.
struct MergingGuard<'m>(&'m MergingSignal);

impl Drop for MergingGuard<'_> {
    fn drop(&mut self) {
        self.0.lock().is_merging = false;
        self.0.news.notify_all();
    }
}

impl PageMerging {
    pub(crate) fn new(
        shared: Arc<Shared>,
        (ledger, page): (&str, PageId),
        factories: Arc<Factories>,
        is_manual: bool,
    ) -> Self {
        PageMerging {
            shared,
            ledger: ledger.into(),
            page,
            factories,
            rules: Mutex::default(),
            running: Arc::default(),
            signal: Arc::default(),
            is_manual,
        }
    }

    fn rules(&self) -> MutexGuard<'_, Option<Rules>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the factory how to merge, unless one was asked. Merges existing heads.
    pub(crate) fn begin(self: &Arc<Self>) {
        if self.rules().is_none() {
            self.choose_again();
        }
        // If the host fails here, the next read of the page returns the error.
        if self.is_unfinished().unwrap_or(false) {
            self.wake(Trigger::Others);
        }
    }

    /// Asks the factory how to merge. A merge that is being made ends.
    pub(crate) fn choose_again(&self) {
        while let Some(factory) = self.factories.first() {
            let number = factory.number;
            let chosen = Rules::of(factory, &self.ledger, self.page);
            let mut rules = self.rules();
            // Another factory may have taken over while this one was asked.
            if self.factories.first().is_some_and(|first| first.number == number) {
                let former = std::mem::replace(&mut *rules, chosen);
                drop(rules);
                // Dropped without the lock, because it runs code of the program.
                drop(former);
                self.running.cancel();
                return;
            }
        }
    }

    /// Asks the factory again if it has panicked.
    fn ask_again(&self) -> Result<()> {
        if self.rules().is_some() || self.factories.first().is_none() {
            return Ok(());
        }
        self.choose_again();
        if self.rules().is_some() || self.factories.first().is_none() {
            return Ok(());
        }
        let (ledger, page) = (&self.ledger, self.page);
        let reason = format!("the factory has panicked when it was asked for page {ledger} {page}");
        Err(LedgerError::Resolver { page: self.shared.number(), commits: Vec::new(), reason })
    }

    /// How to merge. `None` if heads are not merged.
    fn chosen(&self) -> Option<Rules> {
        let chosen = self.rules().clone();
        let default = || Rules::without_factory(&self.ledger, self.page);
        let rules = match chosen {
            Some(rules) => rules,
            // The page was opened after the last factory was gone.
            None if self.factories.has_been() => return None,
            None => default(),
        };
        (rules.policy != MergePolicy::None).then_some(rules)
    }

    /// The branches that have several heads.
    fn several(&self) -> Result<Vec<(String, Vec<CommitId>)>> {
        let mut branches = self.shared.open.rows.branches(&self.shared.read()?)?;
        branches.retain(|(_, heads)| heads.len() > 1);
        let ids = |(name, heads): (String, Vec<crate::rows::page::Head>)| {
            (name, heads.iter().map(|head| head.id).collect())
        };
        Ok(branches.into_iter().map(ids).collect())
    }

    /// Whether a branch has several heads.
    pub(crate) fn is_unfinished(&self) -> Result<bool> {
        Ok(!self.several()?.is_empty())
    }

    /// Wakes the thread that merges, or starts it.
    pub(crate) fn wake(self: &Arc<Self>, trigger: Trigger) {
        let mut state = self.signal.lock();
        state.trigger = state.trigger.max(Some(trigger));
        if self.is_manual {
            return;
        }
        if state.has_thread {
            self.signal.news.notify_all();
            return;
        }
        let (page, signal) = (Arc::downgrade(self), Arc::clone(&self.signal));
        let named = thread::Builder::new().name("permazen-ledger-merger".to_owned());
        // If no thread can be started, maintenance tries again in ten seconds.
        state.has_thread = named.spawn(move || run(&page, &signal)).is_ok();
    }

    /// Whether a thread was asked to merge.
    #[cfg(test)]
    pub(crate) fn is_called(&self) -> bool {
        self.signal.lock().trigger.is_some()
    }

    /// Maintenance: merges heads that other processes have made.
    pub(crate) fn maintain(self: &Arc<Self>) -> Result<()> {
        match self.is_unfinished() {
            Ok(true) => {}
            // Another process has deleted the page. Its handles get the error when they use it.
            Ok(false) | Err(LedgerError::PageGone { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        if !self.is_manual {
            self.wake(Trigger::Others);
            return Ok(());
        }
        let trigger = self.signal.lock().trigger.take().unwrap_or(Trigger::Others);
        match self.merge_branches(trigger) {
            // Another thread is merging, and may have read the heads too early.
            Err(LedgerError::Busy { .. }) => {
                self.signal.repeat(trigger);
                Ok(())
            }
            result => result.map(drop),
        }
    }

    /// Merges the branches with several heads. Returns when to try again, in milliseconds since
    /// 1970.
    ///
    /// # Errors
    /// The first error of a merge, after all branches were tried.
    pub(crate) fn merge_branches(&self, trigger: Trigger) -> Result<Option<u64>> {
        let mut state = self.signal.lock();
        if std::mem::replace(&mut state.is_merging, true) {
            let what = format!(
                "the heads of page {} {} are being merged (Page::wait_for_merges waits for that)",
                self.ledger, self.page
            );
            return Err(LedgerError::Busy { what });
        }
        drop(state);
        let merging = MergingGuard(&self.signal);
        let branches = self.several()?;
        let names: Vec<&String> = branches.iter().map(|(name, _)| name).collect();
        self.signal.lock().branches.retain(|name, _| names.contains(&name));
        let (mut next, mut failed) = (None, None);
        for name in names {
            let mut known = self.signal.lock().branches.remove(name).unwrap_or_default();
            let result = self.merge_branch(name, &mut known, trigger);
            // The pause may be over by now, which is fine.
            let due = known.errors.until().or(known.merges.until());
            next = [next, due].into_iter().flatten().min();
            self.signal.lock().branches.insert(name.clone(), known);
            if let Err(error) = result {
                failed.get_or_insert(error);
            }
        }
        drop(merging);
        match (failed, trigger) {
            // The error is not returned: the thread tries again.
            (Some(error), Trigger::Asked) => Err(error),
            (Some(error), _) if next.is_none() => Err(error),
            _ => Ok(next),
        }
    }

    fn merge_branch(
        &self,
        branch: &str,
        known: &mut BranchMerging,
        mut trigger: Trigger,
    ) -> Result<()> {
        let mut moved = 0;
        while moved < ATTEMPTS {
            if let Err(error) = self.ask_again() {
                known.errors.wait(self.shared.open.process.now());
                return Err(error);
            }
            let changes = self.running.changes();
            let Some(rules) = self.chosen() else {
                // The policy merges nothing, so no pause is left.
                known.errors.reset();
                known.merges.end();
                return Ok(());
            };
            if std::mem::replace(&mut known.changes, changes) != changes {
                // Earlier errors were of another policy.
                known.errors.reset();
            }
            let (heads, keep_version) = self.heads(branch)?;
            if heads.len() < 2 {
                known.errors.reset();
                known.missing = None;
                return Ok(());
            }
            let now = self.shared.open.process.now();
            if trigger < Trigger::Asked && known.errors.pending(now).is_some() {
                return Ok(());
            }
            known.errors.end();
            let is_missing =
                known.missing.as_ref().is_some_and(|(of, at)| (of, *at) == (&heads, keep_version));
            if trigger == Trigger::Others && is_missing {
                return Ok(());
            }
            if self.are_merges(&heads)? {
                if trigger == Trigger::Others {
                    if known.merges.until().is_none() {
                        known.merges.wait(now);
                    }
                    if known.merges.pending(now).is_some() {
                        return Ok(());
                    }
                    known.merges.end();
                }
            } else {
                known.merges.reset();
            }
            let (rules, running) = (&rules, &self.running);
            let mut strategy =
                ByPolicy { rules, running, changes, resolver_failed: false, cancelled: false };
            let joined = merge_two_heads(&self.shared, branch, &mut strategy);
            let ByPolicy { resolver_failed, cancelled, .. } = strategy;
            if resolver_failed {
                rules.forget_resolver();
            }
            match joined {
                // The next turn of the loop reads the heads again.
                Ok(HeadMerge::OneHead(_)) => {}
                Ok(HeadMerge::Merged) => {
                    known.errors.reset();
                    known.missing = None;
                    (trigger, moved) = (trigger.max(Trigger::Own), 0);
                }
                Ok(HeadMerge::Moved) => moved += 1,
                Ok(HeadMerge::Missing(error)) => {
                    known.missing = Some((heads, keep_version));
                    // Only a received commit can help.
                    known.merges.end();
                    return Err(error);
                }
                // The next attempt uses the new policy.
                Err(_) if cancelled => moved += 1,
                // The branch was removed.
                Err(LedgerError::NoSuch { what: "branch", .. }) => return Ok(()),
                Err(error) => {
                    known.errors.wait(now);
                    return Err(error);
                }
            }
        }
        known.errors.wait(self.shared.open.process.now());
        Err(LedgerError::moved(self.shared.number(), branch))
    }

    /// The heads of a branch, the oldest first, and the version of the keep set.
    fn heads(&self, branch: &str) -> Result<(Vec<CommitId>, u64)> {
        let (rows, tx) = (&self.shared.open.rows, self.shared.read()?);
        let heads = rows.heads(&tx, branch)?;
        // A damaged version must not stop merges, which do not need it.
        let keep_version = match rows.keep_version(&tx) {
            Err(error) if error.is_unreadable() => 0,
            keep_version => keep_version?,
        };
        Ok((heads.iter().map(|head| head.id).collect(), keep_version))
    }

    /// Whether the two oldest heads are both merges.
    fn are_merges(&self, heads: &[CommitId]) -> Result<bool> {
        for head in heads.iter().take(2) {
            match self.shared.commit(head)?.map(|commit| commit.origin) {
                Some(Origin::Merge { .. }) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Waits until every branch has one head.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<MergeWait> {
        let begun = Instant::now();
        if !self.is_unfinished()? {
            return Ok(MergeWait::NothingToMerge);
        }
        loop {
            let left = timeout.saturating_sub(begun.elapsed());
            let state = self.signal.lock();
            drop(self.signal.news.wait_timeout(state, left.min(POLL_INTERVAL)));
            if !self.is_unfinished()? {
                return Ok(MergeWait::Resolved);
            }
            if begun.elapsed() >= timeout {
                return Ok(MergeWait::TimedOut);
            }
        }
    }
}

/// Lets another thread start if this one panics.
struct Thread<'m>(&'m MergingSignal);

impl Drop for Thread<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().has_thread = false;
        }
    }
}

/// Merges until nothing is left to do, or the page is closed.
fn run(page: &Weak<PageMerging>, signal: &MergingSignal) {
    let _thread = Thread(signal);
    loop {
        let mut state = signal.lock();
        let trigger = state.trigger.take().unwrap_or(Trigger::Others);
        drop(state);
        let Some(open) = page.upgrade() else { return };
        let next = match open.merge_branches(trigger) {
            Err(LedgerError::Busy { .. }) => {
                drop(open);
                signal.repeat(trigger);
                signal.wait_for_others();
                if signal.lock().is_over {
                    return;
                }
                continue;
            }
            // A failed merge is tried again, or waits for another commit. The program sees it by
            // the heads.
            result => result.unwrap_or(None),
        };
        let now = open.shared.open.process.now();
        drop(open);
        let mut state = signal.lock();
        if state.is_over {
            return;
        }
        if state.trigger.is_some() {
            continue;
        }
        let Some(next) = next else {
            state.has_thread = false;
            return;
        };
        let pause = Duration::from_millis(next.saturating_sub(now).max(1));
        let is_quiet = |state: &mut MergingState| state.trigger.is_none() && !state.is_over;
        drop(signal.news.wait_timeout_while(state, pause, is_quiet));
    }
}
