//! Writes the reference rows of a page, and removes them.

use std::time::{Duration, Instant};

use permazen_kv::TxOptions;

use super::pace::Pace;
use crate::error::Result;
use crate::ids::CommitId;
use crate::process::open_page::OpenPage;
use crate::rows::references::{References, roots};

/// A slice reads at most this number of commits or pieces, and stops after this time.
const READS: usize = 256;
const LONGEST: Duration = Duration::from_millis(2);

/// The most rows that a slice removes.
const REMOVALS: usize = 1_024;

/// Writes the reference rows of commits and pieces that are older than the option: of commits
/// first, then of pieces by their digests.
///
/// Each slice begins where the row with the counts says, so any process can continue.
#[derive(Debug, Default)]
pub(crate) struct Build {
    /// The last commit that has its rows.
    reached: Option<CommitId>,
    /// All commits have their rows.
    has_commits: bool,
    pace: Pace,
}

impl Build {
    /// Does a part of the work, in one transaction of the host. Returns `false` once all is done,
    /// or the page keeps no reference rows any more.
    pub(crate) fn step(&mut self, page: &OpenPage, options: &TxOptions) -> Result<bool> {
        use std::ops::ControlFlow::{Break, Continue};
        let rows = &page.rows;
        let mut tx = page.host.begin(options)?;
        // Timed after the begin: a transaction that waits for the write lock does not block others.
        let begin = Instant::now();
        rows.check_exists(&tx)?;
        let mut counts = rows.counts(&tx)?;
        if counts.references != References::Building {
            return Ok(false);
        }
        let mut reached = counts.round.reached;
        // A process that has reached the pieces has written the rows of all commits before.
        if reached.is_none() && !self.has_commits {
            let mut found = Vec::new();
            rows.visit_commits(&tx, self.reached.as_ref(), |id, commit, _| {
                found.push((id, commit.root, commit.conflicts));
                if found.len() < READS { Continue(()) } else { Break(()) }
            })?;
            for (id, root, conflicts) in &found {
                rows.put_references(&mut tx, &roots(id, root, conflicts.as_ref()))?;
            }
            tx.commit()?;
            self.has_commits = found.len() < READS;
            self.reached = found.last().map(|(id, ..)| *id);
            return Ok(true);
        }
        let mut pieces = Vec::new();
        rows.visit_pieces(&tx, reached.as_ref(), |digest, _| {
            pieces.push(digest);
            if pieces.len() < READS { Continue(()) } else { Break(()) }
        })?;
        let is_more = !pieces.is_empty();
        let mut changed = 0;
        for digest in pieces {
            let children = rows.children_of(&tx, &digest)?.unwrap_or_default();
            rows.put_references(&mut tx, &children)?;
            changed += children.len() + 1;
            // A later piece may refer to it and write its row then, so it is only a suspect.
            if !rows.is_needed(&tx, &digest)? {
                rows.put_suspect(&mut tx, &digest)?;
            }
            reached = Some(digest);
            if changed >= self.pace.rows() || begin.elapsed() >= LONGEST {
                break;
            }
        }
        if is_more {
            counts.round.reached = reached;
        } else {
            counts.references = References::Complete;
            counts.round.reached = None;
            counts.suspects = 0;
        }
        rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        self.pace.note(changed, begin.elapsed());
        Ok(is_more)
    }
}

/// Removes reference rows of a page that does not keep them, in one transaction of the host.
/// Returns `false` if no rows are left, or the page keeps them again.
pub(crate) fn clear(page: &OpenPage, options: &TxOptions) -> Result<bool> {
    let mut tx = page.host.begin(options)?;
    page.rows.check_exists(&tx)?;
    if page.rows.counts(&tx)?.references != References::Off {
        return Ok(false);
    }
    let is_all = page.rows.clear_references(&mut tx, REMOVALS)?;
    tx.commit()?;
    Ok(!is_all)
}
