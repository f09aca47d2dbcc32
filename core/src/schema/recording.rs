//! Opening a database with a schema: recognising it, recording it, and dropping schemas no object
//! uses any more (docs/src/schemas.md#recording-and-garbage-collection).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use permazen_kv::{Hex, KvRead, KvWrite};

use super::bundle::SchemaBundle;
use super::encodings::UnknownEncodings;
use super::error::{Result, SchemaError};
use super::model::SchemaModel;
use super::recorded::RecordedSchemas;
use super::resolved::Schema;
use super::schema_id::SchemaId;
use super::tables::SchemaTables;
use crate::encoding::{EncodingRegistry, Reader, uint};
use crate::layout::{
    FORMAT_VERSION, FORMAT_VERSION_KEY, META_DATA, META_DATA_SPAN, SchemaIndex, USER_META_DATA,
    object_schema_prefix, prefix_end,
};

/// When opening a transaction drops recorded schemas of which there are no objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SchemaRemoval {
    /// Never.
    Never,
    /// When the first transaction of a [`DatabaseState`] is opened.
    Once,
    /// Then, and whenever the schema asked for, or what is recorded, is not as it was in the
    /// previous transaction.
    #[default]
    ConfigChange,
    /// Always.
    Always,
}

/// With which schema a transaction is opened, and what may be done to the recorded ones.
#[derive(Debug, Clone)]
pub struct SchemaConfig {
    model: Arc<SchemaModel>,
    id: SchemaId,
    allow_new: bool,
    removal: SchemaRemoval,
}

impl SchemaConfig {
    /// Opens with this schema, recording it if necessary, and drops unused schemas when the
    /// configuration changes.
    ///
    /// # Errors
    /// [`SchemaError::Invalid`] if the model is not valid.
    pub fn new(model: impl Into<Arc<SchemaModel>>) -> Result<Self> {
        let model = model.into();
        model.validate()?;
        let id = model.schema_id();
        Ok(SchemaConfig { model, id, allow_new: true, removal: SchemaRemoval::default() })
    }

    /// Opens with the empty schema, which sees the objects of all recorded ones and can create
    /// none.
    pub fn empty() -> Self {
        let model = Arc::new(SchemaModel::new());
        let id = model.schema_id();
        SchemaConfig { model, id, allow_new: true, removal: SchemaRemoval::default() }
    }

    /// Whether the schema may be recorded if it is not yet. Without this, opening with a schema
    /// that is not recorded is an error.
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

    /// The schema to open with.
    pub fn model(&self) -> &Arc<SchemaModel> {
        &self.model
    }

    /// The id of the schema to open with.
    pub fn schema_id(&self) -> SchemaId {
        self.id
    }
}

/// What a program remembers of a database between transactions: the decoded schemas, so that they
/// need not be decoded again, and whether schemas were cleaned up before.
///
/// One of it belongs to each opened database; all transactions share it.
#[derive(Debug)]
pub struct DatabaseState {
    registry: Arc<EncodingRegistry>,
    unknown_encodings: UnknownEncodings,
    last: Mutex<Option<Arc<LastOpen>>>,
}

/// The previous successful opening.
#[derive(Debug)]
struct LastOpen {
    model: Arc<SchemaModel>,
    removal: SchemaRemoval,
    bundle: Arc<SchemaBundle>,
    schema: Arc<Schema>,
}

impl LastOpen {
    fn is_like(&self, config: &SchemaConfig) -> bool {
        self.removal == config.removal
            && (Arc::ptr_eq(&self.model, &config.model) || self.model == config.model)
    }

    fn opened(&self) -> OpenedSchema {
        OpenedSchema { bundle: Arc::clone(&self.bundle), schema: Arc::clone(&self.schema) }
    }
}

/// The schemas a transaction works with.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenedSchema {
    /// All recorded schemas.
    pub bundle: Arc<SchemaBundle>,
    /// The one the transaction was opened with.
    pub schema: Arc<Schema>,
}

impl DatabaseState {
    /// The state of a database that was not opened before.
    pub fn new(registry: Arc<EncodingRegistry>) -> Self {
        let unknown_encodings = UnknownEncodings::default();
        DatabaseState { registry, unknown_encodings, last: Mutex::new(None) }
    }

    /// Decides about encodings that are not registered.
    #[must_use]
    pub fn unknown_encodings(mut self, unknown: UnknownEncodings) -> Self {
        self.unknown_encodings = unknown;
        self
    }

    /// What was decided about encodings that are not registered.
    pub(crate) fn answer_to_unknown(&self) -> UnknownEncodings {
        self.unknown_encodings
    }

