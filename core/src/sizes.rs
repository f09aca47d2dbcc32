//! How much of a database each thing takes: pairs and bytes of meta-data, types, fields and
//! indexes, counted in one scan.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use permazen::encoding::EncodingRegistry;
//! use permazen::kv::{KvDatabase, TxOptions, memory::MemoryStore};
//! use permazen::__internal::schema::read_usable_schemas;
//! use permazen::{Permazen, PermazenObject};
//!
//! #[derive(PermazenObject, Default)]
//! struct Person {
//!     #[permazen(indexed)]
//!     name: String,
//! }
//!
//! let store = MemoryStore::new();
//! let db = Permazen::builder(store.clone()).model::<Person>().build()?;
//! db.write(|tx| tx.create(Person { name: "Ann".into() }).map(drop))?;
//! let tx = store.begin(&TxOptions::reading())?;
//! let schemas = read_usable_schemas(&*tx, &EncodingRegistry::new())?.schemas;
//! let sizes = permazen::__internal::sizes::sizes(&*tx, &schemas, 1, &mut |_| ControlFlow::Continue(()))?;
//! let person = &sizes.types[0];
//! assert_eq!((&*person.name, person.objects, person.fields[0].size.value_bytes), ("Person", 1, 4));
//! assert_eq!((&*sizes.indexes[0].names[0], sizes.indexes[0].size.pairs), ("Person.name", 1));
//! assert_eq!(sizes.largest_objects[0].pairs, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use permazen_kv::key::after_prefix;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, Space};

use crate::encoding::Reader;
use crate::id::{ObjId, StorageId};
use crate::layout::{self, FORMAT_VERSION_KEY, META_DATA, OBJECT_SCHEMA_INDEX_SPAN};
use crate::schema::{BundleItem, ItemKind, ResolvedPart, SchemaBundle};

/// The size of some pairs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Size {
    /// How many pairs there are.
    pub pairs: u64,
    /// How many bytes their keys have.
    pub key_bytes: u64,
    /// How many bytes their values have.
    pub value_bytes: u64,
    /// How many bytes the largest pair has.
    pub largest_pair: u64,
    /// The key of the largest pair, which is the first of several.
    pub largest_key: Option<Vec<u8>>,
}

impl Size {
    /// The bytes of keys and values.
    pub fn bytes(&self) -> u64 {
        self.key_bytes + self.value_bytes
    }

    /// The bytes of a pair on average; 0 if there is none.
    pub fn average(&self) -> f64 {
        if self.pairs == 0 { 0.0 } else { self.bytes() as f64 / self.pairs as f64 }
    }

    fn add(&mut self, key: &[u8], value: &[u8]) {
        self.pairs += 1;
        self.key_bytes += key.len() as u64;
        self.value_bytes += value.len() as u64;
        let pair = (key.len() + value.len()) as u64;
        if pair > self.largest_pair || self.largest_key.is_none() {
            self.largest_pair = pair;
            let largest = self.largest_key.get_or_insert_default();
            largest.clear();
            largest.extend_from_slice(key);
        }
    }
}

/// The parts of the meta-data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MetaDataSizes {
    /// The format version.
    pub format_version: Size,
    /// The recorded schemas.
    pub schema_table: Size,
    /// The storage IDs.
    pub storage_id_table: Size,
    /// Which object has which schema.
    pub object_schema_index: Size,
    /// The user's own meta-data.
    pub user: Size,
    /// Pairs that belong to none of these.
    pub unknown: Size,
}

/// The objects of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypeSizes {
    /// The storage ID of the type.
    pub storage_id: StorageId,
    /// Its name.
    pub name: Arc<str>,
    /// How many objects there are: pairs that say so.
    pub objects: u64,
    /// All pairs of the objects, without the entries of indexes.
    pub size: Size,
    /// The pairs that say that an object exists.
    pub objects_themselves: Size,
    /// Each field that the type has in a recorded schema, by ascending storage ID.
    pub fields: Vec<FieldSizes>,
    /// Pairs of no such field.
    pub unknown: Size,
    /// The largest object, the first of several.
    pub largest_object: Option<ObjectSize>,
}

