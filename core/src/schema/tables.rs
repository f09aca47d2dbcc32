//! The two tables that record schemas, as they are stored (docs/src/format.md#schema-table).

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use permazen_kv::{Direction, KeySpan, KvRead, KvWrite};

use super::error::{Result, SchemaError};
use crate::encoding::{Reader, uint};
use crate::id::StorageId;
use crate::layout::{
    self, FORMAT_VERSION, FORMAT_VERSION_KEY, META_DATA, SCHEMA_TABLE, STORAGE_ID_TABLE,
    SchemaIndex, TABLES_SPAN, whole_number,
};

/// The schema table and the storage ID table as stored, not decoded.
///
/// Two values are equal if and only if the tables are equal byte for byte. Cloning is cheap,
/// because clones share the values.
#[derive(Debug, Clone, Default)]
pub struct SchemaTables {
    /// Schema index to compressed schema XML.
    pub schemas: BTreeMap<SchemaIndex, Arc<[u8]>>,
    /// Storage ID to the encoded schema ID of the item.
    pub storage_ids: BTreeMap<StorageId, Arc<[u8]>>,
    /// Whether some keys they were read from have a number in more bytes than it needs.
    over_long: bool,
}

impl PartialEq for SchemaTables {
    fn eq(&self, other: &Self) -> bool {
        self.schemas == other.schemas && self.storage_ids == other.storage_ids
    }
}

impl Eq for SchemaTables {}

/// An entry of one of the tables.
enum TableEntry {
    Schema(SchemaIndex),
    StorageId(StorageId),
}

/// How the stored tables compare with known ones.
pub(crate) enum Stored {
    /// They are the same, and there is no unknown meta-data around them.
    These,
    /// They are these instead, and there is no unknown meta-data around them.
    Others(SchemaTables),
    /// The store is not a database of the known format, or has unknown meta-data around the tables.
    Unknown,
}

impl SchemaTables {
    /// Reads the tables. One scan.
    ///
    /// # Errors
    /// [`SchemaError::Inconsistent`] for a malformed key.
    pub fn read(kv: &dyn KvRead) -> Result<SchemaTables> {
        let mut tables = SchemaTables::default();
        for pair in kv.scan(TABLES_SPAN, Direction::Forward)? {
            let (key, value) = pair?;
            tables.insert(&key, &value)?;
        }
        Ok(tables)
    }

    /// Replaces the stored tables by these. Writes every entry.
    pub fn write(&self, kv: &mut dyn KvWrite) -> permazen_kv::Result<()> {
        // Keys in a longer form would stay beside those that are put.
        kv.remove_span(TABLES_SPAN)?;
        for (&index, value) in &self.schemas {
            kv.put(&layout::schema_table_key(index), value)?;
        }
        for (&id, value) in &self.storage_ids {
            kv.put(&layout::storage_id_table_key(id), value)?;
        }
        Ok(())
    }

    /// Reads the tables and checks the meta-data around them. The database must have its format
    /// version key. One scan.
    pub(super) fn read_checked(kv: &dyn KvRead) -> Result<SchemaTables> {
        let mut tables = SchemaTables::default();
        for pair in kv.scan(AROUND_TABLES, Direction::Forward)? {
            let (key, value) = pair?;
            if *key != *FORMAT_VERSION_KEY {
                if !TABLES_SPAN.contains(&key) {
                    return Err(SchemaError::inconsistent("unknown meta-data", &key));
                }
                tables.insert(&key, &value)?;
            }
        }
        Ok(tables)
    }

    /// A copy that will be changed and written.
    pub(super) fn to_change(&self) -> SchemaTables {
        // Written values have their shortest form.
        SchemaTables { over_long: false, ..self.clone() }
    }

