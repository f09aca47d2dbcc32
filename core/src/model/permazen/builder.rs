//! Opens a database with typed models: what can be set before, and what is checked and recorded
//! then.

use std::fmt;
use std::sync::{Arc, Mutex};

use permazen_kv::{KvDatabase, Retry, TxOptions};

use super::{Permazen, Shared, begin_below};
use crate::encoding::EncodingRegistry;
use crate::model::binding::Bindings;
use crate::model::earlier_schemas::recording_first;
use crate::model::error::{Error, Result, says_retryable};
use crate::model::evolution::{self, Evolution, EvolutionReport};
use crate::model::hook::Observers;
use crate::model::kind::Kind;
use crate::model::model_set::ModelSet;
use crate::model::object_type::Model;
use crate::model::rules::{RuleOptions, Validation};
use crate::model::to_schema::schema_model;
use crate::object::{self, Database, TransactionConfig};
use crate::schema::{SchemaError, SchemaModel, SchemaRemoval, UnknownEncodings, UsedByProcess};

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
    pub(in crate::model) earlier: Result<Vec<SchemaModel>>,
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
    /// [`SchemaRemoval::Never`]. A schema stays while a `Permazen` of this process is open with it
    /// on the same store, or on one that may be the same.
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
    /// transaction commits. [`Tx::set_validation`](crate::model::Tx::set_validation) changes it for
    /// one transaction.
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
    /// although there are objects: see [`NeverCalled`](crate::model::NeverCalled). Cost: nothing if
    /// no field states a conversion; otherwise counting the objects of these types, as
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
        let (mut using, store) = (Vec::new(), database.kv().identity());
        // If it was recorded with other storage IDs than the earlier ones ask for, and has no
        // objects, it may go.
        if earlier.is_empty() {
            using.push(UsedByProcess::new(schema.schema_id(), store));
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
            using.extend(ids.map(|id| UsedByProcess::new(id, store)));
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

    /// The report on the stored objects as if the database were opened with these models. This is
    /// the report that [`Permazen::evolution_report`] gives after opening. It writes nothing to the
    /// database: it records no schema and removes none.
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