/// A field of the objects of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldSizes {
    /// The storage ID of the field.
    pub storage_id: StorageId,
    /// Its name.
    pub name: Arc<str>,
    /// Its pairs. For a collection, these are all its elements. A simple field that has its default
    /// value has none.
    pub size: Size,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexSizes {
    /// The storage ID of the field or composite index.
    pub storage_id: StorageId,
    /// The fields of the index: `Person.name`, `Person.tags.element`, `Person#nameAge`. There are
    /// several names if several types share it.
    pub names: Vec<String>,
    /// Its entries.
    pub size: Size,
}

/// The space that an object takes, without the entries of indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectSize {
    /// The object.
    pub id: ObjId,
    /// How many pairs it has.
    pub pairs: u64,
    /// How many bytes their keys and values have.
    pub bytes: u64,
}

/// The space that everything in a database takes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Sizes {
    /// All pairs.
    pub total: Size,
    /// The meta-data.
    pub meta_data: MetaDataSizes,
    /// The types of all schemas, by ascending storage ID.
    pub types: Vec<TypeSizes>,
    /// The indexes of all schemas, by ascending storage ID.
    pub indexes: Vec<IndexSizes>,
    /// Pairs that belong to nothing of these.
    pub unknown: Size,
    /// The largest objects of all types, the largest first, and of equal ones the one with the
    /// smaller ID. As many as were asked for, or all if there are fewer.
    pub largest_objects: Vec<ObjectSize>,
    /// Whether all pairs were counted. If not, `progress` has stopped it.
    pub complete: bool,
}

/// After this many pairs or bytes, the caller gets the size so far.
const PAIRS: u64 = 1 << 12;
const BYTES: u64 = 1 << 20;

/// Counts all pairs, in the order of their keys, and finds the `largest` largest objects.
/// `progress` is called with the size of the counted pairs, after each megabyte or each few
/// thousand pairs; if it breaks, the result is that of the pairs so far.
///
/// Costs one scan, which decodes no values. In memory are only the sums, the key of the largest
/// pair of each, and the largest objects. `schemas` may lack some: pairs of types and indexes in no
/// schema are unknown.
///
/// # Errors
/// The errors of the scan.
pub fn sizes(
    kv: &dyn KvRead,
    schemas: &SchemaBundle,
    largest: usize,
    progress: &mut dyn FnMut(&Size) -> ControlFlow<()>,
) -> permazen_kv::Result<Sizes> {
    let mut counting = Counting::new(schemas, largest);
    let (mut pairs, mut bytes) = (0, 0);
    let mut complete = true;
    kv.visit(KeySpan::FULL, Direction::Forward, &mut |key, value| {
        counting.add(key, value);
        let total = &counting.sizes.total;
        // Telling of each pair would take longer than counting it.
        if total.pairs - pairs < PAIRS && total.bytes() - bytes < BYTES {
            return ControlFlow::Continue(());
        }
        (pairs, bytes) = (total.pairs, total.bytes());
        let told = progress(total);
        complete = told.is_continue();
        told
    })?;
    // The last object of all has no pair after it that would end it.
    counting.end_object();
    Ok(Sizes { complete, ..counting.sizes })
}

/// The space that everything takes in the file of the store, see [`spaces`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spaces {
    /// All pairs.
    pub total: Space,
    /// Which object has which schema: [`MetaDataSizes::object_schema_index`].
    pub object_schema_index: Space,
    /// The objects of each type of [`Sizes::types`], in the same order.
    pub types: Vec<Space>,
    /// The entries of each index of [`Sizes::indexes`], in the same order.
    pub indexes: Vec<Space>,
}

