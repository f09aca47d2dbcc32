//! A database, from which transactions begin (docs/src/transactions.md#opening-a-database).

use std::sync::{Arc, Mutex, PoisonError};

use permazen_kv::__internal::StoreId;
use permazen_kv::{KvDatabase, KvTransaction, KvWrite, Retry, TxOptions};

use super::reference::IncomingCache;
use super::schemas::Begun;
use super::store::Store;
use super::{Error, Result, Transaction};
use crate::encoding::EncodingRegistry;
use crate::id::{ObjId, ObjIdGenerator, StorageId};
use crate::schema::{
    AsOf, DatabaseState, SchemaConfig, SchemaModel, SchemaRemoval, UnknownEncodings, UsableSchemas,
    open_schema, open_schema_at, read_usable_schemas, unnumbered,
};

/// How to begin a transaction.
#[derive(Debug, Clone)]
pub struct TransactionConfig {
    schema: SchemaConfig,
    kv: TxOptions,
}

impl TransactionConfig {
    /// Uses this schema, and records it if it is not recorded yet. When the configuration changes,
    /// unused schemas are removed.
    ///
    /// # Errors
    /// [`Error::Schema`] if the model is not valid.
    pub fn new(model: impl Into<Arc<SchemaModel>>) -> Result<Self> {
        Ok(TransactionConfig { schema: SchemaConfig::new(model)?, kv: TxOptions::default() })
    }

    /// Uses the empty schema. The transaction sees the objects of all recorded schemas, as they
    /// are.
    pub fn without_schema() -> Self {
        TransactionConfig { schema: SchemaConfig::empty(), kv: TxOptions::default() }
    }

    /// Whether the schema may be recorded if it is not recorded yet. The default is `true`.
    #[must_use]
    pub fn allow_new_schema(mut self, allow: bool) -> Self {
        self.schema = self.schema.allow_new_schema(allow);
        self
    }

    /// When to remove recorded schemas that have no objects.
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

    /// The same for the empty schema.
    pub(crate) fn of_empty_schema(mut self) -> Self {
        self.schema = self.schema.of_empty_schema();
        self
    }

    /// Begins transactions on a snapshot, which do not keep writers waiting. Their writes are lost.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.kv.read_only = true;
        self
    }
}

/// The state that all transactions of a database share.
pub(super) struct Shared {
    pub(super) state: DatabaseState,
    ids: Mutex<Option<ObjIdGenerator>>,
    pub(super) incoming: IncomingCache,
}

impl Shared {
    /// The state of a database on a store, whose identity is `None` if it is not known.
    fn new(
        registry: Arc<EncodingRegistry>,
        unknown: UnknownEncodings,
        store: Option<StoreId>,
    ) -> Self {
        Shared {
            state: DatabaseState::new(registry).unknown_encodings(unknown).on_store(store),
            ids: Mutex::new(None),
            incoming: IncomingCache::default(),
        }
    }

    /// An ID that is probably not in use.
    pub(super) fn random_id(&self, storage_id: StorageId) -> Result<ObjId> {
        // The generator is replaced or advanced as a whole, so a panic elsewhere cannot damage it.
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
/// It is cheap to clone. Clones share the remembered data of the recorded schemas.
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
    /// The database in this store, with the built-in encodings. Reads nothing yet.
    pub fn new(kv: Arc<dyn KvDatabase>) -> Self {
        Database::with_encodings(kv, Arc::new(EncodingRegistry::default()))
    }

    /// The database in this store, with these encodings. Reads nothing yet.
    pub fn with_encodings(kv: Arc<dyn KvDatabase>, encodings: Arc<EncodingRegistry>) -> Self {
        let shared = Shared::new(encodings, UnknownEncodings::Refuse, kv.identity());
        Database { kv, shared: Arc::new(shared) }
    }

    /// The same store, with this rule for recorded schemas whose fields have encodings that are not
    /// registered. The default is to refuse such a database. Call this first: transactions of
    /// earlier clones keep the earlier rule, and a generator set with
    /// [`set_id_generator`](Database::set_id_generator) is forgotten.
    ///
    /// With [`UnknownEncodings::Carry`] the database can be used, and the values of those fields
    /// are bytes, [`Value::Custom`](crate::encoding::Value::Custom):
    ///
    /// * They can be read, set, copied and deleted, and kept in sets, lists and maps. A caller that
    ///   sets one must make sure that the bytes are a value of the encoding, in its canonical form.
    /// * A field without a stored value has its encoding's default value, which is not known.
    ///   Reading it fails with [`Error::UnknownEncoding`].
    ///   If the field is indexed, alone or with others, everything that needs its index entry fails
    ///   in the same way: creating such an object, deleting or migrating it, setting the field.
    /// * An index can be queried if the unknown value is its last one and its entries end with the
    ///   object ID, because then the end of the value can be found. Such indexes are: on a simple
    ///   field, on the elements of a set, on the keys of a map, and composite with the field as the
    ///   last one. Querying any other fails with [`Error::UnknownEncoding`]. The values sort by
    ///   their bytes, as always. All these indexes are updated when objects change.
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
        let shared = Shared::new(encodings, unknown, self.kv.identity());
        Database { kv: self.kv, shared: Arc::new(shared) }
    }

    /// The key/value store.
    pub fn kv(&self) -> &Arc<dyn KvDatabase> {
        &self.kv
    }

    /// The registered encodings.
    pub fn encodings(&self) -> &Arc<EncodingRegistry> {
        self.shared.state.registry()
    }

