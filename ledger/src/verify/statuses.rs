//! Checks the rows about the remote of a page.

use permazen_kv::KvRead;

use super::commits::Graph;
use super::report::Verification;
use crate::error::Result;
use crate::ids::CommitId;
use crate::rows::counts::Counts;
use crate::rows::inspect::{COUNTS_KEY, REMOTE_KEY, unsynced_key};
use crate::rows::page::Rows;
use crate::rows::statuses::Remote;

/// The rows of commits and pieces that are not at the remote yet.
#[derive(Debug, Default)]
pub(super) struct Statuses {
    pub(super) unsynced: Vec<(Vec<u8>, CommitId, u64)>,
    /// The number of pieces, and the row of the first.
    pub(super) local: u64,
    pub(super) first_local: Option<Vec<u8>>,
}

impl Statuses {
    pub(super) fn check(
        &self,
        (tx, rows): (&dyn KvRead, &Rows),
        graph: &Graph,
        counts: Option<&Counts>,
        report: &mut Verification,
    ) -> Result<()> {
        let page = rows.number;
        let read = rows.remote(tx);
        let Some(remote) = report.readable((page, &REMOTE_KEY), "1 and a digest, or 2", read)?
        else {
            return Ok(());
        };
        if remote == Remote::None {
            let all = self.unsynced.iter().map(|(row, ..)| row).chain(&self.first_local);
            for row in all {
                report.add(page, row, "no status of a page without a remote", "one");
            }
        }
        for (row, id, generation) in &self.unsynced {
            if !graph.is_here(id) {
                report.add(page, row, "a commit with a row", format!("commit {id}"));
            } else if let Some(known) = graph.generation(id).filter(|known| known != generation) {
                let expected = format!("generation {known}, of the commit");
                report.add(page, row, expected, format!("generation {generation}"));
            }
        }
        if remote == Remote::Attached {
            let unsynced = self.unsynced.iter().map(|(_, id, _)| *id).collect();
            for (parent, id) in graph.below_others(&unsynced) {
                let expected = format!("no such row, as for commit {id}, its child");
                report.add(page, &unsynced_key(&parent), expected, "one");
            }
        }
        if let Some(Counts { unsynced, local, .. }) = counts {
            for (there, said, what) in [
                (self.unsynced.len() as u64, *unsynced, "commits that are not at the remote"),
                (self.local, *local, "pieces that are not at the remote"),
            ] {
                if there != said {
                    report.add(page, &COUNTS_KEY, format!("{there} {what}"), said.to_string());
                }
            }
        }
        Ok(())
    }
}
