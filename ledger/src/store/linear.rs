//! A branch with one head, to which each transaction adds one commit.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use permazen_kv::overlay::MutableView;
use permazen_kv::{
    AtomicKvStore, Counters, KvDatabase as _, KvRead, KvTransaction, Result, SharedRead,
    Statistics, TxOptions, Watches, Writes,
};

use crate::error::LedgerError;
use crate::page::head_poller::BranchHeads;
use crate::page::shared::{BranchState, Shared};
use crate::page::snapshot::PageSnapshot;
use crate::page::write::{Attempt, Draft};

use super::exclusive::ExclusiveTransaction;
use super::watched_keys::{NotifiedState, WatchedKeys};

/// A branch of a page as the store of an
/// [`OptimisticDatabase`](permazen_kv::optimistic::OptimisticDatabase).
///
/// The reads of a transaction are checked when it commits. So transactions are serializable, also
/// those of several processes.
#[derive(Clone)]
pub struct PageStore {
    shared: Arc<Shared>,
    branch: Arc<str>,
    notified: NotifiedState,
}

impl fmt::Debug for PageStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageStore").field("branch", &self.branch).finish_non_exhaustive()
    }
}

/// How long [`AtomicKvStore::apply`] tries.
const WAIT: Duration = Duration::from_secs(30);

impl PageStore {
    pub(crate) fn new(shared: Arc<Shared>, branch: &str) -> Self {
        PageStore { shared, branch: branch.into(), notified: NotifiedState::default() }
    }

    fn state(&self) -> Result<BranchState> {
        Ok(self.shared.state(&self.branch)?)
    }

    /// The branch at a commit: a missing branch is a conflict, because it existed when the
    /// transaction began.
    fn present(&self) -> Result<(PageSnapshot, BranchState)> {
        self.now().map_err(|error| match LedgerError::from(error) {
            LedgerError::NoSuch { .. } => {
                LedgerError::moved(self.shared.number(), &self.branch).into()
            }
            error => error.into(),
        })
    }

    /// The branch as it is.
    fn now(&self) -> Result<(PageSnapshot, BranchState)> {
        let (pin, state) = self.shared.pinned_state(&self.branch)?;
        Ok((PageSnapshot::new(Arc::clone(&self.shared), pin, &state.root)?, state))
    }
}

impl AtomicKvStore for PageStore {
    fn snapshot(&self) -> Result<SharedRead> {
        Ok(Arc::new(self.now()?.0))
    }

    fn apply(&self, writes: &Writes, sync: bool) -> Result<()> {
        let agree = |_: &dyn KvRead, _| Ok(());
        self.apply_to(None, writes, sync, WAIT, &agree).map(drop)
    }

    fn version(&self) -> Result<Option<u64>> {
        Ok(Some(self.state()?.version()))
    }

    fn versioned_snapshot(&self) -> Result<(SharedRead, Option<u64>)> {
        let (snapshot, state) = self.now()?;
        Ok((Arc::new(snapshot), Some(state.version())))
    }

    fn apply_to(
        &self,
        expected: Option<u64>,
        writes: &Writes,
        _sync: bool,
        wait: Duration,
        check: &dyn Fn(&dyn KvRead, u64) -> Result<()>,
    ) -> Result<Option<u64>> {
        let (begin, mut overtaken) = (Instant::now(), 0);
        let mut built: Option<(BranchState, Draft)> = None;
        loop {
            let left = wait.saturating_sub(begin.elapsed());
            // After two conflicts, the third attempt takes the write lock of the host first.
            let held = match overtaken {
                0 | 1 => None,
                _ => AtomicKvStore::hold(&*self.shared.open.host, left)?,
            };
            let (snapshot, state) = self.present()?;
            let found = state.version();
            if expected != Some(found) {
                check(&snapshot, found)?;
            }
            // The draft stays valid on the same head.
            let draft = match built.take().filter(|(base, _)| *base == state) {
                Some((_, draft)) => draft,
                None => {
                    let draft = self.shared.draft(&state.root, writes);
                    draft.map_err(|error| self.shared.open.explained(error, &[state.head]))?
                }
            };
            if draft.root == state.root {
                return Ok(Some(found));
            }
            let commit = self.shared.change(&state, draft.root)?;
            let tx = match held {
                Some(tx) => tx,
                None => {
                    let left = wait.saturating_sub(begin.elapsed());
                    self.shared.begin(&TxOptions::writing().with_wait(left))?
                }
            };
            let base = (&*self.branch, &state);
            match self.shared.commit_draft_in(tx, base, &commit, &draft) {
                Ok(Attempt::Committed(_)) => {
                    self.notified.advance(&state.root, (found + 1, draft.root));
                    return Ok(Some(found + 1));
                }
                Ok(Attempt::Moved) if begin.elapsed() >= wait => {
                    return Err(LedgerError::moved(self.shared.number(), &self.branch).into());
                }
                Ok(Attempt::Moved) => {}
                // The host has found a conflict only at its commit. Nothing was changed.
                Err(LedgerError::Host(error)) if error.is_retryable() && begin.elapsed() < wait => {
                }
                Err(error) => return Err(error.into()),
            }
            built = Some((state, draft));
            overtaken += 1;
        }
    }

    fn hold(&self, wait: Duration) -> Result<Option<Box<dyn KvTransaction + Send>>> {
        self.shared.complete_opening(Some(wait))?;
        let Some(host) = AtomicKvStore::hold(&*self.shared.open.host, wait)? else {
            return Ok(None);
        };
        // This transaction holds the write lock, so the branch stays as it is until the end.
        let (snapshot, state) = self.now()?;
        let view = MutableView::untracked(snapshot);
        let PageStore { shared, branch, notified } = self.clone();
        let read_only = false;
        Ok(Some(Box::new(ExclusiveTransaction {
            host,
            state,
            view,
            read_only,
            notified,
            branch,
            shared,
        })))
    }

    fn watched(&self, watches: &Watches) -> Result<()> {
        let heads = self.shared.head_poller.heads(&self.branch)?;
        let shown = self.shared.oldest(&heads)?;
        let shown =
            shown.ok_or_else(|| LedgerError::no_branch(self.shared.number(), &self.branch))?;
        self.notified.set((shown.version(), shown.root));
        let shared = Arc::clone(&self.shared);
        let shown = move |heads: &BranchHeads| {
            let state = shared.oldest(heads).ok().flatten()?;
            Some((state.version(), state.root))
        };
        let keys = WatchedKeys {
            shared: Arc::clone(&self.shared),
            branch: self.branch.to_string(),
            watches: watches.clone(),
            notified: self.notified.clone(),
            shown: Box::new(shown),
        };
        Ok(keys.begin()?)
    }

    fn persistent(&self) -> bool {
        self.shared.open.host.capabilities().persistent
    }

    fn verify_store(&self) -> Result<Vec<String>> {
        let report = crate::verify::page::verify(&self.shared)?;
        Ok(report.findings.iter().map(ToString::to_string).collect())
    }

    fn store_statistics(&self) -> Result<Statistics> {
        let mut statistics = self.shared.open.host.statistics().unwrap_or_default();
        let all = permazen_kv::KeySpan::new(b"", None);
        statistics.entries = Some(self.now()?.0.count(all)?);
        Ok(statistics)
    }

    fn store_counters(&self) -> Counters {
        self.shared.open.host.counters()
    }
}
