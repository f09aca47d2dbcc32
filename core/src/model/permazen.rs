//! A database with typed models.

pub(super) mod builder;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use permazen_kv::__internal::attempt_commits;
use permazen_kv::{Counters, KvTransaction, KvWrite, Retry, TxOptions};

use super::binding::Bindings;
use super::error::{Error, Failure, Result};
use super::evolution::{self, EvolutionReport};
use super::hook::subject::Subject;
use super::hook::{Committed, Observed, ObserverId, Observers};
use super::model_set::ModelSet;
use super::reference::Ref;
use super::transaction::Transaction;
use super::tx::Tx;
use crate::object::{self, Database, TransactionConfig};
use crate::schema::{SchemaModel, UsedByProcess};

/// A database with typed models. Transactions begin here. Clones are cheap and share the database.
/// Keep one for the life of the program.
///
/// ```
/// use permazen::kv::memory::MemoryStore;
/// use permazen::{Permazen, PermazenObject};
///
/// #[derive(PermazenObject, Default)]
/// struct Person {
///     #[permazen(indexed)]
///     name: String,
/// }
///
/// let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
/// db.write(|tx| {
///     tx.create(Person { name: "Ann".into() })?;
///     Ok(())
/// })?;
/// let found = db.read(|tx| tx.index(Person::NAME)?.get("Ann")?.count())?;
/// assert_eq!(found, 1);
/// # Ok::<(), permazen::Error>(())
/// ```
#[derive(Clone)]
pub struct Permazen {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    models: ModelSet,
    schema: Arc<SchemaModel>,
    config: TransactionConfig,
    /// The same for transactions that only read.
    reading: TransactionConfig,
    retry: Retry,
    /// The schema of the models, and those that were recorded before it.
    _using: Vec<UsedByProcess>,
    /// The models bound to the schema of the last transaction.
    bindings: Mutex<Arc<Bindings>>,
    observers: Observers,
}

impl fmt::Debug for Permazen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models = self.shared.models.infos().into_iter().map(|model| model.name);
        f.debug_struct("Permazen").field("models", &models.collect::<Vec<_>>()).finish()
    }
}

/// A transaction of the store.
type KvTx = Box<dyn KvTransaction + Send>;

/// Begins a transaction of the store. `failed` is how many attempts have failed before.
fn begin_below(database: &Database, options: &TxOptions, failed: u32) -> object::Result<KvTx> {
    Ok(database.kv().begin(&options.after_failures(failed))?)
}

impl Permazen {
    /// The schema made from the models.
    pub fn schema(&self) -> &SchemaModel {
        &self.shared.schema
    }

    /// The database of the object layer.
    pub fn database(&self) -> &Database {
        &self.shared.database
    }

    /// Counts of the operations on the store since this process opened it: transactions, commits,
    /// conflicts, waits, and requests to servers.
    ///
    /// ```
    /// use permazen::{Permazen, PermazenObject, kv::memory::MemoryStore};
    ///
    /// # #[derive(PermazenObject, Default)]
    /// # struct Person { age: i32 }
    /// let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
    /// db.write(|tx| tx.create(Person { age: 30 }).map(drop))?;
    /// println!("{:?}", db.counters());
    /// # Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// Cost: none; no server is asked.
    pub fn counters(&self) -> Counters {
        self.shared.database.kv().counters()
    }

    /// The report on objects that were stored with other models: which fields stay as they are, are
    /// converted or would be lost, and which indexes lack the objects. This is judged by the
    /// recorded schemas; no value is read.
    ///
    /// Cost: for each type of each other recorded schema a seek, and a step per object up to
    /// 1,000.
    ///
    /// # Errors
    /// The errors of [`Permazen::begin`].
    pub fn evolution_report(&self) -> Result<EvolutionReport> {
        self.read(|tx| evolution::evolution_report(tx.core(), tx.bindings()?))
    }

    /// Begins a transaction. In stores where writers take turns, it waits for its turn.
    /// [`Database::begin`] says what it reads of the recorded schemas.
    ///
    /// # Errors
    /// If the store fails. If another program has removed the schema, this records it again; that
    /// is an error if new schemas are not allowed
    /// ([`Builder::allow_new_schema`](super::Builder::allow_new_schema)). It is also an error if
    /// another program has recorded a schema that contradicts this one.
    pub fn begin(&self) -> Result<Transaction> {
        self.begin_with(&self.shared.config)
    }

    /// Begins a transaction that sees a snapshot and keeps no writer waiting. Changes are refused
    /// in it with [`object::Error::ReadOnly`].
    ///
    /// # Errors
    /// The same as for [`Permazen::begin`].
    pub fn begin_read(&self) -> Result<Transaction> {
        let tx = self.begin_with(&self.shared.reading)?;
        tx.core().refuse_changes();
        Ok(tx)
    }

