//! Where everything lies in the store: the keys of meta-data, objects and indexes.
//!
//! This module puts keys together and takes them apart. Other modules make the bounds of ranges
//! from these prefixes and encoded values. `docs/src/format.md` draws each kind of key, with
//! examples that tests compare with a database written by Java.
//!
//! | key | value |
//! |---|---|
//! | `00 00 "Permazen" 00` | format version |
//! | `00 01` + schema index | compressed schema XML |
//! | `00 02` + storage ID | schema ID of the item |
//! | `00 80` + schema index + object ID | empty: the object has that schema |
//! | `00 ff` … | the user's own meta-data |
//! | object ID | schema index of the object |
//! | object ID + storage ID of a simple field | its value; no pair if it is the default value |
//! | object ID + storage ID of a counter | 8 bytes |
//! | object ID + storage ID of a set + element | empty |
//! | object ID + storage ID of a list + position | element |
//! | object ID + storage ID of a map + key | value |
//! | storage ID of an indexed field + value + object ID | empty: an index entry |
//! | storage ID of an indexed element + element + object ID (+ position in a list) | empty |
//! | storage ID of an indexed map key + key + object ID | empty |
//! | storage ID of an indexed map value + value + object ID + map key | empty |
//! | storage ID of a composite index + values + object ID | empty |
//!
//! Storage IDs, schema indexes and positions are written in the order-preserving code of numbers in
//! `bytes/uint.rs` (docs/src/format.md#numbers).

use std::fmt;
use std::ops::Deref;

/// The end of the range of keys that start with a prefix.
pub use permazen_kv::key::after_prefix as prefix_end;
use permazen_kv::{Direction, KeySpan, KvRead, KvWrite};

use crate::bytes::{EncodingError, Reader, uint};
use crate::id::{ObjId, StorageId};

/// The key that makes a store a Permazen database. Its value is the format version.
pub const FORMAT_VERSION_KEY: &[u8] = b"\x00\x00Permazen\x00";
/// The only format version that exists.
pub const FORMAT_VERSION: u32 = 1;

/// How the value of [`FORMAT_VERSION_KEY`] starts while a bulk load writes objects: no number, so
/// that no version of Permazen takes the store for a database. Random bytes follow, by which the
/// load knows that it is its own.
pub const LOADING: &[u8] = b"\x00loading";

/// The first key of a repository of the crate permazen-ledger, which is no database of objects.
pub const LEDGER_KEY: &[u8] = &[0];

/// Whether a value under [`LEDGER_KEY`] says that the store is a repository of the crate
/// permazen-ledger, or a page of one in a store of its own
/// (docs/src/ledger-format.md#of-the-repository).
pub fn is_ledger(value: &[u8]) -> bool {
    value.starts_with(b"permazen-ledger")
}

/// The first byte of all meta-data keys.
pub const META_DATA: u8 = 0x00;
/// The second byte of keys of the schema table.
pub const SCHEMA_TABLE: u8 = 0x01;
/// The second byte of keys of the storage ID table.
pub const STORAGE_ID_TABLE: u8 = 0x02;
/// The second byte of keys of the object schema index.
pub const OBJECT_SCHEMA_INDEX: u8 = 0x80;
/// The second byte of the user's own meta-data keys.
pub const USER_META_DATA: u8 = 0xff;

/// All meta-data.
pub const META_DATA_SPAN: KeySpan<'static> = KeySpan { min: &[0], max: Some(&[1]) };
/// The schema table.
pub const SCHEMA_TABLE_SPAN: KeySpan<'static> = KeySpan { min: &[0, 1], max: Some(&[0, 2]) };
/// The storage ID table.
pub const STORAGE_ID_TABLE_SPAN: KeySpan<'static> = KeySpan { min: &[0, 2], max: Some(&[0, 3]) };
/// Schema table and storage ID table.
pub const TABLES_SPAN: KeySpan<'static> = KeySpan { min: &[0, 1], max: Some(&[0, 3]) };
/// The object schema index.
pub const OBJECT_SCHEMA_INDEX_SPAN: KeySpan<'static> =
    KeySpan { min: &[0, 0x80], max: Some(OBJECT_SCHEMA_INDEX_END) };
