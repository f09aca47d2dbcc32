//! The schemas recorded in a database, decoded and checked as far as that goes without an encoding
//! registry, and how one is added or removed.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::compress::{deflate, inflate, java_can_read_length};
use super::error::{Result, SchemaError};
use super::model::SchemaModel;
use super::schema_id::SchemaId;
use super::tables::SchemaTables;
use super::xml::XmlForm;
use crate::encoding::{Reader, string, uint};
use crate::id::StorageId;
use crate::layout::{SchemaIndex, schema_table_key, storage_id_table_key};

/// All schemas recorded in a database, without their encodings.
#[derive(Debug, Clone)]
pub struct RecordedSchemas {
    tables: Arc<SchemaTables>,
    schemas: Vec<RecordedSchema>,
    storage_ids: HashMap<SchemaId, StorageId>,
}

/// A recorded schema.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordedSchema {
    /// Under which it is recorded.
    pub index: SchemaIndex,
    /// Its id.
    pub id: SchemaId,
    /// Its model as recorded: with those storage IDs that were asked for explicitly.
    pub model: Arc<SchemaModel>,
    /// Id and storage ID of each of its items, in visit order.
    pub items: Arc<[(SchemaId, StorageId)]>,
}

impl RecordedSchema {
    /// The model with the storage ID of every item filled in.
    pub fn model_with_storage_ids(&self) -> SchemaModel {
        let mut ids = self.items.iter().map(|&(_, storage_id)| storage_id);
        self.model.with_storage_ids(|_| ids.next())
    }
}

impl RecordedSchemas {
    /// Decodes and checks the tables.
    ///
    /// # Errors
    /// [`SchemaError::Inconsistent`] if they are damaged or contradict themselves.
    pub fn decode(tables: impl Into<Arc<SchemaTables>>) -> Result<RecordedSchemas> {
        RecordedSchemas::decode_after(None, tables)
    }

    /// As [`RecordedSchemas::decode`]; what stands in `before` just the same is taken over from there.
    pub(super) fn decode_after(
        before: Option<&RecordedSchemas>,
        tables: impl Into<Arc<SchemaTables>>,
    ) -> Result<RecordedSchemas> {
        let tables = tables.into();
        let storage_ids = decode_storage_ids(before, &tables)?;
        let mut schemas = Vec::with_capacity(tables.schemas.len());
        for (&index, compressed) in &tables.schemas {
            match before.and_then(|before| before.same(index, compressed, &storage_ids)) {
                Some(schema) => schemas.push(schema.clone()),
                None => schemas.push(decode_schema(index, compressed, &storage_ids)?),
            }
        }
        let mut by_id = HashMap::new();
        for RecordedSchema { index, id, .. } in &schemas {
            if let Some(other) = by_id.insert(*id, *index) {
                let what = format!("schemas {other} and {index} are the same");
                return Err(SchemaError::inconsistent(what, &schema_table_key(*index)));
            }
        }
        for schema in &mut schemas {
            // No schema is without items; those taken over have theirs.
            if schema.items.is_empty() {
                assign_storage_ids(schema, &storage_ids)?;
            }
        }
        let recorded = RecordedSchemas { tables, schemas, storage_ids };
        recorded.check_all_used()?;
        Ok(recorded)
    }

    /// The schema of that index, if its document is this one and its items have these storage IDs.
    fn same(
        &self,
        index: SchemaIndex,
        compressed: &[u8],
        storage_ids: &HashMap<SchemaId, StorageId>,
    ) -> Option<&RecordedSchema> {
        if self.tables.schemas.get(&index)? != compressed {
            return None;
        }
        let at = self.schemas.binary_search_by_key(&index, |schema| schema.index).ok()?;
        let schema = self.schemas.get(at)?;
        let same = |(item, id): &(SchemaId, StorageId)| storage_ids.get(item) == Some(id);
        schema.items.iter().all(same).then_some(schema)
    }

    /// The tables they were decoded from.
    pub fn tables(&self) -> &Arc<SchemaTables> {
        &self.tables
    }

    /// The schemas by ascending index.
    pub fn schemas(&self) -> &[RecordedSchema] {
        &self.schemas
    }

    /// The schema of that id.
    pub fn find(&self, id: SchemaId) -> Option<&RecordedSchema> {
        self.schemas.iter().find(|schema| schema.id == id)
    }

    /// The storage ID of the item of that id, in whatever schema.
    pub fn storage_id(&self, item: SchemaId) -> Option<StorageId> {
        self.storage_ids.get(&item).copied()
    }

