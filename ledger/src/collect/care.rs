//! What is done for one page: garbage is collected when it is time, what is read is protected, and
//! what was left behind goes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use permazen_kv::TxOptions;

use super::collector::{Collected, Collector, Pieces};
use super::streams::Leftovers;
use crate::error::{LedgerError, Result};
use crate::host::lock_before;
use crate::process::lease::WAIT;
use crate::process::open_page::OpenPage;
use crate::rows::counts::Phase;
use crate::rows::parameters::Retention;
use crate::rows::references::References;

/// How many milliseconds after a page is opened, and after each other, its commits are read to find
/// those that are not kept.
pub(super) const FIRST_LOOK: u64 = 60_000;
pub(super) const LOOKS: u64 = 600_000;

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
    /// The number of the next piece when the commits were read last, or the page was seen first.
    next_piece: Option<u64>,
    /// What named commits when they were read last. `None` if they are to be read again although
    /// nothing else is named.
    names: Option<u64>,
}

impl Care {
    pub(crate) fn new(page: Arc<OpenPage>) -> Self {
        let now = page.process.now();
        let seen =
            Seen { next_look: now.saturating_add(FIRST_LOOK), next_piece: None, names: None };
        let collector = Mutex::new(Collector::new(Arc::clone(&page)));
        Care { page, collector, seen: Mutex::new(seen) }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn collector(&self) -> Result<MutexGuard<'_, Collector>> {
        Ok(lock_before(&*self.page.host, &self.collector)?)
    }

    /// Collects all garbage that there is.
    pub(crate) fn collect(&self, wait: Duration) -> Result<Collected> {
        let mut collector = self.collector()?;
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
        collector.start(Pieces::All)?;
        while collector.step()? {}
        Ok(collector.take_collected())
    }

    /// Does a part of a collection. `false` after the last part.
    pub(crate) fn collect_slice(&self, wait: Duration) -> Result<bool> {
        let mut collector = self.collector()?;
        collector.set_wait(wait);
        if collector.is_idle() {
            collector.start(Pieces::All)?;
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
    pub(super) fn protect(&self) -> Result<()> {
        let there = self.page.read().and_then(|host| self.page.rows.check_there(&host));
        unless_done(there.and_then(|()| self.page.renew()).and_then(|()| self.page.write_pins()))
    }

    /// Removes what this process has left of a page that it has closed. `false` if there can be
    /// more.
    pub(super) fn leave(&self, goes_on: &dyn Fn() -> bool) -> Result<bool> {
        let (page, streams) = (&self.page, &self.page.process.streams);
        if !self.has_left() {
            return Ok(true);
        }
        let there = page.read().and_then(|host| page.rows.check_there(&host));
        if let Err(LedgerError::PageGone { .. }) = there {
            streams.forget(page.rows.page, None);
            page.pins.take_left();
            return Ok(true);
        }
        there?;
        let changes = streams.changes(page.rows.page);
        if changes.is_some() {
            self.clear_streams(goes_on)?;
            streams.forget(page.rows.page, changes);
        }
        Ok(goes_on() && !self.has_left())
    }

    /// Whether something of this process may be in the page that only this process removes.
    pub(super) fn has_left(&self) -> bool {
        let streams = &self.page.process.streams;
        self.page.pins.have_left() || streams.changes(self.page.rows.page).is_some()
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
            // Before the commits are read: what is named since is looked at again.
            let names = Some(self.names()?);
            collector.start(Pieces::IfMuch)?;
            let next_piece = Some(self.page.rows.counts(&self.page.read()?)?.next);
            let next_look = self.page.process.now().saturating_add(FIRST_LOOK);
            *self.seen() = Seen { next_look, next_piece, names };
        }
        drop(collector);
        let result = loop {
            if !goes_on() {
                return Ok(());
            }
            // Who is asked to collect goes on with it.
            let Ok(mut collector) = self.collector.try_lock() else { break Ok(()) };
            match collector.step() {
                Ok(true) => {}
                Ok(false) if collector.has_waiting() => break Ok(()),
                Ok(false) => {
                    let mut seen = self.seen();
                    seen.next_look = self.page.process.now().saturating_add(LOOKS);
                    seen.names = seen.names.filter(|_| collector.is_lasting());
                    return Ok(());
                }
                Err(error) => break Err(error),
            }
        };
        // In a minute more is to be done.
        self.seen().names = None;
        result
    }

    /// Whether there is garbage, or there may be commits that are not kept.
    fn is_due(&self, collector: &mut Collector) -> Result<bool> {
        let (host, now) = (self.page.read()?, self.page.process.now());
        let counts = self.page.rows.counts(&host)?;
        let (next_look, next_piece, names) = {
            let mut seen = self.seen();
            let next_piece = *seen.next_piece.get_or_insert(counts.next);
            (seen.next_look, next_piece, seen.names)
        };
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
        if collector.has_much(&counts) {
            return Ok(true);
        }
        drop(host);
        // With so much that is new, so much can have become too old.
        let has_grown = counts.next.saturating_sub(next_piece).saturating_mul(4) > counts.pieces;
        Ok((now >= next_look || has_grown) && names != Some(self.names()?))
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
