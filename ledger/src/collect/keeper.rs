//! What a process does for the pages that it has open, without being asked: renews its lease, protects
//! what is read for long, and collects garbage.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use permazen_kv::TxOptions;

use super::collector::{Collected, Collector};
use super::streams::Leftovers;
use crate::error::{LedgerError, Result};
use crate::life::deletion;
use crate::life::presence::Presence;
use crate::process::lease::{Process, WAIT};
use crate::process::open_page::OpenPage;
use crate::rows::counts::Phase;
use crate::rows::parameters::Retention;
use crate::rows::references::References;

/// How often the threads look. Tests cannot wait for so long.
const INTERVAL: Duration =
    if cfg!(test) { Duration::from_millis(10) } else { Duration::from_secs(10) };

/// How soon the threads try again what has failed, if that can help.
const RETRY: Duration = Duration::from_secs(1);

/// How many milliseconds after a page is opened, and after each other, its commits are read to find those
/// that are not kept.
const FIRST_LOOK: u64 = 60_000;
const LOOKS: u64 = 600_000;

/// After so many milliseconds even a little garbage is collected.
const DAY: u64 = 24 * 60 * 60 * 1_000;

/// A page and its collector.
#[derive(Debug)]
pub(crate) struct Care {
    pub(crate) page: Arc<OpenPage>,
    collector: Mutex<Collector>,
    seen: Mutex<Seen>,
}

/// What was seen of a page.
#[derive(Debug)]
struct Seen {
    /// When the commits are to be read next.
    next_look: u64,
    /// What named commits when they were read last.
    names: Option<u64>,
    /// When garbage was collected last, or the page was opened.
    collected: u64,
}

