//! The merge rules of a page, as its factory has chosen them.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use permazen_kv::KvWrite;

use super::factory::{Factory, MergePolicy, TimeLimit};
use super::resolver::Resolver;
use crate::error::{LedgerError, Result};
use crate::ids::PageId;
use crate::merge::merger::{Conflict, KeyClass, LastWriterWins, Merger, Resolution};
use crate::merge::sides::MergeSides;

/// The merge rules of a page.
#[derive(Clone)]
pub(super) struct Rules {
    /// `None` if no factory has ever been registered.
    pub(super) factory: Option<Factory>,
    pub(super) policy: MergePolicy,
    pub(super) time_limit: TimeLimit,
    /// `None` if the factory must be asked for one. Clones of the rules share it.
    resolver: Arc<Mutex<Option<Arc<dyn Resolver>>>>,
    /// The page.
    pub(super) ledger: Arc<str>,
    pub(super) page: PageId,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Rules {
    /// The choice of a factory. If it has no resolver, it is asked again when one is needed. `None`
    /// if it panics: then it is asked again later.
    pub(super) fn of(factory: Factory, ledger: &Arc<str>, page: PageId) -> Option<Self> {
        catch_unwind(AssertUnwindSafe(|| Self::said(factory, ledger, page))).ok()
    }

    fn said(factory: Factory, ledger: &Arc<str>, page: PageId) -> Self {
        let policy = factory.factory.policy(ledger, &page);
        let resolver = match policy.has_resolver() {
            true => factory.factory.resolver(ledger, &page).ok(),
            false => None,
        };
        let time_limit = factory.factory.time_limit(ledger, &page);
        let (ledger, resolver) = (Arc::clone(ledger), Arc::new(Mutex::new(resolver)));
        Rules { factory: Some(factory), policy, time_limit, resolver, ledger, page }
    }

    /// The rules while no factory was ever added.
    pub(super) fn without_factory(ledger: &Arc<str>, page: PageId) -> Self {
        Rules {
            factory: None,
            policy: MergePolicy::default(),
            time_limit: TimeLimit::default(),
            resolver: Arc::default(),
            ledger: Arc::clone(ledger),
            page,
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<dyn Resolver>>> {
        self.resolver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A resolver: the present one, or a new one of the factory, which is the present one from then
    /// on.
    pub(super) fn resolver(&self) -> Result<Arc<dyn Resolver>> {
        let present = self.slot().clone();
        match (present, &self.factory) {
            (Some(resolver), _) => Ok(resolver),
            (None, Some(factory)) => {
                // Called without the lock, because it is code of the program.
                let new = factory.factory.resolver(&self.ledger, &self.page)?;
                *self.slot() = Some(Arc::clone(&new));
                Ok(new)
            }
            (None, None) => {
                let reason = format!("page {} {} has no resolver", self.ledger, self.page);
                Err(LedgerError::Resolver { page: 0, commits: Vec::new(), reason })
            }
        }
    }

    /// Drops the resolver, so that the next merge asks for another one.
    pub(super) fn forget_resolver(&self) {
        let failed = self.slot().take();
        // Dropped without the lock, because it runs code of the program.
        drop(failed);
    }

    /// A merger of the factory.
    pub(super) fn merger(&self) -> Box<dyn Merger> {
        match &self.factory {
            Some(factory) => factory.factory.merger(&self.ledger, &self.page),
            None => Box::new(LastWriterWins),
        }
    }

    /// The merger of the factory for key classes and derived entries, but the newer side wins
    /// conflicts.
    pub(super) fn last_writer_wins(&self) -> Box<dyn Merger> {
        Box::new(NewerWins(self.merger()))
    }
}

/// Takes key classes and derived entries from another merger, and lets the newer side win
/// conflicts.
struct NewerWins(Box<dyn Merger>);

impl Merger for NewerWins {
    fn class(&self, key: &[u8]) -> KeyClass {
        self.0.class(key)
    }

    fn resolve(&mut self, _: &Conflict<'_>) -> Result<Resolution> {
        Ok(Resolution::Newer)
    }

    fn needs_values(&self) -> bool {
        false
    }

    fn has_derived(&self) -> bool {
        self.0.has_derived()
    }

    fn begin(&mut self, sides: &MergeSides<'_>) -> Result<()> {
        self.0.begin(sides)
    }

    fn finish_with(&mut self, merged: &mut dyn KvWrite, sides: &MergeSides<'_>) -> Result<()> {
        self.0.finish_with(merged, sides)
    }
}
