//! A database: where transactions begin (transactions §3.1).

use std::sync::{Arc, Mutex, PoisonError};

use permazen_kv::{KvDatabase, KvTransaction, KvWrite, Retry, TxOptions};

use super::reference::IncomingCache;
use super::schemas::Begun;
use super::store::Store;
use super::{Error, Result, Transaction};
use crate::encoding::EncodingRegistry;
use crate::id::{ObjId, ObjIdGenerator, StorageId};
use crate::schema::{
    AsOf, DatabaseState, SchemaConfig, SchemaModel, SchemaRemoval, UnknownEncodings, open_schema,
    open_schema_at,
};

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
    fn new(registry: Arc<EncodingRegistry>, unknown: UnknownEncodings) -> Self {
        Shared {
            state: DatabaseState::new(registry).unknown_encodings(unknown),
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
        Database { kv, shared: Arc::new(Shared::new(encodings, UnknownEncodings::Refuse)) }
    }

    /// The same store, opened with this answer to recorded schemas with fields of encodings that are
    /// not registered. Unless said otherwise such a database is refused. To be called first:
    /// transactions of a clone made before keep to what held then, and an id generator that was set is
    /// forgotten.
    ///
    /// With [`UnknownEncodings::Carry`] the database can be worked with, and the values of those
    /// fields are bytes, [`Value::Custom`](crate::encoding::Value::Custom):
    ///
    /// * They can be read, set, copied, kept in sets, lists and maps, and deleted; to set one is to
    ///   vouch that the bytes are a value of the encoding, in its canonical form.
    /// * A field nothing is stored for has its encoding's default value, which is not known: reading
    ///   it is [`Error::UnknownEncoding`], [`Transaction::is_default`] tells. If the field is indexed,
    ///   alone or with others, so is whatever needs its index entry: creating such an object,
    ///   deleting or migrating it, setting the field.
    /// * An index can be queried if the unknown value is the last one in it and its entries end with
    ///   the object id, since then the end of the value can be found: on a simple field, the elements
    ///   of a set, the keys of a map, and composite if the field is the last. Any other is
    ///   [`Error::UnknownEncoding`]. The values sort by their bytes, as always. All these indexes are
    ///   kept right when objects change.
    /// * Values are not converted to or from an unknown encoding.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use permazen::encoding::{CustomValue, EncodingId, Value};
    /// use permazen::kv::memory::MemoryStore;
    /// use permazen::object::{Database, Error, Migrate, TransactionConfig};
    /// use permazen::schema::{Field, ObjectType, SchemaModel, Simple, UnknownEncodings};
    ///
    /// let money: EncodingId = "urn:fdc:example.com:2026:money".parse()?;
    /// let price = Field::new("price", Simple::of(money.clone()));
    /// let model = SchemaModel::new().object_type(ObjectType::new("Item").field(price));
    /// let config = TransactionConfig::new(model)?;
    /// let store = Arc::new(MemoryStore::new());
    /// assert!(Database::new(store.clone()).begin(&config).is_err());
    ///
    /// let db = Database::new(store).unknown_encodings(UnknownEncodings::Carry);
    /// let tx = db.begin(&config)?;
    /// let item = tx.create("Item")?;
    /// assert!(tx.is_default(item, "price")?);
    /// assert!(matches!(tx.get(item, "price", Migrate::No), Err(Error::UnknownEncoding { .. })));
    /// let value = Value::Custom(CustomValue::new(money, [0x84, 0x01]));
    /// tx.set(item, "price", &value, Migrate::No)?;
    /// assert_eq!(tx.get(item, "price", Migrate::No)?, value);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unknown_encodings(self, unknown: UnknownEncodings) -> Self {
        let encodings = Arc::clone(self.encodings());
        Database { kv: self.kv, shared: Arc::new(Shared::new(encodings, unknown)) }
    }

    /// The store below.
    pub fn kv(&self) -> &Arc<dyn KvDatabase> {
        &self.kv
    }

    /// The encodings known.
    pub fn encodings(&self) -> &Arc<EncodingRegistry> {
        self.shared.state.registry()
    }

    /// Uses ids from this generator for new objects; unless said otherwise they are random. For objects that are to lie in
    /// the store in the order of their creation, see [`ObjIdGenerator::ordered`].
    pub fn set_id_generator(&self, generator: ObjIdGenerator) {
        *self.shared.ids.lock().unwrap_or_else(PoisonError::into_inner) = Some(generator);
    }

    /// Begins a transaction: reads the recorded schemas, drops unused ones and records the given one,
    /// as the configuration says. Reads nothing of them if the store has the
    /// [version](permazen_kv::KvTransaction::version) it had at the previous transaction, or that to which the commit
    /// of a transaction of this database led that recorded and removed no schemas; where transactions that write
    /// are checked for conflicts, only those that are read-only can do without. Otherwise one scan of the recorded
    /// schemas, of which those that are new are decoded. If that fails for a reason that may pass, it is begun again, as
    /// [`Retry::default`] says.
    ///
    /// # Errors
    /// [`Error::Schema`] if the store is no database, is damaged, or the schema does not fit or is not
    /// allowed; those of the store. Nothing is left behind.
    pub fn begin(&self, config: &TransactionConfig) -> Result<Transaction<'_>> {
        Retry::default().run(
            |failed| Ok(self.kv.begin(&config.kv.after_failures(failed))?),
            |kv| self.begin_on_new(kv, config),
            Error::is_retryable,
        )
    }

    /// As [`begin`](Database::begin), on a transaction that was begun in the store below.
    ///
    /// # Errors
    /// As [`begin`](Database::begin).
    pub fn begin_on<'k>(
        &self,
        kv: Box<dyn KvTransaction + Send + 'k>,
        config: &TransactionConfig,
    ) -> Result<Transaction<'k>> {
        // Nobody knows of which store it is, and what was written in it.
        self.begin_at(AsOf::Unknown, kv, config)
    }

    /// As [`begin_on`](Database::begin_on), on a transaction of this store in which nothing was done.
    pub(crate) fn begin_on_new<'k>(
        &self,
        kv: Box<dyn KvTransaction + Send + 'k>,
        config: &TransactionConfig,
    ) -> Result<Transaction<'k>> {
        // Where writing transactions are checked for conflicts, the recorded schemas have to be among what was read.
        let offers = self.kv.capabilities();
        let in_turn = offers.serializable && !offers.concurrent_writers;
        let as_of = match kv.version() {
            Some(version) if in_turn || kv.is_read_only() => AsOf::Version(version),
            Some(version) => AsOf::CheckedVersion(version),
            None => AsOf::Unknown,
        };
        self.begin_at(as_of, kv, config)
    }

    fn begin_at<'k>(
        &self,
        as_of: AsOf,
        mut kv: Box<dyn KvTransaction + Send + 'k>,
        config: &TransactionConfig,
    ) -> Result<Transaction<'k>> {
        let opened = open_schema_at(&mut *kv, as_of, &self.shared.state, &config.schema)?;
        let begun = match as_of {
            AsOf::Version(version) => {
                let bundle = Arc::clone(&opened.bundle);
                Some(Begun { bundle, version, wrote: opened.wrote })
            }
            AsOf::CheckedVersion(_) | AsOf::Unknown => None,
        };
        let store = Store::of_transaction(kv);
        let shared = Arc::clone(&self.shared);
        let transaction = Transaction::new(store, shared, opened.bundle, opened.schema);
        transaction.schemas.begun(begun);
        Ok(transaction)
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
        let unknown = self.shared.state.answer_to_unknown();
        let shared = Arc::new(Shared::new(Arc::clone(self.encodings()), unknown));
        let opened = open_schema(&mut *kv, &shared.state, &config.schema)?;
        Ok(Transaction::new(Store::detached(kv), shared, opened.bundle, opened.schema))
    }
}
