//! Read-only transactions over a fixed state of a store.

use std::sync::Arc;
use std::time::Duration;

use crate::overlay::MutableView;
use crate::store_parts::deadline::Deadline;
use crate::{
    Blob, Direction, KeySpan, KvRead, KvTransaction, KvWrite, Pair, Result, Scan, SharedRead,
    TxOptions, Visitor,
};

/// One state of a store.
pub(crate) trait View: KvRead + Send + Sync + 'static {
    /// Called before a second thread can reach this view.
    fn share(&self) {}

    /// See [`KvTransaction::version`].
    fn version(&self) -> Option<u64> {
        None
    }
}

/// A transaction that reads one state. What it writes stays in memory. Costs nothing beyond the
/// state as long as nothing is written.
pub(crate) struct ReadTransaction<V> {
    base: Arc<V>,
    /// The state with the changes over it, once something was written.
    written: Option<Box<MutableView<Arc<V>>>>,
    deadline: Deadline,
}

impl<V: View> ReadTransaction<V> {
    pub(crate) fn new(view: V, options: &TxOptions) -> Self {
        let deadline = Deadline::new(options.timeout);
        ReadTransaction { base: Arc::new(view), written: None, deadline }
    }

    fn writing(&mut self) -> Result<&mut MutableView<Arc<V>>> {
        self.deadline.check()?;
        let base = &self.base;
        let untracked = || Box::new(MutableView::untracked(Arc::clone(base)));
        Ok(self.written.get_or_insert_with(untracked))
    }
}

impl<V: View> KvRead for ReadTransaction<V> {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.deadline.check()?;
        match &self.written {
            Some(written) => written.get(key),
            None => self.base.get(key),
        }
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.deadline.check()?;
        match &self.written {
            Some(written) => written.scan(span, direction),
            None => self.base.scan(span, direction),
        }
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        self.deadline.check()?;
        match &self.written {
            Some(written) => written.visit(span, direction, visitor),
            None => self.base.visit(span, direction, visitor),
        }
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.deadline.check()?;
        match &self.written {
            Some(written) => written.at_least(min, max),
            None => self.base.at_least(min, max),
        }
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.deadline.check()?;
        match &self.written {
            Some(written) => written.at_most(min, max),
            None => self.base.at_most(min, max),
        }
    }

    fn max_key_len(&self) -> usize {
        self.base.max_key_len()
    }
}

impl<V: View> KvWrite for ReadTransaction<V> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.writing()?.put(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.writing()?.remove(key)
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        self.writing()?.remove_span(span)
    }

    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        self.writing()?.adjust_counter(key, by)
    }
}

impl<V: View> KvTransaction for ReadTransaction<V> {
    fn is_read_only(&self) -> bool {
        true
    }

    fn set_read_only(&mut self) -> Result<()> {
        self.deadline.check()
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.deadline.set(timeout);
        Ok(())
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

    fn commit(self: Box<Self>) -> Result<()> {
        self.deadline.check()
    }

    fn rollback(self: Box<Self>) {}
}
