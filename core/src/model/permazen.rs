//! A database with typed models.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use permazen_kv::{Counters, KvDatabase, KvTransaction, KvWrite, Retry, TxOptions};

use super::binding::Bindings;
use super::earlier_schemas::recording_first;
use super::error::{Error, Failure, Result, says_retryable};
use super::evolution::{self, Evolution, EvolutionReport};
use super::hook::subject::Subject;
use super::hook::{Committed, Observed, ObserverId, Observers};
use super::kind::Kind;
use super::model_set::ModelSet;
use super::object_type::Model;
use super::reference::Ref;
use super::rules::{RuleOptions, Validation};
use super::to_schema::schema_model;
use super::transaction::Transaction;
use super::tx::Tx;
use crate::encoding::EncodingRegistry;
use crate::object::{self, Database, TransactionConfig};
use crate::schema::{SchemaError, SchemaModel, SchemaRemoval, UnknownEncodings, UsedByProcess};

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

/// Builds a [`Permazen`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct Builder {
    kv: Arc<dyn KvDatabase>,
    encodings: Option<Arc<EncodingRegistry>>,
    unknown_encodings: UnknownEncodings,
    evolution: Evolution,
    strict: bool,
    models: ModelSet,
    /// The schemas that are recorded before the schema of the models.
    pub(super) earlier: Result<Vec<SchemaModel>>,
    allow_new_schema: bool,
    schema_removal: Option<SchemaRemoval>,
    kv_options: TxOptions,
    retry: Retry,
    rules: RuleOptions,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("models", &self.models).finish_non_exhaustive()
    }
}

impl Builder {
    /// Registers a model. Register every struct that the program stores, and every struct that a
    /// reference in a registered struct can refer to.
    pub fn model<M: Model>(mut self) -> Self {
        self.models = self.models.model::<M>();
        self
    }

    /// Registers all models of a set, such as those of a library.
    pub fn models(mut self, models: ModelSet) -> Self {
        self.models = self.models.models(models);
        self
    }

    /// Registers all models of a kind. A [`Kind`] is a set of models, made with
    /// `#[derive(PermazenKind)]` on an enum.
    pub fn kind<K: Kind>(mut self) -> Self {
        self.models = self.models.kind::<K>();
        self
    }

    /// Sets the registry with the known encodings. By default only the built-in ones are known.
    pub fn encodings(mut self, encodings: Arc<EncodingRegistry>) -> Self {
        self.encodings = Some(encodings);
        self
    }

    /// Sets what happens if another recorded schema has an unknown encoding. By default the
    /// database is refused. See [`Database::unknown_encodings`].
    pub fn unknown_encodings(mut self, unknown: UnknownEncodings) -> Self {
        self.unknown_encodings = unknown;
        self
    }

    /// Sets when objects move to the schema of the models, and which values may be lost then. By
    /// default an object moves only when it must, and only if it loses no values except those that
    /// the models allow it to lose.
    pub fn evolution(mut self, evolution: Evolution) -> Self {
        self.evolution = evolution;
        self
    }

    /// Makes [`build`](Builder::build) refuse models under which stored objects would lose values
    /// or lack required ones, and leave the database untouched then. Without it, such objects stay
    /// as they are, and only operations that need them to move are refused.
    ///
    /// This is judged by the recorded schemas of types that have objects; no value is read. The
    /// values of a field would be lost if only null or an empty collection could be kept of them.
    /// Which values own conversions take is only known when they run: a dry run of
    /// [`upgrade_all`](Permazen::upgrade_all) tells it. `build` then refuses the models, even if no
    /// object has another value in that field. [`Builder::evolution_report`] judges in the same
    /// way. Do not use this in a program that may be rolled back: its earlier version would refuse
    /// a database in which the later one has stored fields that the earlier one does not know.
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// The schema made from the models registered so far.
    ///
    /// # Errors
    /// [`Error::Models`] with everything that is wrong with the models.
    pub fn schema(&self) -> Result<SchemaModel> {
        Ok(schema_model(&self.models.infos())?)
    }

    /// Sets whether the schema of the models may be recorded if it is not recorded yet. By default
    /// it may. If it may not, an empty database is refused, and so is a database that has recorded
    /// only other models. The error says what differs.
    pub fn allow_new_schema(mut self, allow: bool) -> Self {
        self.allow_new_schema = allow;
        self
    }

    /// Sets when recorded schemas without objects are removed. The default is
    /// [`SchemaRemoval::ConfigChange`]; if new schemas are not allowed, it is
    /// [`SchemaRemoval::Never`]. A schema stays while a
    /// database of this process is open with it.
    pub fn schema_removal(mut self, removal: SchemaRemoval) -> Self {
        self.schema_removal = Some(removal);
        self
    }

    /// Sets the options of the key/value store's transactions, such as how long to wait for the
    /// right to write.
    pub fn kv_options(mut self, options: TxOptions) -> Self {
        self.kv_options = options;
        self
    }