    /// The tables with valid models, given with their ids, added one after the other; `None` if that
    /// changes nothing.
    ///
    /// `reusable` are compressed documents to take over as they are if one is that of a model.
    ///
    /// # Errors
    /// [`SchemaError::StorageIdConflict`] if an explicit storage ID contradicts the tables.
    pub(super) fn with_added<'m>(
        &self,
        models: impl IntoIterator<Item = (&'m SchemaModel, SchemaId)>,
        reusable: &[Vec<u8>],
    ) -> Result<Option<SchemaTables>> {
        let mut adding = Adding {
            recorded: &self.schemas,
            tables: self.tables.to_change(),
            schemas: self.schemas.iter().map(|schema| schema.id).collect(),
            storage_ids: self.storage_ids.clone(),
            free_schema: 1,
            free_storage_id: 1,
            changed: false,
        };
        for (model, id) in models {
            adding.add(model, id, reusable)?;
        }
        Ok(adding.changed.then_some(adding.tables))
    }

    /// The tables without the schemas of these indexes, and without the storage IDs only they use.
    pub(super) fn with_removed(&self, indexes: &[SchemaIndex]) -> SchemaTables {
        let mut tables = self.tables.to_change();
        tables.schemas.retain(|index, _| !indexes.contains(index));
        let used: HashSet<StorageId> = self
            .schemas
            .iter()
            .filter(|schema| !indexes.contains(&schema.index))
            .flat_map(|schema| schema.items.iter().map(|&(_, storage_id)| storage_id))
            .collect();
        tables.storage_ids.retain(|id, _| used.contains(id));
        tables
    }

    fn check_all_used(&self) -> Result<()> {
        let used: HashSet<StorageId> = self
            .schemas
            .iter()
            .flat_map(|schema| schema.items.iter().map(|&(_, storage_id)| storage_id))
            .collect();
        match self.tables.storage_ids.keys().find(|id| !used.contains(id)) {
            None => Ok(()),
            Some(&id) => {
                let what = format!("no recorded schema uses storage ID {id}");
                Err(SchemaError::inconsistent(what, &storage_id_table_key(id)))
            }
        }
    }
}

/// Tables to which schemas are being added.
struct Adding<'r> {
    /// What they hold already.
    recorded: &'r [RecordedSchema],
    tables: SchemaTables,
    schemas: HashSet<SchemaId>,
    storage_ids: HashMap<SchemaId, StorageId>,
    /// Below these all numbers are taken.
    free_schema: u32,
    free_storage_id: u32,
    changed: bool,
}

impl Adding<'_> {
    fn add(&mut self, model: &SchemaModel, id: SchemaId, reusable: &[Vec<u8>]) -> Result<()> {
        if self.schemas.insert(id) {
            let index = self.free_schema_index().ok_or_else(table_full)?;
            self.tables.schemas.insert(index, compress(model, reusable));
            self.changed = true;
        }
        let mut items: Vec<_> = model.items().map(|item| (item.schema_id(), item)).collect();
        items.sort_by_key(|(_, item)| Reverse(item.storage_id()));
        for (schema_id, item) in items {
            let wanted = item.storage_id();
            let conflict = |wanted: StorageId, reason| {
                Err(SchemaError::StorageIdConflict {
                    item: item.to_string(),
                    wanted: wanted.get(),
                    reason,
                })
            };
            let assigned = match (self.storage_ids.get(&schema_id), wanted) {
                (Some(&known), Some(wanted)) if known != wanted => {
                    return conflict(
                        wanted,
                        format!("the database has {known} for it: ask for {known}, or for none"),
                    );
                }
                (Some(_), _) => continue,
                (None, Some(wanted)) => {
                    if let Some(taken) = self.tables.storage_ids.get(&wanted) {
                        let owner = self.owner(taken);
                        return conflict(
                            wanted,
                            format!(
                                "the database has it for {owner}: ask for another, or for none"
                            ),
                        );
                    }
                    if item.asks_for_too_large_an_id() {
                        return conflict(
                            wanted,
                            format!(
                                "Java cannot list the objects of a type with it: ask for at most \
                                 {}, or for none",
                                StorageId::MAX - 1
                            ),
                        );
                    }
                    wanted
                }
                (None, None) => self.free_storage_id().ok_or_else(table_full)?,
            };
            let mut value = Vec::with_capacity(48);
            string::write(&schema_id.to_string(), &mut value);
            self.tables.storage_ids.insert(assigned, value);
            self.storage_ids.insert(schema_id, assigned);
            self.changed = true;
        }
        Ok(())
    }

    /// The path of a recorded item with this entry in the table of storage IDs, or else its id.
    fn owner(&self, entry: &[u8]) -> String {
        let Ok(id) = parse_storage_id_value(entry) else { return "another item".to_owned() };
        let mut items = self.recorded.iter().flat_map(|schema| {
            schema.model.items().zip(&*schema.items).filter(|(_, (known, _))| *known == id)
        });
        items.next().map_or_else(|| id.to_string(), |(item, _)| item.to_string())
    }

    /// The lowest schema index without entry.
    fn free_schema_index(&mut self) -> Option<SchemaIndex> {
        let taken = &self.tables.schemas;
        lowest(&mut self.free_schema, SchemaIndex::new, |index| !taken.contains_key(index))
    }

    /// The lowest storage ID without entry.
    fn free_storage_id(&mut self) -> Option<StorageId> {
        let taken = &self.tables.storage_ids;
        lowest(&mut self.free_storage_id, StorageId::new, |id| !taken.contains_key(id))
    }
}