    /// Uses this generator for the IDs of new objects. The default is random IDs. With
    /// [`ObjIdGenerator::ordered`] objects are stored in the order of their creation.
    pub fn set_id_generator(&self, generator: ObjIdGenerator) {
        *self.shared.ids.lock().unwrap_or_else(PoisonError::into_inner) = Some(generator);
    }

    /// Begins a transaction. Reads the recorded schemas, removes unused ones and records the given
    /// one, as the configuration says. If that fails for a reason that may pass, tries again as
    /// [`Retry::default`] says.
    ///
    /// Cost: one scan of the recorded schemas; only those that are new are decoded. The scan is
    /// saved if the store has a known [version](permazen_kv::KvTransaction::version): that of the
    /// previous transaction, or the one after a commit of this database that recorded and removed
    /// no schemas. Where the store checks writing transactions for conflicts, only read-only
    /// transactions save the scan.
    ///
    /// # Errors
    /// [`Error::Schema`] if the store contains no database, if the database is damaged, or if the
    /// schema does not fit or is not allowed. The store is not changed then.
    pub fn begin(&self, config: &TransactionConfig) -> Result<Transaction> {
        Retry::default().run(
            |failed| Ok(self.kv.begin(&config.kv.after_failures(failed))?),
            |kv| self.begin_on_new(kv, config),
            Error::is_retryable,
        )
    }

    /// Begins like [`begin`](Database::begin), but on a transaction of the store that was begun
    /// before.
    ///
    /// # Errors
    /// The errors of [`begin`](Database::begin).
    pub fn begin_on(
        &self,
        kv: Box<dyn KvTransaction + Send>,
        config: &TransactionConfig,
    ) -> Result<Transaction> {
        // It is not known to which store the transaction belongs, nor what was written in it.
        self.begin_at(AsOf::Unknown, kv, config)
    }

    /// Begins on a transaction of this database's store in which something may have been written.
    pub(crate) fn begin_on_changed(
        &self,
        kv: Box<dyn KvTransaction + Send>,
        config: &TransactionConfig,
    ) -> Result<Transaction> {
        self.begin_at(AsOf::NoVersion, kv, config)
    }

    /// Begins on a transaction of this database's store in which nothing was done yet.
    pub(crate) fn begin_on_new(
        &self,
        kv: Box<dyn KvTransaction + Send>,
        config: &TransactionConfig,
    ) -> Result<Transaction> {
        // Where writing transactions are checked for conflicts, the recorded schemas must be among
        // the reads.
        let offers = self.kv.capabilities();
        let in_turn = offers.serializable && !offers.concurrent_writers;
        let as_of = match kv.version() {
            Some(version) if in_turn || kv.is_read_only() => AsOf::Version(version),
            Some(version) => AsOf::CheckedVersion(version),
            None => AsOf::NoVersion,
        };
        self.begin_at(as_of, kv, config)
    }

    /// Begins a read-only transaction on a database whose recorded schemas may be damaged, for
    /// tools that show the parts of it that can be read. The transaction has the empty schema, and
    /// sees the schemas that can be read. Objects of the others are in their types and in the
    /// indexes, but their fields cannot be read: [`Error::Inconsistent`]. Encodings that are not
    /// registered are carried ([`UnknownEncodings::Carry`]).
    ///
    /// Cost: one scan of the recorded schemas, all of which are decoded.
    ///
    /// # Errors
    /// Those of the store.
    #[doc(hidden)]
    pub fn begin_on_damaged(&self, options: &TxOptions) -> Result<(Transaction, UsableSchemas)> {
        let mut options = options.clone();
        options.read_only = true;
        let kv = self.kv.begin(&options)?;
        let usable = read_usable_schemas(&*kv, self.encodings())?;
        let (store, shared) = (Store::of_transaction(kv), Arc::clone(&self.shared));
        let bundle = Arc::clone(&usable.schemas);
        let empty = Arc::clone(bundle.empty_schema());
        Ok((Transaction::new(store, shared, bundle, empty), usable))
    }

    fn begin_at(
        &self,
        as_of: AsOf,
        mut kv: Box<dyn KvTransaction + Send>,
        config: &TransactionConfig,
    ) -> Result<Transaction> {
        let only_reads = kv.is_read_only();
        let state = &self.shared.state;
        let unnumbered = unnumbered();
        let opened = open_schema_at(&mut *kv, as_of, only_reads, state, &config.schema)?;
        let begun = match as_of {
            // The writes of a transaction that only reads are discarded.
            AsOf::Version(version) if !only_reads => {
                let bundle = Arc::clone(&opened.bundle);
                Some(Begun { bundle, version, wrote: opened.wrote, unnumbered })
            }
            _ => None,
        };
        let store = Store::of_transaction(kv);
        let shared = Arc::clone(&self.shared);
        let transaction = Transaction::new(store, shared, opened.bundle, opened.schema);
        transaction.schemas.begun(begun);
        Ok(transaction)
    }

    /// A transaction over its own store. It begins as [`Database::begin`] does, but has no commit:
    /// its writes are in the store at once. [`Transaction::into_store`] gives the store back.
    ///
    /// # Errors
    /// The errors of [`Database::begin`]. The store is dropped then.
    #[doc(hidden)]
    pub fn detached(
        &self,
        mut kv: impl KvWrite + Send + 'static,
        config: &TransactionConfig,
    ) -> Result<Transaction> {
        let unknown = self.shared.state.answer_to_unknown();
        // It has another store, so it must not share what is remembered of the schemas in this one.
        let shared = Arc::new(Shared::new(Arc::clone(self.encodings()), unknown, None));
        let opened = open_schema(&mut kv, &shared.state, &config.schema)?;
        Ok(Transaction::new(Store::detached(kv), shared, opened.bundle, opened.schema))
    }
}