    /// Replaces the stored tables, which are `stored`, by these. One put or delete for each entry
    /// that differs.
    pub(crate) fn write_over(
        &self,
        stored: &SchemaTables,
        kv: &mut dyn KvWrite,
    ) -> permazen_kv::Result<()> {
        let mut differences = self.differences(stored).peekable();
        // Keys are always written in their shortest form. The stored keys may have other forms, so
        // all are replaced.
        if stored.over_long && differences.peek().is_some() {
            return self.write(kv);
        }
        differences.try_for_each(|Change { key, new, .. }| match new {
            Some(new) => kv.put(&key, new),
            None => kv.remove(&key),
        })
    }

    /// Whether some keys they were read from have a number in more bytes than it needs.
    pub(crate) fn is_over_long(&self) -> bool {
        self.over_long
    }

    /// The changes that turn the stored tables, which are `stored`, into these.
    pub(crate) fn differences<'t>(
        &'t self,
        stored: &'t SchemaTables,
    ) -> impl Iterator<Item = Change<'t>> {
        let schemas = differences(&stored.schemas, &self.schemas).map(|(index, old, new)| {
            let key = layout::schema_table_key(index);
            Change { key, old: old.map(|old| &**old), new: new.map(|new| &**new) }
        });
        let storage_ids = differences(&stored.storage_ids, &self.storage_ids);
        schemas.chain(storage_ids.map(|(id, old, new)| {
            let key = layout::storage_id_table_key(id);
            Change { key, old: old.map(|old| &**old), new: new.map(|new| &**new) }
        }))
    }

    /// Compares the store with these tables. One scan, and no allocation unless they differ.
    pub(crate) fn compare(&self, kv: &dyn KvRead) -> Result<Stored> {
        let mut pairs = kv.scan(AROUND_TABLES, Direction::Forward)?;
        match pairs.next().transpose()? {
            Some((key, value))
                if *key == *FORMAT_VERSION_KEY && whole_number(&value) == Some(FORMAT_VERSION) => {}
            _ => return Ok(Stored::Unknown),
        }
        let mut schemas = self.schemas.iter();
        let mut storage_ids = self.storage_ids.iter();
        // The number of entries of each table before the first one that differs.
        let mut same = (0, 0);
        let mut others: Option<SchemaTables> = None;
        for pair in pairs {
            let (key, value) = pair?;
            // Anything else around the tables is unknown meta-data, which the full check reports.
            let Ok(entry) = TableEntry::parse(&key) else { return Ok(Stored::Unknown) };
            let over_long = entry.is_over_long(&key);
            // After the first difference, the entries are collected and not compared.
            if let Some(others) = &mut others {
                others.put(entry, over_long, &value, self);
                continue;
            }
            let is_same = match &entry {
                TableEntry::Schema(index) => {
                    schemas.next().is_some_and(|(i, v)| i == index && **v == *value)
                }
                TableEntry::StorageId(id) => {
                    storage_ids.next().is_some_and(|(i, v)| i == id && **v == *value)
                }
            };
            // A key in a longer form counts as a difference, so that `over_long` is known.
            match (is_same && (self.over_long || !over_long), &entry) {
                (true, TableEntry::Schema(_)) => same.0 += 1,
                (true, TableEntry::StorageId(_)) => same.1 += 1,
                (false, _) => others.insert(self.first(same)).put(entry, over_long, &value, self),
            }
        }
        Ok(match others {
            Some(others) => Stored::Others(others),
            None if same == (self.schemas.len(), self.storage_ids.len()) => Stored::These,
            None => Stored::Others(self.first(same)),
        })
    }

    /// The first entries of each table, as many as given.
    fn first(&self, (schemas, storage_ids): (usize, usize)) -> SchemaTables {
        SchemaTables {
            schemas: self.schemas.iter().take(schemas).map(|(k, v)| (*k, v.clone())).collect(),
            storage_ids: self
                .storage_ids
                .iter()
                .take(storage_ids)
                .map(|(k, v)| (*k, v.clone()))
                .collect(),
            over_long: self.over_long,
        }
    }

    /// Adds the pair of one of the tables.
    pub(super) fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let entry = TableEntry::parse(key)?;
        let over_long = entry.is_over_long(key);
        self.put(entry, over_long, value, &SchemaTables::default());
        Ok(())
    }

    /// Adds an entry. Shares the value with `known` if it has the same value.
    fn put(&mut self, entry: TableEntry, over_long: bool, value: &[u8], known: &SchemaTables) {
        self.over_long |= over_long;
        // Values that are the same are shared, since the other tables are often kept too.
        let share = |known: Option<&Arc<[u8]>>| match known {
            Some(known) if **known == *value => Arc::clone(known),
            _ => value.into(),
        };
        match entry {
            TableEntry::Schema(index) => {
                self.schemas.insert(index, share(known.schemas.get(&index)));
            }
            TableEntry::StorageId(id) => {
                self.storage_ids.insert(id, share(known.storage_ids.get(&id)));
            }
        }
    }
}

