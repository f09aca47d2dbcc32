//! The shape of index keys: which columns they have and where each one ends.
//!
//! An index key consists of the storage ID of the index, one or more encoded values, and the object
//! ID. The keys for list elements and map values also have the position or the map key
//! (docs/src/format.md#indexes).

use std::sync::Arc;

use crate::encoding::{
    self, Encoding, EncodingError, EncodingId, EncodingKind, Primitive, Reader, Value, long, uint,
};
use crate::id::{ObjId, StorageId};
use crate::layout::{self, IndexPart, StorageIdKey};
use crate::object::error::{Error, Result, hex};

/// The field or fields of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexKind {
    /// A simple field.
    Field,
    /// The elements of a set.
    SetElement,
    /// The elements of a list; its entries have a position.
    ListElement,
    /// The keys of a map.
    MapKey,
    /// The values of a map; its entries have a map key.
    MapValue,
    /// Several simple fields.
    Composite,
}

/// An index as it is stored: its storage ID and the encoding of each column.
#[derive(Debug, Clone)]
pub struct IndexShape {
    storage_id: StorageId,
    prefix: StorageIdKey,
    name: String,
    kind: IndexKind,
    values: Vec<Arc<dyn Encoding>>,
    /// For a map value index: the different encodings of the keys of its maps.
    map_keys: Vec<Arc<dyn Encoding>>,
    /// Whether the encoding of the last value is not registered.
    opaque_end: bool,
    id_place: IdPlace,
}

fn is_opaque(encoding: &Arc<dyn Encoding>) -> bool {
    matches!(encoding.kind(), EncodingKind::Unknown)
}

/// How to find the object ID in a key without calling the encodings.
#[derive(Debug, Clone, Copy)]
enum IdPlace {
    /// After the only value. It begins here, and its first byte gives its length.
    After(usize, ValueLens),
    /// Always at this offset.
    At(usize),
    /// The encodings are needed to find it.
    Anywhere,
}

/// The length of a value for each possible first byte; zero if no value begins with it.
#[derive(Clone, Copy)]
pub(in crate::object) struct ValueLens(&'static [u8; 256]);

static NUMBERS: [u8; 256] = lens_of_numbers(0);
static NUMBERS_OR_NULL: [u8; 256] = lens_of_numbers(1);
static REFERENCES_OR_NULL: [u8; 256] = {
    #[allow(clippy::cast_possible_truncation, reason = "it is 8")]
    let mut lens = [ObjId::LEN as u8; 256];
    // No reference begins with a zero byte: object IDs have a storage ID above 0.
    lens[0] = 0;
    lens[0xff] = 1;
    lens
};

const fn lens_of_numbers(of_null: u8) -> [u8; 256] {
    let mut lens = [0; 256];
    let mut first = 0u8;
    while first < 0xff {
        lens[first as usize] = long::len_after_first(first);
        first += 1;
    }
    // A primitive number is never null, so `ff` begins no value of it.
    lens[0xff] = of_null;
    lens
}

/// How to see that the only value of a key ends where the object ID begins.
#[derive(Debug, Clone, Copy)]
pub(in crate::object) enum PlainEnd {
    /// The first byte of the value gives its length, which is at most nine.
    Lens(ValueLens),
    /// The value is a string, or null.
    Text,
    /// By the encodings.
    Other,
}

impl IdPlace {
    fn of(prefix_len: usize, values: &[Arc<dyn Encoding>]) -> Self {
        let lens = match values {
            [value] => ValueLens::of(&**value),
            _ => None,
        };
        if let Some(lens) = lens {
            return IdPlace::After(prefix_len, lens);
        }
        // Several values of fixed length still have the ID at one place.
        let widths: Option<usize> = values.iter().map(|value| value.fixed_width()).sum();
        widths.map_or(IdPlace::Anywhere, |width| IdPlace::At(prefix_len + width))
    }

    /// The offset of the object ID, if it can be found without the encodings.
    #[inline]
    fn find(self, key: &[u8]) -> Option<usize> {
        match self {
            IdPlace::After(at, lens) => match lens.after(*key.get(at)?) {
                0 => None,
                len => Some(at + len),
            },
            IdPlace::At(at) => Some(at),
            IdPlace::Anywhere => None,
        }
    }
}

impl std::fmt::Debug for ValueLens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ValueLens")
    }
}

