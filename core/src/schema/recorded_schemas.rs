//! [`RecordedSchemas`]: the decoded tables of the schemas that a database has, and the tables that
//! result when a schema is added or removed. All in memory, and checked as far as is possible
//! without an encoding registry. `opening.rs` reads the tables from the store and writes them;
//! `add_remove.rs` writes them too.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::compress::{deflate, inflate, java_can_read_length};
use super::error::{Result, SchemaError};
use super::model::SchemaModel;
use super::schema_id::SchemaId;
use super::tables::{SchemaTables, differences};
use super::xml::XmlForm;
use crate::encoding::{Reader, string, uint};
use crate::id::StorageId;
use crate::layout::{SchemaIndex, schema_table_key, storage_id_table_key};

/// All schemas recorded in a database, without their encodings.
#[derive(Debug, Clone, Default)]
pub struct RecordedSchemas {
    tables: Arc<SchemaTables>,
    schemas: Vec<RecordedSchema>,
    by_id: HashMap<SchemaId, SchemaIndex>,
    storage_ids: HashMap<SchemaId, StorageId>,
}

/// A recorded schema.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordedSchema {
    /// The index it is recorded under.
    pub index: SchemaIndex,
    /// Its schema ID.
    pub id: SchemaId,
    /// Its model as recorded: it has only the storage IDs that were asked for.
    pub model: Arc<SchemaModel>,
    /// The schema ID and storage ID of each of its items, in visit order.
    pub items: Arc<[(SchemaId, StorageId)]>,
}

impl RecordedSchema {
    /// The model with the storage ID of every item.
    pub fn model_with_storage_ids(&self) -> SchemaModel {
        let mut ids = self.items.iter().map(|&(_, storage_id)| storage_id);
        self.model.with_storage_ids(|_| ids.next())
    }

    /// Whether both are the same decoded schema.
    pub(super) fn is_same(&self, other: &RecordedSchema) -> bool {
        // Decoded schemas are shared, so a pointer that is equal says that nothing has changed.
        Arc::ptr_eq(&self.model, &other.model) && Arc::ptr_eq(&self.items, &other.items)
    }
}

impl RecordedSchemas {
    /// Decodes the tables and checks them.
    ///
    /// # Errors
    /// [`SchemaError::Inconsistent`] if they are damaged or contradict themselves.
    pub fn decode(tables: impl Into<Arc<SchemaTables>>) -> Result<RecordedSchemas> {
        RecordedSchemas::default().changed_to(tables)
    }

    /// Does the same as [`RecordedSchemas::decode`], but decodes and checks only the entries that
    /// differ from the tables of `self`.
    pub(crate) fn changed_to(
        &self,
        tables: impl Into<Arc<SchemaTables>>,
    ) -> Result<RecordedSchemas> {
        let tables = tables.into();
        let mut storage_ids = self.storage_ids.clone();
        let mut only_added = true;
        let mut added_ids = Vec::new();
        for (id, old, new) in differences(&self.tables.storage_ids, &tables.storage_ids) {
            if let Some(old) = old {
                only_added = false;
                // The item that had this entry may have another one now, or none.
                if let Ok(item) = parse_storage_id_value(old) {
                    storage_ids.remove(&item);
                }
            }
            added_ids.extend(new.map(|new| (id, new)));
        }
        // All old entries are gone by now: an item may have another storage ID than before.
        for (id, value) in &added_ids {
            add_storage_id(*id, value, &mut storage_ids)?;
        }
        let (mut gone, mut new) = (BTreeSet::new(), BTreeMap::new());
        for (index, before, after) in differences(&self.tables.schemas, &tables.schemas) {
            gone.extend(before.map(|_| index));
            new.extend(after.map(|document| (index, document)));
        }
        if !only_added {
            // A schema whose items have other storage IDs now, or none, must be decoded and checked
            // again.
            let same = |(item, id): &(SchemaId, StorageId)| storage_ids.get(item) == Some(id);
            for schema in self.schemas.iter().filter(|schema| !schema.items.iter().all(same)) {
                gone.insert(schema.index);
                new.extend(tables.schemas.get(&schema.index).map(|doc| (schema.index, doc)));
            }
        }
        let new =
            new.into_iter().map(|(index, document)| decode_schema(index, document, &storage_ids));
        let mut new: Vec<_> = new.collect::<Result<_>>()?;
        let mut schemas = self.schemas.clone();
        let mut by_id = self.by_id.clone();
        if !gone.is_empty() {
            only_added = false;
            schemas.retain(|schema| !gone.contains(&schema.index));
            by_id.retain(|_, index| !gone.contains(index));
        }
        for RecordedSchema { index, id, .. } in &new {
            // Two indexes for one schema would make its objects look alike in all but the index.
            if let Some(other) = by_id.insert(*id, *index) {
                let (first, second) = (other.min(*index), other.max(*index));
                let what = format!("schemas {first} and {second} are the same");
                return Err(SchemaError::inconsistent(what, &schema_table_key(second)));
            }
        }
        for schema in &mut new {
            schema.items = assign_storage_ids(schema.index, &schema.model, &storage_ids)?;
        }
        if only_added {
            // Schemas that were there before use the storage IDs that were there before.
            check_all_used(added_ids.iter().map(|(id, _)| id), &new)?;
        }
        for schema in new {
            let at = schemas.partition_point(|other| other.index < schema.index);
            schemas.insert(at, schema);
        }
        if !only_added {
            check_all_used(tables.storage_ids.keys(), &schemas)?;
        }
        Ok(RecordedSchemas { tables, schemas, by_id, storage_ids })
    }

