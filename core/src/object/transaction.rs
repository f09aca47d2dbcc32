//! A transaction over objects: its state and its end (docs/src/transactions.md).

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use super::callbacks::{self, Callback, Callbacks};
use super::database::Shared;
use super::dirty_set::DirtySet;
use super::info::Infos;
use super::notify::Notifier;
use super::reference::{BeingDeleted, NotedMissing};
use super::schemas::Schemas;
use super::store::Store;
use super::typed_hooks::TypedHooksCell;
use super::whole_object::Converter;
use super::{Error, Result};
use crate::id::ObjId;
use crate::schema::{Schema, SchemaBundle};

/// How far a transaction has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// `commit` calls `before_commit`. The transaction is still usable.
    Ending,
    /// The transaction ends without an attempt to commit, and calls `before_completion`. It is
    /// still usable.
    RollingBack,
    /// The store is about to commit or to roll back.
    Completing,
    Ended,
}

/// One transaction: everything that can be done with objects.
///
/// All operations take `&self`. Listeners may use the transaction too, even those that are called
/// during an operation. A transaction can be sent to another thread, but threads cannot share it.
///
/// An operation that fails leaves everything as it was before it began. [`Transaction::atomic`]
/// does the same for larger steps. Two things are not undone with an operation:
///
/// * With [`Migrate::Yes`](super::Migrate), an operation that reads an object first moves it to the
///   transaction's schema. If the operation then fails, the object stays moved.
/// * Listeners to creation, fields and schema changes are called after a change. If one fails, or
///   if the store fails while the transaction finds out which listeners to call, the change stays.
///   Listeners to deletions are called before: if one fails, nothing is deleted.
///
/// Dropping a transaction rolls it back.
///
/// Index entries are written and removed without checking that they exist. A check would cost a get
/// for each entry and, on optimistic stores, a conflict. So if the indexes of a database are
/// damaged and an operation fails, its undo can repair some entries: each entry that the operation
/// had written or removed exists afterwards only if it matches an object's value.
///
/// A field is given by its name, and its values are [`Value`](crate::encoding::Value)s.
///
/// The documentation of each operation states its cost in operations of the key/value store. The
/// object must be known in this transaction for that cost; the first use of an object costs one
/// more get. Every operation that uses the store can fail with [`Error::Kv`].
pub struct Transaction {
    pub(super) store: Store,
    pub(super) shared: Arc<Shared>,
    pub(super) schemas: Schemas,
    /// The schema and type of objects that were used, so that they are not read again. Emptied
    /// after an operation was undone, when the recorded schemas change, and by `reset`.
    pub(super) infos: Infos,
    pub(super) notifier: Notifier,
    /// The objects that `delete` is working on. To delete one of them again, as a listener might,
    /// does nothing. Each is taken out when its pairs are removed or its deletion has failed.
    pub(super) being_deleted: BeingDeleted,
    /// The missing objects to which a running copy has accepted references. At its end, the copy
    /// hands them to its caller and leaves this empty. If no such copy runs, and while listeners
    /// run, nothing is noted, and references to missing objects are refused.
    pub(super) missing: NotedMissing,
    phase: Cell<Phase>,
    /// Decides what objects contain after they have moved to the transaction's schema, unless the
    /// converter of the layer above does.
    converter: RefCell<Option<Arc<dyn Converter>>>,
    /// The objects for which a converter is at work.
    pub(super) moving: RefCell<Vec<ObjId>>,
    detached: bool,
    detached_read_only: Cell<bool>,
    rollback_only: Cell<bool>,
    pub(super) callbacks: RefCell<Callbacks>,
    buffers: RefCell<Vec<Vec<u8>>>,
    user_object: RefCell<Option<Arc<dyn Any + Send + Sync>>>,
    /// The changed objects whose rules the typed layer must check.
    pub(crate) dirty_set: DirtySet,
    /// The data that the typed layer keeps with the transaction.
    pub(super) typed_hooks: TypedHooksCell,
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction")
            .field("phase", &self.phase.get())
            .field("schema", &self.schema_index())
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl Transaction {
    pub(super) fn new(
        store: Store,
        shared: Arc<Shared>,
        bundle: Arc<SchemaBundle>,
        schema: Arc<Schema>,
    ) -> Self {
        // The store is moved into the transaction below, so this is asked before.
        let detached = store.is_detached();
        Transaction {
            store,
            shared,
            notifier: Notifier::default(),
            schemas: Schemas::new(bundle, schema),
            infos: Infos::default(),
            being_deleted: BeingDeleted::default(),
            missing: NotedMissing::default(),
            phase: Cell::new(Phase::Open),
            converter: RefCell::default(),
            moving: RefCell::default(),
            detached,
            detached_read_only: Cell::new(false),
            rollback_only: Cell::new(false),
            callbacks: RefCell::default(),
            buffers: RefCell::default(),
            user_object: RefCell::default(),
            dirty_set: DirtySet::default(),
            typed_hooks: TypedHooksCell::new(),
        }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// An empty buffer for building keys.
    pub(crate) fn buffer(&self) -> Buffer<'_> {
        let bytes = self.buffers.borrow_mut().pop().unwrap_or_default();
        Buffer { bytes, pool: &self.buffers }
    }

    /// Lets `converter` decide what objects contain after they have moved to the transaction's
    /// schema.
    pub(crate) fn convert_with(&self, converter: Arc<dyn Converter>) {
        self.converter.replace(Some(converter));
    }

    /// From now on, operations that change something are refused. Objects still move to the
    /// transaction's schema when that is needed to read them.
    pub(crate) fn refuse_changes(&self) {
        self.store.set_refusing(true);
    }

    /// Allows changes until the returned guard is dropped, also in a transaction that refuses them.
    pub(super) fn allow_changes(&self) -> impl Drop {
        Allowed { tx: self, refusing: self.store.set_refusing(false) }
    }

    pub(super) fn converter(&self) -> Option<Arc<dyn Converter>> {
        // A converter that was set by hand comes before the one of the typed layer.
        self.converter.borrow().clone().or_else(|| self.converter_above())
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_open() { Ok(()) } else { Err(Error::Ended) }
    }

    /// Makes the transaction read-only. From now on, `commit` discards everything that the
    /// transaction writes, also what it wrote before this call. Writing is still possible, and the
    /// transaction sees what it writes.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn set_read_only(&self) -> Result<()> {
        self.check_open()?;
        // A detached transaction has no store transaction that could keep this mode.
        if self.detached {
            self.detached_read_only.set(true);
            return Ok(());
        }
        self.store.transaction("a read-only mode", |kv| Ok(kv.set_read_only()?))
    }

