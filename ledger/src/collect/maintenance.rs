//! Maintenance of all pages that a process has open: renews its lease, writes its pins, and
//! collects garbage.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use permazen_kv::__internal as kv;

use super::page_maintenance::{FIRST_PASS, PASS_INTERVAL, PageMaintenance};
use crate::error::{LedgerError, Result};
use crate::lifecycle::deletion;
use crate::lifecycle::open_registry::OpenRegistry;
use crate::process::clock::has_come;
use crate::process::lease::Process;
use crate::process::open_page::OpenPage;

/// The interval of the threads. It is short in unit tests, which would wait too long otherwise.
const INTERVAL: Duration =
    if cfg!(test) { Duration::from_millis(10) } else { Duration::from_secs(10) };

/// How soon the threads repeat work that has failed with a retryable error.
const RETRY: Duration = Duration::from_secs(1);

/// The maintenance threads of a repository. They end when this is dropped.
///
/// One thread only renews the lease, writes the pins and the open pages, and starts merges of heads
/// that other processes have made. The other one collects and deletes, which can take hours. They
/// are two because a pin protects its commit only if it is written within two minutes.
pub(crate) struct Maintenance {
    inner: Arc<Inner>,
    /// No threads: the program calls [`Repository::maintain`](crate::Repository::maintain).
    is_manual: bool,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The process that has the threads. A child that is forked from it does not have them.
    made_by: kv::Process,
}

/// The work of a thread in each interval.
type Work = fn(&Inner) -> Result<()>;

/// Further work for each interval.
pub(crate) type ExtraWork = dyn Fn() -> Result<()> + Send + Sync;

struct Inner {
    open_registry: Arc<OpenRegistry>,
    process: Arc<Process>,
    /// When to look next for processes that have ended.
    next_pass: AtomicU64,
    extra_work: Box<ExtraWork>,
    pages: Mutex<HashMap<u64, MaintainedPage>>,
    is_over: Mutex<bool>,
    over: Condvar,
}

/// A page that is open, or was.
struct MaintainedPage {
    maintenance: Weak<PageMaintenance>,
    /// The handles of the page hold this, so it is alive while the page is open.
    open: Weak<()>,
    /// Keeps a closed page known until the rows that this process has left in it are removed.
    /// `None` for a page with a database of its own: its lease lies there and is given back when
    /// the page is closed, and the rows are removed with the lease.
    left: Option<Arc<PageMaintenance>>,
}

impl MaintainedPage {
    fn is_open(&self) -> bool {
        self.open.strong_count() > 0
    }
}

impl fmt::Debug for Maintenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maintenance").field("is_manual", &self.is_manual).finish_non_exhaustive()
    }
}

impl Maintenance {
    /// Also runs `extra_work` in each interval, which must not take long.
    pub(crate) fn new(
        open_registry: Arc<OpenRegistry>,
        process: Arc<Process>,
        is_manual: bool,
        extra_work: Box<ExtraWork>,
    ) -> Self {
        let inner = Inner {
            open_registry,
            process,
            next_pass: AtomicU64::new(0),
            extra_work,
            pages: Mutex::default(),
            is_over: Mutex::new(false),
            over: Condvar::new(),
        };
        Maintenance {
            inner: Arc::new(inner),
            is_manual,
            threads: Mutex::default(),
            made_by: kv::Process::this(),
        }
    }

