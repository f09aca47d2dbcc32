//! Read-only transactions over a fixed state of a store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::contract::pass_on::pass_on;
use crate::overlay::MutableView;
use crate::store_parts::deadline::Deadline;
use crate::{
    KeyRanges, KvRead, KvTransaction, KvWrite, Pending, Result, SharedRead, TxOptions, Writes,
};

/// The writes of a transaction that has written nothing.
static NOTHING: Writes =
    Writes { removes: KeyRanges::new(), puts: BTreeMap::new(), adjusts: BTreeMap::new() };

/// One state of a store.
pub(crate) trait StateView: KvRead + Send + Sync + 'static {
    /// Called before a second thread can reach this view.
    fn share(&self) {}

    /// See [`KvTransaction::version`].
    fn version(&self) -> Option<u64> {
        None
    }
}

/// A transaction that reads one state. Its writes stay in memory. Costs nothing beyond the state as
/// long as nothing is written.
pub(crate) struct ReadTransaction<V> {
    base: Arc<V>,
    /// The state with the changes over it, once something was written.
    written: Option<Box<MutableView<Arc<V>>>>,
    deadline: Deadline,
}

impl<V: StateView> ReadTransaction<V> {
    pub(crate) fn new(view: V, options: &TxOptions) -> Self {
        let deadline = Deadline::new(options.timeout);
        ReadTransaction { base: Arc::new(view), written: None, deadline }
    }

    fn reading(&self) -> Result<&dyn KvRead> {
        self.deadline.check()?;
        Ok(match &self.written {
            Some(written) => &**written,
            None => &self.base,
        })
    }

    fn writing(&mut self) -> Result<&mut MutableView<Arc<V>>> {
        self.deadline.check()?;
        let base = &self.base;
        let untracked = || Box::new(MutableView::untracked(Arc::clone(base)));
        Ok(self.written.get_or_insert_with(untracked))
    }
}

impl<V: StateView> KvRead for ReadTransaction<V> {
    pass_on!(self => self.reading()?; READS);
    pass_on!(self => self.base; max_key_len);
}

impl<V: StateView> KvWrite for ReadTransaction<V> {
    pass_on!(self => self.writing()?; put, remove, remove_span, adjust_counter);
}

impl<V: StateView> KvTransaction for ReadTransaction<V> {
    fn is_read_only(&self) -> bool {
        true
    }

    fn set_read_only(&mut self) -> Result<()> {
        self.deadline.check()
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.deadline.set(timeout)
    }

    fn version(&self) -> Option<u64> {
        self.base.version()
    }

    fn snapshot(&self) -> Result<SharedRead> {
        self.deadline.check()?;
        self.base.share();
        Ok(match &self.written {
            Some(written) => Arc::new(written.copy_changes()),
            None => Arc::clone(&self.base) as SharedRead,
        })
    }

    fn pending(&self) -> Option<Pending<'_>> {
        self.base.share();
        let writes = self.written.as_ref().map_or(&NOTHING, |written| written.writes());
        Some(Pending { writes, base: Arc::clone(&self.base) as SharedRead })
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.deadline.check()
    }

    fn rollback(self: Box<Self>) {}
}
