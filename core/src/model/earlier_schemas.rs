//! Schemas that are recorded before that of the models, so that they have the storage IDs they ask
//! for.

use super::error::{Error, Result};
use crate::object::{self, TransactionConfig};
use crate::schema::{ResolvedPart, SchemaBundle, SchemaError, SchemaId, SchemaModel};

/// Begins a transaction that records `earlier` and then `own`, even if new schemas are not allowed;
/// `None` if all of them are recorded. It still has the empty schema.
pub(super) fn recording_first(
    config: &TransactionConfig,
    earlier: &[SchemaModel],
    own: Option<&SchemaModel>,
    begin: impl Fn(&TransactionConfig) -> object::Result<object::Transaction>,
) -> Result<Option<object::Transaction>> {
    if earlier.is_empty() {
        return Ok(None);
    }
    let all: Vec<_> = earlier.iter().chain(own).cloned().collect();
    let config = config.clone().of_empty_schema();
    let bundle = begin(&config.clone().read_only())?.bundle();
    if all.iter().all(|model| bundle.schema_by_id(model.schema_id()).is_some()) {
        return Ok(None);
    }
    let tx = begin(&config)?;
    record(&tx, &all)?;
    Ok(Some(tx))
}

/// Records schemas of a graph.
pub(super) fn record(tx: &object::Transaction, models: &[SchemaModel]) -> Result<()> {
    let recorded = tx.add_schemas(models);
    recorded.map(drop).map_err(|error| {
        let is_conflict =
            matches!(error, object::Error::Schema(SchemaError::StorageIdConflict { .. }));
        let reason = is_conflict.then(|| contradiction(&tx.bundle(), models)).flatten();
        reason.map_or(error.into(), |reason| Error::GraphIds { reason })
    })
}

/// The first object type for which a model asks for another storage ID than the database can give
/// it.
fn contradiction(bundle: &SchemaBundle, models: &[SchemaModel]) -> Option<String> {
    let types = models.iter().flat_map(SchemaModel::object_types);
    { types }.find_map(|object_type| {
        let (name, wanted) = (object_type.name(), object_type.storage_id()?);
        match bundle.storage_id(SchemaId::of_type_name(name)) {
            Some(known) if known == wanted => None,
            Some(known) => Some(format!(
                "type {name:?} has storage ID {wanted} in the graph and {known} in the database"
            )),
            None => {
                let occurrence = bundle.item(wanted)?.representative()?;
                let of = &occurrence.object_type.name;
                let owner = match &occurrence.part {
                    ResolvedPart::ObjectType => format!("type {of:?}"),
                    ResolvedPart::Field(field) => format!("field {of}.{}", field.full_name),
                    ResolvedPart::Index(index) => format!("index {of}.{}", index.name),
                };
                Some(format!(
                    "type {name:?} has storage ID {wanted} in the graph, and the database has it for {owner}"
                ))
            }
        }
    })
}
