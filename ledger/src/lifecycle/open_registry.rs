//! Records in the repository which pages this process has open, so that others do not delete them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use permazen_kv::{AtomicKvStore, KvDatabase, KvError, KvRead, KvTransaction, KvWrite, TxOptions};

use crate::error::{LedgerError, Result};
use crate::host::{Host, lock_before};
use crate::ids::ProcessId;
use crate::process::lease::{Process, WAIT};
use crate::rows::opened as rows;
use crate::rows::process::{lease, remove_lease};
use crate::rows::repository::{PageRow, PageState, device, page_row, put_page_row};

/// The pages that this process has open, each with a row in the repository.
///
/// A page whose last handle was dropped stays open until the next maintenance, so a program that
/// opens and closes a page again and again writes nothing.
pub(crate) struct OpenRegistry {
    host: Arc<Host>,
    process: Arc<Process>,
    /// Held only for a moment, never while waiting.
    pages: Mutex<HashMap<u64, Registered>>,
    /// Held while the rows are written, which may wait for the host.
    writing: Mutex<()>,
}

/// A page that is open, or was until a moment ago.
#[derive(Debug, Clone, Copy)]
struct Registered {
    /// The number of handles.
    count: usize,
    /// The process ID in the row, which may not be there if `is_written` is not set. `None` if
    /// there is no row because the host cannot be written.
    process: Option<ProcessId>,
    /// Whether all rows of the opening are there for sure. If not, the next opening or change
    /// writes them, or the next maintenance if there may be a row.
    is_written: bool,
    /// The milliseconds at which the last handle was dropped.
    closed: u64,
}

/// A page that is open until this is dropped.
pub(crate) struct Registration {
    open_registry: Arc<OpenRegistry>,
    page: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let now = self.open_registry.process.now();
        if let Some(open) = self.open_registry.pages().get_mut(&self.page) {
            open.count -= 1;
            open.closed = now;
        }
    }
}

impl Registration {
    /// Writes the rows of the opening, if that was not possible when the page was opened or may not
    /// have been done.
    ///
    /// # Errors
    /// If it is not possible now either. The next change of the page tries again.
    pub(crate) fn complete(&self, database: &dyn KvDatabase, wait: Option<Duration>) -> Result<()> {
        self.open_registry.complete(self.page, database, wait)
    }

    /// Writes the rows of the opening again: in the page's own database is the mark of an eviction
    /// that another process has begun. In a host that cannot be written, the page stays as it is,
    /// and can be read.
    ///
    /// # Errors
    /// As [`open`](OpenRegistry::open).
    pub(crate) fn renew(&self, database: &dyn KvDatabase) -> Result<()> {
        let _writing = self.open_registry.writing()?;
        let options = TxOptions::writing();
        match self.open_registry.write_rows_if_possible(self.page, database, &options) {
            Err(error) if may_be_read(&error) => Ok(()),
            written => written,
        }
    }
}

impl OpenRegistry {
    pub(crate) fn new(host: Arc<Host>, process: Arc<Process>) -> Self {
        OpenRegistry { host, process, pages: Mutex::default(), writing: Mutex::default() }
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// The time, in milliseconds.
    pub(crate) fn now(&self) -> u64 {
        self.process.now()
    }

    fn repository(&self) -> &dyn KvDatabase {
        &*self.host.repository
    }

    fn pages(&self) -> MutexGuard<'_, HashMap<u64, Registered>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the writing of rows of open pages, and waits for a thread that holds it.
    fn writing(&self) -> Result<MutexGuard<'_, ()>> {
        Ok(lock_before(self.repository(), &self.writing)?)
    }

    /// One more handle of a page whose rows are there.
    fn open_again(self: &Arc<Self>, page: u64) -> Option<Registration> {
        let own = Some(self.process.id());
        let mut pages = self.pages();
        let open = pages.get_mut(&page).filter(|open| open.is_written && open.process == own)?;
        open.count += 1;
        Some(Registration { open_registry: Arc::clone(self), page })
    }

