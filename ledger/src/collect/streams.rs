//! Removes the rows that streams leave: values that were written in parts have rows for their
//! pieces.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use permazen_kv::{KvRead, TxOptions};

use crate::error::Result;
use crate::process::open_page::OpenPage;
use crate::rows::counts::Round;
use crate::rows::process::{StreamId, StreamState, lease};
use crate::rows::streams::StreamedRow;

/// The most rows that a slice reads, and that it removes.
const READS: usize = 4_096;
const REMOVALS: usize = 256;

/// The work that is left.
#[derive(Debug)]
pub(super) struct Leftovers {
    /// Streams that commits have attached. Their rows are removed after those of their pieces.
    over: Vec<StreamId>,
    /// The last row that was handled.
    reached: Option<StreamedRow>,
    /// The value of `OpenPage::leftovers` when this began.
    before: u64,
    /// All rows were read.
    is_read: bool,
}

/// Whether a stream is abandoned: its process has no lease, or has given it up.
fn is_lost(page: &OpenPage, tx: &dyn KvRead, stream: &StreamId) -> Result<bool> {
    if stream.process == page.process.id() {
        return Ok(!page.process.streams.has(page.rows.number, stream.number));
    }
    Ok(lease(tx, &stream.process)?.is_none())
}

fn is_over(state: StreamState, now: &Round) -> bool {
    match state {
        StreamState::Open => false,
        StreamState::Attached { round, .. } => now.is_after(round),
    }
}

impl Leftovers {
    /// Gives up the streams of processes without a lease, and those that this process has
    /// abandoned. Returns `None` if no rows are left to remove, unless `always` asks to read them
    /// in any case.
    pub(super) fn new(page: &OpenPage, options: &TxOptions, always: bool) -> Result<Option<Self>> {
        page.process.streams.forget_unheld(page.rows.number, page.process.now());
        let (own, streams) = (page.process.id(), page.rows.streams(&*page.read()?)?);
        if streams.iter().any(|(stream, _)| stream.process != own) {
            page.process.remove_ended_leases(&*page.host)?;
        }
        let tx = page.read()?;
        let round = page.rows.counts(&tx)?.round;
        let (mut over, mut lost) = (Vec::new(), Vec::new());
        for (stream, state) in streams {
            if is_over(state, &round) {
                over.push(stream);
            } else if state == StreamState::Open && is_lost(page, &tx, &stream)? {
                lost.push(stream);
            }
        }
        drop(tx);
        for slice in lost.chunks(REMOVALS) {
            give_up(page, slice, options)?;
        }
        let before = page.leftovers.load(Ordering::Acquire);
        let is_needed = always || before > 0 || !over.is_empty();
        Ok(is_needed.then_some(Leftovers { over, reached: None, before, is_read: false }))
    }

    /// Does a slice. Returns `false` once all is done.
    pub(super) fn step(&mut self, page: &OpenPage, options: &TxOptions) -> Result<bool> {
        if self.is_read {
            self.end(page, options)?;
            return Ok(false);
        }
        let (rows, reached, is_read) = self.find(page)?;
        if !rows.is_empty() {
            remove(page, &rows, options)?;
        }
        (self.reached, self.is_read) = (reached, is_read);
        Ok(true)
    }

    /// The next rows of streams that are given up or over, the last row that was read, and whether
    /// that was the last one.
    fn find(&self, page: &OpenPage) -> Result<(Vec<StreamedRow>, Option<StreamedRow>, bool)> {
        let tx = page.read()?;
        let round = page.rows.counts(&tx)?.round;
        let streams: BTreeMap<_, _> = page.rows.streams(&tx)?.into_iter().collect();
        let (mut found, mut reached, mut count, mut is_all) = (Vec::new(), self.reached, 0, true);
        page.rows.visit_streamed(&tx, self.reached.as_ref(), |row| {
            if streams.get(&row.stream).is_none_or(|state| is_over(*state, &round)) {
                found.push(row);
            }
            (reached, count) = (Some(row), count + 1);
            if count == READS || found.len() == REMOVALS {
                is_all = false;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok((found, reached, is_all))
    }

    /// Removes the rows of attached streams whose pieces have no rows left.
    fn end(&self, page: &OpenPage, options: &TxOptions) -> Result<()> {
        for slice in self.over.chunks(REMOVALS) {
            let mut tx = page.host.begin(options)?;
            page.rows.check_exists(&tx)?;
            for stream in slice {
                // A stream that is over stays over, and an attached stream gets no further piece,
                // so no check is needed.
                page.rows.remove_stream(&mut tx, stream)?;
            }
            tx.commit()?;
        }
        // If a stream was given up meanwhile, its rows may lie before those that were read: then
        // the counter stays, and the next pass reads again.
        let (done, failed) = (Ordering::AcqRel, Ordering::Acquire);
        let _ = page.leftovers.compare_exchange(self.before, 0, done, failed);
        Ok(())
    }
}

/// Removes the rows of streams without a commit. From here on, no commit can attach one of them.
fn give_up(page: &OpenPage, streams: &[StreamId], options: &TxOptions) -> Result<()> {
    let mut tx = page.host.begin(options)?;
    page.rows.check_exists(&tx)?;
    for stream in streams {
        // It may have been attached since.
        if page.rows.stream(&tx, stream)? == Some(StreamState::Open) && is_lost(page, &tx, stream)?
        {
            page.rows.remove_stream(&mut tx, stream)?;
        }
    }
    // Counted before the commit, because a commit that seems to fail may have been made.
    page.leftovers.fetch_add(1, Ordering::AcqRel);
    Ok(tx.commit()?)
}

/// Removes rows of pieces, and records which pieces may be garbage then.
fn remove(page: &OpenPage, rows: &[StreamedRow], options: &TxOptions) -> Result<()> {
    let mut tx = page.host.begin(options)?;
    page.rows.check_exists(&tx)?;
    let mut counts = page.rows.counts(&tx)?;
    let (mut written, mut found) = (0, false);
    // For each stream: whether its rows are removed, whether a commit has attached it, and whether
    // that commit is stored here.
    let mut streams = BTreeMap::new();
    for row in rows {
        let (goes, is_taken, has_commit) = match streams.get(&row.stream) {
            Some(known) => *known,
            None => {
                let known = match page.rows.stream(&tx, &row.stream)? {
                    None => (true, false, false),
                    Some(StreamState::Open) => (false, false, false),
                    Some(state @ StreamState::Attached { commit, .. }) => {
                        let has_commit = page.rows.has_commit(&tx, &commit)?;
                        (is_over(state, &counts.round), true, has_commit)
                    }
                };
                streams.insert(row.stream, known);
                known
            }
        };
        if !goes {
            continue;
        }
        let removed = page.rows.remove_streamed(&mut tx, row)?;
        if is_taken && removed.is_some() {
            // Also if that commit was removed: later ones may have the value.
            page.rows.settle_streamed(&mut tx, &row.digest)?;
        }
        if removed.is_some() && counts.references.are_written() {
            page.rows.put_suspect(&mut tx, &row.digest)?;
        }
        match removed {
            Some(_) if has_commit => {}
            Some(row) if row.is_written => written += 1,
            // The stream has only found the piece: a commit has it, or it was garbage that the
            // stream has kept.
            Some(_) => found = true,
            None => {}
        }
    }
    if !counts.references.are_written() {
        counts.suspects = counts.suspects.saturating_add(written + u64::from(found));
    }
    page.rows.put_counts(&mut tx, &counts)?;
    Ok(tx.commit()?)
}
