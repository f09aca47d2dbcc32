//! The loading of objects: from objects to records.

use std::path::PathBuf;
use std::sync::Arc;

use super::buffer::write_len;
use super::ids::Ids;
use super::lanes::Lanes;
use super::sorter::{Sorted, Sorter};
use crate::encoding::{Reader, uint};
use crate::id::{ObjId, StorageId};
use crate::layout;
use crate::object::describe::{describe_entry, describe_stored};
use crate::object::error::key_too_long;
use crate::object::reference::{check_reference_type, target_of};
use crate::object::whole_object::KeyList;
use crate::object::{Error, ObjectData, Result};
use crate::schema::Schema;

/// How much memory a load takes, and where its temporary file is.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    /// The memory that it uses, in bytes; about.
    pub(crate) bytes: usize,
    pub(crate) directory: PathBuf,
}

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LoadProgress {
    /// How many objects were added.
    pub objects: u64,
    /// How many pairs they have, index entries included.
    pub pairs: u64,
    /// How many pairs were sorted, of [`pairs`](LoadProgress::pairs).
    pub sorted: u64,
    /// How many pairs were written to the database, of [`pairs`](LoadProgress::pairs).
    pub written: u64,
}

/// Makes records of objects of one schema, and sorts them.
pub(crate) struct Loader {
    pub(super) schema: Arc<Schema>,
    pub(super) lanes: Lanes,
    sorter: Sorter,
    /// Uses about this many bytes of memory.
    memory: usize,
    /// The longest key that the store can hold.
    longest: usize,
    ids: Ids,
    /// Whether the caller has chosen IDs, which can be the same.
    has_given_ids: bool,
    has_references: bool,
    progress: LoadProgress,
    /// Buffers that are reused for each object: its index entries and the lane of each.
    entries: KeyList,
    entry_lanes: Vec<usize>,
    references: Vec<(ObjId, StorageId)>,
    bytes: Vec<u8>,
}

impl Loader {
    pub(crate) fn new(schema: Arc<Schema>, longest: usize, memory: Memory) -> Result<Self> {
        let lanes = Lanes::new(&schema);
        let Memory { bytes: memory, directory } = memory;
        let sorter = Sorter::new(lanes.len(), memory, directory);
        let ids = Ids::new().map_err(Error::Random)?;
        Ok(Loader {
            schema,
            lanes,
            sorter,
            memory,
            longest,
            ids,
            has_given_ids: false,
            has_references: false,
            progress: LoadProgress::default(),
            entries: KeyList::default(),
            entry_lanes: Vec::new(),
            references: Vec::new(),
            bytes: Vec::new(),
        })
    }

    pub(crate) fn set_memory(&mut self, bytes: usize) {
        self.memory = bytes;
        self.sorter.set_memory(bytes);
    }

    pub(crate) fn set_directory(&mut self, directory: PathBuf) {
        self.sorter.set_directory(directory);
    }

    /// How many objects were added.
    pub(crate) fn objects(&self) -> u64 {
        self.progress.objects
    }

    pub(crate) fn progress(&self) -> LoadProgress {
        LoadProgress { sorted: self.sorter.sorted(), ..self.progress }
    }

    /// A new ID. Those of a type ascend. Fails if there is none above the last.
    pub(crate) fn draw(&mut self, storage_id: StorageId) -> Result<ObjId> {
        self.ids.draw(storage_id).ok_or_else(|| {
            let type_name = self.schema.type_by_storage_id(storage_id);
            let type_name = type_name.map_or_else(String::new, |it| it.name.to_string());
            Error::NoFreeId { type_name, attempts: 1 }
        })
    }

    /// From now on, objects can have the same ID.
    pub(crate) fn ids_are_given(&mut self) {
        self.has_given_ids = true;
    }