    /// Opens a page.
    ///
    /// # Errors
    /// [`LedgerError::PageGone`] if it was deleted or is being deleted, [`LedgerError::Busy`] if it
    /// is being created, or if the host fails.
    pub(crate) fn open(
        self: &Arc<Self>,
        page: u64,
        database: &dyn KvDatabase,
    ) -> Result<Registration> {
        if let Some(registration) = self.open_again(page) {
            return Ok(registration);
        }
        let _writing = self.writing()?;
        // Another thread may have opened it meanwhile.
        if let Some(registration) = self.open_again(page) {
            return Ok(registration);
        }
        self.write_opening(page, database)
    }

    /// Opens a page with its rows written again: in its own database is the mark of an eviction
    /// that another process has begun.
    ///
    /// # Errors
    /// As [`open`](OpenRegistry::open).
    pub(crate) fn open_anew(
        self: &Arc<Self>,
        page: u64,
        database: &dyn KvDatabase,
    ) -> Result<Registration> {
        let _writing = self.writing()?;
        self.write_opening(page, database)
    }

    /// Opens a page and writes the rows of its opening, if the host can be written. The caller
    /// holds the lock of the writing.
    fn write_opening(
        self: &Arc<Self>,
        page: u64,
        database: &dyn KvDatabase,
    ) -> Result<Registration> {
        self.write_rows_if_possible(page, database, &TxOptions::writing())?;
        self.change(page, |open| open.count += 1);
        Ok(Registration { open_registry: Arc::clone(self), page })
    }

    /// Writes the rows of an opening, if the host can be written. If that fails, and there are no
    /// handles, the next maintenance removes what was written. The caller holds the lock of the
    /// writing.
    fn write_rows_if_possible(
        &self,
        page: u64,
        database: &dyn KvDatabase,
        options: &TxOptions,
    ) -> Result<()> {
        let Err(error) = self.write_rows(page, database, options) else { return Ok(()) };
        self.unless_read_only(page, database, error)?;
        self.change(page, |open| open.is_written = false);
        Ok(())
    }

    /// Writes the rows of an opening. The caller holds the lock of the writing.
    fn write_rows(&self, page: u64, database: &dyn KvDatabase, options: &TxOptions) -> Result<()> {
        let written = self.write(page, options);
        // The row may be there nevertheless. If not, that of an earlier opening counts.
        if written.as_ref().is_err_and(is_unknown) {
            self.note_unsure(page, self.process.id());
        }
        let (process, device) = written?;
        self.note_unsure(page, process);
        if self.host.is_separate() {
            self.write_first_opened(page, database, device, options)?;
        }
        self.change(page, |open| open.is_written = true);
        Ok(())
    }

    /// Writes the rows of the opening of a page that has handles, if they may not be there.
    fn complete(&self, page: u64, database: &dyn KvDatabase, wait: Option<Duration>) -> Result<()> {
        let is_written = || self.pages().get(&page).is_none_or(|open| open.is_written);
        if is_written() {
            return Ok(());
        }
        let _writing = self.writing()?;
        // Another thread may have written them meanwhile.
        if is_written() {
            return Ok(());
        }
        let mut options = TxOptions::writing();
        options.wait = wait;
        self.write_rows(page, database, &options).map_err(|error| match is_unknown(&error) {
            // The change of the caller was certainly not done.
            true => LedgerError::Busy {
                what: format!(
                    "it is not known whether others are told that page {page} is open ({error})"
                ),
            },
            false => error,
        })
    }

    /// Changes the entry of a page, which is made if there is none.
    fn change(&self, page: u64, change: impl FnOnce(&mut Registered)) {
        let new = Registered { count: 0, process: None, is_written: false, closed: self.now() };
        change(self.pages().entry(page).or_insert(new));
    }

    /// Notes that not all rows of the opening of a page may be there, and the process in the row.
    fn note_unsure(&self, page: u64, process: ProcessId) {
        self.change(page, |open| (open.process, open.is_written) = (Some(process), false));
    }

    /// Puts entries back whose rows may have been removed, so the next opening writes them.
    fn put_back(&self, pages: impl IntoIterator<Item = (u64, Registered)>) {
        let unsure = |(page, open)| (page, Registered { is_written: false, ..open });
        self.pages().extend(pages.into_iter().map(unsure));
    }

