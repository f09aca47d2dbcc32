//! Read-only transactions over a fixed state of a store.

use std::sync::Arc;
use std::time::Duration;

use crate::deadline::Deadline;
use crate::scratch::Scratch;
use crate::{
    Blob, Direction, KeySpan, KvError, KvRead, KvTransaction, KvWrite, Pair, Result, Scan,
    SharedRead, TxOptions, Visitor,
};

/// One state of a store.
pub(crate) trait View: KvRead + Send + Sync + 'static {
    /// Called before this view can be reached from a second thread.
    fn share(&self) {}

    /// See [`KvTransaction::version`].
    fn version(&self) -> Option<u64> {
        None
    }
}

/// A transaction that reads one state; what it writes stays in memory. Costs nothing beyond the
/// view as long as nothing is written.
pub(crate) struct ReadTransaction<V> {
    view: Arc<V>,
    /// What was written, once something was.
    scratch: Option<Arc<Scratch>>,
    deadline: Deadline,
}

impl<V: View> ReadTransaction<V> {
    pub(crate) fn new(view: V, options: &TxOptions) -> Self {
        let deadline = Deadline::new(options.timeout);
        ReadTransaction { view: Arc::new(view), scratch: None, deadline }
    }

    fn scratch(&mut self) -> &mut Scratch {
        Arc::make_mut(self.scratch.get_or_insert_default())
    }
}

impl<V: View> KvRead for ReadTransaction<V> {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.deadline.check()?;
        match self.scratch.as_ref().and_then(|scratch| scratch.get(key)) {
            Some(written) => Ok(written),
            None => self.view.get(key),
        }
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.deadline.check()?;
        match &self.scratch {
            Some(scratch) => scratch.scan(&*self.view, span, direction),
            None => self.view.scan(span, direction),
        }
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        self.deadline.check()?;
        let Some(scratch) = &self.scratch else {
            return self.view.visit(span, direction, visitor);
        };
        for pair in scratch.scan(&*self.view, span, direction)? {
            let (key, value) = pair?;
            if visitor(&key, &value).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.deadline.check()?;
        match &self.scratch {
            Some(scratch) => scratch.at_least(&*self.view, min, max),
            None => self.view.at_least(min, max),
        }
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.deadline.check()?;
        match &self.scratch {
            Some(scratch) => scratch.at_most(&*self.view, min, max),
            None => self.view.at_most(min, max),
        }
    }

    fn max_key_len(&self) -> usize {
        self.view.max_key_len()
    }
}

impl<V: View> KvWrite for ReadTransaction<V> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.deadline.check()?;
        if key.len() > self.view.max_key_len() {
            return Err(KvError::key_too_long(key, self.view.max_key_len()));
        }
        self.scratch().put(key, value);
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.deadline.check()?;
        self.scratch().remove(key);
        Ok(())
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        self.deadline.check()?;
        span.check()?;
        let view = Arc::clone(&self.view);
        self.scratch().remove_span(&*view, span)
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
        self.view.version()
    }

    fn snapshot(&self) -> Result<SharedRead> {
        self.deadline.check()?;
        self.view.share();
        Ok(match &self.scratch {
            Some(scratch) => {
                let (base, scratch) = (Arc::clone(&self.view), Arc::clone(scratch));
                Arc::new(Scratched { base, scratch })
            }
            None => Arc::clone(&self.view) as SharedRead,
        })
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.deadline.check()
    }

    fn rollback(self: Box<Self>) {}
}

/// A snapshot of a read-only transaction that had written something.
struct Scratched<V> {
    base: Arc<V>,
    scratch: Arc<Scratch>,
}

impl<V: View> KvRead for Scratched<V> {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.scratch.get(key).map_or_else(|| self.base.get(key), Ok)
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.scratch.scan(&*self.base, span, direction)
    }

    fn max_key_len(&self) -> usize {
        self.base.max_key_len()
    }
}
