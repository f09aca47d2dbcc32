//! Maintenance of one page: collects garbage when it is due, writes the pins of this process, and
//! removes the rows that streams and closed pages have left.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use permazen_kv::TxOptions;

use super::collector::{CollectPieces, Collected, Collector};
use super::streams::Leftovers;
use crate::error::{LedgerError, Result};
use crate::host::lock_before;
use crate::process::clock::has_come;
use crate::process::lease::WAIT;
use crate::process::open_page::OpenPage;
use crate::rows::counts::Phase;
use crate::rows::parameters::Retention;
use crate::rows::references::References;

/// How many milliseconds after a page is opened its commits are read to compute the keep set, and
/// how many milliseconds later they are read again.
pub(super) const FIRST_PASS: u64 = 60_000;
pub(super) const PASS_INTERVAL: u64 = 600_000;

/// A page and its collector.
#[derive(Debug)]
pub(crate) struct PageMaintenance {
    pub(crate) page: Arc<OpenPage>,
    collector: Mutex<Collector>,
    seen: Mutex<SeenState>,
}

/// The state of a page at the last pass over it.
#[derive(Debug)]
struct SeenState {
    /// When the keep set is due to be computed again.
    next_pass: u64,
    /// The number of the next piece when the keep set was computed last, or when the page was
    /// opened.
    next_piece: Option<u64>,
    /// A hash of the refs when the keep set was computed last. `None` if it must be computed again
    /// even if the refs are the same.
    refs_hash: Option<u64>,
}

impl PageMaintenance {
    pub(crate) fn new(page: Arc<OpenPage>) -> Self {
        let now = page.process.now();
        let seen = SeenState {
            next_pass: now.saturating_add(FIRST_PASS),
            next_piece: None,
            refs_hash: None,
        };
        let collector = Mutex::new(Collector::new(Arc::clone(&page)));
        PageMaintenance { page, collector, seen: Mutex::new(seen) }
    }

    fn seen(&self) -> MutexGuard<'_, SeenState> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn collector(&self) -> Result<MutexGuard<'_, Collector>> {
        Ok(lock_before(&*self.page.host, &self.collector)?)
    }

