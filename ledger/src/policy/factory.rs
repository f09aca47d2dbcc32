//! Merge policies, and the factories that choose them for pages.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::resolver::Resolver;
use crate::error::{LedgerError, Result};
use crate::ids::PageId;
use crate::merge::merger::{LastWriterWins, Merger};

/// How the heads of a branch are merged automatically.
///
/// It is not stored with the page: all copies of a page must be given the same one, or they make
/// different merges, which are merged again.
///
/// Every policy, the default included, merges keys and values, and knows nothing of objects. For an
/// object database, give the factory a merger that is [`WholeRanges`](crate::WholeRanges) over its
/// tables of schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MergePolicy {
    /// Not at all: heads stay until the program [merges](crate::Page::merge_heads) them.
    None,
    /// The newer head wins where both sides have changed an entry in different ways.
    #[default]
    LastWriterWins,
    /// The [`Merger`] of the factory decides.
    Merger,
    /// If no entry was changed by both sides in different ways, both sides' changes are taken.
    /// Otherwise a [`Resolver`] decides about the whole merge.
    AutomaticWithFallback,
    /// A [`Resolver`] decides about each merge in which both sides have changes.
    Custom,
}

impl MergePolicy {
    /// Whether it needs a resolver.
    pub(super) fn has_resolver(self) -> bool {
        matches!(self, MergePolicy::AutomaticWithFallback | MergePolicy::Custom)
    }
}

/// How long a resolver has for a merge, and what happens after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit {
    /// From the call of the resolver until it is done. `None` means without limit; the page stays
    /// open as long, and its other heads wait.
    pub limit: Option<Duration>,
    /// The outcome of the merge after that.
    pub fallback: Fallback,
}

impl Default for TimeLimit {
    /// 30 seconds, then the last writer wins.
    fn default() -> Self {
        TimeLimit { limit: Some(Duration::from_secs(30)), fallback: Fallback::LastWriterWins }
    }
}

/// The outcome of a merge whose resolver has not decided in time.
///
/// Another copy of the page can come to another merge. Then neither has changes of its own, and the
/// merge of both is the older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fallback {
    /// It is made as with [`MergePolicy::LastWriterWins`].
    LastWriterWins,
    /// The heads stay, and the resolver is asked again later.
    Nothing,
}

/// Chooses for each page of a repository how its heads are merged:
/// [`Repository::add_merge_factory`](crate::Repository::add_merge_factory).
///
/// No method is called under a lock or within a transaction of the host.
pub trait MergeFactory: Send + Sync {
    /// The policy of a page. Asked when the page is opened, and when the factory takes over.
    fn policy(&self, ledger: &str, page: &PageId) -> MergePolicy;

    /// A resolver of a page, for the policies that need one. Asked with the policy, and again after
    /// a resolver has failed.
    ///
    /// # Errors
    /// Its errors leave the heads as they are. It is asked again later.
    fn resolver(&self, ledger: &str, page: &PageId) -> Result<Arc<dyn Resolver>> {
        let reason = format!("the factory has no resolver for page {ledger} {page}");
        // The caller adds page and commits.
        Err(LedgerError::Resolver { page: 0, commits: Vec::new(), reason })
    }

    /// How long a resolver has.
    fn time_limit(&self, ledger: &str, page: &PageId) -> TimeLimit {
        let _ = (ledger, page);
        TimeLimit::default()
    }

    /// A merger for a merge of a page. With all policies, it classifies counters and derived keys,
    /// and finishes the merge. With [`MergePolicy::Merger`], it also decides conflicts.
    fn merger(&self, ledger: &str, page: &PageId) -> Box<dyn Merger> {
        let _ = (ledger, page);
        Box::new(LastWriterWins)
    }
}

/// The factories of a repository.
#[derive(Default)]
pub(crate) struct Factories {
    list: Mutex<FactoryList>,
}

#[derive(Default)]
struct FactoryList {
    /// The first one is used.
    factories: Vec<Factory>,
    next: u64,
}

/// A factory and its number.
#[derive(Clone)]
pub(super) struct Factory {
    pub(super) number: u64,
    pub(super) factory: Arc<dyn MergeFactory>,
}

impl fmt::Debug for Factories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factories").field("count", &self.lock().factories.len()).finish()
    }
}

impl Factories {
    fn lock(&self) -> MutexGuard<'_, FactoryList> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one that is used.
    pub(super) fn first(&self) -> Option<Factory> {
        self.lock().factories.first().cloned()
    }

    /// Whether there was ever one.
    pub(super) fn has_been(&self) -> bool {
        self.lock().next > 0
    }

    /// Adds one. Returns its number, and whether it is used from now on.
    pub(super) fn add(&self, factory: Arc<dyn MergeFactory>) -> (u64, bool) {
        let mut list = self.lock();
        let number = list.next;
        list.next += 1;
        list.factories.push(Factory { number, factory });
        (number, list.factories.len() == 1)
    }

    /// Removes one. Returns whether another one is used from now on.
    pub(super) fn remove(&self, number: u64) -> bool {
        let mut list = self.lock();
        let was_first = list.factories.first().is_some_and(|first| first.number == number);
        let (gone, left) =
            std::mem::take(&mut list.factories).into_iter().partition(|of| of.number == number);
        list.factories = left;
        let other = was_first && !list.factories.is_empty();
        drop(list);
        // Dropped without the lock, because it runs code of the program.
        drop::<Vec<Factory>>(gone);
        other
    }
}
