//! Checks the format version, the schema table and the storage ID table, each entry on its own.

use std::collections::BTreeMap;

use permazen::__internal::layout::{
    FORMAT_VERSION, FORMAT_VERSION_KEY, LEDGER_KEY, LOADING, SCHEMA_TABLE_SPAN,
    STORAGE_ID_TABLE_SPAN, is_ledger, schema_table_key, storage_id_table_key,
};
use permazen::__internal::schema::{InflateError, SchemaTables, deflate, inflate};
use permazen::StorageId;
use permazen::encoding::{Reader, string, uint};
use permazen::kv::{Direction, KvRead};
use permazen::schema::{SchemaId, SchemaIndex, SchemaModel, XmlForm};

use crate::report::finding::{Class, Finding};
use crate::report::output::{Checked, Output};
use crate::{Error, Options};

/// The content of the tables, after each entry was checked on its own.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// The tables as they will be after repair.
    pub(crate) encoded: SchemaTables,
    pub(crate) models: BTreeMap<SchemaIndex, SchemaModel>,
    pub(crate) storage_ids: BTreeMap<StorageId, SchemaId>,
    /// Whether every entry could be used or repaired.
    pub(crate) usable: bool,
}

/// Whether the store is a Permazen database of a format that is known, or will be after repair.
pub(crate) fn check_format_version(
    kv: &dyn KvRead,
    options: &Options,
    out: &mut Output<'_>,
) -> Checked<bool> {
    let stored = kv.get(FORMAT_VERSION_KEY)?.map(|value| value.into_owned());
    if stored.is_some() {
        out.pair()?;
    }
    // A repair would remove everything in it.
    if stored.is_none() && kv.get(LEDGER_KEY)?.is_some_and(|value| is_ledger(&value)) {
        return Err(Error::Ledger.into());
    }
    let mut expected = Vec::new();
    uint::write(FORMAT_VERSION, &mut expected);
    let is_loading = stored.as_ref().is_some_and(|value| value.starts_with(LOADING));
    let finding = match &stored {
        Some(value) if *value == expected => return Ok(true),
        Some(value) if is_loading => Finding::new(
            Class::BadFormatVersion,
            FORMAT_VERSION_KEY,
            "the objects of this database are still being loaded, or the program that loaded them has ended before the \
             load was complete: wait for its end, or empty the store and load them again",
        )
        .value(value),
        Some(value) => {
            let detail = format!("the format version is not {FORMAT_VERSION}");
            Finding::new(Class::BadFormatVersion, FORMAT_VERSION_KEY, detail).value(value)
        }
        None if kv.at_least(&[], None)?.is_none() => Finding::new(
            Class::MissingFormatVersion,
            FORMAT_VERSION_KEY,
            "the store is empty: it is no Permazen database yet",
        ),
        None => Finding::new(
            Class::MissingFormatVersion,
            FORMAT_VERSION_KEY,
            "the format version is missing: this is no Permazen database, or its first pair is lost",
        ),
    };
    // A repair would make half of the objects look like all of them.
    if options.format_version.is_some() && !is_loading {
        out.report(finding.put(&expected))?;
        return Ok(true);
    }
    out.report(finding.unrepairable())?;
    Ok(false)
}