    /// The tables that they were decoded from.
    pub fn tables(&self) -> &Arc<SchemaTables> {
        &self.tables
    }

    /// The schemas, by ascending index.
    pub fn schemas(&self) -> &[RecordedSchema] {
        &self.schemas
    }

    /// The schema with that ID.
    pub fn find(&self, id: SchemaId) -> Option<&RecordedSchema> {
        self.by_index(self.index_of(id)?)
    }

    /// The index of the schema with that ID.
    pub(super) fn index_of(&self, id: SchemaId) -> Option<SchemaIndex> {
        self.by_id.get(&id).copied()
    }

    fn by_index(&self, index: SchemaIndex) -> Option<&RecordedSchema> {
        let at = self.schemas.binary_search_by_key(&index, |schema| schema.index).ok()?;
        self.schemas.get(at)
    }

    /// The storage ID of the item with that schema ID, in any schema.
    pub fn storage_id(&self, item: SchemaId) -> Option<StorageId> {
        self.storage_ids.get(&item).copied()
    }

    /// Adds valid models to the tables, one after the other; each comes with its schema ID. `None`
    /// if that changes nothing. Storage IDs that one of them asks for are given to no other item,
    /// also not to those of the models before it.
    ///
    /// `reusable` are compressed documents. A model whose document is among them is recorded with
    /// the same bytes.
    ///
    /// # Errors
    /// [`SchemaError::StorageIdConflict`] if a storage ID that a model asks for contradicts the
    /// tables.
    pub(super) fn with_added<'m>(
        &self,
        models: impl IntoIterator<Item = (&'m SchemaModel, SchemaId)>,
        reusable: &[Arc<[u8]>],
    ) -> Result<Option<SchemaTables>> {
        let models: Vec<_> = models.into_iter().collect();
        let mut adding = Adding {
            recorded: self,
            tables: self.tables.to_change(),
            schemas: HashSet::new(),
            storage_ids: HashMap::new(),
            asked_for: AskedFor::of_several(&models),
            free_schema: 1,
            free_storage_id: 1,
            changed: false,
        };
        for (model, id) in models {
            adding.add(model, id, reusable)?;
        }
        Ok(adding.changed.then_some(adding.tables))
    }

    /// The tables without these schemas, and without the storage IDs that only they use.
    pub(super) fn with_removed(&self, indexes: &[SchemaIndex]) -> SchemaTables {
        let mut tables = self.tables.to_change();
        tables.schemas.retain(|index, _| !indexes.contains(index));
        // A storage ID stays as long as any schema has its item: objects of that schema have pairs
        // under it.
        let used: HashSet<StorageId> = self
            .schemas
            .iter()
            .filter(|schema| !indexes.contains(&schema.index))
            .flat_map(|schema| schema.items.iter().map(|&(_, storage_id)| storage_id))
            .collect();
        tables.storage_ids.retain(|id, _| used.contains(id));
        tables
    }
}

/// Refuses storage IDs that no schema uses.
fn check_all_used<'i>(
    ids: impl Iterator<Item = &'i StorageId>,
    schemas: &[RecordedSchema],
) -> Result<()> {
    let items = schemas.iter().flat_map(|schema| &*schema.items);
    let used: HashSet<StorageId> = items.map(|&(_, storage_id)| storage_id).collect();
    match { ids }.find(|id| !used.contains(id)) {
        None => Ok(()),
        Some(&id) => {
            let what = format!("no recorded schema uses storage ID {id}");
            Err(SchemaError::inconsistent(what, &storage_id_table_key(id)))
        }
    }
}