    /// Makes `commit` fail and roll back. This cannot be undone.
    pub fn set_rollback_only(&self) {
        self.rollback_only.set(true);
    }

    /// Adds a callback around the end of the transaction. Detached transactions ignore it.
    ///
    /// If the operation in which it is added is undone, only [`Callback::after_completion`] of the
    /// callback is called, with the answer that nothing was committed.
    ///
    /// # Errors
    /// [`Error::Ended`], also if the end has begun. While the rules of models are checked, it has
    /// not.
    pub fn add_callback(&self, callback: Arc<dyn Callback>) -> Result<()> {
        // A detached transaction has no end that a callback could be told of.
        if self.detached {
            return Ok(());
        }
        // The callbacks of this end were listed already, so a new one would be missed.
        if self.phase.get() != Phase::Open {
            return Err(Error::Ended);
        }
        self.callbacks.borrow_mut().add(callback);
        Ok(())
    }

    // ------------------------------------------------------------------ end

    /// Makes the changes durable and visible to others.
    ///
    /// # Errors
    /// After these errors, everything was rolled back:
    ///
    /// * [`Error::RollbackOnly`] after [`Transaction::set_rollback_only`];
    /// * [`Error::Broken`] if an undo has failed;
    /// * the first error of a callback's `before_commit`;
    /// * [`Error::RulesBroken`] if the transaction has models and their rules refuse what changed;
    /// * an error of the store other than `OutcomeUnknown`; it may be
    ///   [retryable](Error::is_retryable).
    ///
    /// These errors do not mean that everything was rolled back:
    ///
    /// * [`KvError::OutcomeUnknown`](permazen_kv::KvError::OutcomeUnknown) of the store: the commit
    ///   took place completely or not at all;
    /// * an error of a callback's `after_commit`: the data is committed, but the error is returned;
    /// * [`Error::Unsupported`]: a detached transaction has no commit.
    pub fn commit(self) -> Result<()> {
        self.commit_or_return().map_err(|refused| refused.error)
    }