/// The space that the types and indexes of `sizes` take in the file of `store`, and how full its
/// pages are. `None` if the store does not know. Reads the file twice. Others may write meanwhile.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use permazen::encoding::EncodingRegistry;
/// use permazen::kv::{KvDatabase, TxOptions, lmdb::LmdbStore};
/// use permazen::__internal::schema::read_usable_schemas;
/// use permazen::__internal::sizes::{sizes, spaces};
/// use permazen::{Permazen, PermazenObject};
///
/// #[derive(PermazenObject, Default)]
/// struct Person {
///     name: String,
/// }
///
/// let directory = tempfile::tempdir()?;
/// let store = LmdbStore::open_or_create(directory.path())?;
/// let db = Permazen::builder(store.clone()).model::<Person>().build()?;
/// db.write(|tx| tx.create(Person { name: "Ann".into() }).map(drop))?;
/// let tx = store.begin(&TxOptions::reading())?;
/// let schemas = read_usable_schemas(&*tx, &EncodingRegistry::new())?.schemas;
/// let sizes = sizes(&*tx, &schemas, 0, &mut |_| ControlFlow::Continue(()))?;
/// let spaces = spaces(&store, &sizes)?.ok_or("LMDB knows")?;
/// assert_eq!((spaces.types[0].pairs, spaces.types[0].pair_bytes), (2, sizes.types[0].size.bytes()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`KvDatabase::space`].
pub fn spaces(store: &dyn KvDatabase, sizes: &Sizes) -> permazen_kv::Result<Option<Spaces>> {
    let total = match store.space(&[KeySpan::FULL]) {
        // A store without a file of its own, such as the one in memory, cannot say this.
        Err(KvError::Unsupported(_)) => return Ok(None),
        total => total?,
    };
    let ids = sizes.types.iter().map(|one| one.storage_id);
    let ids = ids.chain(sizes.indexes.iter().map(|index| index.storage_id));
    let mut prefixes = vec![OBJECT_SCHEMA_INDEX_SPAN.min.to_vec()];
    prefixes.extend(ids.map(|id| {
        let mut prefix = Vec::new();
        id.write_to(&mut prefix);
        prefix
    }));
    let ends: Vec<_> = prefixes.iter().map(|prefix| after_prefix(prefix)).collect();
    let mut spans: Vec<_> = prefixes
        .iter()
        .zip(&ends)
        .map(|(prefix, end)| KeySpan::new(prefix, end.as_deref()))
        .enumerate()
        .collect();
    // The store is asked once for all spans, in the order of keys. The results go back to the
    // places of their types and indexes.
    spans.sort_by_key(|(_, span)| span.min);
    let (places, spans): (Vec<_>, Vec<_>) = spans.into_iter().unzip();
    let mut found = vec![Space::default(); places.len()];
    for (place, space) in places.into_iter().zip(store.space(&spans)?) {
        if let Some(found) = found.get_mut(place) {
            *found = space;
        }
    }
    let mut found = found.into_iter();
    Ok(Some(Spaces {
        total: total.first().copied().unwrap_or_default(),
        object_schema_index: found.next().unwrap_or_default(),
        types: found.by_ref().take(sizes.types.len()).collect(),
        indexes: found.collect(),
    }))
}

/// Where the pairs of a storage ID are counted: a position in a list.
#[derive(Clone, Copy)]
enum SizePosition {
    Type(usize),
    Index(usize),
}

struct Counting {
    places: BTreeMap<StorageId, SizePosition>,
    sizes: Sizes,
    /// The storage ID of the last pair, as bytes, and its place. Most pairs have the same as the
    /// one before.
    last: (Vec<u8>, Option<SizePosition>),
    /// The object of the last pair with its pairs so far, and the position of its type.
    object: Option<(ObjectSize, usize)>,
    /// How many of the largest objects are kept.
    largest: usize,
}

impl Counting {
    fn new(schemas: &SchemaBundle, largest: usize) -> Self {
        let (mut sizes, mut places) = (Sizes::default(), BTreeMap::new());
        for item in schemas.items() {
            if let Some(new) = new_type(item) {
                places.insert(item.storage_id, SizePosition::Type(sizes.types.len()));
                sizes.types.push(new);
            } else if let names = index_names(item)
                && !names.is_empty()
            {
                places.insert(item.storage_id, SizePosition::Index(sizes.indexes.len()));
                let size = Size::default();
                sizes.indexes.push(IndexSizes { storage_id: item.storage_id, names, size });
            }
        }
        Counting { places, sizes, last: (Vec::new(), None), object: None, largest }
    }

    fn add(&mut self, key: &[u8], value: &[u8]) {
        self.sizes.total.add(key, value);
        if let [META_DATA, rest @ ..] = key {
            let meta_data = &mut self.sizes.meta_data;
            let size = match rest {
                // Only this one key is the format version. Others that begin with `00 00` are
                // reserved.
                _ if key == FORMAT_VERSION_KEY => &mut meta_data.format_version,
                [layout::SCHEMA_TABLE, ..] => &mut meta_data.schema_table,
                [layout::STORAGE_ID_TABLE, ..] => &mut meta_data.storage_id_table,
                [layout::OBJECT_SCHEMA_INDEX, ..] => &mut meta_data.object_schema_index,
                [layout::USER_META_DATA, ..] => &mut meta_data.user,
                _ => &mut meta_data.unknown,
            };
            return size.add(key, value);
        }
        match self.place(key) {
            Some(SizePosition::Type(at)) => self.add_to_type(at, key, value),
            Some(SizePosition::Index(at)) => {
                if let Some(index) = self.sizes.indexes.get_mut(at) {
                    index.size.add(key, value);
                }
            }
            None => self.sizes.unknown.add(key, value),
        }
    }

