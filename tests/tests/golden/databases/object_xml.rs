//! Object XML written from a database and read into another one.

use std::path::Path;
use std::sync::Arc;

use permazen::__internal::schema::{RecordedSchemas, SchemaTables};
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::object::{Database, TransactionConfig};
use permazen::object_xml::{ObjectXmlReader, ObjectXmlWriter};
use permazen::schema::{SchemaModel, SchemaRemoval};
use permazen_tests::{digest, files, portable};

use super::answers::Answers;
use super::forms::Form;
use crate::report::{Outcome, Report, fail, same, same_text};

/// Checks the documents that are written from `form`.
pub fn check(group: &str, folder: &Path, form: &Form, answers: &Answers, report: &mut Report) {
    if files::find(folder, "objects.xml").is_none() {
        return;
    }
    let name = form.name;
    report.case(group, &format!("{name}: objects-ids.xml, written"), || {
        let recorded = files::text(folder, "objects-ids.xml")?;
        let written = write(form, answers, like(&recorded).with_storage_ids())?;
        same_text("objects-ids.xml", &written, &recorded)
    });
    report.case(group, &format!("{name}: objects.xml, written and read"), || {
        let recorded = files::text(folder, "objects.xml")?;
        let written = write(form, answers, like(&recorded))?;
        let (raw, _) = portable::with_raw_references(&written);
        same_text("objects.xml", &raw, &recorded)?;
        portable(form, answers, &written)
    });
}

/// Checks what is read from `objects-ids.xml`.
pub fn check_read(group: &str, folder: &Path, answers: &Answers, report: &mut Report) {
    if files::find(folder, "objects-ids.xml").is_none() {
        return;
    }
    report.case(group, "objects-ids.xml, read", || {
        let database = Database::new(Arc::new(MemoryStore::new()));
        let tx = database.begin(&TransactionConfig::without_schema())?;
        let document = files::bytes(folder, "objects-ids.xml")?;
        let imported = ObjectXmlReader::new().read(&tx, &document[..])?;
        same("objects", imported.count, answers.objects.total)?;
        tx.commit()?;
        let found = digest::state_digest(&*database.kv().begin(&TxOptions::reading())?)?;
        same("pairs", found.pairs, answers.pairs)?;
        same_text("state digest", &found.sha256, &answers.state_digest)
    });
}

/// Without the original IDs, the document gives the same number of objects. With them, it gives the
/// same state.
fn portable(form: &Form, answers: &Answers, document: &str) -> Outcome {
    let database = Database::new(Arc::new(MemoryStore::new()));
    let tx = database.begin(&TransactionConfig::without_schema())?;
    let imported = ObjectXmlReader::new().read(&tx, document.as_bytes())?;
    same("objects", imported.count, answers.objects.total)?;
    same("objects found", tx.all_objects()?.count()? as u64, answers.objects.total)?;
    tx.rollback()?;

    let tx = database.begin(&TransactionConfig::without_schema())?;
    tx.add_schemas(&models(form)?)?;
    let mut ids = portable::original_ids(document);
    ObjectXmlReader::new().sharing_ids(&mut ids).read(&tx, document.as_bytes())?;
    tx.commit()?;
    let found = digest::state_digest(&*database.kv().begin(&TxOptions::reading())?)?;
    same("pairs", found.pairs, answers.pairs)?;
    same_text("state digest", &found.sha256, &answers.state_digest)
}

/// A writer of documents in the style of this one.
fn like(document: &str) -> ObjectXmlWriter {
    let mut writer = ObjectXmlWriter::new();
    if !document.contains("?>\n") {
        writer = writer.compact();
    }
    let objects = document.split_once("<objects").map_or("", |(_, objects)| objects);
    let first = objects.split('<').nth(1).unwrap_or_default();
    if first.starts_with("object ") {
        writer = writer.plain();
    }
    writer
}

/// The recorded schemas by ascending index.
fn models(form: &Form) -> Outcome<Vec<SchemaModel>> {
    let tx = form.store()?.begin(&TxOptions::reading())?;
    let recorded = RecordedSchemas::decode(SchemaTables::read(&*tx)?)?;
    Ok(recorded.schemas().iter().map(|schema| schema.model_with_storage_ids()).collect())
}

/// The document that a transaction of the last schema writes.
fn write(form: &Form, answers: &Answers, writer: ObjectXmlWriter) -> Outcome<String> {
    let config = match models(form)?.pop() {
        Some(model) => TransactionConfig::new(model)?,
        None => TransactionConfig::without_schema(),
    };
    let database = Database::new(form.shared()?);
    let tx = database.begin(&config.schema_removal(SchemaRemoval::Never).read_only())?;
    let mut out = Vec::new();
    let count = writer.write(&tx, &mut out)?;
    same("objects", count, answers.objects.total)?;
    String::from_utf8(out).map_err(|error| fail(error.to_string()))
}
