//! One transaction.

use std::time::Duration;

use super::engine::Engine;
use super::fairness::Turn;
use crate::contract::pass_on::pass_on;
use crate::overlay::MutableView;
use crate::store_parts::deadline::Deadline;
use crate::{
    AtomicKvStore, KeyWatch, KvRead, KvTransaction, KvWrite, Pending, Result, SharedRead, TxOptions,
};

pub(super) struct OptimisticTransaction<'db, S: AtomicKvStore> {
    open: Open<'db, S>,
    /// `None` for a read-only transaction.
    registration: Option<Registration<'db, S>>,
    /// How long to wait for a transaction that has its turn.
    wait: Duration,
}

/// What a transaction sees. Reads through this directly are not recorded.
struct Open<'db, S: AtomicKvStore> {
    db: &'db Engine<S>,
    view: MutableView<SharedRead>,
    /// The store's own number for the content.
    version: Option<u64>,
    deadline: Deadline,
    /// `Some` if the transaction has its turn.
    turn: Option<Turn<'db>>,
}

/// As long as this exists, the log keeps later commits.
struct Registration<'db, S: AtomicKvStore> {
    db: &'db Engine<S>,
    /// The version of the snapshot.
    base: u64,
}

impl<S: AtomicKvStore> Drop for Registration<'_, S> {
    fn drop(&mut self) {
        self.db.state().log.unregister(self.base);
    }
}

impl<'db, S: AtomicKvStore> OptimisticTransaction<'db, S> {
    pub(super) fn begin(db: &'db Engine<S>, options: &TxOptions) -> Result<Self> {
        let deadline = Deadline::new(options.timeout);
        let under_way = || db.committing.begin(db.turns.counts()).map(drop);
        let turn = db.turns.take(options, &db.store, under_way)?;
        if turn.is_none() && !options.read_only {
            db.turns.check_store_is_free()?;
        }
        let (base, snapshot) = db.open(!options.read_only)?;
        let (view, registration) = match options.read_only {
            true => (MutableView::untracked(snapshot.content), None),
            false => (MutableView::new(snapshot.content), Some(Registration { db, base })),
        };
        let version = snapshot.version;
        let open = Open { db, view, version, deadline, turn };
        Ok(OptimisticTransaction { open, registration, wait: options.writer_wait() })
    }
}

impl<S: AtomicKvStore> Open<'_, S> {
    /// The content. An error if the transaction's time is over or the database was stopped.
    fn view(&self) -> Result<&MutableView<SharedRead>> {
        if let Some(turn) = &self.turn {
            turn.follow();
        }
        self.deadline.check()?;
        self.db.check_running()?;
        Ok(&self.view)
    }

    fn view_mut(&mut self) -> Result<&mut MutableView<SharedRead>> {
        self.view()?;
        Ok(&mut self.view)
    }
}

impl<S: AtomicKvStore> KvRead for OptimisticTransaction<'_, S> {
    pass_on!(self => self.open.view()?; READS);
    pass_on!(self => self.open.view; LIMITS, content_name);
}

impl<S: AtomicKvStore> KvRead for Open<'_, S> {
    pass_on!(self => self.view()?.reading(false); get, scan, visit, at_least, at_most);
    pass_on!(self => self.view; LIMITS, content_name);
}

impl<S: AtomicKvStore> KvWrite for OptimisticTransaction<'_, S> {
    pass_on!(self => self.open.view_mut()?; WRITES);
}

impl<S: AtomicKvStore> KvTransaction for OptimisticTransaction<'_, S> {
    fn is_read_only(&self) -> bool {
        self.registration.is_none()
    }

    /// Possible at any time. What was read before is then never checked.
    fn set_read_only(&mut self) -> Result<()> {
        self.open.view_mut()?.disable_read_tracking();
        self.registration = None;
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
        self.open.db.watch(key)
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
        crate::store_parts::write_lock::forget_wait_in_vain();
        self.open.view()?;
        let OptimisticTransaction { open, registration, wait } = *self;
        match registration {
            Some(registration) if !open.view.writes().is_empty() => {
                let done = open.db.commit(registration.base, open.view, open.turn, wait);
                open.db.turns.counts().committed(done)
            }
            _ => Ok(()),
        }
    }

    fn rollback(self: Box<Self>) {}
}