    /// Maintains a page as long as the caller holds the returned values. If the page is open in
    /// this process, or was closed a moment ago and still has rows, returns its present state:
    /// there are never two sets of pins for one page.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn add_page(
        &self,
        number: u64,
        open: impl FnOnce() -> OpenPage,
    ) -> Result<(Arc<PageMaintenance>, Arc<()>)> {
        let mut pages = self.inner.pages();
        pages.retain(|_, page| page.maintenance.strong_count() > 0);
        let page = pages.get(&number);
        let maintenance = page.and_then(|page| page.maintenance.upgrade());
        let maintenance =
            maintenance.unwrap_or_else(|| Arc::new(PageMaintenance::new(Arc::new(open()))));
        let is_open = page.and_then(|page| page.open.upgrade()).unwrap_or_default();
        let left = (!self.open_registry().host().is_separate()).then(|| Arc::clone(&maintenance));
        let open = Arc::downgrade(&is_open);
        pages.insert(
            number,
            MaintainedPage { maintenance: Arc::downgrade(&maintenance), open, left },
        );
        drop(pages);
        self.start()?;
        Ok((maintenance, is_open))
    }

    /// Starts the threads, unless they run.
    fn start(&self) -> Result<()> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_manual {
            return Ok(());
        }
        let work: [(&str, Work); 2] = [
            ("permazen-ledger-lease", Inner::urgent_work),
            ("permazen-ledger-maintenance", Inner::slow_work),
        ];
        for (name, work) in work.into_iter().skip(threads.len()) {
            let inner = Arc::clone(&self.inner);
            let started = thread::Builder::new().name(name.to_owned());
            let started = started.spawn(move || inner.run(work));
            threads.push(started.map_err(|error| LedgerError::Thread(error.to_string()))?);
        }
        Ok(())
    }

    /// The pages that are open.
    pub(crate) fn open_registry(&self) -> &Arc<OpenRegistry> {
        &self.inner.open_registry
    }

    /// Does the work of the threads at once. Returns the first error.
    pub(crate) fn maintain(&self) -> Result<()> {
        let Inner { open_registry, extra_work, .. } = &*self.inner;
        let mut result = open_registry.maintain().and(self.inner.protect());
        result = result.and(self.inner.slow_work());
        result.and(extra_work())
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        if !self.made_by.is_this() {
            // In a child of a fork, a lock that a thread held stays locked, and joining it would
            // never end. The lease is that of the parent.
            let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(std::mem::take(threads));
            return;
        }
        *self.inner.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.inner.over.notify_all();
        for thread in self.threads.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A thread that drops the last handle cannot join itself.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
        // If this fails, other processes wait for the end of the lease.
        let _ = self.inner.open_registry.close_all();
    }
}

impl Inner {
    fn is_over(&self) -> bool {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, work: Work) {
        let mut pause = INTERVAL;
        loop {
            let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = self.over.wait_timeout_while(is_over, pause, |is_over| !*is_over);
            if *waited.unwrap_or_else(PoisonError::into_inner).0 {
                return;
            }
            // Other errors are dropped: the work is tried again at the next interval, and
            // `Page::collect` returns them.
            pause = match work(self) {
                Err(error) if error.is_retryable() => RETRY,
                _ => INTERVAL,
            };
        }
    }

    fn pages(&self) -> MutexGuard<'_, HashMap<u64, MaintainedPage>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pages with their numbers, and whether they are open.
    fn all_pages(&self) -> Vec<(u64, Arc<PageMaintenance>, bool)> {
        let pages = self.pages();
        let there = |(number, page): (&u64, &MaintainedPage)| {
            Some((*number, page.maintenance.upgrade()?, page.is_open()))
        };
        pages.iter().filter_map(there).collect()
    }

    /// Forgets a closed page in which no rows are left. A thread that maintains the page at the
    /// moment has its own reference.
    fn forget(&self, number: u64) {
        if let Some(page) = self.pages().get_mut(&number)
            && !page.is_open()
            && page.left.as_ref().is_some_and(|maintenance| !maintenance.has_leftovers())
        {
            page.left = None;
        }
    }

    /// Renews the lease, and writes the pins of all pages.
    fn protect(&self) -> Result<()> {
        let mut result = self.process.renew(&*self.open_registry.host().repository);
        for (_, page, _) in self.all_pages() {
            result = result.and(page.protect());
        }
        result
    }

    /// The urgent work: other processes wait for it.
    fn urgent_work(&self) -> Result<()> {
        let mut result = self.protect();
        result = result.and(self.open_registry.maintain());
        result.and((self.extra_work)())
    }

    /// The work that can take long.
    fn slow_work(&self) -> Result<()> {
        let (mut result, now) = (Ok(()), self.process.now());
        let keep_going = || !self.is_over();
        if has_come(self.next_pass.load(Ordering::Relaxed), PASS_INTERVAL, now) {
            self.next_pass.store(now.saturating_add(PASS_INTERVAL), Ordering::Relaxed);
            match self.open_registry.close_ended() {
                // A lease that seems to have ended counts as ended only after a minute.
                Ok(true) => self.next_pass.store(now.saturating_add(FIRST_PASS), Ordering::Relaxed),
                Ok(false) => {}
                Err(error) => result = result.and(Err(error)),
            }
            result = result.and(deletion::finish_all(self.open_registry.host(), &keep_going));
        }
        for (number, page, is_open) in self.all_pages() {
            if self.is_over() {
                break;
            }
            if is_open {
                result = result.and(page.maintain(&keep_going));
                continue;
            }
            match page.clean_up_closed(&keep_going) {
                Ok(true) => self.forget(number),
                Ok(false) => {}
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }
}

#[cfg(test)]
mod tests;
