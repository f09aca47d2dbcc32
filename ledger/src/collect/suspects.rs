//! Removes pieces that nothing leads to, as reference rows say.

use std::time::{Duration, Instant};

use permazen_kv::TxOptions;

use super::pace::Pace;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::process::open_page::OpenPage;
use crate::rows::references::References;
use crate::rows::statuses::Remote;

/// A slice looks at so many pieces at most, and stops after so long, or as its pace says.
const PIECES: usize = 256;
const LONGEST: Duration = Duration::from_millis(2);

/// A piece that is removed has two rows: its own, and that it is a suspect. A child loses a row,
/// and may become a suspect.
const ROWS_EACH: usize = 2;

/// Pieces that may be garbage, one slice after the other.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    /// Up to this piece all that could be removed was removed. `None` at the beginning.
    after: Option<Digest>,
    /// What came since may be before `after`.
    has_new: bool,
    /// What is wrong with the first piece that could not be read. It stays, with all that it leads
    /// to.
    damage: Option<LedgerError>,
    removed: u64,
    pace: Pace,
}

impl Suspects {
    /// How many pieces were removed since this was asked last.
    pub(super) fn take_removed(&mut self) -> u64 {
        std::mem::take(&mut self.removed)
    }

    /// Does a part of it, in one transaction of the host. `false` once nothing more can be removed.
    ///
    /// # Errors
    /// At the end, what is wrong with the first piece that is damaged.
    pub(super) fn step(&mut self, page: &OpenPage, options: &TxOptions) -> Result<bool> {
        let rows = &page.rows;
        let mut tx = page.host.begin(options)?;
        // Who waits for the right to write holds up nobody.
        let begin = Instant::now();
        rows.check_there(&tx)?;
        let mut counts = rows.counts(&tx)?;
        if counts.references != References::Kept {
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