    /// Collects all garbage, and waits for the end.
    pub(crate) fn collect(&self, wait: Duration) -> Result<Collected> {
        let mut collector = self.collector()?;
        collector.set_wait(wait);
        // A collection that is under way may have begun before the newest garbage was made, so it
        // is ended first, and a new one runs after it.
        loop {
            match collector.step() {
                Ok(true) => {}
                // Another process may have taken the round over and have ended it since.
                Ok(false) | Err(LedgerError::Busy { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        collector.take_collected();
        collector.start(CollectPieces::Always)?;
        while collector.step()? {}
        Ok(collector.take_collected())
    }

    /// Does a part of a collection. `false` after the last part.
    pub(crate) fn collect_slice(&self, wait: Duration) -> Result<bool> {
        let mut collector = self.collector()?;
        collector.set_wait(wait);
        if collector.is_idle() {
            collector.start(CollectPieces::Always)?;
            return Ok(true);
        }
        collector.step()
    }

    /// Runs the maintenance that is due. Asks `keep_going` before each slice.
    pub(crate) fn maintain(&self, keep_going: &dyn Fn() -> bool) -> Result<()> {
        let there = self.page.read().and_then(|tx| self.page.rows.check_exists(&tx));
        let cleared = there.and_then(|()| self.clear_streams(keep_going));
        ignore_busy_or_gone(cleared.and_then(|()| self.collect_if_due(keep_going)))
    }

    /// Renews the lease, and writes the pins, so that other processes keep the commits that this
    /// one reads.
    pub(super) fn protect(&self) -> Result<()> {
        let there = self.page.read().and_then(|tx| self.page.rows.check_exists(&tx));
        ignore_busy_or_gone(
            there.and_then(|()| self.page.renew()).and_then(|()| self.page.write_pins()),
        )
    }

    /// Removes the rows that this process has left in a page that it has closed. Returns `false` if
    /// there may be more.
    pub(super) fn clean_up_closed(&self, keep_going: &dyn Fn() -> bool) -> Result<bool> {
        let (page, streams) = (&self.page, &self.page.process.streams);
        if !self.has_leftovers() {
            return Ok(true);
        }
        let there = page.read().and_then(|tx| page.rows.check_exists(&tx));
        if let Err(LedgerError::PageGone { .. }) = there {
            streams.forget(page.rows.number, None);
            page.pins.take_dropped_rows();
            return Ok(true);
        }
        there?;
        let changes = streams.changes(page.rows.number);
        if changes.is_some() {
            self.clear_streams(keep_going)?;
            streams.forget(page.rows.number, changes);
        }
        Ok(keep_going() && !self.has_leftovers())
    }

    /// Whether the page may have rows that only this process removes.
    pub(super) fn has_leftovers(&self) -> bool {
        let streams = &self.page.process.streams;
        self.page.pins.have_dropped_rows() || streams.changes(self.page.rows.number).is_some()
    }

    fn clear_streams(&self, keep_going: &dyn Fn() -> bool) -> Result<()> {
        let options = TxOptions::writing().with_wait(WAIT);
        let Some(mut left) = Leftovers::new(&self.page, &options, false)? else { return Ok(()) };
        while keep_going() && left.step(&self.page, &options)? {}
        Ok(())
    }

    fn collect_if_due(&self, keep_going: &dyn Fn() -> bool) -> Result<()> {
        // Another thread holds the collector, so it is collecting.
        let Ok(mut collector) = self.collector.try_lock() else { return Ok(()) };
        collector.set_wait(WAIT);
        if collector.is_idle() {
            if collector.failed().is_some() || !self.is_due(&mut collector)? {
                return Ok(());
            }
            // Hashed before the commits are read, so that a ref that is set meanwhile makes the
            // next pass due.
            let refs_hash = Some(self.refs_hash()?);
            collector.start(CollectPieces::IfMuch)?;
            let next_piece = Some(self.page.rows.counts(&self.page.read()?)?.next);
            let next_pass = self.page.process.now().saturating_add(FIRST_PASS);
            *self.seen() = SeenState { next_pass, next_piece, refs_hash };
        }
        drop(collector);
        let result = loop {
            if !keep_going() {
                return Ok(());
            }
            // If the collector is taken, `Page::collect` was called, and continues this collection.
            let Ok(mut collector) = self.collector.try_lock() else { break Ok(()) };
            match collector.step() {
                Ok(true) => {}
                Ok(false) if collector.has_waiting() => break Ok(()),
                Ok(false) => {
                    let mut seen = self.seen();
                    seen.next_pass = self.page.process.now().saturating_add(PASS_INTERVAL);
                    seen.refs_hash = seen.refs_hash.filter(|_| collector.is_lasting());
                    return Ok(());
                }
                Err(error) => break Err(error),
            }
        };
        // Commits wait for their grace time, or the collection has failed: look again in a minute.
        self.seen().refs_hash = None;
        result
    }

    /// Whether there is enough garbage, or the keep set may have become smaller.
    fn is_due(&self, collector: &mut Collector) -> Result<bool> {
        let (tx, now) = (self.page.read()?, self.page.process.now());
        let counts = self.page.rows.counts(&tx)?;
        let (next_pass, next_piece, refs_hash) = {
            let mut seen = self.seen();
            let next_piece = *seen.next_piece.get_or_insert(counts.next);
            (seen.next_pass, next_piece, seen.refs_hash)
        };
        match counts.references {
            References::Building => return Ok(true),
            References::Complete if !self.page.rows.suspects(&tx, None, 1)?.is_empty() => {
                return Ok(true);
            }
            References::Off | References::Complete => {}
        }
        let is_idle = counts.round.phase == Phase::Idle;
        if !is_idle {
            // A round of another process runs. It ends here only if that process has stopped.
            return collector.can_take_over(&tx, &counts);
        }
        if collector.has_much(&counts) {
            return Ok(true);
        }
        drop(tx);
        // The page has grown by a quarter, so as much of its history may have become too old.
        let has_grown = counts.next.saturating_sub(next_piece).saturating_mul(4) > counts.pieces;
        let is_time = has_come(next_pass, PASS_INTERVAL, now);
        Ok((is_time || has_grown) && refs_hash != Some(self.refs_hash()?))
    }

    /// A hash that changes when commits may have left the keep set.
    fn refs_hash(&self) -> Result<u64> {
        let (tx, rows) = (self.page.read()?, &self.page.rows);
        let mut refs_hash = DefaultHasher::new();
        rows.keep_version(&tx)?.hash(&mut refs_hash);
        let retention = rows.parameters(&tx)?.map(|found| found.retention).unwrap_or_default();
        for (branch, heads) in rows.branches(&tx)? {
            rows.resets(&tx, &branch)?.hash(&mut refs_hash);
            branch.hash(&mut refs_hash);
            // With a rule that counts commits or their age, each new commit can push another one
            // out.
            if retention != Retention::All {
                heads.iter().for_each(|head| head.id.hash(&mut refs_hash));
            }
        }
        rows.tags(&tx)?.hash(&mut refs_hash);
        Ok(refs_hash.finish())
    }
}

fn ignore_busy_or_gone(result: Result<()>) -> Result<()> {
    match result {
        // Another process does it.
        Err(LedgerError::Busy { .. }) => Ok(()),
        // The page was deleted: nothing is left to maintain. Callers that use the page get this
        // error.
        Err(LedgerError::PageGone { .. }) => Ok(()),
        result => result,
    }
}
