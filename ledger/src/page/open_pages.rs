//! The pages that are open in a repository of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use permazen_kv::KvDatabase;

use super::shared::Shared;
use crate::error::Result;
use crate::host::lock_before;
use crate::policy::merging::PageMerging;

/// The shared state of each open page, while it has handles.
#[derive(Default)]
pub(crate) struct OpenPages {
    /// Held only for a moment, never while waiting.
    pages: Mutex<HashMap<u64, Open>>,
    opening: Mutex<()>,
}

/// A page that may be open.
struct Open {
    shared: Weak<Shared>,
    merging: Weak<PageMerging>,
}

/// The shared state of a page and its merging, as far as the page is open.
pub(crate) type Known = (Option<Arc<Shared>>, Option<Arc<PageMerging>>);

impl OpenPages {
    fn pages(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Taken by a thread that opens a page which is not open yet, and may then wait for the host.
    /// Threads that open a page which is open do not wait for it.
    pub(crate) fn opening(&self, host: &dyn KvDatabase) -> Result<MutexGuard<'_, ()>> {
        Ok(lock_before(host, &self.opening)?)
    }

    /// The shared state of a page, if it is open.
    pub(crate) fn known(&self, page: u64) -> Known {
        let pages = self.pages();
        let open = pages.get(&page);
        (open.and_then(|open| open.shared.upgrade()), open.and_then(|open| open.merging.upgrade()))
    }

    /// Adds a page, and forgets those without handles.
    pub(crate) fn add(&self, page: u64, shared: &Arc<Shared>, merging: &Arc<PageMerging>) {
        let mut pages = self.pages();
        pages.retain(|_, page| page.shared.strong_count() > 0);
        let open = Open { shared: Arc::downgrade(shared), merging: Arc::downgrade(merging) };
        pages.insert(page, open);
    }
}
