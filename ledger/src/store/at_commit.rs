//! A commit as a read-only database.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use permazen_kv::__internal::Deadline;
use permazen_kv::overlay::MutableView;
use permazen_kv::{
    Blob, Capabilities, Direction, KeySpan, KvDatabase, KvError, KvRead, KvTransaction, KvWrite,
    Pair, Pending, Result, Scan, SharedRead, Statistics, TxOptions, Visitor,
};

use crate::page::snapshot::PageSnapshot;

/// The content of a page at a commit as a read-only database:
/// [`Page::database_at`](crate::Page::database_at).
///
/// It pins the commit. Clones are the same database.
#[derive(Clone)]
pub struct CommitDatabase {
    snapshot: PageSnapshot,
}

impl fmt::Debug for CommitDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitDatabase").field("snapshot", &self.snapshot).finish()
    }
}

impl CommitDatabase {
    pub(crate) fn new(snapshot: PageSnapshot) -> Self {
        CommitDatabase { snapshot }
    }

    /// The content.
    pub fn snapshot(&self) -> &PageSnapshot {
        &self.snapshot
    }
}

impl KvDatabase for CommitDatabase {
    /// Begins a transaction that reads. Its writes are discarded.
    ///
    /// # Errors
    /// [`KvError::Unsupported`] unless the options say that it only reads.
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        if !options.read_only {
            return Err(KvError::Unsupported(
                "writing to a commit of a page (it never changes; Page::create_branch makes a branch there)",
            ));
        }
        let view = MutableView::untracked(Arc::new(self.snapshot.clone()) as SharedRead);
        Ok(Box::new(CommitTransaction { view, deadline: Deadline::new(options.timeout) }))
    }

    fn capabilities(&self) -> Capabilities {
        let mut all = Capabilities::none();
        (all.snapshots, all.timeouts, all.serializable) = (true, true, true);
        all
    }

    fn statistics(&self) -> Result<Statistics> {
        let entries = self.snapshot.count(KeySpan::new(b"", None))?;
        let mut statistics = Statistics::default();
        statistics.entries = Some(entries);
        Ok(statistics)
    }
}

/// A transaction that reads a commit.
struct CommitTransaction {
    view: MutableView<SharedRead>,
    deadline: Deadline,
}

impl CommitTransaction {
    fn view(&self) -> Result<&MutableView<SharedRead>> {
        self.deadline.check()?;
        Ok(&self.view)
    }

    fn view_mut(&mut self) -> Result<&mut MutableView<SharedRead>> {
        self.deadline.check()?;
        Ok(&mut self.view)
    }
}

impl KvRead for CommitTransaction {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.view()?.get(key)
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.view()?.scan(span, direction)
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        self.view()?.visit(span, direction, visitor)
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.view()?.at_least(min, max)
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.view()?.at_most(min, max)
    }

    fn content_name(&self) -> Option<[u8; 48]> {
        self.view.content_name()
    }

    fn max_key_len(&self) -> usize {
        self.view.max_key_len()
    }
}

impl KvWrite for CommitTransaction {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.view_mut()?.put(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.view_mut()?.remove(key)
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        self.view_mut()?.remove_span(span)
    }

    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        self.view_mut()?.adjust_counter(key, by)
    }
}

impl KvTransaction for CommitTransaction {
    fn is_read_only(&self) -> bool {
        true
    }

    fn set_read_only(&mut self) -> Result<()> {
        self.deadline.check()
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.deadline.set(timeout)
    }

    /// A commit has one state.
    fn version(&self) -> Option<u64> {
        Some(0)
    }

    fn snapshot(&self) -> Result<SharedRead> {
        Ok(self.view()?.snapshot())
    }

    fn pending(&self) -> Option<Pending<'_>> {
        Some(self.view.pending())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.deadline.check()
    }

    fn rollback(self: Box<Self>) {}
}
