//! One transaction.

use std::sync::Arc;
use std::time::Duration;

use super::engine::Engine;
use super::fairness::Turn;
use crate::contract::pass_on::pass_on;
use crate::overlay::MutableView;
use crate::store_parts::deadline::Deadline;
use crate::{
    AtomicKvStore, KeyWatch, KvRead, KvTransaction, KvWrite, Pending, Result, SharedRead, TxOptions,
};

pub(super) struct OptimisticTransaction<S: AtomicKvStore> {
    open: Open<S>,
    /// How long to wait for a transaction that has its turn.
    wait: Duration,
}

/// The view of a transaction. Reads through this directly are not recorded.
struct Open<S: AtomicKvStore> {
    view: MutableView<SharedRead>,
    /// The store's own number for the content.
    version: Option<u64>,
    deadline: Deadline,
    /// `Some` if the transaction has its turn.
    turn: Option<Turn>,
    /// Dropped last: it may be the last that keeps the store open.
    db: Registration<S>,
}

/// The engine, and the registration of a transaction there.
struct Registration<S: AtomicKvStore> {
    engine: Arc<Engine<S>>,
    /// The version of the snapshot, since which the log keeps the commits as long as this exists.
    /// `None` for a read-only transaction, for which it keeps nothing.
    base: Option<u64>,
}

impl<S: AtomicKvStore> Registration<S> {
    fn end(&mut self) {
        if let Some(base) = self.base.take() {
            self.engine.state().log.unregister(base);
        }
    }
}

impl<S: AtomicKvStore> Drop for Registration<S> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<S: AtomicKvStore> OptimisticTransaction<S> {
    pub(super) fn begin(engine: &Arc<Engine<S>>, options: &TxOptions) -> Result<Self> {
        let deadline = Deadline::new(options.timeout);
        let under_way = || engine.committing.begin(engine.turns.counts()).map(drop);
        let turn = engine.turns.take(options, &engine.store, under_way)?;
        if turn.is_none() && !options.read_only {
            engine.turns.check_store_is_free()?;
        }
        let (base, snapshot) = engine.open(!options.read_only)?;
        let (view, base) = match options.read_only {
            true => (MutableView::untracked(snapshot.content), None),
            false => (MutableView::new(snapshot.content), Some(base)),
        };
        let db = Registration { engine: Arc::clone(engine), base };
        let open = Open { view, version: snapshot.version, deadline, turn, db };
        Ok(OptimisticTransaction { open, wait: options.writer_wait() })
    }
}

impl<S: AtomicKvStore> Open<S> {
    /// The content. An error if the transaction's time is over or the database was stopped.
    fn view(&self) -> Result<&MutableView<SharedRead>> {
        if let Some(turn) = &self.turn {
            turn.follow();
        }
        self.deadline.check()?;
        self.db.engine.check_running()?;
        Ok(&self.view)
    }

    fn view_mut(&mut self) -> Result<&mut MutableView<SharedRead>> {
        self.view()?;
        Ok(&mut self.view)
    }
}

impl<S: AtomicKvStore> KvRead for OptimisticTransaction<S> {
    pass_on!(self => self.open.view()?; READS);
    pass_on!(self => self.open.view; LIMITS, content_name);
}

impl<S: AtomicKvStore> KvRead for Open<S> {
    pass_on!(self => self.view()?.reading(false); get, scan, visit, at_least, at_most);
    pass_on!(self => self.view; LIMITS, content_name);
}

impl<S: AtomicKvStore> KvWrite for OptimisticTransaction<S> {
    pass_on!(self => self.open.view_mut()?; WRITES);
}

impl<S: AtomicKvStore> KvTransaction for OptimisticTransaction<S> {
    fn is_read_only(&self) -> bool {
        self.open.db.base.is_none()
    }

    /// Possible at any time. Earlier reads are then never checked.
    fn set_read_only(&mut self) -> Result<()> {
        self.open.view_mut()?.disable_read_tracking();
        self.open.db.end();
        self.open.turn = None;
        Ok(())
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.open.deadline.set(timeout)
    }

    fn version(&self) -> Option<u64> {
        self.open.version
    }

    fn snapshot(&self) -> Result<SharedRead> {
        Ok(self.open.view()?.snapshot())
    }

    fn watch(&mut self, key: &[u8]) -> Result<KeyWatch> {
        self.open.view()?;
        self.open.db.engine.watch(key)
    }

    fn untracked(&self) -> Option<&dyn KvRead> {
        Some(&self.open)
    }

    fn pending(&self) -> Option<Pending<'_>> {
        Some(self.open.view.pending())
    }

    /// Costs as much as making the changes, and a search for each change that others have committed
    /// since this transaction began, or for each range read, whichever are fewer. Waits for a
    /// transaction that has its turn.
    fn commit(self: Box<Self>) -> Result<()> {
        self.open.view()?;
        let OptimisticTransaction { open, wait } = *self;
        match open.db.base {
            Some(base) if !open.view.writes().is_empty() => {
                let done = open.db.engine.commit(base, open.view, open.turn, wait);
                open.db.engine.turns.counts().committed(done)
            }
            _ => Ok(()),
        }
    }

    fn rollback(self: Box<Self>) {}
}
