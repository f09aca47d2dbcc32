//! Opening a store with a schema: checks that the store is a database, reads the recorded schemas,
//! records the schema if it is new, and drops schemas that no object uses
//! (docs/src/schemas.md#recording-and-garbage-collection).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use permazen_kv::__internal::StoreId;
use permazen_kv::{Hex, KvRead, KvWrite};

use super::bundle::SchemaBundle;
use super::encodings::UnknownEncodings;
use super::error::{Result, SchemaError};
use super::model::SchemaModel;
use super::recorded_schemas::RecordedSchemas;
use super::resolved::Schema;
use super::schema_id::SchemaId;
use super::tables::{SchemaTables, Stored};
use super::unnumbered::changes_unnumbered;
use super::used_by_process::is_used_by_process;
use crate::encoding::{EncodingRegistry, Reader, uint};
use crate::layout::{
    FORMAT_VERSION, FORMAT_VERSION_KEY, LEDGER_KEY, LOADING, META_DATA, META_DATA_SPAN,
    OBJECT_SCHEMA_INDEX_SPAN, SchemaIndex, USER_META_DATA, is_ledger, object_schema_prefix,
    prefix_end,
};

/// When opening a transaction drops recorded schemas that have no objects. A schema stays while a
/// [`Permazen`](crate::Permazen) of this process is open with it on the same store, or on one that
/// may be the same. A read-only transaction drops none: it could not keep that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SchemaRemoval {
    /// Never.
    Never,
    /// When the first transaction with a [`DatabaseState`] is opened that does not only read.
    Once,
    /// When the first transaction is opened; and when the schema asked for, or the recorded
    /// schemas, have changed since the previous transaction.
    #[default]
    ConfigChange,
    /// Whenever a transaction is opened.
    Always,
}

/// The schema a transaction is opened with, and how opening may change the recorded schemas.
#[derive(Debug, Clone)]
pub struct SchemaConfig {
    model: Arc<SchemaModel>,
    id: SchemaId,
    allow_new: bool,
    removal: SchemaRemoval,
}

impl SchemaConfig {
    /// Opens with this schema and records it if necessary. Drops unused schemas when the
    /// configuration changes.
    ///
    /// # Errors
    /// [`SchemaError::Invalid`] if the model is not valid.
    pub fn new(model: impl Into<Arc<SchemaModel>>) -> Result<Self> {
        let model = model.into();
        model.validate()?;
        Ok(SchemaConfig::of(model))
    }

    /// Opens with the empty schema. Such a transaction sees the objects of all recorded schemas,
    /// but cannot create any.
    pub fn empty() -> Self {
        SchemaConfig::of(Arc::new(SchemaModel::new()))
    }

    fn of(model: Arc<SchemaModel>) -> Self {
        let (id, removal) = (model.schema_id(), SchemaRemoval::default());
        SchemaConfig { model, id, allow_new: true, removal }
    }

    /// Whether a schema that is not recorded yet may be recorded. If not, opening with such a
    /// schema is an error.
    #[must_use]
    pub fn allow_new_schema(mut self, allow: bool) -> Self {
        self.allow_new = allow;
        self
    }

    /// When unused schemas are dropped.
    #[must_use]
    pub fn schema_removal(mut self, removal: SchemaRemoval) -> Self {
        self.removal = removal;
        self
    }

    /// The same for the empty schema.
    pub(crate) fn of_empty_schema(self) -> Self {
        SchemaConfig { removal: self.removal, ..SchemaConfig::empty() }
    }

    /// The schema to open with.
    pub fn model(&self) -> &Arc<SchemaModel> {
        &self.model
    }

    /// The ID of the schema to open with.
    pub fn schema_id(&self) -> SchemaId {
        self.id
    }
}

/// The state that a program keeps of a database between transactions: the decoded schemas, and
/// whether unused schemas were dropped before.
///
/// Each opened database has one. All its transactions share it.
#[derive(Debug)]
pub struct DatabaseState {
    registry: Arc<EncodingRegistry>,
    unknown_encodings: UnknownEncodings,
    /// The identity of the store; `None` if it is not known.
    store: Option<StoreId>,
    last: Mutex<Last>,
}

/// The state after the last transaction that was opened successfully.
#[derive(Debug, Clone, Default)]
struct Last {
    open: Option<Arc<LastOpen>>,
    /// Whether the tables of `open` are known to be in the store. If not, they were written by a
    /// transaction that may not have been committed.
    stored: bool,
    /// The latest version of the store that is known to have these tables.
    version: Option<u64>,
}

