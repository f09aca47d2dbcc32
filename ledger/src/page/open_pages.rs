//! The pages that are open in a repository of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use permazen_kv::KvDatabase;

use super::shared::Shared;
use crate::error::Result;
use crate::host::lock_before;
use crate::policy::merging::PageMerging;

/// What the handles of each page share, while there are any.
#[derive(Default)]
pub(crate) struct OpenPages {
    /// Nobody who has this waits for anything.
    pages: Mutex<HashMap<u64, Open>>,
    opening: Mutex<()>,
}

/// A page that may be open.
struct Open {
    shared: Weak<Shared>,
    merging: Weak<PageMerging>,
}

impl OpenPages {
    fn pages(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread that opens a page that is not open takes this, and may wait for the host then.
    /// Others that open pages that are open do not wait with it.
    pub(crate) fn opening(&self, host: &dyn KvDatabase) -> Result<MutexGuard<'_, ()>> {
        Ok(lock_before(host, &self.opening)?)
    }

    /// What the handles of a page share.
    pub(crate) fn known(&self, page: u64) -> (Option<Arc<Shared>>, Option<Arc<PageMerging>>) {
        let pages = self.pages();
        let open = pages.get(&page);
        (open.and_then(|open| open.shared.upgrade()), open.and_then(|open| open.merging.upgrade()))
    }

    /// Adds a page. Those go that nobody has open any more.
    pub(crate) fn add(&self, page: u64, shared: &Arc<Shared>, merging: &Arc<PageMerging>) {
        let mut pages = self.pages();
        pages.retain(|_, page| page.shared.strong_count() > 0);
        let open = Open { shared: Arc::downgrade(shared), merging: Arc::downgrade(merging) };
        pages.insert(page, open);
    }
}