    /// Adds an object of the schema. After an error, it was not added.
    pub(crate) fn add(&mut self, id: ObjId, data: &ObjectData) -> Result<()> {
        // An object is checked before any of its records is added, so that an error leaves none
        // behind.
        let lane = self.check(id, data);
        let lane = lane.map_err(|error| error.about(|| self.new_object(id, data)))?;
        // Room is made only between two objects, so that a run has all records of an object or
        // none.
        self.sorter.make_room().map_err(Error::temporary_file)?;
        let mut add = |lane: usize, key: &[u8], content: &[u8]| {
            self.sorter.add(lane, key, content).map_err(Error::temporary_file)
        };
        let object_type = data.object_type();
        let bytes = &mut self.bytes;
        bytes.clear();
        write_pair(bytes, &[], &[], &layout::object_info(object_type.schema), false);
        // An object has its own pair and one in the object schema index.
        let mut pairs = 2;
        for (field, rest, value) in data.all_pairs() {
            // A counter has a form of its own in each store, so the value is marked and encoded
            // later.
            let is_counter = value.len() == 8
                && object_type.field_by_storage_id(field).is_some_and(|field| field.is_counter());
            let (field, len) = uint::to_array(field.get());
            let field = field.get(..len).unwrap_or_default();
            write_pair(bytes, field, rest, value, is_counter);
            pairs += 1;
        }
        add(lane, id.as_bytes(), bytes)?;
        // The object schema index is sorted like the other pairs, and tells at the end which IDs
        // exist.
        bytes.clear();
        layout::append_object_schema_key(object_type.schema, id, bytes);
        add(Lanes::SCHEMA_INDEX, bytes, &[])?;
        for (entry, lane) in self.entries.iter().zip(&self.entry_lanes) {
            add(*lane, entry, &[])?;
            pairs += 1;
        }
        // Only references that must not dangle are sorted, to be looked for at the end.
        for (target, field) in &self.references {
            bytes.clear();
            bytes.extend_from_slice(id.as_bytes());
            bytes.extend_from_slice(&field.get().to_be_bytes());
            add(self.lanes.of_references(), target.as_bytes(), bytes)?;
        }
        // Without references, the check at the end reads nothing.
        self.has_references |= !self.references.is_empty();
        self.progress.objects += 1;
        self.progress.pairs += pairs;
        self.sorter.note_pairs(pairs);
        Ok(())
    }

    /// Refuses the same objects as a transaction. Collects index entries and references. Returns
    /// the lane of the object.
    fn check(&mut self, id: ObjId, data: &ObjectData) -> Result<usize> {
        let object_type = data.object_type();
        let has_this_type = self.schema.type_by_storage_id(id.storage_id());
        // A type of another schema can have the same storage ID and other fields.
        let is_ours = |it: &Arc<_>| Arc::ptr_eq(it, object_type);
        // An ID with a longer form of its storage ID would stand at another place than its type.
        if !id.is_shortest() || !has_this_type.is_some_and(is_ours) {
            return Err(Error::invalid_argument(format!(
                "object id {id} is not of type {:?}, whose storage id is {}",
                object_type.name, object_type.storage_id
            )));
        }
        let lane_of = |storage_id| {
            let lane = self.lanes.of(storage_id);
            lane.ok_or_else(|| {
                Error::inconsistent(format!(
                    "object {id}: the schema of the load has no storage id {storage_id}"
                ))
            })
        };
        let lane = lane_of(object_type.storage_id)?;
        // A gap in a list would be damage, and no transaction looks at these pairs again.
        data.check_lists()?;
        self.references.clear();
        data.each_reference(|field, bytes| {
            check_reference_type(id, field, bytes)?;
            let may_dangle = field.reference().is_none_or(|reference| reference.allow_deleted);
            // An object may refer to itself, so it need not be looked for.
            if !may_dangle
                && let Ok(Some(target)) = target_of(bytes)
                && target != id
            {
                self.references.push((target, field.storage_id));
            }
            Ok(())
        })?;
        let longest = self.longest;
        self.entries.clear();
        self.entry_lanes.clear();
        // The store would refuse a key that is too long, but only after hours of work.
        data.each_entry(id, |key| {
            if key.len() > longest {
                let error = key_too_long(key, longest);
                return Err(error.about(|| describe_entry(id, object_type, key)));
            }
            let index = StorageId::read_from(&mut Reader::new(key));
            let index = index.map_err(|error| Error::inconsistent(error.to_string()))?;
            self.entry_lanes.push(lane_of(index)?);
            self.entries.push(key);
            Ok(())
        })?;
        for (field, rest, _) in data.all_pairs() {
            if ObjId::LEN + uint::len(field.get()) + rest.len() > longest {
                let error = key_too_long(&layout::content_key(id, field, rest), longest);
                return Err(error.about(|| describe_stored(id, object_type, field)));
            }
        }
        Ok(lane)
    }

