//! The first row of a database of one page: it names the page.

use permazen_kv::{KvRead, KvWrite};

use super::page::Rows;
use super::repository::{FORMAT, FORMAT_ROW, KNOWN_FORMAT};
use super::sealed;
use crate::error::{LedgerError, Result};

const MAGIC: &[u8] = b"permazen-ledger page";

/// Its key.
pub(crate) const OWN_KEY: [u8; 1] = [FORMAT_ROW];

impl Rows {
    fn own(&self, repository: &[u8; 16]) -> Vec<u8> {
        [MAGIC, &FORMAT.to_be_bytes(), repository, &self.number.to_be_bytes()].concat()
    }

    /// Writes that the database belongs to this page of this repository.
    pub(crate) fn put_own(&self, tx: &mut dyn KvWrite, repository: &[u8; 16]) -> Result<()> {
        self.put(tx, &OWN_KEY, self.own(repository))
    }

    /// The error if the database of a page that is in use does not exist.
    pub(crate) fn no_database(&self) -> LedgerError {
        self.damaged(&OWN_KEY, "the database of the page is not there")
    }

    /// Refuses a database that belongs to another page.
    pub(crate) fn check_own(&self, tx: &dyn KvRead, repository: &[u8; 16]) -> Result<()> {
        let value = self.get(tx, &OWN_KEY)?;
        let rest = value.as_ref().and_then(|value| value.strip_prefix(MAGIC));
        let format =
            rest.and_then(|rest| rest.first_chunk()).map(|found| u32::from_be_bytes(*found));
        match (value, format) {
            (_, Some(found)) if found != FORMAT => {
                Err(sealed::unknown((self.number, &OWN_KEY), "format", found, KNOWN_FORMAT))
            }
            (Some(value), _) if value == self.own(repository) => Ok(()),
            (Some(_), _) => Err(self.damaged(&OWN_KEY, "it is the database of another page")),
            (None, _) => Err(self.damaged(&OWN_KEY, "it is missing")),
        }
    }
}