    fn begin_with(&self, config: &TransactionConfig) -> Result<Transaction> {
        self.retrying(config.kv(), |kv| Ok(Transaction::new(self.open(kv, config)?)))
    }

    /// Opens the database in a transaction of the store, with the models attached.
    fn open(&self, kv: KvTx, config: &TransactionConfig) -> Result<object::Transaction> {
        let core = self.shared.database.begin_on_new(kv, config)?;
        self.attach_models(&core)?;
        Ok(core)
    }

    fn attach_models(&self, core: &object::Transaction) -> Result<()> {
        let bindings = self.bindings_for(core)?;
        self.shared.observers.begin(core, &bindings)?;
        Tx::attach(core, bindings);
        Ok(())
    }

    fn bindings_for(&self, core: &object::Transaction) -> Result<Arc<Bindings>> {
        let shared = &*self.shared;
        let mut bindings = shared.bindings.lock().unwrap_or_else(PoisonError::into_inner);
        // The recorded schemas have changed since the models were bound.
        if !bindings.fit(core) {
            *bindings = Arc::new(bindings.again(&shared.models, core)?);
        }
        Ok(Arc::clone(&bindings))
    }

    /// Opens the database in a transaction of the store in which something was written.
    pub(super) fn open_changed(&self, kv: KvTx) -> Result<Transaction> {
        let core = self.shared.database.begin_on_changed(kv, &self.shared.config)?;
        self.attach_models(&core)?;
        Ok(Transaction::new(core))
    }

    /// Begins a transaction of the store and runs `attempt` on it, which ends it on this thread,
    /// again and again as [`Builder::retry`](super::Builder::retry) says. The beginning can run
    /// again too.
    pub(super) fn changing<T>(&self, mut attempt: impl FnMut(KvTx) -> Result<T>) -> Result<T> {
        let Shared { database, config, retry, .. } = &*self.shared;
        let options = config.kv().clone().ending_here();
        retry.run(
            Ok,
            |failed| attempt(begin_below(database, &options, failed)?),
            Error::is_retryable,
        )
    }

    /// How transactions of the store begin.
    pub(super) fn kv_options(&self) -> &TxOptions {
        self.shared.config.kv()
    }

    /// How transactions run again.
    pub(super) fn retry(&self) -> Retry {
        self.shared.retry
    }

