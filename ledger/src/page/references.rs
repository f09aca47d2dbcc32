//! Reference rows of a page.

use permazen_kv::TxOptions;

use super::Page;
use super::collection::WAIT;
use crate::collect::references::clear;
use crate::error::{LedgerError, Result};
use crate::rows::counts::{Counts, Phase};
use crate::rows::references::References;

impl Page {
    /// Whether the page keeps reference rows: [`set_reference_rows`](Page::set_reference_rows).
    ///
    /// # Errors
    /// If the page is gone, or the host fails.
    pub fn has_reference_rows(&self) -> Result<bool> {
        let (rows, tx) = (&self.shared.open.rows, self.shared.read()?);
        rows.check_exists(&tx)?;
        Ok(rows.counts(&tx)?.references == References::Complete)
    }

    /// Sets whether the page keeps a row for each reference from a commit or piece to a piece. A
    /// page does not, unless set.
    ///
    /// With these rows, a [collection](Page::collect) reads only pieces that may have become
    /// garbage, and not the whole page. But each new inner node costs about 85 more rows, each at a
    /// random place of the host. So they pay for pages with few commits and much garbage in large
    /// values.
    ///
    /// Turning them on writes the rows of all pieces, in slices. It also removes garbage, as a
    /// collection does. Turning them off removes the rows, in slices. Readers and writers continue
    /// meanwhile. If the process ends in between, the maintenance of any process that has the page
    /// open continues, and so does the next call.
    ///
    /// ```
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_ledger::{PageId, Repository};
    ///
    /// let repository = Repository::open_or_create(MemoryStore::new())?;
    /// let page = repository.create_page("films", PageId::ROOT)?;
    /// page.set_reference_rows(true)?;
    /// assert!(page.has_reference_rows()?);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// [`LedgerError::Busy`] if another process collects garbage at the moment, or others turn the
    /// rows on and off at the same time. If a piece is damaged, so that its rows cannot be known:
    /// then nothing of the page is removed until this is called with `false`. If the page is gone,
    /// or the host fails.
    pub fn set_reference_rows(&self, keep: bool) -> Result<()> {
        match keep {
            true => self.keep_references(),
            false => self.drop_references(),
        }
    }

    fn keep_references(&self) -> Result<()> {
        let open = &self.shared.open;
        let options = TxOptions::writing().with_wait(WAIT);
        loop {
            let mut tx = open.host.begin(&options)?;
            open.rows.check_exists(&tx)?;
            let mut counts = open.rows.counts(&tx)?;
            match counts.references {
                References::Complete => return Ok(()),
                References::Building => break,
                References::Off if open.rows.has_reference_rows(&tx)? => {
                    // Rows that are left from an earlier time would keep garbage.
                    drop(tx);
                    clear(open, &options)?;
                }
                References::Off if counts.round.phase != Phase::Idle => {
                    // A running round must end first, because it does not use these rows.
                    drop(tx);
                    self.shared.maintenance.collect(WAIT)?;
                }
                References::Off => {
                    counts.references = References::Building;
                    open.rows.put_counts(&mut tx, &counts)?;
                    tx.commit()?;
                    break;
                }
            }
        }
        self.shared.maintenance.collect(WAIT)?;
        match self.has_reference_rows()? {
            true => Ok(()),
            false => {
                let what =
                    format!("others turn off the reference rows of page {}", open.rows.number);
                Err(LedgerError::Busy { what })
            }
        }
    }

    fn drop_references(&self) -> Result<()> {
        let open = &self.shared.open;
        let options = TxOptions::writing().with_wait(WAIT);
        let mut tx = open.host.begin(&options)?;
        open.rows.check_exists(&tx)?;
        let mut counts = open.rows.counts(&tx)?;
        if counts.references != References::Off {
            let has_garbage = counts.references == References::Building
                || !open.rows.suspects(&tx, None, 1)?.is_empty();
            counts = Counts {
                references: References::Off,
                // Suspects become a count, so that the next round looks for them.
                suspects: counts.suspects + u64::from(has_garbage),
                ..counts
            };
            counts.round.reached = None;
            open.rows.put_counts(&mut tx, &counts)?;
            tx.commit()?;
        } else {
            drop(tx);
        }
        while clear(open, &options)? {}
        Ok(())
    }
}