    /// A page can be opened in a host that this process cannot write: one that is open for reading
    /// only, on a full disk, or whose writing thread has ended, which a host reports as it reports
    /// the first. It can be opened too if it is not known whether it was written, as where SQLite
    /// finds no room for the index of its log. Then nothing protects the commits that are read,
    /// until a change of the page [completes](Registration::complete) the opening, or the next
    /// maintenance if the outcome was unknown.
    ///
    /// # Errors
    /// Other errors. This one too if the page has the mark of an eviction that was not completed:
    /// the page is in use, but it cannot be read until the mark is removed.
    fn unless_read_only(
        &self,
        page: u64,
        database: &dyn KvDatabase,
        error: LedgerError,
    ) -> Result<()> {
        if !may_be_read(&error) {
            return Err(error);
        }
        let rows = self.host.rows(page);
        if self.host.is_separate()
            && rows.is_marked_deleted(&database.begin(&TxOptions::reading())?)?
        {
            // If the eviction was decided, the page is gone.
            in_use(&*self.repository().begin(&TxOptions::reading())?, page)?;
            return Err(error);
        }
        Ok(())
    }

    /// Writes the row that the page is open. Returns the process ID in it, and the device.
    fn write(&self, page: u64, options: &TxOptions) -> Result<(ProcessId, [u8; 24])> {
        let mut tx = self.repository().begin(options)?;
        in_use(&tx, page)?;
        let (device, rows) = (device(&tx)?, self.host.rows(page));
        if !self.host.is_separate() {
            rows.check_exists(&tx)?;
            rows.put_first_opened(&mut tx, device)?;
        }
        let process = self.process.ensure_lease(&mut tx)?;
        rows::put_opened(&mut tx, page, &process)?;
        tx.commit()?;
        Ok((process, device))
    }

    /// Writes the rows of an opening into the database of a page. From here on no process decides
    /// to delete it, and the mark of an eviction that was not completed is removed.
    fn write_first_opened(
        &self,
        page: u64,
        database: &dyn KvDatabase,
        device: [u8; 24],
        options: &TxOptions,
    ) -> Result<()> {
        let rows = self.host.rows(page);
        let mut tx = database.begin(options)?;
        rows.unmark_deleted(&mut tx)?;
        rows.put_first_opened(&mut tx, device)?;
        Ok(tx.commit()?)
    }

    /// Closes the pages without handles. If other processes have taken the lease of this process,
    /// writes the rows of its open pages again. The same if the outcome was unknown when they were
    /// opened.
    pub(crate) fn maintain(&self) -> Result<()> {
        let _writing = self.writing()?;
        self.write_changed().and(self.complete_unsure())
    }

    /// Writes the rows of pages whose rows may not be there, unless the host could not be written.
    fn complete_unsure(&self) -> Result<()> {
        let is_unsure =
            |open: &Registered| open.count > 0 && open.process.is_some() && !open.is_written;
        let pages = self.pages();
        let unsure: Vec<u64> =
            pages.iter().filter(|(_, open)| is_unsure(open)).map(|(page, _)| *page).collect();
        drop(pages);
        let mut result = Ok(());
        for page in unsure {
            let options = TxOptions::writing().with_wait(WAIT);
            let written = self.host.of_page(page);
            let written = written.and_then(|it| self.write_rows_if_possible(page, &*it, &options));
            match written {
                // It was deleted meanwhile.
                Err(LedgerError::PageGone { .. } | LedgerError::Busy { .. }) => {}
                written => result = result.and(written),
            }
        }
        result
    }

    /// Writes the rows of pages that are closed, and of open ones if the lease was taken. The
    /// caller holds the lock of the writing.
    fn write_changed(&self) -> Result<()> {
        // Without a row there is nothing to write.
        self.pages().retain(|_, open| open.count > 0 || open.process.is_some());
        let has_lease =
            self.process.has_lease(&*self.repository().begin(&TxOptions::reading())?)?;
        // Writing pins may have given the process another ID meanwhile.
        let own = has_lease.then(|| self.process.id());
        let is_done =
            |open: &Registered| open.count > 0 && (open.process.is_none() || open.process == own);
        if self.pages().values().all(is_done) {
            return Ok(());
        }
        let tx = self.repository().begin(&TxOptions::writing().with_wait(WAIT))?;
        // A thread that opens one of these pages from here on waits for `_writing`, and then writes
        // its row again.
        let closed: Vec<_> = self.pages().extract_if(|_, open| open.count == 0).collect();
        let written = self.write_all(tx, &closed);
        if written.is_err() {
            // The outcome may be unknown.
            self.put_back(closed);
        }
        written
    }

