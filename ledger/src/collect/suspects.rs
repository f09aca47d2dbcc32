//! Removes unreachable pieces, by the reference rows.

use std::time::{Duration, Instant};

use permazen_kv::TxOptions;

use super::pace::Pace;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::process::open_page::OpenPage;
use crate::rows::references::References;
use crate::rows::statuses::Remote;

/// A slice visits at most this number of pieces, and stops after this time, or when its pace says
/// so.
const PIECES: usize = 256;
const LONGEST: Duration = Duration::from_millis(2);

/// A removed piece has two rows: its own, and the one that makes it a suspect. A child loses a row,
/// and may become a suspect.
const ROWS_EACH: usize = 2;

/// Pieces that may be garbage, one slice after the other.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    /// The last suspect that was visited. `None` at the beginning.
    after: Option<Digest>,
    /// New suspects may lie before `after`.
    has_new: bool,
    /// The error of the first piece that could not be read. It stays, with everything below it.
    damage: Option<LedgerError>,
    removed: u64,
    pace: Pace,
}

impl Suspects {
    /// Returns how many pieces were removed since the last call.
    pub(super) fn take_removed(&mut self) -> u64 {
        std::mem::take(&mut self.removed)
    }

    /// Does a slice in one transaction of the host. Returns `false` once nothing more can be
    /// removed.
    ///
    /// # Errors
    /// At the end, the error of the first damaged piece.
    pub(super) fn step(&mut self, page: &OpenPage, options: &TxOptions) -> Result<bool> {
        let rows = &page.rows;
        let mut tx = page.host.begin(options)?;
        // Timed after the begin: a transaction that waits for the write lock does not block others.
        let begin = Instant::now();
        rows.check_exists(&tx)?;
        let mut counts = rows.counts(&tx)?;
        if counts.references != References::Complete {
            return Ok(false);
        }
        let suspects = rows.suspects(&tx, self.after.as_ref(), PIECES)?;
        if suspects.is_empty() {
            if self.has_new {
                (self.after, self.has_new) = (None, false);
                return Ok(true);
            }
            return self.damage.take().map_or(Ok(false), Err);
        }
        let has_remote = rows.remote(&tx)? != Remote::None;
        let (mut after, mut removed) = (self.after, 0);
        let (mut damage, mut has_new, mut changed) = (None, false, 0);
        for digest in &suspects {
            after = Some(*digest);
            let children = match rows.is_needed(&tx, digest)? {
                true => None,
                false => match rows.children_of(&tx, digest) {
                    Err(error) if error.is_unreadable() => {
                        damage.get_or_insert(error);
                        continue;
                    }
                    children => children?,
                },
            };
            if let Some(children) = children {
                has_new |= !children.is_empty();
                changed += ROWS_EACH * children.len();
                rows.remove_references(&mut tx, &children)?;
                rows.remove_piece(&mut tx, digest)?;
                if has_remote {
                    rows.remove_local(&mut tx, digest, &mut counts)?;
                }
                removed += 1;
            }
            rows.remove_suspect(&mut tx, digest)?;
            changed += ROWS_EACH;
            if changed >= self.pace.rows() || begin.elapsed() >= LONGEST {
                break;
            }
        }
        counts.pieces = counts.pieces.saturating_sub(removed);
        rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        self.pace.note(changed, begin.elapsed());
        self.after = after;
        self.has_new |= has_new;
        self.removed += removed;
        if self.damage.is_none() {
            self.damage = damage;
        }
        Ok(true)
    }
}
