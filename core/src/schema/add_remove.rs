//! Adds schemas to the recorded ones, and removes them, inside a transaction that is open.

use std::sync::Arc;

use permazen_kv::{KvRead, KvWrite};

use super::bundle::SchemaBundle;
use super::error::{Result, SchemaError};
use super::model::SchemaModel;
use super::opening::DatabaseState;
use super::schema_id::SchemaId;
use super::tables::SchemaTables;
use crate::layout::{SchemaIndex, object_schema_prefix, prefix_end};

/// Records a schema inside a transaction, as [`add_schemas`] does.
///
/// # Errors
/// The errors of [`add_schemas`].
pub fn add_schema(
    kv: &mut dyn KvWrite,
    state: &DatabaseState,
    bundle: &SchemaBundle,
    model: &SchemaModel,
) -> Result<Option<Arc<SchemaBundle>>> {
    add_schemas(kv, state, bundle, std::slice::from_ref(model))
}

/// Records schemas inside a transaction, one after the other, even if the configuration does not
/// allow new schemas. Returns the new bundle, or `None` if all were recorded before.
///
/// # Errors
/// [`SchemaError::Empty`], [`SchemaError::Invalid`], [`SchemaError::StorageIdConflict`]. In these
/// cases nothing was written.
pub fn add_schemas(
    kv: &mut dyn KvWrite,
    state: &DatabaseState,
    bundle: &SchemaBundle,
    models: &[SchemaModel],
) -> Result<Option<Arc<SchemaBundle>>> {
    let after = with_schemas(state, bundle, models)?;
    after.map(|after| write_over(kv, bundle, after)).transpose()
}

/// The schemas of `bundle` with these added, one after the other; `None` if it has them all.
pub(crate) fn with_schemas(
    state: &DatabaseState,
    bundle: &SchemaBundle,
    models: &[SchemaModel],
) -> Result<Option<SchemaBundle>> {
    for model in models {
        model.validate()?;
        // The empty schema has the index 0, which no pair of the table can have.
        if model.is_empty() {
            return Err(SchemaError::Empty);
        }
    }
    // The models are checked before any is added, so that an error leaves the tables as they were.
    let models = models.iter().map(|model| (model, model.schema_id()));
    let tables = bundle.recorded().with_added(models, &[])?;
    tables.map(|tables| with_tables(state, bundle, tables)).transpose()
}

fn with_tables(
    state: &DatabaseState,
    before: &SchemaBundle,
    tables: SchemaTables,
) -> Result<SchemaBundle> {
    let recorded = before.recorded().changed_to(tables)?;
    state.resolve(Some(before), Arc::new(recorded))
}

/// Replaces the tables of `before`, which are stored, by those of `after`.
fn write_over(
    kv: &mut dyn KvWrite,
    before: &SchemaBundle,
    after: SchemaBundle,
) -> Result<Arc<SchemaBundle>> {
    after.tables().write_over(before.tables(), kv)?;
    Ok(Arc::new(after))
}

/// Drops a recorded schema inside a transaction. Returns the new bundle, or `None` if there is no
/// such schema.
///
/// # Errors
/// [`SchemaError::InUse`] if the schema has objects. In this case nothing was written.
pub fn remove_schema(
    kv: &mut dyn KvWrite,
    state: &DatabaseState,
    bundle: &SchemaBundle,
    id: SchemaId,
) -> Result<Option<Arc<SchemaBundle>>> {
    let after = without_schema(kv, state, bundle, id)?;
    after.map(|after| write_over(kv, bundle, after)).transpose()
}

/// The schemas of `bundle` without that one, which must have no objects; `None` if it is not among
/// them.
pub(crate) fn without_schema(
    kv: &dyn KvRead,
    state: &DatabaseState,
    bundle: &SchemaBundle,
    id: SchemaId,
) -> Result<Option<SchemaBundle>> {
    let Some(schema) = bundle.recorded().find(id) else { return Ok(None) };
    // The objects of a schema that is gone could not be read any more.
    if is_in_use(kv, schema.index)? {
        return Err(SchemaError::InUse { schema_id: id });
    }
    with_tables(state, bundle, bundle.recorded().with_removed(&[schema.index])).map(Some)
}

/// Whether the schema has objects. One seek.
fn is_in_use(kv: &dyn KvRead, schema: SchemaIndex) -> Result<bool> {
    let min = object_schema_prefix(schema);
    let max = prefix_end(&min);
    Ok(kv.at_least(&min, max.as_deref())?.is_some())
}