    /// Does the same as [`Transaction::commit`], but a transaction that is refused because its
    /// changes break rules is returned, still open.
    pub(crate) fn commit_or_return(self) -> Result<(), NotCommitted> {
        match self.commit_in_place() {
            // A callback can return this error too, and then the transaction has ended.
            Err(error @ Error::RulesBroken(_)) if self.is_open() => {
                Err(NotCommitted { error, transaction: Some(Box::new(self)) })
            }
            ended => ended.map_err(|error| NotCommitted { error, transaction: None }),
        }
    }

    /// Does the same as [`Transaction::commit`], but a transaction that is refused because its
    /// changes break rules is still open. If there was another error, drop it.
    pub(crate) fn commit_in_place(&self) -> Result<()> {
        if self.detached {
            return Err(Error::Unsupported("to commit a detached transaction"));
        }
        if self.rollback_only.get() {
            self.end_by_rollback();
            return Err(Error::RollbackOnly);
        }
        self.check_open()?;
        let mut refused = None;
        let mut called = 0;
        // Callbacks may have changed objects, so the rules are checked after them. A check may add
        // callbacks.
        while refused.is_none() {
            self.phase.set(Phase::Ending);
            let callbacks = self.callbacks.borrow().present();
            refused = callbacks::before_commit(&callbacks[called..], self).err();
            called = callbacks.len();
            // A transaction whose commit writes nothing breaks no rule. A callback may have made it
            // read-only just now.
            if refused.is_some() || self.rollback_only.get() || self.is_read_only()? {
                break;
            }
            // In this state a check can add callbacks, and a refused transaction stays open.
            self.phase.set(Phase::Open);
            match self.check_rules() {
                Err(error @ Error::RulesBroken(_)) => return Err(error),
                checked => refused = checked.err(),
            }
            if self.callbacks.borrow().len() == called {
                break;
            }
        }
        // A callback may have called `set_rollback_only`.
        let refused = refused.or_else(|| self.rollback_only.get().then_some(Error::RollbackOnly));
        // What the commit discards has not happened for observers. A callback or a hook that has
        // checked objects may have decided that, so it is asked last.
        if refused.is_none() && self.is_read_only()? {
            drop(self.take_happened());
        }
        self.phase.set(Phase::Completing);
        // Those that were added while the rules were checked are told of the end too.
        let callbacks = self.callbacks.borrow().present();
        callbacks::before_completion(&callbacks, self);
        let committed = match refused {
            Some(error) => {
                self.store.rollback();
                Err(error)
            }
            None => self.commit_store(),
        };
        // The end is reached before callbacks run, so that they cannot use the transaction.
        self.phase.set(Phase::Ended);
        let is_committed = committed.is_ok();
        let result = committed.and_then(|()| callbacks::after_commit(&callbacks));
        self.callbacks.take().after_completion(is_committed);
        result
    }

    /// Discards the changes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a detached transaction.
    pub fn rollback(self) -> Result<()> {
        if self.detached {
            return Err(Error::Unsupported("to roll back a detached transaction"));
        }
        self.end_by_rollback();
        Ok(())
    }