    fn new_object(&self, id: ObjId, data: &ObjectData) -> String {
        format!("new {} {id}", data.object_type().name)
    }

    /// Everything that was added, sorted and checked.
    pub(crate) fn finish(self) -> Result<Loaded> {
        let (has_given_ids, has_references) = (self.has_given_ids, self.has_references);
        let mut progress = self.progress();
        let sorted = self.sorter.finish().map_err(Error::temporary_file)?;
        progress.sorted = progress.pairs;
        let Loader { schema, lanes, memory, .. } = self;
        let loaded = Loaded { schema, lanes, sorted, memory, progress };
        // Drawn IDs ascend, so they need no check.
        if has_given_ids {
            loaded.check_ids()?;
        }
        if has_references {
            loaded.check_references()?;
        }
        Ok(loaded)
    }
}

/// Objects that can be written.
pub(crate) struct Loaded {
    pub(super) schema: Arc<Schema>,
    pub(super) lanes: Lanes,
    pub(super) sorted: Sorted,
    /// Uses about this many bytes of memory.
    pub(super) memory: usize,
    pub(super) progress: LoadProgress,
}

impl Loaded {
    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }
}

/// Appends a pair of an object: how long its key is after the object ID, and whether the value is a
/// counter; how long the value is; and both.
fn write_pair(out: &mut Vec<u8>, field: &[u8], rest: &[u8], value: &[u8], is_counter: bool) {
    // The flag shares a number with the length, which saves a byte for each pair.
    write_len((field.len() + rest.len()) << 1 | usize::from(is_counter), out);
    write_len(value.len(), out);
    out.extend_from_slice(field);
    out.extend_from_slice(rest);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use permazen_kv::memory::MemoryStore;

    use super::*;
    use crate::object::{Database, ObjectBuilder, TransactionConfig};
    use crate::schema::SchemaModel;

    fn schema(document: &str) -> Arc<Schema> {
        let db = Database::new(Arc::new(MemoryStore::new()));
        let model = SchemaModel::from_xml(document.as_bytes()).unwrap();
        db.begin(&TransactionConfig::new(model).unwrap()).unwrap().schema()
    }

    /// One type, whose field has the given attributes.
    fn person(field: &str) -> Arc<Schema> {
        schema(&format!(
            "<Schema><ObjectType name=\"Person\" storageId=\"10\"><SimpleField name=\"age\" \
             encoding=\"urn:fdc:permazen.io:2020:int\" storageId=\"11\" {field}/></ObjectType></Schema>"
        ))
    }

    #[test]
    fn a_record_without_a_lane_is_an_error_and_nothing_of_its_object_is_added() {
        let indexed = person("indexed=\"true\"");
        for (other, storage_id) in [(schema("<Schema/>"), 10), (person(""), 11)] {
            let memory = Memory { bytes: 1 << 20, directory: std::env::temp_dir() };
            let mut loader = Loader::new(indexed.clone(), 100, memory).unwrap();
            loader.lanes = Lanes::new(&other);
            let object_type = indexed.object_type("Person").unwrap().clone();
            let id = loader.draw(object_type.storage_id).unwrap();
            let data = ObjectBuilder::new(object_type).finish();
            let error = loader.add(id, &data).unwrap_err();
            assert!(matches!(error, Error::Inconsistent { .. }), "{error:?}");
            let text = error.to_string();
            assert!(text.contains(&format!("storage id {storage_id}")), "{text}");
            assert_eq!(loader.progress(), LoadProgress::default());
            let loaded = loader.finish().unwrap();
            let mut records = loaded.sorted.lane(Lanes::SCHEMA_INDEX, 0).unwrap();
            assert!(records.next().unwrap().is_none());
        }
    }
}
