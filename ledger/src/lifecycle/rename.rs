//! Another name for a page.

use permazen_kv::TxOptions;

use super::deletion;
use crate::error::{LedgerError, Result};
use crate::ids::PageId;
use crate::repository::Repository;
use crate::rows::repository::{self as rows, PageState};

impl Repository {
    /// Gives a page that no process has open another ledger name and ID, in one transaction. The
    /// content of the page stays as it is: its commits do not name it.
    ///
    /// So a page can be moved aside, for example a damaged one that is to be examined while another
    /// takes its place.
    ///
    /// ```
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_ledger::{PageId, Repository};
    ///
    /// let repository = Repository::open_or_create(MemoryStore::new())?;
    /// repository.create_page("films", PageId::ROOT)?;
    /// repository.rename_page(("films", PageId::ROOT), ("damaged films", PageId::ROOT))?;
    /// repository.create_page("films", PageId::ROOT)?;
    /// assert_eq!(repository.pages()?.len(), 2);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no page `from`, if there is a page `to`, if the new name of the ledger is empty
    /// or longer than 128 bytes, if a process has the page open ([`LedgerError::PageInUse`]), or if
    /// the host fails.
    pub fn rename_page(&self, from: (&str, PageId), to: (&str, PageId)) -> Result<()> {
        rows::check_ledger(to.0)?;
        let no_such = || LedgerError::no_page(from.0, &from.1);
        loop {
            let number = {
                let host = self.host().repository.begin(&TxOptions::reading())?;
                rows::page(&host, from.0, &from.1)?.ok_or_else(no_such)?
            };
            // The page that has the name and is being deleted.
            let mut deleted = None;
            self.open_registry().with_closed(number, |tx| {
                // It may have been renamed or deleted meanwhile.
                if rows::page(tx, from.0, &from.1)? != Some(number) {
                    return Err(no_such());
                }
                let row = rows::page_row(tx, number)?.ok_or_else(no_such)?;
                if row.state != PageState::InUse {
                    return Err(no_such());
                }
                if let Some(there) = rows::page(tx, to.0, &to.1)?
                    && there != number
                {
                    match rows::page_row(tx, there)? {
                        Some(row) if row.state == PageState::Deleting => deleted = Some(there),
                        _ => return Err(LedgerError::page_exists(to.0, &to.1)),
                    }
                    return Ok(false);
                }
                rows::rename_page(tx, number, (&row, to))?;
                Ok(true)
            })?;
            match deleted {
                Some(there) => deletion::finish(self.host(), there)?,
                None => return Ok(()),
            }
        }
    }
}