    /// The encodings known.
    pub fn registry(&self) -> &Arc<EncodingRegistry> {
        &self.registry
    }

    pub(crate) fn resolve(&self, recorded: RecordedSchemas) -> Result<SchemaBundle> {
        SchemaBundle::resolve(recorded, &self.registry, self.unknown_encodings)
    }

    fn last(&self) -> MutexGuard<'_, Option<Arc<LastOpen>>> {
        // What is inside is replaced as a whole, so a panic elsewhere leaves nothing half done.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prepares a transaction for work with a schema: makes sure that the store is a database, reads
/// the recorded schemas, drops unused ones and records the given one, as `config` says.
///
/// Costs one scan of the recorded schemas if they and `config` are as in the previous call; more
/// only if something changed or [`SchemaRemoval::Always`] asks for it.
///
/// # Errors
/// [`SchemaError::NotPermazen`], [`SchemaError::UnknownFormatVersion`],
/// [`SchemaError::Inconsistent`] about the store; [`SchemaError::Invalid`] if an encoding is not
/// registered; [`SchemaError::NotAllowed`] and [`SchemaError::StorageIdConflict`] about the schema
/// asked for. Roll the transaction back then: nothing useful was written.
pub fn open_schema(
    kv: &mut dyn KvWrite,
    state: &DatabaseState,
    config: &SchemaConfig,
) -> Result<OpenedSchema> {
    let last = state.last().clone();
    let known = match &last {
        Some(last) if last.bundle.tables().is_all_stored(kv)? => Some(last),
        _ => None,
    };
    let hit = known.filter(|last| last.is_like(config));
    let should_remove = match config.removal {
        SchemaRemoval::Never => false,
        SchemaRemoval::Once => last.is_none(),
        SchemaRemoval::ConfigChange => hit.is_none(),
        SchemaRemoval::Always => true,
    };
    if let Some(hit) = hit
        && !should_remove
    {
        return Ok(hit.opened());
    }
    let recorded = match known {
        Some(last) => last.bundle.recorded().clone(),
        None => {
            check_format(kv, config)?;
            RecordedSchemas::decode(SchemaTables::read_checked(kv)?)?
        }
    };
    let unused = if should_remove { unused_schemas(kv, &recorded)? } else { Vec::new() };
    if let Some(hit) = hit
        && unused.is_empty()
    {
        return Ok(hit.opened());
    }
    let original = Arc::clone(recorded.tables());
    let recorded = record(recorded, &unused, config)?;
    let tables = Arc::clone(recorded.tables());
    let bundle = match known {
        Some(last) if tables == original => Arc::clone(&last.bundle),
        _ => Arc::new(state.resolve(recorded)?),
    };
    let schema = match bundle.schema_by_id(config.id) {
        Some(schema) => Arc::clone(schema),
        None => return Err(SchemaError::UnknownSchema(config.id.to_string())),
    };
    if tables != original {
        tables.write(kv)?;
    }
    let model = Arc::clone(&config.model);
    let now = LastOpen { model, removal: config.removal, bundle, schema };
    let opened = now.opened();
    *state.last() = Some(Arc::new(now));
    Ok(opened)
}

/// Drops the unused schemas, then adds the configured one.
fn record(
    recorded: RecordedSchemas,
    unused: &[SchemaIndex],
    config: &SchemaConfig,
) -> Result<RecordedSchemas> {
    let mut reusable = Vec::new();
    let mut recorded = recorded;
    if !unused.is_empty() {
        let old = recorded.tables();
        reusable = unused.iter().filter_map(|index| old.schemas.get(index).cloned()).collect();
        recorded = RecordedSchemas::decode(recorded.with_removed(unused))?;
    }
    if config.model.is_empty() {
        return Ok(recorded);
    }
    match recorded.with_added([(&*config.model, config.id)], &reusable)? {
        None => Ok(recorded),
        Some(_) if !config.allow_new => Err(SchemaError::NotAllowed { schema_id: config.id }),
        Some(tables) => RecordedSchemas::decode(tables),
    }
}

fn unused_schemas(kv: &dyn KvRead, recorded: &RecordedSchemas) -> Result<Vec<SchemaIndex>> {
    let mut unused = Vec::new();
    for schema in recorded.schemas() {
        if !is_in_use(kv, schema.index)? {
            unused.push(schema.index);
        }
    }
    Ok(unused)
}

/// Whether there is an object of the schema. One seek.
fn is_in_use(kv: &dyn KvRead, schema: SchemaIndex) -> Result<bool> {
    let min = object_schema_prefix(schema);
    let max = prefix_end(&min);
    Ok(kv.at_least(&min, max.as_deref())?.is_some())
}

/// Makes sure that the store is a database of the known format; makes an empty store one.
fn check_format(kv: &mut dyn KvWrite, config: &SchemaConfig) -> Result<()> {
    let version = match kv.at_least(META_DATA_SPAN.min, META_DATA_SPAN.max)? {
        Some((key, value)) if *key == *FORMAT_VERSION_KEY => Some(value.to_vec()),
        Some((key, _)) if !is_user_meta_data(&key) => {
            return Err(SchemaError::NotPermazen { key: key.to_vec() });
        }
        _ => None,
    };
    if let Some(version) = version {
        let mut reader = Reader::new(&version);
        return match uint::read(&mut reader) {
            Ok(FORMAT_VERSION) if reader.is_empty() => Ok(()),
            Ok(other) if reader.is_empty() => {
                Err(SchemaError::UnknownFormatVersion { version: other.to_string() })
            }
            _ => Err(SchemaError::UnknownFormatVersion { version: format!("0x{}", Hex(&version)) }),
        };
    }
    // Other data would make it no database; keys from FF on are looked at only when they come
    // first, as Java does.
    let first = kv.at_least(&[], None)?.map(|(key, _)| key.to_vec());
    let last = kv.at_most(&[], Some(&[0xff]))?.map(|(key, _)| key.to_vec());
    for key in [first, last].into_iter().flatten() {
        if !is_user_meta_data(&key) {
            return Err(SchemaError::NotPermazen { key });
        }
    }
    if !config.model.is_empty() && !config.allow_new {
        return Err(SchemaError::NotAllowed { schema_id: config.id });
    }
    let mut version = Vec::new();
    uint::write(FORMAT_VERSION, &mut version);
    kv.put(FORMAT_VERSION_KEY, &version)?;
    Ok(())
}

fn is_user_meta_data(key: &[u8]) -> bool {
    key.starts_with(&[META_DATA, USER_META_DATA])
}

/// Records one schema inside a transaction, as [`add_schemas`].
///
/// # Errors
/// As [`add_schemas`].
pub fn add_schema(
    kv: &mut dyn KvWrite,
    state: &DatabaseState,
    bundle: &SchemaBundle,
    model: &SchemaModel,
) -> Result<Option<Arc<SchemaBundle>>> {
    add_schemas(kv, state, bundle, std::slice::from_ref(model))
}

/// Records schemas inside a transaction, one after the other, whether or not new schemas are
/// allowed. Returns the new bundle, or `None` if all were recorded before.
///
/// # Errors
/// [`SchemaError::Empty`], [`SchemaError::Invalid`], [`SchemaError::StorageIdConflict`]; nothing
/// was written then.
pub fn add_schemas(
    kv: &mut dyn KvWrite,
    state: &DatabaseState,
    bundle: &SchemaBundle,
    models: &[SchemaModel],
) -> Result<Option<Arc<SchemaBundle>>> {
    for model in models {
        model.validate()?;
        if model.is_empty() {
            return Err(SchemaError::Empty);
        }
    }
    let models = models.iter().map(|model| (model, model.schema_id()));
    let Some(tables) = bundle.recorded().with_added(models, &[])? else {
        return Ok(None);
    };
    let bundle = state.resolve(RecordedSchemas::decode(tables)?)?;
    bundle.tables().write(kv)?;
    Ok(Some(Arc::new(bundle)))
}

/// Drops a recorded schema inside a transaction. Returns the new bundle, or `None` if there is no
/// such schema.
///
/// # Errors
/// [`SchemaError::InUse`] if there are objects of it; nothing was written then.
pub fn remove_schema(
    kv: &mut dyn KvWrite,
    state: &DatabaseState,
    bundle: &SchemaBundle,
    id: SchemaId,
) -> Result<Option<Arc<SchemaBundle>>> {
    let Some(schema) = bundle.recorded().find(id) else { return Ok(None) };
    if is_in_use(kv, schema.index)? {
        return Err(SchemaError::InUse { schema_id: id });
    }
    let tables = bundle.recorded().with_removed(&[schema.index]);
    let bundle = state.resolve(RecordedSchemas::decode(tables)?)?;
    bundle.tables().write(kv)?;
    Ok(Some(Arc::new(bundle)))
}

/// Reads and decodes the recorded schemas without changing anything and without an encoding
/// registry. For tools.
///
/// # Errors
/// As [`open_schema`] about the store.
pub fn read_schemas(kv: &dyn KvRead) -> Result<RecordedSchemas> {
    RecordedSchemas::decode(SchemaTables::read(kv)?)
}