/// The last transaction that was opened successfully.
#[derive(Debug)]
struct LastOpen {
    model: Arc<SchemaModel>,
    removal: SchemaRemoval,
    /// Whether all transactions so far only read, so that none could drop schemas.
    all_read: bool,
    bundle: Arc<SchemaBundle>,
    schema: Arc<Schema>,
    /// Whether that transaction added or removed schemas after it was opened.
    changed: bool,
}

impl LastOpen {
    /// Whether opening with this configuration gives the same. A transaction that only reads
    /// removes nothing in any case.
    fn is_like(&self, config: &SchemaConfig, only_reads: bool) -> bool {
        !self.changed
            && (only_reads || self.removal == config.removal)
            && (Arc::ptr_eq(&self.model, &config.model) || self.model == config.model)
    }

    /// Whether opening with this configuration gives the same without looking for unused schemas.
    fn suffices(&self, config: &SchemaConfig, only_reads: bool) -> bool {
        let removes = match config.removal {
            SchemaRemoval::Never | SchemaRemoval::ConfigChange => false,
            SchemaRemoval::Once => self.all_read,
            SchemaRemoval::Always => true,
        };
        self.is_like(config, only_reads) && (only_reads || !removes)
    }

    /// The result of opening a transaction when nothing has changed.
    fn opened(&self) -> OpenedSchema {
        let (bundle, schema) = (Arc::clone(&self.bundle), Arc::clone(&self.schema));
        OpenedSchema { bundle, schema, wrote: false }
    }
}

/// The schemas that a transaction works with.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenedSchema {
    /// All recorded schemas.
    pub bundle: Arc<SchemaBundle>,
    /// The schema that the transaction was opened with.
    pub schema: Arc<Schema>,
    /// Whether opening changed the store.
    pub(crate) wrote: bool,
}

impl DatabaseState {
    /// The state of a database that was not opened before.
    pub fn new(registry: Arc<EncodingRegistry>) -> Self {
        let unknown_encodings = UnknownEncodings::default();
        DatabaseState { registry, unknown_encodings, store: None, last: Mutex::default() }
    }

    /// Decides what to do with encodings that are not registered.
    #[must_use]
    pub fn unknown_encodings(mut self, unknown: UnknownEncodings) -> Self {
        self.unknown_encodings = unknown;
        self
    }

    /// Sets the identity of the store.
    pub(crate) fn on_store(mut self, store: Option<StoreId>) -> Self {
        self.store = store;
        self
    }

    /// The decision about encodings that are not registered.
    pub(crate) fn answer_to_unknown(&self) -> UnknownEncodings {
        self.unknown_encodings
    }

    /// The registered encodings.
    pub fn registry(&self) -> &Arc<EncodingRegistry> {
        &self.registry
    }

    /// Looks up the encodings of recorded schemas. Takes schemas that have not changed from
    /// `before`.
    pub(crate) fn resolve(
        &self,
        before: Option<&SchemaBundle>,
        recorded: Arc<RecordedSchemas>,
    ) -> Result<SchemaBundle> {
        SchemaBundle::resolve_after(before, recorded, &self.registry, self.unknown_encodings)
    }

    /// The result of opening this version of the store, if the previous opening is known to be the
    /// same.
    fn known_at(
        &self,
        version: u64,
        config: &SchemaConfig,
        only_reads: bool,
    ) -> Option<OpenedSchema> {
        let last = self.last();
        let open = last.open.as_ref().filter(|_| last.version == Some(version))?;
        open.suffices(config, only_reads).then(|| open.opened())
    }

    /// Notes that this version of the store has the tables of this opening.
    fn found(&self, open: &LastOpen, version: Option<u64>) {
        let mut last = self.last();
        let is_last = last.open.as_deref().is_some_and(|last| std::ptr::eq(last, open));
        // Another opening may have taken the place of this one meanwhile.
        if is_last {
            last.stored = true;
            last.version = version.or(last.version);
        }
    }

