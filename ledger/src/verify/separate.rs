//! Checks the databases of pages that have one each.

use permazen_kv::TxOptions;

use super::page;
use super::report::Verification;
use crate::error::{LedgerError, Result};
use crate::host::Host;
use crate::rows::inspect_repository::{by_number_key, has_page_row};
use crate::rows::repository::{NO_PAGE, PageState, device, page_row};
use crate::rows::separate::OWN_KEY;

/// Checks a page that was in use when the rows of the repository were read. An error of its
/// database is a finding, so that the other pages are checked too.
///
/// # Errors
/// Those of the database of the repository, and retryable ones of any database.
pub(super) fn check(host: &Host, number: u64, report: &mut Verification) -> Result<()> {
    let mut of_page = Verification::default();
    let read = (|| {
        let database = host.of_page(number)?;
        let transaction = database.begin(&TxOptions::reading())?;
        // Read after the page, which may have been opened for the first time, in a newer epoch,
        // since the check has begun.
        let device = match device(&host.repository.begin(&TxOptions::reading())?) {
            Ok(device) => Some(device),
            Err(LedgerError::Host(error)) => return Err(error.into()),
            // A damaged row is reported with the rows of the repository.
            Err(_) => None,
        };
        page::check(&transaction, &host.rows(number), device, &mut of_page)
    })();
    match read {
        Ok(()) => {}
        Err(LedgerError::Host(error)) if error.is_retryable() => return Err(error.into()),
        Err(LedgerError::Host(error)) => {
            let expected = "a database that can be read";
            of_page.add(number, &OWN_KEY, expected, error.to_string());
        }
        Err(LedgerError::DamagedRow { found, .. }) => {
            of_page.add(number, &OWN_KEY, "the database of this page", found);
        }
        Err(error) => of_page.add(number, &OWN_KEY, "this page", error.to_string()),
    }
    // The page may have been deleted meanwhile.
    if !of_page.is_clean() && !is_in_use(host, number)? {
        return Ok(());
    }
    report.append(of_page);
    Ok(())
}

fn is_in_use(host: &Host, number: u64) -> Result<bool> {
    match page_row(&host.repository.begin(&TxOptions::reading())?, number) {
        Ok(row) => Ok(row.is_some_and(|row| row.state == PageState::InUse)),
        // A damaged row is reported with the rows of the repository.
        Err(LedgerError::DamagedRow { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Looks for databases of pages that do not exist.
///
/// # Errors
/// Those of the database of the repository.
pub(super) fn check_others(host: &Host, report: &mut Verification) -> Result<()> {
    let mut others = match host.databases() {
        Ok(listed) => listed,
        Err(error) => {
            report.add(NO_PAGE, &[], "a list of the databases of pages", error.to_string());
            return Ok(());
        }
    };
    {
        let repository = host.repository.begin(&TxOptions::reading())?;
        let mut failed = None;
        others.retain(|number| match has_page_row(&repository, *number) {
            Ok(has_row) => !has_row,
            Err(error) => {
                failed.get_or_insert(error);
                false
            }
        });
        failed.map_or(Ok(()), Err)?;
    }
    if others.is_empty() {
        return Ok(());
    }
    // A database is created after the row of its page, and removed before it. So a database without
    // a row that still exists now is not being created or deleted.
    let still = host.databases().unwrap_or_default();
    for number in others.iter().filter(|number| still.contains(number)) {
        let found = "no row, and a database for it";
        report.add(NO_PAGE, &by_number_key(*number), format!("page {number}"), found);
    }
    Ok(())
}