    /// Sets how a transaction runs again after a failure that may pass. This applies to
    /// [`build`](Builder::build), to [`Permazen::write`], [`Permazen::read`] and their `try_`
    /// forms, and to the beginning of the transactions of [`Permazen::begin`] and
    /// [`Permazen::begin_read`].
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Sets when the rules of the models are checked: what must be unique, singletons, required
    /// values, and the functions that a model names to check its objects. By default that is when a
    /// transaction commits. [`Tx::set_validation`] changes it for one transaction.
    pub fn validation(mut self, validation: Validation) -> Self {
        self.rules.validation = validation;
        self
    }

    /// Makes the check of a unique field compare only the objects that have an entry in its index.
    /// This matters while objects in other recorded schemas have no entries in that index: the
    /// check cannot find them. By default, a commit that writes the field is then refused.
    pub fn unique_among_indexed(mut self) -> Self {
        self.rules.among_indexed = true;
        self
    }

    /// Checks the models and opens the database. If the schema of the models is not recorded yet,
    /// it is recorded; otherwise nothing is written. If this fails because others open the database
    /// at the same time, it runs again, as [`Builder::retry`] says.
    ///
    /// Warns (`tracing::warn`) of conversions of fields that are called for no recorded schema
    /// although there are objects: see [`NeverCalled`](super::NeverCalled). Cost: nothing if no
    /// field states a conversion; otherwise counting the objects of these types, as
    /// [`Permazen::evolution_report`] does.
    ///
    /// # Errors
    /// [`Error::Models`] with everything that is wrong with the models; the database is then
    /// untouched. [`Error::SchemaDiffers`] if the schema is not recorded and new schemas are not
    /// allowed. [`Error::WouldLose`] as [`strict`](Builder::strict) says. [`Error::Object`] if the
    /// store fails or the database is damaged.
    pub fn build(mut self) -> Result<Permazen> {
        let schema = Arc::new(self.schema()?);
        let earlier = std::mem::replace(&mut self.earlier, Ok(Vec::new()))?;
        let (database, config) = self.database(&schema)?;
        let mut using = Vec::new();
        // If it was recorded with other storage IDs than the earlier ones ask for, and has no
        // objects, it may go.
        if earlier.is_empty() {
            using.push(UsedByProcess::new(schema.schema_id()));
        }
        // The first transaction only looks whether the schema is recorded. It removes no schema.
        let known = config.clone().allow_new_schema(false).schema_removal(SchemaRemoval::Never);
        let known = known.read_only();
        let bind = |tx: &object::Transaction| {
            let bindings = self.bind(tx)?;
            if self.strict {
                evolution::refuse_losses(tx, &bindings)?;
            }
            evolution::warn_of_never_called(tx, &bindings)?;
            Ok::<_, Error>(bindings)
        };
        // Others may open the same database at this moment and record their schemas in it.
        let bindings = self.retry.run(
            Ok,
            |failed| {
                let own = self.allow_new_schema.then_some(&*schema);
                let begin_with = |config: &TransactionConfig| begin(&database, config, failed);
                if let Some(tx) = recording_first(&config, &earlier, own, begin_with)?
                    && tx.use_schema(schema.schema_id())
                {
                    let bindings = bind(&tx)?;
                    tx.commit()?;
                    return Ok(bindings);
                }
                match begin(&database, &known, failed) {
                    // The schema is new, so a transaction that can write records it.
                    Err(error) if is_not_recorded(&error) && self.allow_new_schema => {
                        let tx = begin(&database, &config, failed)?;
                        let bindings = bind(&tx)?;
                        tx.commit()?;
                        Ok(bindings)
                    }
                    Err(error) if is_not_recorded(&error) => {
                        Err(schema_differs(&database, &schema)?)
                    }
                    opened => bind(&opened?),
                }
            },
            Error::is_retryable,
        )?;
        if !earlier.is_empty() {
            let ids = earlier.iter().map(SchemaModel::schema_id).chain([schema.schema_id()]);
            using.extend(ids.map(UsedByProcess::new));
        }
        let shared = Shared {
            database,
            models: self.models,
            schema,
            reading: config.clone().read_only(),
            config,
            retry: self.retry,
            _using: using,
            bindings: Mutex::new(Arc::new(bindings)),
            observers: Observers::default(),
        };
        Ok(Permazen { shared: Arc::new(shared) })
    }