    /// Notes a commit: the transaction was opened with the schemas `opened`, which it may have
    /// written then, and left the schemas `now` in this version of the store. Does nothing if
    /// another transaction was opened with other schemas since then, or if
    /// [`unnumbered`](super::unnumbered::unnumbered) is another than when the transaction began.
    pub(crate) fn committed(
        &self,
        opened: &Arc<SchemaBundle>,
        wrote: bool,
        now: &Arc<SchemaBundle>,
        version: u64,
        unnumbered: u64,
    ) {
        // A transaction without a version may have changed the schemas in the same commit.
        if unnumbered != super::unnumbered::unnumbered() {
            return;
        }
        let mut last = self.last();
        let Some(open) = last.open.clone().filter(|open| Arc::ptr_eq(&open.bundle, opened)) else {
            return;
        };
        let changed = opened.tables() != now.tables();
        // If the recorded schemas changed, the next transaction reads them: SQLite can give its own
        // number to the state that a large transaction has before its commit.
        last.version = if wrote || changed { None } else { last.version.max(Some(version)) };
        if changed {
            last.open = Some(Arc::new(LastOpen {
                model: Arc::clone(&open.model),
                removal: open.removal,
                all_read: false,
                bundle: Arc::clone(now),
                schema: Arc::clone(&open.schema),
                changed: true,
            }));
        }
        last.stored = true;
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        // The content is replaced as a whole, so a panic elsewhere leaves it complete.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prepares a transaction for work with a schema. Checks that the store is a database, reads the
/// recorded schemas, drops unused ones and records the given one, as `config` says.
///
/// Costs one scan of the recorded schemas if they and `config` have not changed since the previous
/// call. It costs more only if something changed or [`SchemaRemoval::Always`] asks for it. Only
/// schemas that are new are decoded.
///
/// # Errors
/// About the store: [`SchemaError::NotPermazen`], [`SchemaError::UnknownFormatVersion`],
/// [`SchemaError::Inconsistent`], and [`SchemaError::Invalid`] if an encoding is not registered.
/// About the schema asked for: [`SchemaError::NotAllowed`], [`SchemaError::Removed`] and
/// [`SchemaError::StorageIdConflict`]. After an error, roll the transaction back: its writes are of
/// no use.
pub fn open_schema(
    kv: &mut dyn KvWrite,
    state: &DatabaseState,
    config: &SchemaConfig,
) -> Result<OpenedSchema> {
    open_schema_at(kv, AsOf::Unknown, false, state, config)
}

/// The knowledge about the state of the store that a transaction sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsOf {
    /// The store has this version, and the transaction has written nothing.
    Version(u64),
    /// The same, but the transaction must read the pairs it depends on, so that conflicts are
    /// detected.
    CheckedVersion(u64),
    /// It belongs to the store of the [`DatabaseState`]; nothing else is known.
    NoVersion,
    /// Nothing is known, not even the store.
    Unknown,
}

/// Does the same as [`open_schema`], but reads nothing if the previous opening has found the tables
/// of this version of the store. If the writes of the transaction are thrown away, unused schemas
/// stay, unless the schema itself must be recorded, with which they could conflict.
pub(crate) fn open_schema_at(
    kv: &mut dyn KvWrite,
    as_of: AsOf,
    only_reads: bool,
    state: &DatabaseState,
    config: &SchemaConfig,
) -> Result<OpenedSchema> {
    // Nearly always, nothing has changed.
    if let AsOf::Version(version) = as_of
        && let Some(opened) = state.known_at(version, config, only_reads)
    {
        return Ok(opened);
    }
    // The previous opening; whether its tables are known to be in the store; and the latest version
    // of the store that is known to have them.
    let Last { open: previous, stored: previous_stored, version: known_version, .. } =
        state.last().clone();
    let version = match as_of {
        AsOf::Version(version) | AsOf::CheckedVersion(version) => Some(version),
        AsOf::NoVersion | AsOf::Unknown => None,
    };
    let previous = previous.as_deref();
    let mut others = None;
    // The previous opening, if the store still has its tables.
    let known = match previous {
        // The tables of this version are known, so nothing need be read.
        Some(previous) if known_version.is_some_and(|version| as_of == AsOf::Version(version)) => {
            Some(previous)
        }
        Some(previous) => match previous.bundle.tables().compare(kv)? {
            Stored::These => Some(previous),
            Stored::Others(tables) => {
                others = Some(tables);
                None
            }
            // The whole meta-data is read again, to say what is wrong with it.
            Stored::Unknown => None,
        },
        None => None,
    };
    let hit = known.filter(|previous| previous.is_like(config, only_reads));
    if let Some(hit) = hit.filter(|hit| hit.suffices(config, only_reads)) {
        state.found(hit, version);
        return Ok(hit.opened());
    }
    let should_remove = match config.removal {
        SchemaRemoval::Never => false,
        SchemaRemoval::Once => previous.is_none_or(|last| last.all_read),
        SchemaRemoval::ConfigChange => hit.is_none(),
        SchemaRemoval::Always => true,
    };
    let before = previous.map(|previous| &**previous.bundle.recorded());
    let mut was_there = true;
    let recorded = match (known, others) {
        (Some(known), _) => Arc::clone(known.bundle.recorded()),
        (None, Some(tables)) => decode_after(before, tables)?,
        (None, None) => {
            was_there = check_format(kv, config)?;
            decode_after(before, SchemaTables::read_checked(kv)?)?
        }
    };
    let is_recorded = config.model.is_empty() || recorded.find(config.id).is_some();
    // A transaction that only reads could not keep the removal. But unused schemas can stand in the
    // way of a new one.
    let unused = match should_remove && !(only_reads && is_recorded) {
        true => {
            let store = state.store.filter(|_| as_of != AsOf::Unknown);
            unused_schemas(kv, &recorded, store)?
        }
        false => Vec::new(),
    };
    // The schema is recorded and none is dropped: the store stays as it is.
    if let Some(hit) = hit
        && unused.is_empty()
    {
        state.found(hit, version);
        return Ok(hit.opened());
    }
    // There are two errors: for a schema that was removed, and for one that was never recorded.
    let was_recorded = recorded.find(config.id).is_some()
        // Tables that were written may never have been committed. They prove nothing.
        || before.is_some_and(|before| previous_stored && before.find(config.id).is_some());
    let original = Arc::clone(recorded.tables());
    let recorded = record(recorded, &unused, config).map_err(|error| match error {
        SchemaError::NotAllowed { schema_id } if was_recorded => SchemaError::Removed { schema_id },
        error => error,
    })?;
    let tables = Arc::clone(recorded.tables());
    // The resolved schemas are kept if the tables are the same, since transactions compare them by
    // pointer.
    let bundle = match known {
        Some(known) if tables == original => Arc::clone(&known.bundle),
        _ => Arc::new(state.resolve(previous.map(|previous| &*previous.bundle), recorded)?),
    };
    let schema = match bundle.schema_by_id(config.id) {
        Some(schema) => Arc::clone(schema),
        None => return Err(SchemaError::UnknownSchema(config.id.to_string())),
    };
    // The commit may lead to the version of another transaction; see `unnumbered`.
    if tables != original && version.is_none() {
        changes_unnumbered();
    }
    // The tables are written last, when nothing can be refused any more.
    tables.write_over(&original, kv)?;
    // Tables that were just written are not committed, so no version has them yet.
    let stored = was_there && tables == original;
    let version = version.filter(|_| stored);
    let model = Arc::clone(&config.model);
    // The next transaction that writes still has to remove the unused schemas.
    let removal = if only_reads { SchemaRemoval::Never } else { config.removal };
    let all_read = only_reads && previous.is_none_or(|last| last.all_read);
    let now = LastOpen { model, removal, all_read, bundle, schema, changed: false };
    let opened = OpenedSchema { wrote: !stored, ..now.opened() };
    // The lock is taken only now, so that other threads can open meanwhile.
    let mut last = state.last();
    *last = Last { open: Some(Arc::new(now)), stored, version };
    Ok(opened)
}

/// Decodes the tables. Schemas that have not changed are taken from `before`.
fn decode_after(
    before: Option<&RecordedSchemas>,
    tables: SchemaTables,
) -> Result<Arc<RecordedSchemas>> {
    let decoded = match before {
        Some(before) => before.changed_to(tables),
        None => RecordedSchemas::decode(tables),
    };
    Ok(Arc::new(decoded?))
}

/// Drops the unused schemas, then adds the configured one.
fn record(
    recorded: Arc<RecordedSchemas>,
    unused: &[SchemaIndex],
    config: &SchemaConfig,
) -> Result<Arc<RecordedSchemas>> {
    let mut reusable = Vec::new();
    let mut recorded = recorded;
    if !unused.is_empty() {
        let old = recorded.tables();
        // A schema that is dropped and recorded again keeps its document byte for byte.
        reusable = unused.iter().filter_map(|index| old.schemas.get(index).cloned()).collect();
        recorded = Arc::new(recorded.changed_to(recorded.with_removed(unused))?);
    }
    if config.model.is_empty() {
        return Ok(recorded);
    }
    match recorded.with_added([(&*config.model, config.id)], &reusable)? {
        None => Ok(recorded),
        // The tables are compared first: a schema that is recorded needs no permission.
        Some(_) if !config.allow_new => Err(SchemaError::NotAllowed { schema_id: config.id }),
        Some(tables) => Ok(Arc::new(recorded.changed_to(tables)?)),
    }
}

/// The schemas that have no objects, except those this process works with in `store`. Costs one
/// seek, and up to one more for each schema that has objects.
fn unused_schemas(
    kv: &dyn KvRead,
    recorded: &RecordedSchemas,
    store: Option<StoreId>,
) -> Result<Vec<SchemaIndex>> {
    let mut unused = Vec::new();
    let mut schemas = recorded.schemas().iter().peekable();
    while let Some(first) = schemas.peek() {
        let min = object_schema_prefix(first.index);
        // One seek finds the next schema with objects, however many without any come before it.
        let found = kv.at_least(&min, OBJECT_SCHEMA_INDEX_SPAN.max)?;
        // Schemas whose keys would all come before this one have no objects.
        let key = found.as_ref().map(|(key, _)| &key[..]);
        let is_before = |prefix: &[u8]| match (key, prefix_end(prefix)) {
            (Some(key), Some(end)) => *key >= *end,
            (key, _) => key.is_none(),
        };
        while let Some(schema) =
            schemas.next_if(|schema| is_before(&object_schema_prefix(schema.index)))
        {
            unused.push(schema);
        }
        // If the key found belongs to this schema, the schema has objects.
        schemas.next_if(|schema| {
            key.is_some_and(|key| key.starts_with(&object_schema_prefix(schema.index)))
        });
    }
    // Another part of this process may be about to create objects of them.
    unused.retain(|schema| !is_used_by_process(schema.id, store));
    Ok(unused.into_iter().map(|schema| schema.index).collect())
}

/// Checks that the store is a database of the known format. Turns an empty store into one. Returns
/// whether it was one already.
fn check_format(kv: &mut dyn KvWrite, config: &SchemaConfig) -> Result<bool> {
    let version = match kv.at_least(META_DATA_SPAN.min, META_DATA_SPAN.max)? {
        Some((key, value)) if *key == *FORMAT_VERSION_KEY => Some(value.to_vec()),
        Some((key, value)) if *key == *LEDGER_KEY && is_ledger(&value) => {
            return Err(SchemaError::Ledger);
        }
        Some((key, _)) if !is_user_meta_data(&key) => {
            return Err(SchemaError::NotPermazen { key: key.to_vec() });
        }
        // Only user meta-data may be in a store that is no database yet.
        _ => None,
    };
    if let Some(version) = version {
        // A load writes this first, so only a part of its objects may be here.
        if version.starts_with(LOADING) {
            return Err(SchemaError::LoadUnfinished);
        }
        let mut reader = Reader::new(&version);
        return match uint::read(&mut reader) {
            Ok(FORMAT_VERSION) if reader.is_empty() => Ok(true),
            Ok(other) if reader.is_empty() => {
                Err(SchemaError::UnknownFormatVersion { version: other.to_string() })
            }
            _ => Err(SchemaError::UnknownFormatVersion { version: format!("0x{}", Hex(&version)) }),
        };
    }
    // A store with other data must not become a database. As in Java, keys from FF on are noticed
    // only if no other key comes first.
    let first = kv.at_least(&[], None)?.map(|(key, _)| key.to_vec());
    let last = kv.at_most(&[], Some(&[0xff]))?.map(|(key, _)| key.to_vec());
    for key in [first, last].into_iter().flatten() {
        if !is_user_meta_data(&key) {
            return Err(SchemaError::NotPermazen { key });
        }
    }
    // This comes before the format version is put, which would make this store a database.
    if !config.model.is_empty() && !config.allow_new {
        return Err(SchemaError::NotAllowed { schema_id: config.id });
    }
    let mut version = Vec::new();
    uint::write(FORMAT_VERSION, &mut version);
    kv.put(FORMAT_VERSION_KEY, &version)?;
    Ok(false)
}

fn is_user_meta_data(key: &[u8]) -> bool {
    key.starts_with(&[META_DATA, USER_META_DATA])
}

/// Reads and decodes the recorded schemas. Needs no encoding registry and changes nothing. For
/// tools.
///
/// # Errors
/// [`SchemaError::NotPermazen`], [`SchemaError::UnknownFormatVersion`] and
/// [`SchemaError::Inconsistent`].
pub fn read_schemas(kv: &dyn KvRead) -> Result<RecordedSchemas> {
    RecordedSchemas::decode(SchemaTables::read(kv)?)
}