/// The storage IDs that several models ask for.
#[derive(Default)]
struct AskedFor {
    by_item: HashMap<SchemaId, StorageId>,
    all: HashSet<StorageId>,
}

impl AskedFor {
    /// For a single model there is nothing to look up: its items that ask for a storage ID come
    /// first.
    fn of_several(models: &[(&SchemaModel, SchemaId)]) -> AskedFor {
        let mut asked_for = AskedFor::default();
        // A later model may ask for a storage ID that an earlier one would be given.
        if models.len() > 1 {
            for item in models.iter().flat_map(|(model, _)| model.items()) {
                if let Some(id) = item.storage_id() {
                    asked_for.by_item.entry(item.schema_id()).or_insert(id);
                    asked_for.all.insert(id);
                }
            }
        }
        asked_for
    }
}

/// Tables to which schemas are being added.
struct Adding<'r> {
    /// The schemas that the tables hold already.
    recorded: &'r RecordedSchemas,
    tables: SchemaTables,
    /// The schemas that were added so far.
    schemas: HashSet<SchemaId>,
    storage_ids: HashMap<SchemaId, StorageId>,
    asked_for: AskedFor,
    /// All numbers below these are taken.
    free_schema: u32,
    free_storage_id: u32,
    changed: bool,
}

impl Adding<'_> {
    fn add(&mut self, model: &SchemaModel, id: SchemaId, reusable: &[Arc<[u8]>]) -> Result<()> {
        // The model may be recorded already, or be named twice.
        if self.recorded.index_of(id).is_none() && self.schemas.insert(id) {
            let index = self.free_schema_index().ok_or_else(table_full)?;
            self.tables.schemas.insert(index, compress(model, reusable));
            self.changed = true;
        }
        let mut items: Vec<_> = model.items().map(|item| (item.schema_id(), item)).collect();
        // Items that ask for a storage ID come first, so that no assigned one takes it.
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
            let known = self.recorded.storage_ids.get(&schema_id);
            let assigned = match (known.or_else(|| self.storage_ids.get(&schema_id)), wanted) {
                (Some(&known), Some(wanted)) if known != wanted => {
                    return conflict(
                        wanted,
                        format!("the database has {known} for it: ask for {known}, or for none"),
                    );
                }
                // Items of recorded schemas keep their storage IDs, whichever schema they are in.
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
                (None, None) => match self.asked_for.by_item.get(&schema_id) {
                    // A later model asks for this ID for the item. If another item has it already,
                    // that model is refused then.
                    Some(&id) if !self.tables.storage_ids.contains_key(&id) => id,
                    _ => self.free_storage_id().ok_or_else(table_full)?,
                },
            };
            let mut value = Vec::with_capacity(48);
            string::write(&schema_id.to_string(), &mut value);
            self.tables.storage_ids.insert(assigned, value.into());
            self.storage_ids.insert(schema_id, assigned);
            self.changed = true;
        }
        Ok(())
    }

    /// The path of a recorded item, found by its entry in the storage ID table. If there is no such
    /// item, its schema ID.
    fn owner(&self, entry: &[u8]) -> String {
        let Ok(id) = parse_storage_id_value(entry) else { return "another item".to_owned() };
        let mut items = self.recorded.schemas.iter().flat_map(|schema| {
            schema.model.items().zip(&*schema.items).filter(|(_, (known, _))| *known == id)
        });
        items.next().map_or_else(|| id.to_string(), |(item, _)| item.to_string())
    }

    /// The lowest schema index that is free.
    fn free_schema_index(&mut self) -> Option<SchemaIndex> {
        let taken = &self.tables.schemas;
        self.free_schema = self.free_schema.max(above(taken, SchemaIndex::get));
        lowest(&mut self.free_schema, SchemaIndex::new, |index| !taken.contains_key(index))
    }

    /// The lowest storage ID that is free.
    fn free_storage_id(&mut self) -> Option<StorageId> {
        let (taken, asked_for) = (&self.tables.storage_ids, &self.asked_for.all);
        let is_free = |id: &StorageId| !taken.contains_key(id) && !asked_for.contains(id);
        self.free_storage_id = self.free_storage_id.max(above(taken, StorageId::get));
        lowest(&mut self.free_storage_id, StorageId::new, is_free)
    }
}

