//! Deleting pages: it is decided in one transaction, and then the rows go in slices. Any process
//! continues what another one has begun.

use permazen_kv::{KvDatabase, KvRead, TxOptions};

use super::presence::Presence;
use crate::error::{LedgerError, Result};
use crate::ids::PageId;
use crate::rows::page::Rows;
use crate::rows::repository::{self as rows, PageRow, PageState};

/// How many rows one transaction removes. Each is at most 80 KiB, and most are below 4 KiB.
const SLICE: usize = 1_024;

/// Decides that a page is deleted, if nobody has it open and `may_go` says so, and gives its number.
/// `None` if it says not.
///
/// # Errors
/// If there is no such page, or it is open.
pub(crate) fn begin(
    presence: &Presence,
    host: &dyn KvDatabase,
    (ledger, id): (&str, PageId),
    may_go: impl FnOnce(&dyn KvRead, &Rows) -> Result<bool>,
) -> Result<Option<u64>> {
    let no_such = || LedgerError::NoSuch { what: "page", name: format!("{ledger} {id}") };
    let number = rows::page(&*host.begin(&TxOptions::reading())?, ledger, &id)?;
    let number = number.ok_or_else(no_such)?;
    let page = Rows::new(number);
    let decided = presence.with_closed(number, |tx| {
        let row = rows::page_row(tx, number)?.ok_or_else(no_such)?;
        match row.state {
            PageState::InUse => {}
            // Another process has begun.
            PageState::Deleting => return Ok(true),
            PageState::Changing => {
                let what = format!("another process makes page {ledger} {id} or deletes it");
                return Err(LedgerError::Busy { what });
            }
        }
        if !may_go(tx, &page)? {
            return Ok(false);
        }
        rows::begin_removal(tx, number, &row)?;
        page.put_going(tx)?;
        rows::raise_epoch(tx)?;
        Ok(true)
    })?;
    Ok(decided.then_some(number))
}

/// Removes the rows of a page for which that was decided.
pub(crate) fn finish(host: &dyn KvDatabase, number: u64) -> Result<()> {
    let page = Rows::new(number);
    loop {
        let mut tx = host.begin(&TxOptions::writing())?;
        let row: PageRow = match rows::page_row(&tx, number)? {
            Some(row) if row.state == PageState::Deleting => row,
            // Another process was faster.
            _ => return Ok(()),
        };
        let is_more = page.remove_some(&mut tx, SLICE)?;
        if !is_more {
            rows::remove_page(&mut tx, number, &row)?;
        }
        tx.commit()?;
        if !is_more {
            return Ok(());
        }
    }
}

/// Continues what processes have begun and not ended.
pub(crate) fn finish_all(host: &dyn KvDatabase) -> Result<()> {
    let pages = rows::page_rows(&*host.begin(&TxOptions::reading())?)?;
    for (number, row) in pages {
        if row.state == PageState::Deleting {
            finish(host, number)?;
        }
    }
    Ok(())
}