    /// Writes the rows of open pages again if other processes have taken the lease, and the rows of
    /// closed pages.
    fn write_all(
        &self,
        mut tx: Box<dyn KvTransaction + Send>,
        closed: &[(u64, Registered)],
    ) -> Result<()> {
        let process = self.process.ensure_lease(&mut tx)?;
        let pages = self.pages();
        let others = |open: &Registered| open.process.is_some_and(|other| other != process);
        let open: Vec<u64> =
            pages.iter().filter(|(_, open)| others(open)).map(|(page, _)| *page).collect();
        drop(pages);
        for page in open {
            match in_use(&tx, page) {
                Ok(_) => rows::put_opened(&mut tx, page, &process)?,
                // A page that was deleted meanwhile gets no row; its handles get the error when
                // they write.
                Err(LedgerError::PageGone { .. } | LedgerError::Busy { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        for (page, open) in closed {
            close(&mut tx, *page, open)?;
        }
        tx.commit()?;
        // A page that was opened when the host could not be written stays without a row: it also
        // lacks the row of its first opening, which only an opening or a change writes.
        for open in self.pages().values_mut().filter(|open| open.process.is_some()) {
            // While this process was taken for dead, an eviction may have left a mark in the
            // database of the page.
            open.is_written &= open.process == Some(process) || !self.host.is_separate();
            open.process = Some(process);
        }
        Ok(())
    }

    /// Runs a function in a transaction in which the page is closed, and commits if it returns
    /// `true`. No thread of this process can open the page meanwhile.
    ///
    /// # Errors
    /// If a handle of this process or another process has the page open; the errors of the
    /// function.
    pub(crate) fn with_closed(
        &self,
        page: u64,
        run: impl FnOnce(&mut dyn KvWrite) -> Result<bool>,
    ) -> Result<bool> {
        let _writing = self.writing()?;
        // A thread that opens it from here on waits for `_writing`.
        let open = match self.pages().entry(page) {
            Entry::Occupied(open) if open.get().count > 0 => {
                return Err(LedgerError::PageInUse { page });
            }
            Entry::Occupied(open) => Some(open.remove()),
            Entry::Vacant(_) => None,
        };
        let done = self.run_closed(page, open.as_ref(), run);
        match done {
            Ok(true) => {}
            Ok(false) => self.pages().extend(open.map(|open| (page, open))),
            // The outcome may be unknown, or the function has marked the page as deleted.
            Err(_) => self.put_back(open.map(|open| (page, open))),
        }
        done
    }

    fn run_closed(
        &self,
        page: u64,
        open: Option<&Registered>,
        run: impl FnOnce(&mut dyn KvWrite) -> Result<bool>,
    ) -> Result<bool> {
        let mut tx = self.repository().begin(&TxOptions::writing())?;
        if let Some(open) = open {
            close(&mut tx, page, open)?;
        }
        for process in rows::opened_by(&tx, page)? {
            if self.process.lives(&tx, &process)? {
                return Err(LedgerError::PageInUse { page });
            }
            // The other process has ended, or will find that its lease was taken.
            remove_lease(&mut tx, &process)?;
            rows::close(&mut tx, page, &process, self.process.now())?;
        }
        if !run(&mut tx)? {
            tx.rollback();
            return Ok(false);
        }
        tx.commit()?;
        Ok(true)
    }

    /// Takes back the mark of an eviction that failed after it had set it. Does nothing if another
    /// process may decide an eviction at the same time, which needs the mark: then the next opening
    /// removes it, after it has written the row that holds off evictions.
    pub(crate) fn take_back_mark(&self, page: u64, database: &dyn KvDatabase) -> Result<()> {
        if self.repository().capabilities().concurrent_writers {
            return Ok(());
        }
        // No other process writes the repository until this transaction ends, also where others
        // take the write lock only with their first write. So the row of the page tells whether an
        // eviction was decided, also if its outcome was unknown.
        let Some(mut tx) = AtomicKvStore::hold(self.repository(), WAIT)? else { return Ok(()) };
        let row = in_use(&tx, page)?;
        let mut of_page = database.begin(&TxOptions::writing().with_wait(WAIT))?;
        self.host.rows(page).unmark_deleted(&mut of_page)?;
        of_page.commit()?;
        // An eviction that has read before, and would write only now, has set a mark that is gone.
        // This write is its conflict.
        put_page_row(&mut tx, page, &row)?;
        Ok(tx.commit()?)
    }

    /// Closes the pages of processes that have ended, with the present time as that of their
    /// closing. Removes closing times without a page. Returns `true` if other processes seem to
    /// have ended but it is not yet sure.
    pub(crate) fn close_ended(&self) -> Result<bool> {
        let now = self.process.now();
        let is_more = self.process.remove_ended_leases(self.repository())?;
        let found = Ended::find(&*self.repository().begin(&TxOptions::reading())?)?;
        if found.open.is_empty() && found.lost.is_empty() {
            return Ok(is_more);
        }
        let mut tx = self.repository().begin(&TxOptions::writing().with_wait(WAIT))?;
        // Others may have opened a page meanwhile.
        let Ended { open, lost } = Ended::find(&tx)?;
        for (page, process) in open {
            match page_row(&tx, page)? {
                Some(_) => rows::close(&mut tx, page, &process, now)?,
                None => rows::remove_opened(&mut tx, page, &process)?,
            }
        }
        for page in lost {
            rows::remove_closed(&mut tx, page)?;
        }
        tx.commit()?;
        Ok(is_more)
    }

    /// Closes all pages, and returns the lease of the process. Called when no handle is left.
    pub(crate) fn close_all(&self) -> Result<()> {
        let _writing = self.writing()?;
        let mut open = std::mem::take(&mut *self.pages());
        open.retain(|_, open| open.process.is_some());
        if open.is_empty() {
            return self.process.return_lease(self.repository());
        }
        let mut tx = self.repository().begin(&TxOptions::writing().with_wait(WAIT))?;
        for (page, open) in open {
            close(&mut tx, page, &open)?;
        }
        self.process.return_lease_in(&mut tx)?;
        Ok(tx.commit()?)
    }
}

/// Rows of processes that have ended.
struct Ended {
    /// The pages that they had open.
    open: Vec<(u64, ProcessId)>,
    /// Pages with a closing time that do not exist.
    lost: Vec<u64>,
}

impl Ended {
    fn find(tx: &dyn KvRead) -> Result<Self> {
        let (mut open, mut lost) = (Vec::new(), Vec::new());
        for (page, process) in rows::opened(tx)? {
            if lease(tx, &process)?.is_none() {
                open.push((page, process));
            }
        }
        for page in rows::all_closed(tx)? {
            if page_row(tx, page)?.is_none() {
                lost.push(page);
            }
        }
        Ok(Ended { open, lost })
    }
}

/// Writes that a page is not open in this process any more.
fn close(tx: &mut dyn KvWrite, page: u64, open: &Registered) -> Result<()> {
    let Some(process) = open.process else { return Ok(()) };
    // A page that may not have been opened gets no closing time if it never was.
    if !open.is_written && !rows::has_rows(tx, page)? {
        return Ok(());
    }
    match page_row(tx, page)? {
        Some(_) => rows::close(tx, page, &process, open.closed),
        // The page was deleted after other processes had taken the lease.
        None => rows::remove_opened(tx, page, &process),
    }
}

/// Whether it is not known if a transaction was committed.
fn is_unknown(error: &LedgerError) -> bool {
    matches!(error, LedgerError::Host(KvError::OutcomeUnknown(_)))
}

/// Whether a host that fails to write with this error may still be read.
fn may_be_read(error: &LedgerError) -> bool {
    let is_read_only = matches!(
        error,
        LedgerError::Host(
            KvError::Unsupported(_) | KvError::IllegalState(_) | KvError::Full { .. },
        )
    );
    is_read_only || is_unknown(error)
}

/// The row of a page, if the page can be opened.
pub(crate) fn in_use(tx: &dyn KvRead, page: u64) -> Result<PageRow> {
    match page_row(tx, page)? {
        Some(row) if row.state == PageState::InUse => Ok(row),
        Some(PageRow { state: PageState::Making(_), .. }) => {
            let what = format!("another process is creating page {page}");
            Err(LedgerError::Busy { what })
        }
        _ => Err(LedgerError::PageGone { page }),
    }
}