/// Reads both tables, entry by entry.
pub(crate) fn read_tables(
    kv: &dyn KvRead,
    options: &Options,
    out: &mut Output<'_>,
) -> Checked<Tables> {
    let mut tables = Tables { usable: true, ..Tables::default() };
    let mut overrides = options.schemas.clone();
    for pair in kv.scan(SCHEMA_TABLE_SPAN, Direction::Forward)? {
        let (key, value) = pair?;
        out.pair()?;
        match number(&key).and_then(|n| {
            SchemaIndex::new(n).filter(|i| !i.is_empty_schema()).ok_or_else(|| "index 0".to_owned())
        }) {
            Err(detail) => out.report(
                Finding::new(Class::BadSchemaTableKey, &key, format!("schema table: {detail}"))
                    .value(&value),
            )?,
            Ok(index) => {
                let instead = overrides.remove(&index);
                schema_entry(index, &key, &value, instead, &mut tables, out)?;
            }
        }
    }
    for (index, model) in overrides {
        let key = schema_table_key(index);
        if let Some(model) = model {
            let value = compressed(&model);
            out.report(
                Finding::new(
                    Class::MissingSchema,
                    &key,
                    format!("schema {index} is missing, and added as asked for"),
                )
                .put(&value),
            )?;
            tables.encoded.schemas.insert(index, value.into());
            tables.models.insert(index, model);
        }
    }
    let mut overrides = options.storage_ids.clone();
    for pair in kv.scan(STORAGE_ID_TABLE_SPAN, Direction::Forward)? {
        let (key, value) = pair?;
        out.pair()?;
        match number(&key).and_then(|n| StorageId::new(n).ok_or_else(|| "ID 0".to_owned())) {
            Err(detail) => out.report(
                Finding::new(Class::BadStorageIdKey, &key, format!("storage ID table: {detail}"))
                    .value(&value),
            )?,
            Ok(id) => {
                let instead = overrides.remove(&id);
                storage_id_entry(id, &key, &value, instead, &mut tables, out)?;
            }
        }
    }
    for (id, schema_id) in overrides {
        if let Some(schema_id) = schema_id {
            let key = storage_id_table_key(id);
            let value = storage_id_value(schema_id);
            out.report(
                Finding::new(
                    Class::MissingStorageId,
                    &key,
                    format!("storage ID {id} is missing, and added as asked for"),
                )
                .put(&value),
            )?;
            tables.encoded.storage_ids.insert(id, value.into());
            tables.storage_ids.insert(id, schema_id);
        }
    }
    Ok(tables)
}

fn schema_entry(
    index: SchemaIndex,
    key: &[u8],
    value: &[u8],
    instead: Option<Option<SchemaModel>>,
    tables: &mut Tables,
    out: &mut Output<'_>,
) -> Checked {
    let decoded = decode_schema(value);
    if let Some(instead) = instead {
        let finding = overridden(&format!("schema {index}"), &decoded, instead.is_some(), key);
        let finding = finding.value(value);
        let Some(model) = instead else { return out.report(finding) };
        let stored = match decoded {
            // The stored schema is the one asked for: keep its bytes.
            Ok(stored) if stored == model => value.to_vec(),
            _ => compressed(&model),
        };
        out.report(finding.put(&stored))?;
        tables.encoded.schemas.insert(index, stored.into());
        tables.models.insert(index, model);
        return Ok(());
    }
    match decoded {
        Ok(model) => {
            let written = model.to_xml(XmlForm::STORED);
            let stored = inflate(value).unwrap_or_default();
            // White space around the document does not matter.
            if stored.trim_ascii() != written.as_bytes().trim_ascii() {
                let detail = format!("schema {index}: the XML is not in the form it is written in");
                let finding = Finding::new(Class::UnusualSchemaXml, key, detail);
                out.report(finding.value(value).unrepairable())?;
            }
            tables.encoded.schemas.insert(index, value.into());
            tables.models.insert(index, model);
        }
        Err((class, detail)) => {
            let finding =
                Finding::new(class, key, format!("schema {index}: {detail}")).value(value);
            // If the schema is good without the bytes that follow it, only these are removed.
            let without = value.get(..value.len() - garbage_len(value)).unwrap_or_default();
            match (decode_schema(without), inflate(without)) {
                (Ok(model), Ok(xml)) if class == Class::TrailingGarbageSchema => {
                    let stored = deflate(&xml);
                    out.report(finding.put(&stored))?;
                    tables.encoded.schemas.insert(index, stored.into());
                    tables.models.insert(index, model);
                }
                _ => {
                    out.report(finding.unrepairable())?;
                    tables.usable = false;
                }
            }
        }
    }
    Ok(())
}