impl ValueLens {
    fn of(encoding: &dyn Encoding) -> Option<Self> {
        use Primitive::{Byte, Int, Long, Short};
        match encoding.kind() {
            EncodingKind::Primitive(Byte | Short | Int | Long) => Some(ValueLens(&NUMBERS)),
            EncodingKind::Wrapper(Byte | Short | Int | Long) => Some(ValueLens(&NUMBERS_OR_NULL)),
            EncodingKind::Reference(_) => Some(ValueLens(&REFERENCES_OR_NULL)),
            _ => None,
        }
    }

    /// The length of a value that begins with this byte; zero if no value does.
    #[inline]
    pub(in crate::object) fn after(self, first: u8) -> usize {
        usize::from(self.0[usize::from(first)])
    }
}

impl IndexShape {
    pub(crate) fn new(
        storage_id: StorageId,
        name: String,
        kind: IndexKind,
        values: Vec<Arc<dyn Encoding>>,
        map_keys: Vec<Arc<dyn Encoding>>,
    ) -> Self {
        let prefix = StorageIdKey::from(storage_id);
        let opaque_end = values.last().is_some_and(is_opaque);
        let id_place = IdPlace::of(prefix.len(), &values);
        IndexShape { storage_id, prefix, name, kind, values, map_keys, opaque_end, id_place }
    }

    /// The storage ID with which all keys of the index start.
    pub fn storage_id(&self) -> StorageId {
        self.storage_id
    }

    /// The name of the index in messages: `Person.name`, `Person.tags.element`, `Person#byName`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The field or fields of the index.
    pub fn kind(&self) -> IndexKind {
        self.kind
    }

    /// The encodings of the indexed values. References are not restricted to types here.
    pub fn values(&self) -> &[Arc<dyn Encoding>] {
        &self.values
    }

    /// The number of the column of the object ID. The columns before it are the indexed values.
    pub fn id_column(&self) -> usize {
        self.values.len()
    }

    /// Whether a column follows the object ID: the position in a list or the key of a map.
    pub fn has_suffix(&self) -> bool {
        matches!(self.kind, IndexKind::ListElement | IndexKind::MapValue)
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.values.len() + 1 + usize::from(self.has_suffix())
    }

    pub(crate) fn prefix(&self) -> &StorageIdKey {
        &self.prefix
    }

    /// Checks that entries can be split into columns.
    ///
    /// The end of a value is unknown if its encoding is not registered. It can still be found if
    /// only the object ID follows, because that has a known length. So only the last value of an
    /// index whose entries end with the object ID may have such an encoding.
    ///
    /// # Errors
    /// [`Error::UnknownEncoding`] if another value has such an encoding.
    pub(crate) fn check_divisible(&self) -> Result<()> {
        let ends_with_id = !self.has_suffix();
        let last = self.values.len().saturating_sub(1);
        let obstacle =
            self.values.iter().enumerate().find(|&(column, encoding)| {
                is_opaque(encoding) && !(ends_with_id && column == last)
            });
        match obstacle.and_then(|(_, encoding)| encoding.id()) {
            None => Ok(()),
            Some(encoding) => Err(self.indivisible(encoding)),
        }
    }

    #[cold]
    fn indivisible(&self, encoding: &EncodingId) -> Error {
        Error::UnknownEncoding {
            of: format!("index {} (storage id {})", self.name, self.storage_id),
            why: "its entries cannot be taken apart",
            encoding: encoding.clone(),
        }
    }

    /// Skips the value in `column`.
    #[inline]
    fn skip_value(
        &self,
        column: usize,
        value: &dyn Encoding,
        reader: &mut Reader<'_>,
    ) -> encoding::Result<()> {
        // The encoding is unknown, but only the object ID follows the value.
        if self.opaque_end && column + 1 == self.values.len() {
            let length = reader.rest().len().checked_sub(ObjId::LEN);
            return match length {
                // A value has at least one byte. An entry without one is damaged.
                Some(length) if length > 0 => reader.take(length).map(drop),
                _ => Err(encoding::EncodingError::Truncated),
            };
        }
        value.skip(reader)
    }

    /// The encoding of the map keys, if all maps of this index have the same one.
    pub(crate) fn only_map_key(&self) -> Option<&Arc<dyn Encoding>> {
        match &self.map_keys[..] {
            // Maps that share an index can have keys of different encodings. Then only the map of
            // the object tells which one it is.
            [only] => Some(only),
            _ => None,
        }
    }