impl Care {
    pub(crate) fn new(page: Arc<OpenPage>) -> Self {
        let now = page.process.now();
        let seen = Seen { next_look: now + FIRST_LOOK, names: None, collected: now };
        let collector = Mutex::new(Collector::new(Arc::clone(&page)));
        Care { page, collector, seen: Mutex::new(seen) }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn collector(&self) -> MutexGuard<'_, Collector> {
        self.collector.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Collects all garbage that there is.
    pub(crate) fn collect(&self, wait: Duration) -> Result<Collected> {
        let mut collector = self.collector();
        collector.set_wait(wait);
        // What is under way may have begun before the newest garbage was made.
        loop {
            match collector.step() {
                Ok(true) => {}
                // Another process may have taken it over, and have ended it since.
                Ok(false) | Err(LedgerError::Busy { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        collector.take_collected();
        collector.start()?;
        while collector.step()? {}
        Ok(collector.take_collected())
    }

    /// Does a part of a collection. `false` after the last part.
    pub(crate) fn collect_slice(&self, wait: Duration) -> Result<bool> {
        let mut collector = self.collector();
        collector.set_wait(wait);
        if collector.is_idle() {
            collector.start()?;
            return Ok(true);
        }
        collector.step()
    }

    /// Does what is to be done, and asks before each slice whether to go on.
    pub(crate) fn keep(&self, goes_on: &dyn Fn() -> bool) -> Result<()> {
        let there = self.page.read().and_then(|host| self.page.rows.check_there(&host));
        let cleared = there.and_then(|()| self.clear_streams(goes_on));
        unless_done(cleared.and_then(|()| self.collect_if_due(goes_on)))
    }

    /// Tells other processes that this one lives and what it reads.
    fn protect(&self) -> Result<()> {
        let there = self.page.read().and_then(|host| self.page.rows.check_there(&host));
        unless_done(there.and_then(|()| self.page.renew()).and_then(|()| self.page.write_pins()))
    }

    fn clear_streams(&self, goes_on: &dyn Fn() -> bool) -> Result<()> {
        let options = TxOptions::writing().with_wait(WAIT);
        let Some(mut left) = Leftovers::new(&self.page, &options, false)? else { return Ok(()) };
        while goes_on() && left.step(&self.page, &options)? {}
        Ok(())
    }

    fn collect_if_due(&self, goes_on: &dyn Fn() -> bool) -> Result<()> {
        // Whoever collects at the moment needs no help.
        let Ok(mut collector) = self.collector.try_lock() else { return Ok(()) };
        collector.set_wait(WAIT);
        if collector.is_idle() {
            if collector.failed().is_some() || !self.is_due(&mut collector)? {
                return Ok(());
            }
            let now = self.page.process.now();
            collector.start()?;
            let next_look = now + if collector.has_waiting() { FIRST_LOOK } else { LOOKS };
            let names = Some(self.names()?).filter(|_| !collector.has_waiting());
            *self.seen() = Seen { next_look, names, collected: now };
        }
        drop(collector);
        while goes_on() {
            let Ok(mut collector) = self.collector.try_lock() else { break };
            if !collector.step()? {
                break;
            }
        }
        Ok(())
    }

    /// Whether there is garbage, or there may be commits that are not kept.
    fn is_due(&self, collector: &mut Collector) -> Result<bool> {
        let (host, now) = (self.page.read()?, self.page.process.now());
        let counts = self.page.rows.counts(&host)?;
        let Seen { next_look, names, collected } = *self.seen();
        match counts.references {
            References::Building => return Ok(true),
            References::Kept if !self.page.rows.suspects(&host, None, 1)?.is_empty() => {
                return Ok(true);
            }
            References::Off | References::Kept => {}
        }
        let is_idle = counts.round.phase == Phase::Idle;
        if !is_idle {
            // A round that nobody continues ends only when somebody takes over.
            return collector.can_take_over(&host, &counts);
        }
        let is_much = counts.suspects.saturating_mul(4) > counts.pieces;
        if counts.suspects > 0 && (is_much || now >= collected.saturating_add(DAY)) {
            return Ok(true);
        }
        drop(host);
        Ok(now >= next_look && names != Some(self.names()?))
    }

    /// A number that changes when commits may have lost what keeps them.
    fn names(&self) -> Result<u64> {
        let (host, rows) = (self.page.read()?, &self.page.rows);
        let mut names = DefaultHasher::new();
        rows.keeps(&host)?.hash(&mut names);
        let retention = rows.parameters(&host)?.map(|found| found.retention).unwrap_or_default();
        for (branch, heads) in rows.branches(&host)? {
            rows.resets(&host, &branch)?.hash(&mut names);
            branch.hash(&mut names);
            // With each commit another one can be too old.
            if retention != Retention::All {
                heads.iter().for_each(|head| head.id.hash(&mut names));
            }
        }
        rows.tags(&host)?.hash(&mut names);
        Ok(names.finish())
    }
}

fn unless_done(result: Result<()>) -> Result<()> {
    match result {
        // Another process does it.
        Err(LedgerError::Busy { .. }) => Ok(()),
        // There is nothing to care for. Who uses the page is told so.
        Err(LedgerError::PageGone { .. }) => Ok(()),
        result => result,
    }
}

/// The threads that care for the pages of a repository. They end when this is dropped.
///
/// One of them does nothing but tell other processes that this one lives and what it reads: a collection or a
/// deletion on the other one can take hours, and what is read is protected within two minutes or not at all.
pub(crate) struct Keeper {
    inner: Arc<Inner>,
    /// The threads are not wanted: somebody else says when.
    by_hand: bool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What a thread does now and then.
type Work = fn(&Inner) -> Result<()>;

/// What else is to be done now and then.
pub(crate) type Also = dyn Fn() -> Result<()> + Send + Sync;

struct Inner {
    presence: Arc<Presence>,
    process: Arc<Process>,
    /// When others that have ended are looked for next.
    next_look: AtomicU64,
    also: Box<Also>,
    pages: Mutex<Vec<Weak<Care>>>,
    is_over: Mutex<bool>,
    over: Condvar,
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").field("by_hand", &self.by_hand).finish_non_exhaustive()
    }
}

impl Keeper {
    /// A keeper that does something `also`, after the rest.
    pub(crate) fn new(
        presence: Arc<Presence>,
        process: Arc<Process>,
        by_hand: bool,
        also: Box<Also>,
    ) -> Self {
        let inner = Inner {
            presence,
            process,
            next_look: AtomicU64::new(0),
            also,
            pages: Mutex::default(),
            is_over: Mutex::new(false),
            over: Condvar::new(),
        };
        Keeper { inner: Arc::new(inner), by_hand, threads: Mutex::default() }
    }

    /// Cares for a page as long as it is open.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(crate) fn add(&self, page: &Arc<Care>) -> Result<()> {
        let mut pages = self.inner.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|page| page.strong_count() > 0);
        pages.push(Arc::downgrade(page));
        drop(pages);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if self.by_hand {
            return Ok(());
        }
        let work: [(&str, Work); 2] =
            [("permazen-ledger-lease", Inner::protect), ("permazen-ledger-keeper", Inner::keep)];
        for (name, work) in work.into_iter().skip(threads.len()) {
            let inner = Arc::clone(&self.inner);
            let started = thread::Builder::new().name(name.to_owned());
            let started = started.spawn(move || inner.run(work));
            threads.push(started.map_err(|error| LedgerError::Thread(error.to_string()))?);
        }
        Ok(())
    }

    /// The pages that are open.
    pub(crate) fn presence(&self) -> &Arc<Presence> {
        &self.inner.presence
    }

    /// Does at once what the thread does now and then. Gives the first error.
    pub(crate) fn keep(&self) -> Result<()> {
        self.inner.keep()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        *self.inner.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.inner.over.notify_all();
        for thread in self.threads.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // The thread itself cannot wait for its end.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
        // Without it, others wait for the end of the lease.
        let _ = self.inner.presence.leave();
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
            // Who asks for a collection gets the error.
            pause = match work(self) {
                Err(error) if error.is_retryable() => RETRY,
                _ => INTERVAL,
            };
        }
    }

    fn pages(&self) -> Vec<Arc<Care>> {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.iter().filter_map(Weak::upgrade).collect()
    }

    /// Tells other processes that this one lives and what it reads.
    fn protect(&self) -> Result<()> {
        let mut result = self.process.renew(&*self.presence.host().repository);
        for page in self.pages() {
            result = result.and(page.protect());
        }
        result
    }

    fn keep(&self) -> Result<()> {
        let host = self.presence.host();
        let mut result = self.presence.keep().and(self.protect());
        let now = self.process.now();
        if now >= self.next_look.load(Ordering::Relaxed) {
            self.next_look.store(now.saturating_add(LOOKS), Ordering::Relaxed);
            match self.presence.close_ended() {
                // A lease that seems to have ended is believed after a minute.
                Ok(true) => self.next_look.store(now.saturating_add(FIRST_LOOK), Ordering::Relaxed),
                Ok(false) => {}
                Err(error) => result = result.and(Err(error)),
            }
            result = result.and(deletion::finish_all(host));
        }
        for page in self.pages() {
            if self.is_over() {
                break;
            }
            result = result.and(page.keep(&|| !self.is_over()));
        }
        if self.is_over() { result } else { result.and((self.also)()) }
    }
}

#[cfg(test)]
mod tests;