/// Applies an override to an entry: replaces or drops it.
fn overridden<T>(
    what: &str,
    decoded: &Result<T, (Class, String)>,
    replaced: bool,
    key: &[u8],
) -> Finding {
    match decoded {
        Ok(_) => {
            let done = if replaced { "replaced" } else { "dropped" };
            Finding::new(Class::Override, key, format!("{what} is {done} as asked for"))
        }
        Err((class, detail)) => Finding::new(*class, key, format!("{what}: {detail}")),
    }
}

fn decode_schema(value: &[u8]) -> Result<SchemaModel, (Class, String)> {
    let xml = inflate(value).map_err(|e| match e {
        InflateError::TrailingBytes(_) => (Class::TrailingGarbageSchema, e.to_string()),
        _ => (Class::BadSchemaXml, e.to_string()),
    })?;
    let bad = |e: permazen::schema::SchemaError| (Class::BadSchemaXml, e.to_string());
    let model = SchemaModel::from_xml(&xml).map_err(bad)?;
    model.validate().map_err(bad)?;
    if model.is_empty() {
        return Err((Class::BadSchemaXml, "the empty schema is never recorded".to_owned()));
    }
    Ok(model)
}

fn garbage_len(value: &[u8]) -> usize {
    match inflate(value) {
        Err(InflateError::TrailingBytes(count)) => count.min(value.len()),
        _ => 0,
    }
}

fn storage_id_entry(
    id: StorageId,
    key: &[u8],
    value: &[u8],
    instead: Option<Option<SchemaId>>,
    tables: &mut Tables,
    out: &mut Output<'_>,
) -> Checked {
    let decoded = decode_storage_id(value).map_err(|detail| (Class::BadStorageIdValue, detail));
    if let Some(instead) = instead {
        let finding = overridden(&format!("storage ID {id}"), &decoded, instead.is_some(), key);
        let finding = finding.value(value);
        let Some(schema_id) = instead else { return out.report(finding) };
        let stored = storage_id_value(schema_id);
        out.report(finding.put(&stored))?;
        tables.encoded.storage_ids.insert(id, stored.into());
        tables.storage_ids.insert(id, schema_id);
        return Ok(());
    }
    match decoded {
        Ok(schema_id) => {
            tables.encoded.storage_ids.insert(id, value.into());
            tables.storage_ids.insert(id, schema_id);
        }
        Err((class, detail)) => {
            let finding = Finding::new(class, key, format!("storage ID {id}: {detail}"));
            out.report(finding.value(value).unrepairable())?;
            tables.usable = false;
        }
    }
    Ok(())
}

fn decode_storage_id(value: &[u8]) -> Result<SchemaId, String> {
    let mut reader = Reader::new(value);
    let text = string::read(&mut reader).map_err(|e| format!("no schema ID: {e}"))?;
    if !reader.is_empty() {
        return Err("bytes follow the schema ID".to_owned());
    }
    let schema_id = text.parse().map_err(|_| format!("{text:?} is no schema ID"))?;
    if storage_id_value(schema_id) != value {
        return Err("not the encoder's form of the schema ID".to_owned());
    }
    Ok(schema_id)
}

fn storage_id_value(schema_id: SchemaId) -> Vec<u8> {
    let mut value = Vec::new();
    string::write(&schema_id.to_string(), &mut value);
    value
}

fn compressed(model: &SchemaModel) -> Vec<u8> {
    deflate(model.to_xml(XmlForm::STORED).as_bytes())
}

/// The number that follows the two-byte prefix of a table key.
fn number(key: &[u8]) -> Result<u32, String> {
    let digits = key.get(2..).unwrap_or_default();
    let mut reader = Reader::new(digits);
    let number = uint::read(&mut reader).map_err(|e| format!("the number cannot be read: {e}"))?;
    if !reader.is_empty() {
        return Err("bytes follow the number".to_owned());
    }
    if uint::len(number) != digits.len() {
        return Err("the number is written longer than necessary".to_owned());
    }
    Ok(number)
}
