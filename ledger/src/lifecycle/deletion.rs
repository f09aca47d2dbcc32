//! Deletes pages: one transaction decides it, then the rows are removed in slices, or the database
//! of the page is removed. Any process continues a deletion that another one has begun.

use std::sync::Arc;

use permazen_kv::{KvRead, TxOptions};

use super::eviction_obstacle::EvictionObstacle;
use super::open_registry::OpenRegistry;
use crate::error::{LedgerError, Result};
use crate::host::Host;
use crate::ids::{PageId, ProcessId};
use crate::rows::page::{MAIN, Rows};
use crate::rows::process::lease;
use crate::rows::repository::{self as rows, PageRow, PageState};
use crate::rows::statuses::Remote;

/// How many rows one transaction removes. A row has at most 80 KiB, and most have less than 4 KiB.
const SLICE: usize = 1_024;

/// Which pages may be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeleteMode {
    /// Any.
    Always,
    /// Only pages whose removal loses nothing.
    IfNothingLost,
}

/// Decides to delete a page that no process has open, and returns its number. Returns `None` if
/// something would be lost.
///
/// # Errors
/// If there is no such page, or it is open.
pub(crate) fn begin(
    open_registry: &OpenRegistry,
    (ledger, id): (&str, PageId),
    only: DeleteMode,
) -> Result<Option<u64>> {
    let host = open_registry.host();
    let no_such = || LedgerError::no_page(ledger, &id);
    let number = rows::page(&*host.repository.begin(&TxOptions::reading())?, ledger, &id)?;
    let number = number.ok_or_else(no_such)?;
    let page = host.rows(number);
    // The database in which an eviction has set the mark.
    let mut marked = None;
    let decided = open_registry.with_closed(number, |tx| {
        let row = rows::page_row(tx, number)?.ok_or_else(no_such)?;
        match row.state {
            PageState::InUse => {}
            // Another process has begun, and only one call may report the eviction.
            PageState::Deleting if only == DeleteMode::IfNothingLost => return Err(no_such()),
            PageState::Deleting => return Ok(true),
            PageState::Making(_) => {
                let what = format!("another process is creating page {ledger} {id}");
                return Err(LedgerError::Busy { what });
            }
        }
        if host.is_separate() {
            if only == DeleteMode::IfNothingLost {
                // Checked and marked in one transaction of the page's database, because a process
                // whose lease was taken may still write there. If this process stops before the
                // deletion is decided below, the next one that opens the page removes the mark.
                let database = host.of_page(number)?;
                let mut tx = database.begin(&TxOptions::writing())?;
                if eviction_obstacle(&tx, &page)?.is_some() {
                    return Ok(false);
                }
                page.mark_deleted(&mut tx)?;
                marked = Some(Arc::clone(&database));
                tx.commit()?;
            }
        } else {
            if only == DeleteMode::IfNothingLost && eviction_obstacle(tx, &page)?.is_some() {
                return Ok(false);
            }
            page.force_mark_deleted(tx)?;
        }
        rows::begin_removal(tx, number, &row)?;
        // A page of this name that is created later is not taken for this one.
        rows::raise_epoch(tx)?;
        Ok(true)
    });
    if decided.is_err()
        && let Some(database) = marked
    {
        // If this fails too, the next process that opens the page removes the mark.
        let _ = open_registry.take_back_mark(number, &*database);
    }
    Ok(decided?.then_some(number))
}

/// The data that would be lost with a page. `None` if nothing would be lost. No process has it
/// open, so streams without a commit are garbage.
pub(crate) fn eviction_obstacle(tx: &dyn KvRead, page: &Rows) -> Result<Option<EvictionObstacle>> {
    if !page.tags(tx)?.is_empty() {
        return Ok(Some(EvictionObstacle::HasTags));
    }
    match page.remote(tx)? {
        Remote::Attached => {}
        _ if !page.has_commits(tx)? => return Ok(None),
        Remote::Attaching(_) => return Ok(Some(EvictionObstacle::IsBeingAttached)),
        Remote::None => return Ok(Some(EvictionObstacle::HasNoRemote)),
    }
    page.check_main(tx)?;
    // The remote has no other branches, and no commits that a branch lost by a reset, squash or
    // removal.
    if page.branches(tx)?.iter().any(|(name, _)| name != MAIN) {
        return Ok(Some(EvictionObstacle::HasBranches));
    }
    if page.has_resets(tx)? {
        return Ok(Some(EvictionObstacle::WasReset));
    }
    let mut has_local = false;
    page.visit_local(tx, None, |digest| {
        has_local = !page.is_transient(tx, &digest)?;
        Ok(!has_local)
    })?;
    // Unreachable commits are no loss: they are garbage, or merges that can be made again.
    let is_unsynced = has_local || !page.reachable_unsynced(tx)?.is_empty();
    Ok(is_unsynced.then_some(EvictionObstacle::IsUnsynced))
}

/// Removes the rows of a page whose deletion was decided.
pub(crate) fn finish(host: &Host, number: u64) -> Result<()> {
    finish_while(host, number, &|| true)
}

/// The same; asks `keep_going` before each slice.
fn finish_while(host: &Host, number: u64, keep_going: &dyn Fn() -> bool) -> Result<()> {
    let page = host.rows(number);
    while keep_going() {
        if host.is_separate()
            && is_deleted(&*host.repository.begin(&TxOptions::reading())?, number)?
        {
            host.remove(number)?;
        }
        let mut tx = host.repository.begin(&TxOptions::writing())?;
        let row: PageRow = match rows::page_row(&tx, number)? {
            Some(row) if row.state == PageState::Deleting => row,
            // Another process was faster.
            _ => return Ok(()),
        };
        let is_more = !host.is_separate() && page.remove_some(&mut tx, SLICE)?;
        if !is_more {
            rows::remove_page(&mut tx, number, &row)?;
        }
        tx.commit()?;
        if !is_more {
            return Ok(());
        }
    }
    Ok(())
}

fn is_deleted(tx: &dyn KvRead, number: u64) -> Result<bool> {
    Ok(rows::page_row(tx, number)?.is_some_and(|row| row.state == PageState::Deleting))
}

/// Finishes the work that other processes have begun: deletions, and pages that were never
/// completed. Asks `keep_going` in between. Returns the first error, after the rest was done.
pub(crate) fn finish_all(host: &Host, keep_going: &dyn Fn() -> bool) -> Result<()> {
    let pages = rows::page_rows(&*host.repository.begin(&TxOptions::reading())?)?;
    let mut result = Ok(());
    for (number, row) in pages {
        if !keep_going() {
            break;
        }
        result = result.and(match row.state {
            PageState::InUse => Ok(()),
            PageState::Deleting => finish_while(host, number, keep_going),
            PageState::Making(process) => {
                give_up(host, (number, &row), &process).and_then(|is_given_up| match is_given_up {
                    true => finish_while(host, number, keep_going),
                    false => Ok(()),
                })
            }
        });
    }
    result
}

/// Decides to delete a page whose creating process has ended before it completed the page.
fn give_up(host: &Host, (number, row): (u64, &PageRow), process: &ProcessId) -> Result<bool> {
    let mut tx = host.repository.begin(&TxOptions::writing())?;
    let is_same = rows::page_row(&tx, number)?.as_ref() == Some(row);
    if !is_same || lease(&tx, process)?.is_some() {
        return Ok(false);
    }
    rows::begin_removal(&mut tx, number, row)?;
    tx.commit()?;
    Ok(true)
}
