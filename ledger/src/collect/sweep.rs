//! Removes pieces that have no mark.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use permazen_kv::KvWrite;
use roaring::RoaringTreemap;

use super::pace::Pace;
use crate::digest::Digest;
use crate::error::Result;
use crate::process::open_page::OpenPage;
use crate::rows::counts::Counts;
use crate::rows::statuses::Remote;

/// The most rows that a slice reads.
const ROWS: usize = 16_384;

/// A slice stops removing after this time, or when its pace says so.
const LONGEST: Duration = Duration::from_millis(3);

/// Where a sweep is.
#[derive(Debug)]
pub(super) struct Sweep {
    pub(super) marks: RoaringTreemap,
    /// The pieces with a number below this are removed if they have no mark.
    pub(super) new_from: u64,
    /// The last piece that was handled.
    pub(super) reached: Option<Digest>,
    pub(super) pace: Pace,
}

/// Pieces without a mark, and the last piece that was read.
#[derive(Debug)]
pub(super) struct Garbage {
    pieces: Vec<Digest>,
    pub(super) reached: Option<Digest>,
    /// No pieces follow.
    pub(super) is_last: bool,
}

impl Garbage {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}

impl Sweep {
    fn is_garbage(&self, number: u64) -> bool {
        number < self.new_from && !self.marks.contains(number)
    }

    /// Finds the next pieces without a mark.
    pub(super) fn find(&self, page: &OpenPage) -> Result<Garbage> {
        let mut garbage = Garbage { pieces: Vec::new(), reached: self.reached, is_last: true };
        let mut count = 0;
        page.rows.visit_pieces(&*page.read()?, self.reached.as_ref(), |digest, number| {
            garbage.reached = Some(digest);
            if self.is_garbage(number) {
                garbage.pieces.push(digest);
            }
            count += 1;
            if count == ROWS || garbage.pieces.len() >= self.pace.rows() {
                garbage.is_last = false;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(garbage)
    }

    /// Removes the garbage that was found, as far as the time allows. Returns the number of pieces.
    pub(super) fn remove(
        &self,
        page: &OpenPage,
        tx: &mut dyn KvWrite,
        garbage: &mut Garbage,
        counts: &mut Counts,
    ) -> Result<u64> {
        let (begin, mut removed) = (Instant::now(), 0);
        let has_streamed = page.rows.has_streamed(tx)?;
        let has_remote = page.rows.remote(tx)? != Remote::None;
        for (at, digest) in garbage.pieces.iter().enumerate() {
            // The piece may have been written again since, with another number, or removed by
            // another process.
            let number = page.rows.number_of(tx, digest)?;
            if number.is_some_and(|number| self.is_garbage(number))
                && !(has_streamed && page.rows.is_streamed(tx, digest)?)
            {
                page.rows.remove_piece(tx, digest)?;
                if has_remote {
                    page.rows.remove_local(tx, digest, counts)?;
                }
                removed += 1;
            }
            if begin.elapsed() >= LONGEST && at + 1 < garbage.pieces.len() {
                (garbage.reached, garbage.is_last) = (Some(*digest), false);
                break;
            }
        }
        counts.pieces = counts.pieces.saturating_sub(removed);
        Ok(removed)
    }

    /// Moves on after these pieces.
    pub(super) fn advance(&mut self, garbage: &Garbage) {
        self.reached = garbage.reached;
    }
}
