//! The part of `xml-kv.json` about objects as XML.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::object::{Database, Transaction, TransactionConfig};
use permazen::object_xml::{ObjectXmlReader, ObjectXmlWriter};
use permazen::schema::{SchemaModel, SchemaRemoval};
use permazen_tests::{digest, hex, portable};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::xml_kv::{Pairs, bytes, stored};
use crate::report::{Outcome, Report, fail, same, same_text};

/// Schemas by the names rows give them.
pub type Schemas = BTreeMap<String, Schema>;

/// A schema document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    schema_id: String,
    xml: String,
}

/// A document to read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    name: String,
    open_with: Option<String>,
    before: Option<String>,
    #[serde(default)]
    allow_unresolved: bool,
    xml: Option<String>,
    xml_bytes: Option<String>,
    ok: bool,
    defect: Option<String>,
    #[serde(default)]
    random_ids: bool,
    count: Option<u64>,
    #[serde(default)]
    unresolved: Vec<String>,
    schemas_recorded: Option<usize>,
    digest: Option<String>,
    #[serde(default)]
    pairs: Pairs,
    pair_count: Option<usize>,
    /// The name of the refusal in Java.
    #[serde(default, rename = "error")]
    _error: IgnoredAny,
}

/// Objects to write.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    objects: String,
    elements_as_names: bool,
    storage_ids: bool,
    pretty: bool,
    omit_defaults: bool,
    count: u64,
    xml: String,
    defect: Option<String>,
}

/// Checks every row.
pub fn run(
    group: &str,
    schemas: &Schemas,
    documents: &[Document],
    written: &[Written],
    report: &mut Report,
) {
    for (name, schema) in schemas {
        report.case(group, &format!("schema {name}"), || {
            let model = SchemaModel::from_xml(schema.xml.as_bytes())?;
            same_text("schema id", &model.schema_id().to_string(), &schema.schema_id)
        });
    }
    for row in documents {
        report.case(group, &format!("objects: {}", row.name), || read(schemas, row));
    }
    for (index, row) in written.iter().enumerate() {
        report.case(group, &format!("objects_written {index}"), || write(schemas, row));
    }
}

fn config(schemas: &Schemas, name: Option<&str>) -> Outcome<TransactionConfig> {
    let config = match name {
        None => TransactionConfig::without_schema(),
        Some(name) => {
            let schema = schemas.get(name).ok_or_else(|| fail(format!("no schema {name}")))?;
            TransactionConfig::new(SchemaModel::from_xml(schema.xml.as_bytes())?)?
        }
    };
    Ok(config.schema_removal(SchemaRemoval::Never))
}

/// A new database: empty, or with schema `main` and this document.
fn database(schemas: &Schemas, before: Option<&str>) -> Outcome<Database> {
    let database = Database::new(Arc::new(MemoryStore::new()));
    if let Some(document) = before {
        let tx = database.begin(&config(schemas, Some("main"))?)?;
        ObjectXmlReader::new().read(&tx, document.as_bytes())?;
        tx.commit()?;
    }
    Ok(database)
}