    /// Sets `ends` to the end of each column of `key`.
    #[inline]
    pub(crate) fn cut(&self, key: &[u8], ends: &mut Vec<usize>) -> Result<()> {
        ends.clear();
        match self.try_cut(key, ends) {
            Ok(()) => Ok(()),
            Err(reason) => Err(self.malformed(key, &reason)),
        }
    }

    /// A column of a key whose columns end at `ends`.
    #[inline]
    pub(crate) fn column<'k>(&self, column: usize, key: &'k [u8], ends: &[usize]) -> &'k [u8] {
        let from = match column.checked_sub(1) {
            None => self.prefix.len(),
            Some(before) => ends.get(before).copied().unwrap_or(usize::MAX),
        };
        ends.get(column).and_then(|to| key.get(from..*to)).unwrap_or_default()
    }

    /// How to see that the only value ends where the object ID begins.
    pub(in crate::object) fn plain_end(&self) -> PlainEnd {
        match (self.id_place, &self.values[..]) {
            (IdPlace::After(_, lens), _) => PlainEnd::Lens(lens),
            (_, [value]) if matches!(value.kind(), EncodingKind::String) => PlainEnd::Text,
            _ => PlainEnd::Other,
        }
    }

    /// The object ID of a key that ends with it.
    #[inline]
    pub(crate) fn id_at_end(&self, key: &[u8]) -> Result<ObjId> {
        if let Some((before, id)) = key.split_last_chunk()
            // A longer key than it should be also ends with eight bytes, so the place must agree.
            && self.id_place.find(key) == Some(before.len())
            && let Ok(id) = ObjId::from_bytes(*id)
        {
            return Ok(id);
        }
        // The short way does not know all encodings. They say whether the key is right, and why
        // not.
        self.id_after_values(key)
    }

    fn id_after_values(&self, key: &[u8]) -> Result<ObjId> {
        let mut reader = Reader::new(key.get(self.prefix.len()..).unwrap_or_default());
        for (column, value) in self.values.iter().enumerate() {
            if let Err(reason) = self.skip_value(column, &**value, &mut reader) {
                return Err(self.malformed(key, &reason));
            }
        }
        match ObjId::from_slice(reader.rest()) {
            Ok(id) => Ok(id),
            Err(reason) => Err(self.malformed(key, &reason)),
        }
    }

    #[cold]
    fn malformed(&self, key: &[u8], reason: &encoding::EncodingError) -> Error {
        Error::inconsistent(format!(
            "key {} is no entry of index {} (storage id {}): {reason}",
            hex(key, 64),
            self.name,
            self.storage_id,
        ))
    }

    #[inline]
    fn try_cut(&self, key: &[u8], ends: &mut Vec<usize>) -> encoding::Result<()> {
        let mut reader = Reader::new(key);
        reader.take(self.prefix.len())?;
        layout::each_index_part(
            self.values.len(),
            self.has_suffix(),
            |part| -> encoding::Result<()> {
                match (part, self.kind, self.only_map_key()) {
                    (IndexPart::Value(column), ..) => {
                        let value = self.values.get(column).ok_or(EncodingError::Truncated)?;
                        self.skip_value(column, &**value, &mut reader)?;
                    }
                    (IndexPart::Object, ..) => drop(ObjId::read_from(&mut reader)?),
                    (IndexPart::Suffix, IndexKind::ListElement, _) => uint::skip(&mut reader)?,
                    (IndexPart::Suffix, _, Some(encoding)) => encoding.skip(&mut reader)?,
                    // The encoding of the key depends on the map. The key comes last, so it is the
                    // rest, which has at least one byte.
                    (IndexPart::Suffix, _, None) => drop(reader.take(reader.rest().len().max(1))?),
                }
                ends.push(key.len() - reader.rest().len());
                Ok(())
            },
        )?;
        // Bytes after the last column are damage.
        reader.finish()
    }

    /// Appends `value`, encoded for `column`.
    pub(crate) fn encode(&self, column: usize, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        let refused = |reason: encoding::EncodingError| {
            Error::invalid_argument(format!(
                "{value:?} is no value of column {column} of index {}: {reason}",
                self.name
            ))
        };
        if let Some(encoding) = self.values.get(column) {
            return encoding.encode(value, out).map_err(refused);
        }
        match (column.checked_sub(self.values.len()), self.kind, value) {
            (Some(0), _, Value::Ref(id)) => out.extend_from_slice(id.as_bytes()),
            (Some(1), IndexKind::ListElement, Value::Int(position)) => {
                uint::write(uint::check(i64::from(*position)).map_err(refused)?, out);
            }
            (Some(1), IndexKind::MapValue, _) => match self.only_map_key() {
                Some(encoding) => encoding.encode(value, out).map_err(refused)?,
                None => {
                    return Err(Error::invalid_argument(format!(
                        "the map keys of index {} have several encodings; give them encoded",
                        self.name
                    )));
                }
            },
            _ => {
                return Err(Error::invalid_argument(format!(
                    "index {} has no column {column} of values like {value:?}",
                    self.name
                )));
            }
        }
        Ok(())
    }

    /// Decodes `bytes` as a value of `column`. Does not work for map keys with several encodings.
    pub(crate) fn decode(&self, column: usize, bytes: &[u8], key: &[u8]) -> Result<Value> {
        let decoded = match self.values.get(column) {
            Some(encoding) => encoding.decode_all(bytes),
            None if column == self.values.len() => ObjId::from_slice(bytes).map(Value::Ref),
            // The keys of a map can be decoded here only if all maps of the index have one
            // encoding.
            None => match (self.kind, self.only_map_key()) {
                (IndexKind::MapValue, Some(encoding)) => encoding.decode_all(bytes),
                _ => layout::parse_list_position(bytes).map(|position| {
                    i32::try_from(position).map_or(Value::Long(i64::from(position)), Value::Int)
                }),
            },
        };
        decoded.map_err(|reason| {
            Error::inconsistent(format!(
                "key {} of index {} (storage id {}): {reason}",
                hex(key, 64),
                self.name,
                self.storage_id
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use permazen_kv::memory::MemoryStore;

    use super::*;
    use crate::encoding::EncodingRegistry;
    use crate::object::store::Undo;
    use crate::object::{Database, TransactionConfig};
    use crate::schema::SchemaModel;

    /// Schemas have composite indexes on at most four fields. Shapes and views have no such limit.
    #[test]
    fn views_of_indexes_on_many_values() {
        let db = Database::new(Arc::new(MemoryStore::new()));
        let tx = db.begin(&TransactionConfig::new(SchemaModel::new()).unwrap()).unwrap();
        let number = EncodingRegistry::new().find_alias("int").unwrap().unwrap();
        let values = 7;
        let index = StorageId::new(30).unwrap();
        let shape = IndexShape::new(
            index,
            "Wide#all".into(),
            IndexKind::Composite,
            vec![number; values],
            Vec::new(),
        );
        let shape = Arc::new(shape);
        let id = |n: u64| ObjId::from_bytes((0x0a00_0000_0000_0000 + n).to_be_bytes()).unwrap();
        // all combinations of 0 and 1, objects counted in binary
        let digit = |n: u64, column: usize| Value::Int((n >> (values - 1 - column) & 1) as i32);
        for n in 0..1 << values {
            let mut key = shape.prefix().to_vec();
            for column in 0..values {
                shape.encode(column, &digit(n, column), &mut key).unwrap();
            }
            key.extend_from_slice(id(n).as_bytes());
            tx.store().put(&key, &[], Undo::Absent).unwrap();
        }
        let view = tx.index_view(Arc::clone(&shape)).unwrap();
        assert_eq!((view.columns(), shape.id_column()), (values + 1, values));
        assert!(view.ids().map(Result::unwrap).eq((0..128).map(id)));
        assert!(view.ids().rev().map(Result::unwrap).eq((0..128).rev().map(id)));
        let tuple: Vec<_> = (0..values).map(|column| digit(93, column)).collect();
        assert_eq!(view.get(&tuple).unwrap().to_vec().unwrap(), [id(93)]);
        let one = Value::Int(1);
        let last = view.with_value(6, &one).unwrap().with_prefix(&tuple[..5]).unwrap();
        assert!(last.ids().map(Result::unwrap).eq([id(93), id(95)]));
        let odd = view.with_bounds(6, Bound::Excluded(&Value::Int(0)), Bound::Unbounded).unwrap();
        assert!(odd.ids().map(Result::unwrap).eq((0..128).filter(|n| n % 2 == 1).map(id)));
        let after = view.with_tuple_bounds(Bound::Excluded(&tuple[..6]), Bound::Unbounded);
        assert_eq!(after.unwrap().first().unwrap().unwrap().id().unwrap(), id(94));
        assert_eq!(view.distinct(6).count().unwrap(), 64);
        let entry = view.last().unwrap().unwrap();
        assert_eq!(entry.to_values().unwrap()[..values], vec![one; values]);
    }
}