    /// What would become of the stored objects if the database were opened with these models. This
    /// is the report that [`Permazen::evolution_report`] gives after opening. It writes nothing to
    /// the database: it records no schema and removes none.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use permazen::{Permazen, PermazenObject, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject)]
    /// # struct Person { name: String }
    /// # let store = Arc::new(MemoryStore::new());
    /// let builder = Permazen::builder_shared(store).model::<Person>();
    /// let report = builder.evolution_report()?;
    /// if report.warnings().next().is_some() {
    ///     println!("{report}");
    /// }
    /// let db = builder.build()?;
    /// # Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`build`](Builder::build), except [`Error::WouldLose`].
    pub fn evolution_report(&self) -> Result<EvolutionReport> {
        let schema = Arc::new(self.schema()?);
        let (database, config) = self.database(&schema)?;
        let config = config.read_only();
        self.retry.run(
            Ok,
            |failed| match begin(&database, &config, failed) {
                Err(error) if is_not_recorded(&error) => Err(schema_differs(&database, &schema)?),
                opened => {
                    let tx = opened?;
                    evolution::evolution_report(&tx, &self.bind(&tx)?)
                }
            },
            Error::is_retryable,
        )
    }

    /// The database, and how its transactions begin.
    fn database(&self, schema: &Arc<SchemaModel>) -> Result<(Database, TransactionConfig)> {
        let kv = Arc::clone(&self.kv);
        let database = match &self.encodings {
            Some(encodings) => Database::with_encodings(kv, Arc::clone(encodings)),
            None => Database::new(kv),
        };
        let database = database.unknown_encodings(self.unknown_encodings);
        let usual =
            if self.allow_new_schema { SchemaRemoval::default() } else { SchemaRemoval::Never };
        let removal = self.schema_removal.unwrap_or(usual);
        let config = TransactionConfig::new(Arc::clone(schema))?.schema_removal(removal);
        let config = config.allow_new_schema(self.allow_new_schema);
        Ok((database, config.kv_options(self.kv_options.clone())))
    }

    /// The models, bound to the schema of a transaction.
    fn bind(&self, tx: &object::Transaction) -> Result<Bindings> {
        Bindings::new(&self.models, tx.schema(), &tx.bundle(), self.evolution, self.rules)
    }
}

/// Begins a transaction. `failed` is how many attempts have failed before.
fn begin(
    database: &Database,
    config: &TransactionConfig,
    failed: u32,
) -> object::Result<object::Transaction> {
    let kv = begin_below(database, config.kv(), failed)?;
    database.begin_on_new(kv, config)
}

/// Begins a transaction of the store. `failed` is how many attempts have failed before.
fn begin_below(database: &Database, options: &TxOptions, failed: u32) -> object::Result<KvTx> {
    Ok(database.kv().begin(&options.after_failures(failed))?)
}

/// Whether a database was refused because its schema is not recorded.
fn is_not_recorded(error: &object::Error) -> bool {
    use SchemaError::{NotAllowed, Removed};
    matches!(error, object::Error::Schema(NotAllowed { .. } | Removed { .. }))
}

/// The error for models that differ from what the database records.
fn schema_differs(database: &Database, wanted: &SchemaModel) -> Result<Error> {
    let config = TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never);
    let tx = begin(database, &config.read_only(), 0)?;
    let bundle = tx.bundle();
    let differences = match bundle.schemas().last() {
        Some(newest) => {
            let line = wanted.differences_from(&newest.model).one_line();
            if line.is_empty() { "the storage ids".to_owned() } else { line }
        }
        None => "no schema is recorded there yet".to_owned(),
    };
    Ok(Error::SchemaDiffers { differences })
}

/// A transaction of the store.
type KvTx = Box<dyn KvTransaction + Send>;

impl Permazen {
    /// Starts to build a database on a key/value store.
    pub fn builder(kv: impl KvDatabase + 'static) -> Builder {
        Permazen::builder_shared(Arc::new(kv))
    }

    /// Like [`builder`](Permazen::builder), on a store that others use too.
    pub fn builder_shared(kv: Arc<dyn KvDatabase>) -> Builder {
        object::errors_above(says_retryable);
        Builder {
            kv,
            encodings: None,
            unknown_encodings: UnknownEncodings::default(),
            evolution: Evolution::default(),
            strict: false,
            models: ModelSet::new(),
            earlier: Ok(Vec::new()),
            allow_new_schema: true,
            schema_removal: None,
            kv_options: TxOptions::default(),
            retry: Retry::default(),
            rules: RuleOptions::default(),
        }
    }

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

    /// What becomes of objects that were stored with other models: which fields stay as they are,
    /// are converted or would be lost, and which indexes lack the objects. This is judged by the
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
    /// is an error if new schemas are not allowed ([`Builder::allow_new_schema`]). It is also an
    /// error if another program has recorded a schema that contradicts this one.
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
        let core = self.shared.database.begin_on(kv, &self.shared.config)?;
        self.attach_models(&core)?;
        Ok(Transaction::new(core))
    }

    /// Begins a transaction of the store and runs `attempt` on it, which ends it on this thread,
    /// again and again as [`Builder::retry`] says. The beginning can run again too.
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
    /// rolled back and `body` runs again, as [`Builder::retry`] says. So `body` should have no
    /// effects outside of the transaction. If the transaction, or another one within `body`, has
    /// waited in vain for the right to write, `body` is not run again. To return an error of the
    /// application, use [`Error::other`] or [`try_write`](Permazen::try_write).
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