/// The end of the object schema index.
pub const OBJECT_SCHEMA_INDEX_END: &[u8] = &[0, 0x81];

/// The number under which a schema is recorded: 1 to 2³¹−1, or 0 for the empty schema, which is
/// never recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SchemaIndex(u32);

impl SchemaIndex {
    /// The index of the empty schema.
    pub const EMPTY: SchemaIndex = SchemaIndex(0);

    /// The schema index with this number; `None` above 2³¹−1.
    pub fn new(number: u32) -> Option<Self> {
        (number <= uint::MAX).then_some(SchemaIndex(number))
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }

    /// Whether this is the empty schema.
    pub fn is_empty_schema(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for SchemaIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A storage ID in the form it has in keys, ready to be copied: one to five bytes, no allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StorageIdKey {
    bytes: [u8; 5],
    len: u8,
}

impl From<StorageId> for StorageIdKey {
    fn from(id: StorageId) -> Self {
        let (bytes, len) = uint::to_array(id.get());
        #[allow(clippy::cast_possible_truncation, reason = "it is at most 5")]
        let len = len as u8;
        StorageIdKey { bytes, len }
    }
}

impl Deref for StorageIdKey {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The key of a schema in the schema table.
pub fn schema_table_key(index: SchemaIndex) -> Vec<u8> {
    meta_data_key(SCHEMA_TABLE, index.get())
}

/// The key of a storage ID in the storage ID table.
pub fn storage_id_table_key(id: StorageId) -> Vec<u8> {
    meta_data_key(STORAGE_ID_TABLE, id.get())
}

/// The prefix of all keys of the object schema index for one schema.
pub fn object_schema_prefix(index: SchemaIndex) -> Vec<u8> {
    meta_data_key(OBJECT_SCHEMA_INDEX, index.get())
}

/// The key in the object schema index that says which schema an object has.
pub fn object_schema_key(index: SchemaIndex, id: ObjId) -> Vec<u8> {
    let mut key = Vec::with_capacity(15);
    append_object_schema_key(index, id, &mut key);
    key
}

/// Appends an [`object_schema_key`].
pub fn append_object_schema_key(index: SchemaIndex, id: ObjId, out: &mut Vec<u8>) {
    append_meta_data_key(OBJECT_SCHEMA_INDEX, index.get(), out);
    out.extend_from_slice(id.as_bytes());
}

fn meta_data_key(table: u8, number: u32) -> Vec<u8> {
    let mut key = Vec::with_capacity(15);
    append_meta_data_key(table, number, &mut key);
    key
}

fn append_meta_data_key(table: u8, number: u32, out: &mut Vec<u8>) {
    out.extend([META_DATA, table]);
    uint::write(number, out);
}

/// The key of a field of an object. For a collection, it is the prefix of all keys of its content.
pub fn field_key(id: ObjId, field: &StorageIdKey) -> Vec<u8> {
    let mut key = Vec::with_capacity(ObjId::LEN + 16);
    key.extend_from_slice(id.as_bytes());
    key.extend_from_slice(field);
    key
}

/// The key that [`field_key`] makes, without allocation.
#[derive(Debug, Clone, Copy)]
pub struct FieldKey {
    bytes: [u8; ObjId::LEN + 5],
    len: u8,
}

impl FieldKey {
    /// The key of a field of an object.
    pub fn new(id: ObjId, field: &StorageIdKey) -> Self {
        let mut bytes = [0; ObjId::LEN + 5];
        let (head, tail) = bytes.split_at_mut(ObjId::LEN);
        head.copy_from_slice(id.as_bytes());
        tail.copy_from_slice(&field.bytes);
        #[allow(clippy::cast_possible_truncation, reason = "it is 8")]
        let len = ObjId::LEN as u8 + field.len;
        FieldKey { bytes, len }
    }
}

impl Deref for FieldKey {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The key of one pair of an object's content. `rest` follows the field: it is an element, a
/// position or a map key; it is empty for simple fields and counters.
pub fn content_key(id: ObjId, field: StorageId, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(ObjId::LEN + 5 + rest.len());
    append_content_key(id, field, rest, &mut key);
    key
}

/// Appends a [`content_key`].
pub(crate) fn append_content_key(id: ObjId, field: StorageId, rest: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(id.as_bytes());
    field.write_to(out);
    out.extend_from_slice(rest);
}

/// Takes apart the bytes after the object ID in a [`content_key`]: the storage ID of the field, and
/// the rest. `None` if it does not begin with a storage ID in its shortest form: then the key
/// belongs to no field.
pub fn split_field_key(after_id: &[u8]) -> Option<(StorageId, &[u8])> {
    let mut reader = Reader::new(after_id);
    let field = StorageId::read_from(&mut reader).ok()?;
    // A search makes keys in their shortest form only, so a longer one is a key that is never
    // found.
    after_id.starts_with(&StorageIdKey::from(field)).then(|| (field, reader.rest()))
}

/// A position in a list, as it ends the keys of list elements and their index entries.
pub fn list_position(position: u32) -> Vec<u8> {
    let (bytes, len) = uint::to_array(position);
    bytes[..len].to_vec()
}

/// Reads a position that [`list_position`] wrote.
///
/// # Errors
/// [`EncodingError`] if the bytes are not a number, or are a number in more bytes than it needs: an
/// element under such a key would not be found at its position.
pub fn parse_list_position(bytes: &[u8]) -> Result<u32, EncodingError> {
    uint::decode_shortest(bytes)
}

/// The prefix of all entries of an index with this value: `storage ID · value`.
///
/// For a composite index, `value` may be its first values, one after the other. After all values
/// comes the object ID: see [`object_after`].
pub fn index_prefix(index: &StorageIdKey, value: &[u8]) -> Vec<u8> {
    [index, value].concat()
}

/// Appends the key of an index entry: `storage ID · value · object ID · suffix`.
///
/// `value` is the encoded value of the field, element or map key. For a composite index, it is the
/// values one after the other. `suffix` is the position of a list element or the key of a map
/// value. It is empty in all other indexes.
#[inline]
pub fn append_index_key(
    index: &StorageIdKey,
    value: &[u8],
    id: ObjId,
    suffix: &[u8],
    out: &mut Vec<u8>,
) {
    out.reserve(index_key_len(index, value.len(), suffix.len()));
    out.extend_from_slice(index);
    out.extend_from_slice(value);
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(suffix);
}

/// The key of an index entry, as [`append_index_key`] makes it.
pub fn index_key(index: &StorageIdKey, value: &[u8], id: ObjId, suffix: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(index_key_len(index, value.len(), suffix.len()));
    append_index_key(index, value, id, suffix, &mut key);
    key
}

/// How many bytes [`append_index_key`] appends.
pub(crate) fn index_key_len(index: &StorageIdKey, value_len: usize, suffix_len: usize) -> usize {
    index.len() + value_len + ObjId::LEN + suffix_len
}

/// A part of the key of an index entry, after the storage ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexPart {
    /// An indexed value, with its number. A composite index has several.
    Value(usize),
    /// The object ID.
    Object,
    /// The position in a list, or the key of a map.
    Suffix,
}

/// Calls `read` for each part of an index entry, in order: `values` values, the object ID, and the
/// suffix if there is one. Stops at the first error.
///
/// `read` takes one part of the entry at each call, and decides how strictly it checks that part.
///
/// # Errors
/// The first error of `read`.
#[inline]
pub fn each_index_part<E>(
    values: usize,
    has_suffix: bool,
    mut read: impl FnMut(IndexPart) -> Result<(), E>,
) -> Result<(), E> {
    (0..values).try_for_each(|column| read(IndexPart::Value(column)))?;
    read(IndexPart::Object)?;
    if has_suffix { read(IndexPart::Suffix) } else { Ok(()) }
}

/// The object whose ID comes after the first `prefix_len` bytes of a key. It works for entries that
/// start with an [`index_prefix`] of all their values, or with an [`object_schema_prefix`].
pub fn object_after(key: &[u8], prefix_len: usize) -> Option<ObjId> {
    ObjId::from_bytes(*key.get(prefix_len..)?.first_chunk()?).ok()
}

/// The value stored under an object's own key: the index of its schema.
pub fn object_info(schema: SchemaIndex) -> Vec<u8> {
    let mut value = Vec::with_capacity(5);
    uint::write(schema.get(), &mut value);
    value
}

/// Reads the value stored under an object's own key.
///
/// # Errors
/// A text that says what is wrong: the value is not a positive schema index, a flag is set, or
/// bytes follow.
pub fn parse_object_info(value: &[u8]) -> Result<SchemaIndex, String> {
    let mut reader = Reader::new(value);
    let number = uint::read(&mut reader).map_err(|e| format!("bad object meta-data: {e}"))?;
    match reader.rest() {
        [] | [0] => {}
        [flags] => return Err(format!("bad object meta-data: unknown flags {flags:02x}")),
        _ => return Err("bad object meta-data: trailing bytes".to_owned()),
    }
    match SchemaIndex::new(number) {
        Some(index) if !index.is_empty_schema() => Ok(index),
        _ => Err(format!("bad object meta-data: schema index {number}")),
    }
}

/// The kind of a key, as far as its bytes tell without the schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind<'k> {
    /// The key of the format version.
    FormatVersion,
    /// A schema in the schema table.
    Schema(SchemaIndex),
    /// An item in the storage ID table.
    StorageId(StorageId),
    /// An object in the object schema index.
    ObjectSchema(SchemaIndex, ObjId),
    /// The user's own meta-data.
    UserMetaData,
    /// Meta-data of an unknown kind, or malformed.
    UnknownMetaData,
    /// An object or an index: the storage ID at the start of the key, and what follows it. The
    /// storage ID is that of an object type, an indexed field or a composite index.
    Data(StorageId, &'k [u8]),
    /// The empty key, or a key that does not start with a storage ID.
    Malformed,
}

/// Returns the kind of a key.
pub fn parse_key(key: &[u8]) -> KeyKind<'_> {
    let [META_DATA, rest @ ..] = key else {
        let mut reader = Reader::new(key);
        return match StorageId::read_from(&mut reader) {
            Ok(id) => KeyKind::Data(id, reader.rest()),
            Err(_) => KeyKind::Malformed,
        };
    };
    if key == FORMAT_VERSION_KEY {
        return KeyKind::FormatVersion;
    }
    let parsed = match rest {
        [SCHEMA_TABLE, number @ ..] => whole_number(number)
            .and_then(SchemaIndex::new)
            .filter(|index| !index.is_empty_schema())
            .map(KeyKind::Schema),
        [STORAGE_ID_TABLE, number @ ..] => {
            whole_number(number).and_then(StorageId::new).map(KeyKind::StorageId)
        }
        [OBJECT_SCHEMA_INDEX, ..] => parse_object_schema(key),
        [USER_META_DATA, ..] => Some(KeyKind::UserMetaData),
        _ => None,
    };
    parsed.unwrap_or(KeyKind::UnknownMetaData)
}

pub(crate) fn whole_number(bytes: &[u8]) -> Option<u32> {
    uint::decode(bytes).ok()
}

/// The schema index in a key of the object schema index, and the object ID that follows it.
pub fn split_object_schema(key: &[u8]) -> Option<(SchemaIndex, &[u8])> {
    let [META_DATA, OBJECT_SCHEMA_INDEX, rest @ ..] = key else { return None };
    let mut reader = Reader::new(rest);
    let index = uint::read(&mut reader).ok().and_then(SchemaIndex::new)?;
    Some((index, reader.rest()))
}

fn parse_object_schema(key: &[u8]) -> Option<KeyKind<'static>> {
    let (index, rest) = split_object_schema(key)?;
    let id = ObjId::from_slice(rest).ok()?;
    (!index.is_empty_schema()).then_some(KeyKind::ObjectSchema(index, id))
}

/// Copies all meta-data except the object schema index. Pairs of the destination that the source
/// does not have stay.
pub(crate) fn copy_meta_data(from: &dyn KvRead, to: &mut dyn KvWrite) -> permazen_kv::Result<()> {
    each_meta_data(from, |key, value| to.put(key, value))
}

/// Shows all meta-data except the object schema index.
pub(crate) fn each_meta_data(
    from: &(impl KvRead + ?Sized),
    mut show: impl FnMut(&[u8], &[u8]) -> permazen_kv::Result<()>,
) -> permazen_kv::Result<()> {
    let before = KeySpan::new(META_DATA_SPAN.min, Some(OBJECT_SCHEMA_INDEX_SPAN.min));
    let after = KeySpan { min: OBJECT_SCHEMA_INDEX_END, max: META_DATA_SPAN.max };
    for span in [before, after] {
        for pair in from.scan(span, Direction::Forward)? {
            let (key, value) = pair?;
            show(&key, &value)?;
        }
    }
    Ok(())
}

/// Removes all objects, their indexes and the object schema index. Other meta-data stays.
pub fn delete_object_data(kv: &mut dyn KvWrite) -> permazen_kv::Result<()> {
    kv.remove_span(KeySpan::new(&[], Some(&[META_DATA])))?;
    kv.remove_span(OBJECT_SCHEMA_INDEX_SPAN)?;
    kv.remove_span(KeySpan::new(&[1], None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        permazen_kv::Hex(bytes).to_string()
    }

    fn storage_id(number: u32) -> StorageId {
        StorageId::new(number).unwrap()
    }

    fn index(number: u32) -> SchemaIndex {
        SchemaIndex::new(number).unwrap()
    }

    #[test]
    fn sample_keys() {
        assert_eq!(hex(FORMAT_VERSION_KEY), "00005065726d617a656e00");
        assert_eq!(hex(&schema_table_key(index(1))), "000101");
        assert_eq!(hex(&schema_table_key(index(251))), "0001fb00");
        assert_eq!(hex(&schema_table_key(index(300))), "0001fb31");
        assert_eq!(hex(&storage_id_table_key(storage_id(2))), "000202");
        assert_eq!(hex(&storage_id_table_key(storage_id(300))), "0002fb31");
        let id: ObjId = "0111111111111111".parse().unwrap();
        assert_eq!(hex(&object_schema_key(index(1), id)), "0080010111111111111111");
        let id: ObjId = "fb31111111111111".parse().unwrap();
        assert_eq!(hex(&object_schema_key(index(300), id)), "0080fb31fb31111111111111");
        assert_eq!(hex(&field_key(id, &storage_id(251).into())), "fb31111111111111fb00");
    }

    #[test]
    fn content_and_index_entries() {
        let id: ObjId = "0111111111111111".parse().unwrap();
        let (name, tags) = (StorageIdKey::from(storage_id(2)), StorageIdKey::from(storage_id(300)));
        assert_eq!(hex(&FieldKey::new(id, &tags)), "0111111111111111fb31");
        assert_eq!(field_key(id, &tags)[..], FieldKey::new(id, &tags)[..]);
        let key = content_key(id, storage_id(300), b"x");
        assert_eq!(hex(&key), "0111111111111111fb3178");
        assert_eq!(split_field_key(&key[ObjId::LEN..]), Some((storage_id(300), &b"x"[..])));
        for other in [&[][..], &[0], &[0xff], &[0xfc, 0, 2]] {
            assert_eq!(split_field_key(other), None, "{other:?}");
        }
        for position in [0, 250, 251, uint::MAX] {
            assert_eq!(parse_list_position(&list_position(position)), Ok(position));
        }
        for other in [&[][..], &[1, 0], &[0xfc, 0, 0], &[0xfe, 0xff, 0xff, 0xff, 0x06], &[0xff]] {
            assert!(parse_list_position(other).is_err(), "{other:?}");
        }
        let entry = index_key(&name, b"x\0", id, &list_position(251));
        assert_eq!(hex(&entry), "0278000111111111111111fb00");
        assert_eq!(entry.len(), index_key_len(&name, 2, 2));
        let prefix = index_prefix(&name, b"x\0");
        assert_eq!((hex(&prefix), object_after(&entry, prefix.len())), ("027800".into(), Some(id)));
        assert_eq!(object_after(&entry, entry.len() - 7), None);
        let mut parts = Vec::new();
        let all = each_index_part(2, true, |part| {
            parts.push(part);
            if parts.len() < 4 { Ok(()) } else { Err("the last one") }
        });
        let (first, second) = (IndexPart::Value(0), IndexPart::Value(1));
        assert_eq!(parts, [first, second, IndexPart::Object, IndexPart::Suffix]);
        assert_eq!(all, Err("the last one"));
        let key = object_schema_key(index(300), id);
        assert_eq!(split_object_schema(&key), Some((index(300), &id.as_bytes()[..])));
        assert_eq!(split_object_schema(&schema_table_key(index(1))), None);
    }

    #[test]
    fn object_meta_data() {
        assert_eq!(object_info(index(1)), [1]);
        assert_eq!(parse_object_info(&[1]), Ok(index(1)));
        assert_eq!(parse_object_info(&[1, 0]), Ok(index(1)));
        for bad in [&[1, 1][..], &[1, 0, 0], &[0], &[], &[0xff], &[0xfb]] {
            assert!(parse_object_info(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn object_data_is_deleted_and_meta_data_stays() {
        use permazen_kv::memory::MemoryStore;
        use permazen_kv::{KvDatabase, TxOptions};

        let (from, to) = (MemoryStore::new(), MemoryStore::new());
        let mut tx = from.begin(&TxOptions::default()).unwrap();
        let meta_data: [&[u8]; 4] = [FORMAT_VERSION_KEY, &[0, 1, 1], &[0, 0x90], &[0, 0xff, 1]];
        let objects: [&[u8]; 3] = [&[0, 0x80, 1, 1], &[1, 2], &[0xff]];
        for key in meta_data.into_iter().chain(objects) {
            tx.put(key, b"").unwrap();
        }
        let keys = |kv: &dyn KvRead| -> Vec<Vec<u8>> {
            let pairs = kv.scan(KeySpan::FULL, Direction::Forward).unwrap();
            pairs.map(|pair| pair.unwrap().0.into_owned()).collect()
        };
        let mut copy = to.begin(&TxOptions::default()).unwrap();
        copy_meta_data(&*tx, &mut *copy).unwrap();
        assert_eq!(keys(&*copy), meta_data);
        delete_object_data(&mut *tx).unwrap();
        assert_eq!(keys(&*tx), meta_data);
    }

    #[test]
    fn keys_are_told_apart() {
        let id: ObjId = "0111111111111111".parse().unwrap();
        assert_eq!(parse_key(FORMAT_VERSION_KEY), KeyKind::FormatVersion);
        assert_eq!(parse_key(&schema_table_key(index(300))), KeyKind::Schema(index(300)));
        let key = storage_id_table_key(storage_id(300));
        assert_eq!(parse_key(&key), KeyKind::StorageId(storage_id(300)));
        let key = object_schema_key(index(1), id);
        assert_eq!(parse_key(&key), KeyKind::ObjectSchema(index(1), id));
        assert_eq!(parse_key(&[0, 0xff, 7]), KeyKind::UserMetaData);
        assert_eq!(parse_key(&[0, 3]), KeyKind::UnknownMetaData);
        assert_eq!(parse_key(&[0, 1, 0]), KeyKind::UnknownMetaData);
        assert_eq!(parse_key(&[0, 1, 1, 1]), KeyKind::UnknownMetaData);
        assert_eq!(parse_key(&[0]), KeyKind::UnknownMetaData);
        assert_eq!(parse_key(id.as_bytes()), KeyKind::Data(storage_id(1), &[0x11; 7]));
        assert_eq!(parse_key(&[]), KeyKind::Malformed);
        assert_eq!(parse_key(&[0xff]), KeyKind::Malformed);
    }
}
