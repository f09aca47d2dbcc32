//! Reading the recorded schemas of a damaged database, as far as they can be read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use permazen_kv::{Direction, KvRead};

use super::bundle::SchemaBundle;
use super::encodings::UnknownEncodings;
use super::error::SchemaError;
use super::model::SchemaModel;
use super::recorded_schemas::{assign_storage_ids, decode_model, parse_storage_id_value};
use super::schema_id::SchemaId;
use super::tables::SchemaTables;
use crate::encoding::{EncodingRegistry, string};
use crate::id::StorageId;
use crate::layout::{SchemaIndex, TABLES_SPAN, schema_table_key, storage_id_table_key};

/// The recorded schemas of a database that may be damaged.
#[derive(Debug)]
#[non_exhaustive]
pub struct UsableSchemas {
    /// The schemas that can be used. They are for reading only: they were decoded from other tables
    /// than the stored ones.
    pub schemas: Arc<SchemaBundle>,
    /// The recorded schemas that cannot be used, ascending.
    pub unusable: Vec<SchemaIndex>,
    /// Why others cannot be used, in the order of their keys.
    pub problems: Vec<SchemaError>,
}

/// Reads the recorded schemas, and leaves out the damaged ones: for tools that look at databases
/// that cannot be opened. A storage ID that is missing in its table is taken from a schema that
/// asks for it. Values whose encoding is not registered are opaque bytes
/// ([`UnknownEncodings::Carry`]). Costs one scan of the two tables.
///
/// # Errors
/// Only those of the store.
pub fn read_usable_schemas(
    kv: &dyn KvRead,
    registry: &EncodingRegistry,
) -> permazen_kv::Result<UsableSchemas> {
    let mut usable = Usable::default();
    for pair in kv.scan(TABLES_SPAN, Direction::Forward)? {
        let (key, value) = pair?;
        if let Err(problem) = usable.tables.insert(&key, &value) {
            usable.problems.push(problem);
        }
    }
    let recorded: Vec<_> = usable.tables.schemas.keys().copied().collect();
    usable.read_storage_ids();
    let models = usable.read_models();
    usable.add_storage_ids_asked_for(&models);
    usable.keep_complete(&models, registry);
    let Usable { tables, mut problems, .. } = usable;
    let schemas = SchemaBundle::decode(tables, registry, UnknownEncodings::Carry);
    let schemas = schemas.or_else(|problem| {
        problems.push(problem);
        // Each schema is usable by itself, but they contradict each other. Then none is used.
        let nothing = SchemaTables::default();
        SchemaBundle::decode(nothing, registry, UnknownEncodings::Carry)
    });
    match schemas {
        Ok(schemas) => {
            let is_unusable = |index: &SchemaIndex| schemas.schema(*index).is_none();
            // Schemas may also be left out because they contradict others.
            let unusable = recorded.into_iter().filter(is_unusable).collect();
            Ok(UsableSchemas { schemas: Arc::new(schemas), unusable, problems })
        }
        Err(impossible) => Err(permazen_kv::KvError::IllegalState(impossible.to_string())),
    }
}

/// The tables without the entries that turned out to be unusable.
#[derive(Default)]
struct Usable {
    tables: SchemaTables,
    storage_ids: HashMap<SchemaId, StorageId>,
    problems: Vec<SchemaError>,
}

type Models = Vec<(SchemaIndex, Arc<SchemaModel>)>;

impl Usable {
    fn read_storage_ids(&mut self) {
        let Usable { tables, storage_ids, problems } = self;
        tables.storage_ids.retain(|&id, value| {
            let what = match parse_storage_id_value(value) {
                Ok(item) => match storage_ids.get(&item) {
                    None => {
                        storage_ids.insert(item, id);
                        return true;
                    }
                    // One item with two storage IDs would have its pairs under both. The first one
                    // counts.
                    Some(other) => format!("{item} has storage IDs {other} and {id}"),
                },
                Err(error) => format!("bad entry of storage ID {id}: {error}"),
            };
            problems.push(SchemaError::inconsistent(what, &storage_id_table_key(id)));
            false
        });
    }

    fn read_models(&mut self) -> Models {
        let Usable { tables, problems, .. } = self;
        let (mut models, mut ids) = (Vec::new(), HashMap::new());
        tables.schemas.retain(|&index, document| {
            let problem = match decode_model(index, document) {
                Ok(model) => match ids.insert(model.schema_id(), index) {
                    None => {
                        models.push((index, Arc::new(model)));
                        return true;
                    }
                    Some(other) => {
                        // Objects of both would look alike, and nothing says which of the two is
                        // meant.
                        let what = format!("schemas {other} and {index} are the same");
                        SchemaError::inconsistent(what, &schema_table_key(index))
                    }
                },
                Err(problem) => problem,
            };
            problems.push(problem);
            false
        });
        models
    }

    fn add_storage_ids_asked_for(&mut self, models: &Models) {
        for item in models.iter().flat_map(|(_, model)| model.items()) {
            let Some(id) = item.storage_id() else { continue };
            let item = item.schema_id();
            // Only where nothing contradicts it: what is recorded says which pairs are there.
            if !self.tables.storage_ids.contains_key(&id) && !self.storage_ids.contains_key(&item) {
                let mut value = Vec::new();
                string::write(&item.to_string(), &mut value);
                self.tables.storage_ids.insert(id, value.into());
                self.storage_ids.insert(item, id);
            }
        }
    }

    /// Removes schemas that have an item without a storage ID or without an encoding, and storage
    /// IDs that no other schema has.
    fn keep_complete(&mut self, models: &Models, registry: &EncodingRegistry) {
        let mut used = HashSet::new();
        for (index, model) in models {
            let ids = assign_storage_ids(*index, model, &self.storage_ids);
            let resolved = ids.and_then(|ids| {
                let ids: HashSet<_> = ids.iter().map(|&(_, id)| id).collect();
                let mut alone = self.tables.clone();
                // Each schema is tried by itself, so that a damaged one does not take the others
                // with it.
                alone.schemas.retain(|other, _| other == index);
                alone.storage_ids.retain(|id, _| ids.contains(id));
                SchemaBundle::decode(alone, registry, UnknownEncodings::Carry)?;
                Ok(ids)
            });
            match resolved {
                Ok(ids) => used.extend(ids),
                Err(problem) => {
                    self.tables.schemas.remove(index);
                    self.problems.push(problem);
                }
            }
        }
        // Entries that no schema uses would make the decoding of the tables fail.
        self.tables.storage_ids.retain(|id, _| used.contains(id));
    }
}