    fn place(&mut self, key: &[u8]) -> Option<SizePosition> {
        let (prefix, place) = &self.last;
        // No storage ID is the beginning of another one, so the same bytes mean the same ID.
        if !prefix.is_empty() && key.starts_with(prefix) {
            return *place;
        }
        let mut reader = Reader::new(key);
        let id = StorageId::read_from(&mut reader).ok()?;
        let place = self.places.get(&id).copied();
        let len = key.len() - reader.rest().len();
        self.last = (key.get(..len).unwrap_or_default().to_vec(), place);
        place
    }

    fn add_to_type(&mut self, at: usize, key: &[u8], value: &[u8]) {
        let id = key.first_chunk().and_then(|id| ObjId::from_bytes(*id).ok());
        // The pairs of an object lie side by side, so another ID ends it for good.
        if id != self.object.map(|(object, _)| object.id) {
            self.end_object();
            self.object = id.map(|id| (ObjectSize { id, pairs: 0, bytes: 0 }, at));
        }
        if let Some((object, _)) = &mut self.object {
            object.pairs += 1;
            object.bytes += (key.len() + value.len()) as u64;
        }
        let Some(counted) = self.sizes.types.get_mut(at) else { return };
        counted.size.add(key, value);
        let size = match key.get(ObjId::LEN..) {
            Some([]) => {
                counted.objects += 1;
                &mut counted.objects_themselves
            }
            Some(after_id) => {
                let field = layout::split_field_key(after_id).and_then(|(field, _)| {
                    let fields = &counted.fields;
                    fields.binary_search_by_key(&field, |known| known.storage_id).ok()
                });
                match field.and_then(|at| counted.fields.get_mut(at)) {
                    Some(field) => &mut field.size,
                    None => &mut counted.unknown,
                }
            }
            // The key is shorter than an object ID.
            None => &mut counted.unknown,
        };
        size.add(key, value);
    }

    fn end_object(&mut self) {
        let Some((object, at)) = self.object.take() else { return };
        if let Some(counted) = self.sizes.types.get_mut(at)
            // Of equal ones the first stays, which has the smaller ID.
            && counted.largest_object.is_none_or(|largest| object.bytes > largest.bytes)
        {
            counted.largest_object = Some(object);
        }
        let largest = &mut self.sizes.largest_objects;
        // Objects come by ascending ID, so one that comes later is put after its equals.
        let at = largest.partition_point(|other| other.bytes >= object.bytes);
        if at < self.largest {
            largest.truncate(self.largest - 1);
            largest.insert(at, object);
        }
    }
}

/// The type that an item is.
fn new_type(item: &BundleItem) -> Option<TypeSizes> {
    if item.kind() != ItemKind::ObjectType {
        return None;
    }
    let mut fields = BTreeMap::new();
    // A type has other fields in other schemas, and objects of each of them can be there.
    for version in &item.occurrences {
        for field in &version.object_type.fields {
            fields.insert(field.storage_id, Arc::clone(&field.name));
        }
    }
    let new = |(storage_id, name)| FieldSizes { storage_id, name, size: Size::default() };
    Some(TypeSizes {
        storage_id: item.storage_id,
        name: Arc::clone(&item.representative()?.object_type.name),
        objects: 0,
        size: Size::default(),
        objects_themselves: Size::default(),
        fields: fields.into_iter().map(new).collect(),
        unknown: Size::default(),
        largest_object: None,
    })
}

/// The names of the index that an item has or is; empty if there is none.
fn index_names(item: &BundleItem) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for occurrence in &item.occurrences {
        let owner = &occurrence.object_type.name;
        let name = match &occurrence.part {
            ResolvedPart::Field(field) if field.is_indexed() => {
                format!("{owner}.{}", field.full_name)
            }
            ResolvedPart::Index(index) => format!("{owner}#{}", index.name),
            _ => continue,
        };
        // A field that is the same in several schemas occurs once for each of them.
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