/// A change of a stored entry.
pub(crate) struct Change<'t> {
    pub(crate) key: Vec<u8>,
    /// The value that is stored now.
    pub(crate) old: Option<&'t [u8]>,
    /// The value that should be stored.
    pub(crate) new: Option<&'t [u8]>,
}

/// A number in a table, and its values in two versions of the table.
type Difference<'m, K> = (K, Option<&'m Arc<[u8]>>, Option<&'m Arc<[u8]>>);

/// The differences between two tables, in ascending order.
pub(super) fn differences<'m, K: Ord + Copy>(
    old: &'m BTreeMap<K, Arc<[u8]>>,
    new: &'m BTreeMap<K, Arc<[u8]>>,
) -> impl Iterator<Item = Difference<'m, K>> {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    std::iter::from_fn(move || {
        loop {
            let order = match (old.peek(), new.peek()) {
                (Some((old, _)), Some((new, _))) => old.cmp(new),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return None,
            };
            let before = if order.is_le() { old.next() } else { None };
            let after = if order.is_ge() { new.next() } else { None };
            let (number, _) = before.or(after)?;
            let (before, after) = (before.map(|(_, value)| value), after.map(|(_, value)| value));
            // Most values are shared, so the bytes need not be compared.
            let same =
                before.zip(after).is_some_and(|(old, new)| Arc::ptr_eq(old, new) || old == new);
            if !same {
                return Some((*number, before, after));
            }
        }
    })
}

/// The keys from the format version up to the object schema index.
const AROUND_TABLES: KeySpan<'static> = KeySpan { min: &[0], max: Some(&[0, 0x80]) };

impl TableEntry {
    /// Whether the number in its key takes more bytes than it needs.
    fn is_over_long(&self, key: &[u8]) -> bool {
        let number = match self {
            TableEntry::Schema(index) => index.get(),
            TableEntry::StorageId(id) => id.get(),
        };
        key.len() > 2 + uint::len(number)
    }

    fn parse(key: &[u8]) -> Result<TableEntry> {
        let malformed = |what: &str| SchemaError::inconsistent(what, key);
        let [META_DATA, table, rest @ ..] = key else {
            return Err(malformed("no key of a schema table"));
        };
        let mut reader = Reader::new(rest);
        let number = uint::read(&mut reader)
            .map_err(|_| malformed("malformed number in a schema table key"))?;
        if !reader.is_empty() {
            return Err(malformed("trailing bytes in a schema table key"));
        }
        match *table {
            SCHEMA_TABLE => SchemaIndex::new(number)
                // The index 0 means the empty schema, which is not recorded.
                .filter(|index| !index.is_empty_schema())
                .map(TableEntry::Schema)
                .ok_or_else(|| malformed("invalid schema index")),
            STORAGE_ID_TABLE => StorageId::new(number)
                .map(TableEntry::StorageId)
                .ok_or_else(|| malformed("invalid storage ID")),
            _ => Err(malformed("no key of a schema table")),
        }
    }
}