/// The first number from `next` on that is free; moves `next` past it.
fn lowest<T>(
    next: &mut u32,
    make: impl Fn(u32) -> Option<T>,
    is_free: impl Fn(&T) -> bool,
) -> Option<T> {
    while *next <= uint::MAX {
        let number = make(*next);
        *next += 1;
        if let Some(number) = number.filter(&is_free) {
            return Some(number);
        }
    }
    None
}

fn decode_storage_ids(
    before: Option<&RecordedSchemas>,
    tables: &SchemaTables,
) -> Result<HashMap<SchemaId, StorageId>> {
    let known = before.filter(|before| {
        let same = |(id, value): (&StorageId, &Vec<u8>)| tables.storage_ids.get(id) == Some(value);
        before.tables.storage_ids.iter().all(same)
    });
    let mut ids = known.map(|known| known.storage_ids.clone()).unwrap_or_default();
    for (&storage_id, value) in &tables.storage_ids {
        if known.is_some_and(|known| known.tables.storage_ids.contains_key(&storage_id)) {
            continue;
        }
        let wrong = |what| SchemaError::inconsistent(what, &storage_id_table_key(storage_id));
        let schema_id = parse_storage_id_value(value)
            .map_err(|error| wrong(format!("bad entry of storage ID {storage_id}: {error}")))?;
        if let Some(other) = ids.insert(schema_id, storage_id) {
            return Err(wrong(format!("{schema_id} has storage IDs {other} and {storage_id}")));
        }
    }
    Ok(ids)
}

fn parse_storage_id_value(value: &[u8]) -> std::result::Result<SchemaId, String> {
    let mut reader = Reader::new(value);
    let text = string::read(&mut reader).map_err(|error| error.to_string())?;
    if !reader.is_empty() {
        return Err("trailing bytes".to_owned());
    }
    text.parse().map_err(|error: super::ParseSchemaIdError| error.to_string())
}

fn decode_schema(
    index: SchemaIndex,
    compressed: &[u8],
    storage_ids: &HashMap<SchemaId, StorageId>,
) -> Result<RecordedSchema> {
    let wrong = |what: &dyn std::fmt::Display| {
        let what = format!("recorded schema {index}: {what}");
        SchemaError::inconsistent(what, &schema_table_key(index))
    };
    let xml = inflate(compressed).map_err(|error| wrong(&error))?;
    let model = SchemaModel::from_xml(&xml).map_err(|error| wrong(&error))?;
    model.validate().map_err(|error| wrong(&error))?;
    if model.is_empty() {
        return Err(wrong(&"has no object types"));
    }
    for object_type in model.object_types() {
        let name = object_type.name();
        if !storage_ids.contains_key(&SchemaId::of_type_name(name)) {
            return Err(wrong(&format!("object type {name:?} has no storage ID")));
        }
    }
    let id = model.schema_id();
    Ok(RecordedSchema { index, id, model: Arc::new(model), items: Arc::default() })
}

fn assign_storage_ids(
    schema: &mut RecordedSchema,
    storage_ids: &HashMap<SchemaId, StorageId>,
) -> Result<()> {
    let mut items = Vec::new();
    for item in schema.model.items() {
        let wrong = |what: String| {
            let what = format!("recorded schema {}: {}: {what}", schema.index, item.location());
            SchemaError::inconsistent(what, &schema_table_key(schema.index))
        };
        let id = item.schema_id();
        let Some(&storage_id) = storage_ids.get(&id) else {
            return Err(wrong("has no storage ID".to_owned()));
        };
        if let Some(explicit) = item.storage_id()
            && explicit != storage_id
        {
            let what = format!("asks for storage ID {explicit} but has {storage_id}");
            return Err(wrong(what));
        }
        items.push((id, storage_id));
    }
    schema.items = items.into();
    Ok(())
}

/// The compressed document of a model. A reusable one with the same content is preferred, so that
/// recording a schema again leaves the store as it was.
fn compress(model: &SchemaModel, reusable: &[Vec<u8>]) -> Vec<u8> {
    let xml = model.to_xml(XmlForm::STORED).into_bytes();
    reusable
        .iter()
        .find(|bytes| {
            java_can_read_length(bytes.len()) && inflate(bytes).is_ok_and(|other| other == xml)
        })
        .cloned()
        .unwrap_or_else(|| deflate(&xml))
}

fn table_full() -> SchemaError {
    SchemaError::Inconsistent {
        what: "no free number is left in a schema table".to_owned(),
        key: None,
    }
}