fn read(schemas: &Schemas, row: &Document) -> Outcome {
    let content = match (&row.xml_bytes, &row.xml) {
        (Some(text), _) => bytes(text)?,
        (None, Some(text)) => text.clone().into_bytes(),
        (None, None) => return Err(fail("the row has no document")),
    };
    let database = database(schemas, row.before.as_deref())?;
    let tx = database.begin(&config(schemas, row.open_with.as_deref())?)?;
    let mut reader = ObjectXmlReader::new();
    if row.allow_unresolved {
        reader = reader.allow_unresolved();
    }
    let ok = match row.defect.as_deref() {
        // An ID of another type makes no object of that type.
        Some("XD2") => false,
        _ => row.ok,
    };
    let imported = match (tx.atomic(|tx| reader.read(tx, &content[..])), ok) {
        (Ok(imported), true) => imported,
        (Err(error), true) => return Err(error.into()),
        (Ok(_), false) => return Err(fail("the document should be refused")),
        (Err(_), false) => return unchanged(schemas, row, &database, tx),
    };
    same("count", Some(imported.count), row.count)?;
    let unresolved: Vec<_> = imported.unresolved.keys().map(ToString::to_string).collect();
    same("unresolved", unresolved, row.unresolved.clone())?;
    same("schemas recorded", Some(tx.bundle().schemas().len()), row.schemas_recorded)?;
    tx.commit()?;
    let mut pairs = stored(&*database.kv().begin(&TxOptions::reading())?)?;
    if row.random_ids {
        return same("pairs", Some(pairs.len()), row.pair_count);
    }
    pairs.retain(|(key, _)| !key.starts_with(&hex::encode(&digest::SCHEMA_TABLE)));
    if row.defect.as_deref() == Some("XD3") {
        return same("pairs", pairs, without_first_object(schemas, row)?);
    }
    same("pairs", pairs, row.pairs.clone())?;
    let found = digest::state_digest(&*database.kv().begin(&TxOptions::reading())?)?;
    same("digest", Some(found.sha256), row.digest.clone())
}

/// Compares the content of the store after a refusal with the content if nothing is read.
fn unchanged(schemas: &Schemas, row: &Document, database: &Database, tx: Transaction) -> Outcome {
    let without = self::database(schemas, row.before.as_deref())?;
    let begun = without.begin(&config(schemas, row.open_with.as_deref())?)?;
    same("pairs after a refusal", state(database, tx)?, state(&without, begun)?)
}

/// The content of the store if the first object of the document is left out, because the second one
/// replaces it.
fn without_first_object(schemas: &Schemas, row: &Document) -> Outcome<Pairs> {
    let text = row.xml.as_deref().unwrap_or_default();
    let (start, end) = match (text.find("<P "), text.find("</P>")) {
        (Some(start), Some(end)) => (start, end + "</P>".len()),
        _ => return Err(fail("the document has no first object")),
    };
    let document = format!("{}{}", &text[..start], &text[end..]);
    let database = database(schemas, Some(&document))?;
    let mut pairs = stored(&*database.kv().begin(&TxOptions::reading())?)?;
    pairs.retain(|(key, _)| !key.starts_with(&hex::encode(&digest::SCHEMA_TABLE)));
    Ok(pairs)
}

fn write(schemas: &Schemas, row: &Written) -> Outcome {
    let source = database(schemas, Some(&row.objects))?;
    let tx = source.begin(&config(schemas, Some("main"))?)?;
    let mut writer = ObjectXmlWriter::new();
    if !row.elements_as_names {
        writer = writer.plain();
    }
    if row.storage_ids {
        writer = writer.with_storage_ids();
    }
    if !row.pretty {
        writer = writer.compact();
    }
    if !row.omit_defaults {
        writer = writer.with_defaults();
    }
    let mut out = Vec::new();
    same("count", writer.write(&tx, &mut out)?, row.count)?;
    let document = String::from_utf8(out)?;
    if row.defect.as_deref() == Some("XD4") {
        let (raw, references) = portable::with_raw_references(&document);
        same_text("document", &raw, &row.xml)?;
        same("some references are portable", references > 0, row.objects.contains("<r>"))?;
    } else {
        same_text("document", &document, &row.xml)?;
    }
    // When the document is read again, it gives the same pairs.
    let target = database(schemas, None)?;
    let into = target.begin(&config(schemas, Some("main"))?)?;
    let mut ids = portable::original_ids(&document);
    ObjectXmlReader::new().sharing_ids(&mut ids).read(&into, document.as_bytes())?;
    same("pairs", state(&target, into)?, state(&source, tx)?)
}

/// The pairs after the transaction.
fn state(database: &Database, tx: Transaction) -> Outcome<Pairs> {
    tx.commit()?;
    stored(&*database.kv().begin(&TxOptions::reading())?)
}
