//! The pages whose heads are merged automatically, and the factories that choose their policies.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::factory::{Factories, MergeFactory};
use super::merging::{PageMerging, Trigger};
use crate::error::Result;
use crate::ids::PageId;
use crate::page::shared::Shared;

/// All pages of a repository that are open.
pub(crate) struct Merges {
    factories: Arc<Factories>,
    pages: Mutex<Vec<Weak<PageMerging>>>,
    is_manual: bool,
}

impl fmt::Debug for Merges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merges").field("factories", &self.factories).finish_non_exhaustive()
    }
}

impl Merges {
    pub(crate) fn new(is_manual: bool) -> Self {
        Merges { factories: Arc::default(), pages: Mutex::default(), is_manual }
    }

    /// Merges the heads of a page as long as it is open.
    pub(crate) fn add(&self, shared: &Arc<Shared>, page: (&str, PageId)) -> Arc<PageMerging> {
        let (shared, factories) = (Arc::clone(shared), Arc::clone(&self.factories));
        let merging = Arc::new(PageMerging::new(shared, page, factories, self.is_manual));
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|page| page.strong_count() > 0);
        pages.push(Arc::downgrade(&merging));
        merging
    }

    fn pages(&self) -> Vec<Arc<PageMerging>> {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.iter().filter_map(Weak::upgrade).collect()
    }

    /// Maintenance: merges heads that other processes have made. Returns the first error, after the
    /// rest was done.
    pub(crate) fn maintain(&self) -> Result<()> {
        let mut result = Ok(());
        for page in self.pages() {
            result = result.and(page.maintain());
        }
        result
    }

    pub(crate) fn register(
        self: &Arc<Self>,
        factory: Arc<dyn MergeFactory>,
    ) -> MergeFactoryRegistration {
        let (number, is_used) = self.factories.add(factory);
        if is_used {
            self.ask_again();
        }
        MergeFactoryRegistration { merges: Arc::clone(self), number }
    }

    fn ask_again(&self) {
        for page in self.pages() {
            page.choose_again();
            page.wake(Trigger::Own);
        }
    }
}

/// Keeps a factory registered until it is dropped.
///
/// Then the next factory takes over, and is asked for all open pages. If there is no other factory,
/// open pages are merged as before, and pages that are opened later are not merged until there is
/// one.
#[must_use = "dropping it takes the factory away"]
pub struct MergeFactoryRegistration {
    merges: Arc<Merges>,
    number: u64,
}

impl fmt::Debug for MergeFactoryRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeFactoryRegistration").field("number", &self.number).finish()
    }
}

impl Drop for MergeFactoryRegistration {
    fn drop(&mut self) {
        if self.merges.factories.remove(self.number) {
            self.merges.ask_again();
        }
    }
}