    fn end_by_rollback(&self) {
        let phase = self.phase.get();
        // `commit` and `rollback` drop the transaction after its end.
        if phase == Phase::Ended {
            return;
        }
        // A callback that has panicked before the end is not called again.
        if matches!(phase, Phase::Open | Phase::Ending) {
            self.phase.set(Phase::RollingBack);
            let callbacks = self.callbacks.borrow().present();
            callbacks::before_completion(&callbacks, self);
        }
        self.phase.set(Phase::Completing);
        self.store.rollback();
        self.phase.set(Phase::Ended);
        self.callbacks.take().after_completion(false);
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    // ------------------------------------------------------------------ state

    /// Whether operations are possible.
    pub fn is_open(&self) -> bool {
        !matches!(self.phase.get(), Phase::Completing | Phase::Ended)
    }

    /// Whether this is a detached transaction. It uses its own store, usually in memory, and has no
    /// commit. In it, references may be set to objects that do not exist.
    pub fn is_detached(&self) -> bool {
        self.detached
    }

    /// Whether `commit` discards the writes.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn is_read_only(&self) -> Result<bool> {
        self.check_open()?;
        if self.detached {
            return Ok(self.detached_read_only.get());
        }
        self.store.transaction("a read-only mode", |kv| Ok(kv.is_read_only()))
    }

    /// Limits how long the transaction may be used, counted from its beginning. `None` means no
    /// limit; with zero, no time is left. Operations after that time, including the commit, fail
    /// with the store's [time-out](permazen_kv::KvError::Timeout), and nothing is committed. Cost:
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Ended`]. [`KvError::Unsupported`](permazen_kv::KvError::Unsupported) if the store
    /// has no time-outs, or if the transaction is detached.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> Result<()> {
        self.check_open()?;
        self.store
            .transaction("a time-out of a detached transaction", |kv| Ok(kv.set_timeout(timeout)?))
    }

    /// Whether `commit` will roll back.
    pub fn is_rollback_only(&self) -> bool {
        self.rollback_only.get()
    }

    /// The object that was attached with [`Transaction::set_user_object`].
    pub fn user_object(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.user_object.borrow().clone()
    }

    /// Attaches an object of the application to the transaction, so that listeners and callbacks
    /// can get it. `None` removes it. Permazen does not use it.
    pub fn set_user_object(&self, object: Option<Arc<dyn Any + Send + Sync>>) {
        // Dropped after the borrow ends, because its destructor may use the transaction.
        let before = self.user_object.replace(object);
        drop(before);
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // A detached transaction has nothing to roll back, and no callbacks.
        if !self.detached {
            self.end_by_rollback();
        }
    }
}

/// Why a transaction was not committed.
pub(crate) struct NotCommitted {
    pub(crate) error: Error,
    /// The transaction, if it was refused because of its changes and not rolled back.
    pub(crate) transaction: Option<Box<Transaction>>,
}

/// Refuses changes again when dropped, if they were refused.
struct Allowed<'a> {
    tx: &'a Transaction,
    refusing: bool,
}

impl Drop for Allowed<'_> {
    fn drop(&mut self) {
        self.tx.store.set_refusing(self.refusing);
    }
}

/// A byte buffer that returns to its transaction when dropped.
pub(crate) struct Buffer<'t> {
    bytes: Vec<u8>,
    pool: &'t RefCell<Vec<Vec<u8>>>,
}

/// How many buffers are kept, and the largest capacity of one that is kept.
const POOLED: usize = 16;
const POOLED_BYTES: usize = 64 * 1024;

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        let mut pool = self.pool.borrow_mut();
        // A buffer that has held a very long key would keep its memory until the transaction ends.
        if pool.len() < POOLED && self.bytes.capacity() <= POOLED_BYTES {
            self.bytes.clear();
            pool.push(std::mem::take(&mut self.bytes));
        }
    }
}

impl std::ops::Deref for Buffer<'_> {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl std::ops::DerefMut for Buffer<'_> {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}
