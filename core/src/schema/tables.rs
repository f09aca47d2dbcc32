//! The two tables that record schemas, as they are stored (docs/src/format.md#schema-table).

use std::collections::BTreeMap;

use permazen_kv::{Direction, KeySpan, KvRead, KvWrite};

use super::error::{Result, SchemaError};
use crate::encoding::{Reader, uint};
use crate::id::StorageId;
use crate::layout::{
    self, FORMAT_VERSION, FORMAT_VERSION_KEY, META_DATA, SCHEMA_TABLE, STORAGE_ID_TABLE,
    SchemaIndex, TABLES_SPAN, whole_number,
};

/// Schema table and storage ID table, undecoded.
///
/// Two of them are equal if and only if their values are equal byte for byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaTables {
    /// Schema index to compressed schema XML.
    pub schemas: BTreeMap<SchemaIndex, Vec<u8>>,
    /// Storage ID to encoded schema id of the item.
    pub storage_ids: BTreeMap<StorageId, Vec<u8>>,
}

/// An entry of one of the tables.
enum Entry {
    Schema(SchemaIndex),
    StorageId(StorageId),
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
    ///
    /// # Errors
    /// Those of the store.
    pub fn write(&self, kv: &mut dyn KvWrite) -> permazen_kv::Result<()> {
        kv.remove_span(TABLES_SPAN)?;
        for (&index, value) in &self.schemas {
            kv.put(&layout::schema_table_key(index), value)?;
        }
        for (&id, value) in &self.storage_ids {
            kv.put(&layout::storage_id_table_key(id), value)?;
        }
        Ok(())
    }

    /// Reads the tables and checks what surrounds them, in a database that has its format version
    /// key. One scan.
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

    /// Whether the store is a database with just these tables and nothing unknown around them. One
    /// scan, without allocation.
    pub(crate) fn is_all_stored(&self, kv: &dyn KvRead) -> Result<bool> {
        let mut pairs = kv.scan(AROUND_TABLES, Direction::Forward)?;
        match pairs.next().transpose()? {
            Some((key, value)) if *key == *FORMAT_VERSION_KEY => {
                if whole_number(&value) != Some(FORMAT_VERSION) {
                    return Ok(false);
                }
            }
            _ => return Ok(false),
        }
        let mut schemas = self.schemas.iter();
        let mut storage_ids = self.storage_ids.iter();
        for pair in pairs {
            let (key, value) = pair?;
            let same = match Entry::parse(&key) {
                Ok(Entry::Schema(index)) => {
                    schemas.next().is_some_and(|(i, v)| *i == index && *v == *value)
                }
                Ok(Entry::StorageId(id)) => {
                    storage_ids.next().is_some_and(|(i, v)| *i == id && *v == *value)
                }
                Err(_) => false,
            };
            if !same {
                return Ok(false);
            }
        }
        Ok(schemas.next().is_none() && storage_ids.next().is_none())
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match Entry::parse(key)? {
            Entry::Schema(index) => self.schemas.insert(index, value.to_vec()),
            Entry::StorageId(id) => self.storage_ids.insert(id, value.to_vec()),
        };
        Ok(())
    }
}

/// The stored format version and everything from there to the object schema index.
const AROUND_TABLES: KeySpan<'static> = KeySpan { min: &[0], max: Some(&[0, 0x80]) };

impl Entry {
    fn parse(key: &[u8]) -> Result<Entry> {
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
                .filter(|index| !index.is_empty_schema())
                .map(Entry::Schema)
                .ok_or_else(|| malformed("invalid schema index")),
            STORAGE_ID_TABLE => StorageId::new(number)
                .map(Entry::StorageId)
                .ok_or_else(|| malformed("invalid storage ID")),
            _ => Err(malformed("no key of a schema table")),
        }
    }
}
