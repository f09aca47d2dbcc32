//! A database: where transactions begin (transactions §3.1).

use std::sync::{Arc, Mutex, PoisonError};

use permazen_kv::{KvDatabase, KvTransaction, KvWrite, TxOptions};

use super::incoming::IncomingCache;
use super::store::Store;
use super::{Error, Result, Transaction};
use crate::encoding::EncodingRegistry;
use crate::id::{ObjId, ObjIdGenerator, StorageId};
use crate::schema::{DatabaseState, SchemaConfig, SchemaModel, SchemaRemoval, open_schema};

/// How a transaction is begun.
#[derive(Debug, Clone)]
pub struct TransactionConfig {
    schema: SchemaConfig,
    kv: TxOptions,
}

impl TransactionConfig {
    /// With this schema, which is recorded if it is not yet; unused ones are dropped when the
    /// configuration changes.
    ///
    /// # Errors
    /// [`Error::Schema`] if the model is not valid.
    pub fn new(model: impl Into<Arc<SchemaModel>>) -> Result<Self> {
        Ok(TransactionConfig { schema: SchemaConfig::new(model)?, kv: TxOptions::default() })
    }

    /// With the empty schema: sees the objects of all recorded schemas, as they are.
    pub fn without_schema() -> Self {
        TransactionConfig { schema: SchemaConfig::empty(), kv: TxOptions::default() }
    }

    /// Whether the schema may be recorded if it is not yet (it may, unless said otherwise).
    #[must_use]
    pub fn allow_new_schema(mut self, allow: bool) -> Self {
        self.schema = self.schema.allow_new_schema(allow);
        self
    }

    /// When recorded schemas without objects are dropped.
    #[must_use]
    pub fn schema_removal(mut self, removal: SchemaRemoval) -> Self {
        self.schema = self.schema.schema_removal(removal);
        self
    }

    /// Options for the key/value store.
    #[must_use]
    pub fn kv_options(mut self, options: TxOptions) -> Self {
        self.kv = options;
        self
    }

    /// The options for the key/value store.
    pub fn kv(&self) -> &TxOptions {
        &self.kv
    }

    /// A snapshot that keeps no writer waiting; what is written in it is lost.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.kv.read_only = true;
        self
    }
}

/// What all transactions of a database share.
pub(super) struct Shared {
    pub(super) state: DatabaseState,
    ids: Mutex<Option<ObjIdGenerator>>,
    pub(super) incoming: IncomingCache,
}

impl Shared {
    fn new(registry: Arc<EncodingRegistry>) -> Self {
        Shared {
            state: DatabaseState::new(registry),
            ids: Mutex::new(None),
            incoming: IncomingCache::default(),
        }
    }

    /// An id that is unlikely to be taken.
    pub(super) fn random_id(&self, storage_id: StorageId) -> Result<ObjId> {
        // The generator is replaced or advanced as a whole, so a panic elsewhere does not harm it.
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let generator = match &mut *ids {
            Some(generator) => generator,
            none => none.insert(ObjIdGenerator::new().map_err(Error::Random)?),
        };
        Ok(generator.next_id(storage_id))
    }
}

/// An object database over a key/value database.
///
/// Cheap to clone; clones share what is remembered of the recorded schemas.
///
/// ```
/// use std::sync::Arc;
///
/// use permazen::encoding::{EncodingId, Value};
/// use permazen::kv::memory::MemoryStore;
/// use permazen::object::{Database, Migrate, TransactionConfig};
/// use permazen::schema::{Field, ObjectType, SchemaModel, Simple};
///
/// let string: EncodingId = "urn:fdc:permazen.io:2020:String".parse()?;
/// let model = SchemaModel::new().object_type(
///     ObjectType::new("Person")
///         .field(Field::new("name", Simple::of(string).indexed()))
///         .field(Field::new("friend", Simple::reference())),
/// );
/// let config = TransactionConfig::new(model)?;
/// let db = Database::new(Arc::new(MemoryStore::new()));
///
/// let tx = db.begin(&config)?;
/// let ann = tx.create("Person")?;
/// let bob = tx.create("Person")?;
/// tx.set(ann, "name", &Value::from("Ann"), Migrate::Yes)?;
/// tx.set(bob, "friend", &Value::Ref(ann), Migrate::Yes)?;
/// assert!(tx.delete(ann).is_err(), "Bob refers to Ann");
/// tx.commit()?;
///
/// let tx = db.begin(&config)?;
/// assert_eq!(tx.get(ann, "name", Migrate::Yes)?, Value::from("Ann"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Database {
    kv: Arc<dyn KvDatabase>,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Database {
    /// The database in this store, knowing the built-in encodings. Reads nothing yet.
    pub fn new(kv: Arc<dyn KvDatabase>) -> Self {
        Database::with_encodings(kv, Arc::new(EncodingRegistry::default()))
    }

    /// The database in this store, knowing these encodings. Reads nothing yet.
    pub fn with_encodings(kv: Arc<dyn KvDatabase>, encodings: Arc<EncodingRegistry>) -> Self {
        Database { kv, shared: Arc::new(Shared::new(encodings)) }
    }

    /// The store below.
    pub fn kv(&self) -> &Arc<dyn KvDatabase> {
        &self.kv
    }

    /// The encodings known.
    pub fn encodings(&self) -> &Arc<EncodingRegistry> {
        self.shared.state.registry()
    }

    /// Uses ids from this generator for new objects, for tests.
    pub fn set_id_generator(&self, generator: ObjIdGenerator) {
        *self.shared.ids.lock().unwrap_or_else(PoisonError::into_inner) = Some(generator);
    }

    /// Begins a transaction: reads the recorded schemas, drops unused ones and records the given one,
    /// as the configuration says. One scan of the recorded schemas if nothing has changed since the
    /// previous transaction.
    ///
    /// # Errors
    /// [`Error::Schema`] if the store is no database, is damaged, or the schema does not fit or is not
    /// allowed; those of the store. Nothing is left behind.
    pub fn begin(&self, config: &TransactionConfig) -> Result<Transaction<'_>> {
        self.begin_on(self.kv.begin(&config.kv)?, config)
    }

    /// As [`begin`](Database::begin), on a transaction that was begun in the store below.
    ///
    /// # Errors
    /// As [`begin`](Database::begin).
    pub fn begin_on<'k>(
        &self,
        mut kv: Box<dyn KvTransaction + Send + 'k>,
        config: &TransactionConfig,
    ) -> Result<Transaction<'k>> {
        let opened = open_schema(&mut *kv, &self.shared.state, &config.schema)?;
        let store = Store::of_transaction(kv);
        Ok(Transaction::new(store, Arc::clone(&self.shared), opened.bundle, opened.schema))
    }

    /// A transaction over a store of its own, which is opened as [`Database::begin`] does. It has no
    /// commit: what is written is in the store at once.
    ///
    /// # Errors
    /// As [`Database::begin`].
    pub fn detached<'s>(
        &self,
        mut kv: Box<dyn KvWrite + Send + 's>,
        config: &TransactionConfig,
    ) -> Result<Transaction<'s>> {
        let shared = Arc::new(Shared::new(Arc::clone(self.encodings())));
        let opened = open_schema(&mut *kv, &shared.state, &config.schema)?;
        Ok(Transaction::new(Store::detached(kv), shared, opened.bundle, opened.schema))
    }
}