    /// The models, bound to the schema of the last transaction.
    pub(super) fn bindings(&self) -> Arc<Bindings> {
        Arc::clone(&self.shared.bindings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `observer` in all transactions that begin from now on, until
    /// [`stop_observing`](Permazen::stop_observing), as [`Tx::observe`] does in one. It is called
    /// in the threads of the transactions.
    ///
    /// Cost: the next transaction takes time proportional to the number of all hooks.
    ///
    /// # Errors
    /// [`Error::NotRegistered`], also for a model that a path needs; the errors of paths.
    pub fn observe<O: Observed>(
        &self,
        on: O,
        observer: impl for<'a> Fn(<O::Model as Subject>::This<'a>, &O::Event<'a>) -> Result<()>
        + Send
        + Sync
        + 'static,
    ) -> Result<ObserverId> {
        self.shared.observers.add(on, observer, &self.bindings())
    }

    /// Calls `observer` after the commit of each transaction that begins from now on, once for each
    /// object of the model, of the kind, or of any model with the mix-in that the transaction has
    /// created, changed or deleted, in the thread of the transaction. It gets the sum of the
    /// changes that the transaction made to the object. Commits of other processes are not
    /// reported; `watch_object` of the object layer is for these.
    ///
    /// An observer can begin other transactions.
    ///
    /// ```
    /// # use permazen::{PermazenObject, Permazen, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject, Default)]
    /// # struct Person { age: i32 }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
    /// let observer = db.observe_committed::<Person>(|person, what| println!("{person}: {what:?}"))?;
    /// db.write(|tx| tx.create(Person { age: 30 })?.set_age(31))?; // prints one line: Created
    /// db.stop_observing(observer);
    /// # Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// Cost: all fields of the model are watched, see [`observe`](Permazen::observe).
    ///
    /// # Errors
    /// [`Error::NotRegistered`].
    pub fn observe_committed<M: Subject>(
        &self,
        observer: impl Fn(Ref<M>, Committed) + Send + Sync + 'static,
    ) -> Result<ObserverId> {
        // Refuses here an observer that would make each later transaction fail.
        M::AMONG.places(self.bindings().models())?;
        Ok(self.shared.observers.add_committed::<M>(observer))
    }

    /// Ends what [`observe`](Permazen::observe) or
    /// [`observe_committed`](Permazen::observe_committed) began. Transactions that have begun
    /// before still call the observer. Returns false if there is no such observer.
    pub fn stop_observing(&self, observer: ObserverId) -> bool {
        self.shared.observers.remove(observer)
    }

    /// A transaction on a store in memory, with the models of this database.
    pub(super) fn over_detached(&self, kv: impl KvWrite + Send + 'static) -> Result<Tx> {
        let shared = &*self.shared;
        let core = shared.database.detached(kv, &shared.config)?;
        let bindings = self.bindings().again(&shared.models, &core)?;
        bindings.hook(&core);
        Ok(Tx::new(core, Arc::new(bindings)))
    }

    /// Runs a transaction. It commits if `body` succeeds, and rolls back if `body` fails.
    ///
    /// After a failure that may pass, such as a conflict with another transaction, everything is
    /// rolled back and `body` runs again, as [`Builder::retry`](super::Builder::retry) says. So
    /// `body` should have no effects outside of the transaction. If the transaction, or another one
    /// within `body`, has waited in vain for the right to write, `body` is not run again. To return
    /// an error of the application, use [`Error::other`] or [`try_write`](Permazen::try_write).
    ///
    /// On stores where writers take turns (memory, LMDB, SQLite), another `write` or `begin` on the
    /// same thread within `body`, its hooks and its observers would wait for this one. It is
    /// refused at once, with [`KvError::WithinWrite`](permazen_kv::KvError::WithinWrite). Functions
    /// that write should take a `&Tx`.
    ///
    /// # Errors
    /// The errors of [`Permazen::begin`], of `body` and of the commit.
    pub fn write<T>(&self, body: impl FnMut(&Tx) -> Result<T>) -> Result<T> {
        self.try_write(body)
    }

    /// Like [`write`](Permazen::write), for a `body` with an error type of its own.
    ///
    /// # Errors
    /// The errors of [`Permazen::begin`], of `body` and of the commit.
    pub fn try_write<T, E: Failure>(
        &self,
        mut body: impl FnMut(&Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let config = &self.shared.config;
        let mut options = config.kv().clone().ending_here();
        // One that joins a group may have to run again, for no fault of its own.
        options.in_group = self.shared.retry.times > 0;
        self.retrying(&options, |kv| {
            let core = self.open(kv, config)?;
            let value = body(Tx::of(&core))?;
            attempt_commits();
            core.commit_in_place().map_err(Error::from)?;
            Ok(value)
        })
    }

    /// Runs `body` on a snapshot, which keeps no writer waiting. Changes are refused in it with
    /// [`object::Error::ReadOnly`]. An object that must move to be read moves only for this
    /// transaction; nothing is written to the database. After a failure that may pass, `body` runs
    /// again, except in the cases in which [`write`](Permazen::write) does not run it again.
    ///
    /// # Errors
    /// The errors of [`Permazen::begin`] and of `body`.
    pub fn read<T>(&self, body: impl FnMut(&Tx) -> Result<T>) -> Result<T> {
        self.try_read(body)
    }

    /// Like [`read`](Permazen::read), for a `body` with an error type of its own.
    ///
    /// # Errors
    /// The errors of [`Permazen::begin`] and of `body`.
    pub fn try_read<T, E: Failure>(
        &self,
        mut body: impl FnMut(&Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let config = &self.shared.reading;
        let mut options = config.kv().clone().ending_here();
        // The store may find out in the middle that another kind of transaction is needed.
        options.in_group = self.shared.retry.times > 0;
        self.retrying(&options, |kv| {
            let core = self.open(kv, config)?;
            core.refuse_changes();
            let value = body(Tx::of(&core))?;
            attempt_commits();
            // Some stores say only now whether the values that were read can be relied on.
            core.commit_in_place().map_err(Error::from)?;
            Ok(value)
        })
    }

    /// Begins a transaction of the store and runs `attempt` on it. After a failure that may pass,
    /// this happens again with another transaction. Opening the database, which is part of an
    /// attempt, can fail in this way too, because it may record the schema again. If `attempt` ends
    /// the transaction on this thread, `options` may say so.
    fn retrying<T, E: Failure>(
        &self,
        options: &TxOptions,
        attempt: impl FnMut(KvTx) -> Result<T, E>,
    ) -> Result<T, E> {
        let database = &self.shared.database;
        self.shared.retry.run(
            |failed| Ok(begin_below(database, options, failed).map_err(Error::from)?),
            attempt,
            E::is_retryable,
        )
    }
}