/// The number after the last one that is taken, if there is no gap before it; otherwise 1.
fn above<K: Copy + Ord, V>(taken: &BTreeMap<K, V>, get: impl Fn(K) -> u32) -> u32 {
    match taken.last_key_value() {
        Some((&last, _)) if get(last) as usize == taken.len() => get(last) + 1,
        _ => 1,
    }
}

/// The first free number from `next` on. Moves `next` past it.
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

fn add_storage_id(
    id: StorageId,
    value: &[u8],
    storage_ids: &mut HashMap<SchemaId, StorageId>,
) -> Result<()> {
    let wrong = |what, id| SchemaError::inconsistent(what, &storage_id_table_key(id));
    let item = parse_storage_id_value(value)
        .map_err(|error| wrong(format!("bad entry of storage ID {id}: {error}"), id))?;
    match storage_ids.insert(item, id) {
        None => Ok(()),
        Some(other) => {
            let (first, second) = (other.min(id), other.max(id));
            Err(wrong(format!("{item} has storage IDs {first} and {second}"), second))
        }
    }
}

pub(super) fn parse_storage_id_value(value: &[u8]) -> std::result::Result<SchemaId, String> {
    let mut reader = Reader::new(value);
    let text = string::read(&mut reader).map_err(|error| error.to_string())?;
    if !reader.is_empty() {
        return Err("trailing bytes".to_owned());
    }
    text.parse().map_err(|error: super::ParseSchemaIdError| error.to_string())
}

fn wrong_schema(index: SchemaIndex, what: &dyn std::fmt::Display) -> SchemaError {
    let what = format!("recorded schema {index}: {what}");
    SchemaError::inconsistent(what, &schema_table_key(index))
}

/// The model in a compressed document of the schema table.
pub(super) fn decode_model(index: SchemaIndex, compressed: &[u8]) -> Result<SchemaModel> {
    let wrong = |what: &dyn std::fmt::Display| wrong_schema(index, what);
    let xml = inflate(compressed).map_err(|error| wrong(&error))?;
    let model = SchemaModel::from_xml(&xml).map_err(|error| wrong(&error))?;
    model.validate().map_err(|error| wrong(&error))?;
    if model.is_empty() {
        return Err(wrong(&"has no object types"));
    }
    Ok(model)
}

fn decode_schema(
    index: SchemaIndex,
    compressed: &[u8],
    storage_ids: &HashMap<SchemaId, StorageId>,
) -> Result<RecordedSchema> {
    let model = decode_model(index, compressed)?;
    for object_type in model.object_types() {
        let name = object_type.name();
        if !storage_ids.contains_key(&SchemaId::of_type_name(name)) {
            return Err(wrong_schema(index, &format!("object type {name:?} has no storage ID")));
        }
    }
    let id = model.schema_id();
    Ok(RecordedSchema { index, id, model: Arc::new(model), items: Arc::default() })
}

/// The schema ID and storage ID of each item of a model, in visit order.
pub(super) fn assign_storage_ids(
    index: SchemaIndex,
    model: &SchemaModel,
    storage_ids: &HashMap<SchemaId, StorageId>,
) -> Result<Arc<[(SchemaId, StorageId)]>> {
    let mut items = Vec::new();
    for item in model.items() {
        let wrong = |what: String| wrong_schema(index, &format!("{}: {what}", item.location()));
        let id = item.schema_id();
        let Some(&storage_id) = storage_ids.get(&id) else {
            return Err(wrong("has no storage ID".to_owned()));
        };
        // An ID that is asked for must be the one that the pairs are under.
        if let Some(explicit) = item.storage_id()
            && explicit != storage_id
        {
            let what = format!("asks for storage ID {explicit} but has {storage_id}");
            return Err(wrong(what));
        }
        items.push((id, storage_id));
    }
    Ok(items.into())
}

/// The compressed document of a model. A reusable document with the same content is preferred: then
/// a schema that is recorded again leaves the store unchanged.
fn compress(model: &SchemaModel, reusable: &[Arc<[u8]>]) -> Arc<[u8]> {
    let xml = model.to_xml(XmlForm::STORED).into_bytes();
    reusable
        .iter()
        // A document with a length that Java cannot read must be written anew.
        .find(|bytes| {
            java_can_read_length(bytes.len()) && inflate(bytes).is_ok_and(|other| other == xml)
        })
        .cloned()
        .unwrap_or_else(|| deflate(&xml).into())
}

fn table_full() -> SchemaError {
    SchemaError::Inconsistent {
        what: "no free number is left in a schema table".to_owned(),
        key: None,
    }
}
