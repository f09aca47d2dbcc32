//! Checks a repository.

use std::collections::{BTreeMap, BTreeSet};

use permazen_kv::{Direction, KeySpan, KvRead, TxOptions};

use super::report::Verification;
use super::{page, separate};
use crate::error::Result;
use crate::host::Host;
use crate::ids::PageId;
use crate::repository::Repository;
use crate::rows::inspect_repository::{
    DecodedRepositoryRow, NEXT_PAGE_KEY, ONCE, by_name_key, by_number_key, repository_row,
};
use crate::rows::page::Rows;
use crate::rows::repository::{NO_PAGE, PageState, device};

impl Repository {
    /// Checks all that must hold of the repository and of its pages. Changes nothing.
    ///
    /// Defects are in the [`Verification`], as text. Reads everything in one transaction of the
    /// host, so concurrent changes are no findings. Each node is loaded once, each part of a long
    /// value once for each list of parts in which it is. Memory: about 100 bytes and two keys for
    /// each node, 100 bytes for each commit, 50 bytes for each other piece.
    ///
    /// ```
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_ledger::{PageId, Repository};
    ///
    /// let repository = Repository::open_or_create(MemoryStore::new())?;
    /// repository.create_page("contacts", PageId::ROOT)?;
    /// let verification = repository.verify()?;
    /// assert!(verification.is_clean(), "{}", verification.findings[0]);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// A page with a database of its own that cannot be opened or read is a finding.
    ///
    /// # Errors
    /// If the host fails.
    pub fn verify(&self) -> Result<Verification> {
        let mut report = Verification::default();
        let host = self.host();
        let tx = host.repository.begin(&TxOptions::reading())?;
        let device = report.readable((NO_PAGE, &[]), "a device", device(&tx))?;
        for number in check_rows(&tx, host, &mut report)? {
            let rows = host.rows(number);
            match host.is_separate() {
                true => separate::check(host, number, &mut report)?,
                false => page::check(&tx, &rows, device, &mut report)?,
            }
        }
        if host.is_separate() {
            separate::check_others(host, &mut report)?;
        }
        Ok(report)
    }
}

/// Checks the rows of the repository, and returns the numbers of its pages that are not being
/// deleted.
fn check_rows(tx: &dyn KvRead, places: &Host, report: &mut Verification) -> Result<Vec<u64>> {
    let (mut by_name, mut by_number) = (BTreeMap::new(), BTreeMap::new());
    let (mut next_page, mut in_use, mut unnamed) = (None, Vec::new(), BTreeSet::new());
    // The pages with a row of their closing time (`true`), or of a process that has them open.
    let mut used = BTreeMap::new();
    let mut from = Vec::new();
    // After the first row of a page, the scan skips the other rows of the page.
    'rows: loop {
        let rest = KeySpan::new(&from, None);
        for pair in tx.scan(rest, Direction::Forward)? {
            let (key, row) = pair?;
            match repository_row(&key, &row) {
                Ok(
                    DecodedRepositoryRow::Format
                    | DecodedRepositoryRow::Id
                    | DecodedRepositoryRow::Device,
                ) => {}
                // Leases of processes that have ended are no damage.
                Ok(DecodedRepositoryRow::Lease) => {}
                Ok(
                    ref row @ (DecodedRepositoryRow::Closed(number)
                    | DecodedRepositoryRow::Opened(number)),
                ) => {
                    let is_closed = matches!(row, DecodedRepositoryRow::Closed(_));
                    if used.insert(number, is_closed).is_some_and(|other| other != is_closed) {
                        let expected = "a page that is closed, or open";
                        report.add(NO_PAGE, &key, expected, "rows 06 and 08");
                    }
                    if !by_number.contains_key(&number) {
                        report.add(NO_PAGE, &key, "a page that exists", format!("page {number}"));
                    }
                }
                Ok(DecodedRepositoryRow::NextPage(next)) => next_page = Some(next),
                Ok(DecodedRepositoryRow::ByName { ledger, page, number }) => {
                    by_name.insert((ledger, page), number);
                }
                Ok(DecodedRepositoryRow::ByNumber { number, row }) => {
                    by_number.insert(number, (row.ledger, row.id));
                    match row.state {
                        PageState::InUse => in_use.push(number),
                        // The page was never completed, and another page may have its name.
                        PageState::Making(_) => _ = unnamed.insert(number),
                        PageState::Deleting if places.is_separate() => _ = unnamed.insert(number),
                        PageState::Deleting => {}
                    }
                }
                Ok(DecodedRepositoryRow::OfPage(number)) => {
                    if places.is_separate() || !by_number.contains_key(&number) {
                        let found = format!("rows of page {number}, which is not here");
                        report.add(NO_PAGE, &key, "rows of existing pages", found);
                    }
                    match Rows::under_prefix(number).all().1 {
                        Some(after) => from = after,
                        None => break 'rows,
                    }
                    continue 'rows;
                }
                Err(wrong) => report.add_wrong(NO_PAGE, &key, wrong),
            }
        }
        break;
    }
    for (row, what) in ONCE {
        if tx.get(&[row])?.is_none() {
            report.add(NO_PAGE, &[row], what, "no row");
        }
    }
    let last_number = by_number.last_key_value().map(|(number, _)| *number);
    by_number.retain(|number, name| !unnamed.contains(number) || by_name.get(name) == Some(number));
    check_names(&by_name, &by_number, report);
    // Not for pages with databases of their own, which get row 2b after row 08.
    for number in in_use.iter().filter(|_| !places.is_separate()) {
        let was_opened = places.rows(*number).was_opened(tx)?;
        let is_used = used.contains_key(number);
        if was_opened != is_used {
            let expected = "rows 2b and 06 or 08 of a page that was opened, none of another";
            let found = match was_opened {
                true => "row 2b alone",
                false => "no row 2b",
            };
            report.add(NO_PAGE, &by_number_key(*number), expected, found);
        }
    }
    if let (Some(next), Some(last)) = (next_page, last_number)
        && next <= last
    {
        let expected = format!("a number above {last}, that of a page");
        report.add(NO_PAGE, &NEXT_PAGE_KEY, expected, next.to_string());
    }
    Ok(in_use)
}

/// Compares names and numbers of pages, both ways.
fn check_names(
    by_name: &BTreeMap<(String, PageId), u64>,
    by_number: &BTreeMap<u64, (String, PageId)>,
    report: &mut Verification,
) {
    for (name, number) in by_name {
        if by_number.get(number) != Some(name) {
            let found = match by_number.get(number) {
                Some((ledger, page)) => format!("ledger {ledger:?}, page {page}"),
                None => "no row".to_owned(),
            };
            let expected = format!("ledger {:?}, page {}, as row 04 says", name.0, name.1);
            report.add(NO_PAGE, &by_number_key(*number), expected, found);
        }
    }
    for (number, name) in by_number {
        if by_name.get(name) != Some(number) {
            let found = match by_name.get(name) {
                Some(number) => format!("page number {number}"),
                None => "no row".to_owned(),
            };
            let expected = format!("page number {number}, as row 05 says");
            report.add(NO_PAGE, &by_name_key(&name.0, &name.1), expected, found);
        }
    }
}
