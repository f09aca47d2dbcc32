//! The schemas a database records.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use permazen::__internal::schema::{
    DatabaseState, RecordedSchemas, SchemaConfig, SchemaTables, inflate, open_schema,
};
use permazen::encoding::EncodingRegistry;
use permazen::kv::TxOptions;
use permazen::schema::{SchemaModel, SchemaRemoval, XmlForm};
use permazen_tests::{files, hex};
use sha2::{Digest, Sha256};

use super::answers::RecordedSchema;
use super::forms::Form;
use crate::report::{Outcome, Report, fail, same, same_text};

/// Compares the recorded schemas of `form`.
pub fn check(group: &str, folder: &Path, form: &Form, report: &mut Report) {
    report.case(group, &format!("{}: schemas", form.name), || {
        let expected: Vec<RecordedSchema> = files::json(folder, "schemas.json")?;
        let tx = form.store()?.begin(&TxOptions::reading())?;
        let recorded = RecordedSchemas::decode(SchemaTables::read(&*tx)?)?;
        same("number of schemas", recorded.schemas().len(), expected.len())?;
        for (found, expected) in recorded.schemas().iter().zip(&expected) {
            compare(folder, &recorded, found, expected)?;
        }
        Ok(())
    });
    report.case(group, &format!("{}: opening writes nothing", form.name), || opening(form));
}

/// Opens the database with each recorded schema in turn, as a program that knows it would. Then
/// opens it without a schema.
fn opening(form: &Form) -> Outcome {
    let store = form.store()?;
    let before = SchemaTables::read(&*store.begin(&TxOptions::reading())?)?;
    let recorded = RecordedSchemas::decode(before.clone())?;
    for schema in recorded.schemas() {
        let state = DatabaseState::new(Arc::new(EncodingRegistry::new()));
        let config = SchemaConfig::new(schema.model_with_storage_ids())?;
        let config = config.schema_removal(SchemaRemoval::Never).allow_new_schema(false);
        for attempt in ["first", "second"] {
            let mut tx = store.begin(&TxOptions::default())?;
            let opened = open_schema(&mut *tx, &state, &config)?;
            same("schema index", opened.schema.index, schema.index)?;
            same(
                &format!("tables after the {attempt} opening"),
                SchemaTables::read(&*tx)?,
                before.clone(),
            )?;
        }
    }
    // By default, unused schemas are removed. The schema asked for comes back unchanged.
    if let [only] = recorded.schemas() {
        let state = DatabaseState::new(Arc::new(EncodingRegistry::new()));
        let config = SchemaConfig::new(Arc::clone(&only.model))?;
        let mut tx = store.begin(&TxOptions::default())?;
        open_schema(&mut *tx, &state, &config)?;
        same("tables after opening by default", SchemaTables::read(&*tx)?, before)?;
    }
    Ok(())
}

fn compare(
    folder: &Path,
    recorded: &RecordedSchemas,
    found: &permazen::__internal::schema::RecordedSchema,
    expected: &RecordedSchema,
) -> Outcome {
    same("schema index", found.index.get(), expected.index)?;
    same_text("schema id", &found.id.to_string(), &expected.schema_id)?;

    let stored =
        recorded.tables().schemas.get(&found.index).ok_or_else(|| fail("not in the table"))?;
    let xml = inflate(stored)?;
    same("length of the stored XML", xml.len(), expected.stored_xml_bytes)?;
    let digest = hex::encode(&Sha256::digest(&xml));
    same_text("digest of the stored XML", &digest, &expected.stored_xml_sha256)?;
    same_text("stored form", &found.model.to_xml(XmlForm::STORED), &String::from_utf8(xml)?)?;

    let pretty = files::text(folder, &expected.file)?;
    same_text("pretty form", &found.model.to_xml(XmlForm::PRETTY), &pretty)?;
    let reread = SchemaModel::from_xml(pretty.as_bytes())?;
    same_text(
        "schema id of the pretty form",
        &reread.schema_id().to_string(),
        &expected.schema_id,
    )?;

    let mut storage_ids = BTreeMap::new();
    let mut item_ids = BTreeMap::new();
    for (item, (schema_id, storage_id)) in found.model.items().zip(found.items.iter()) {
        storage_ids.insert(item.to_string(), storage_id.get());
        item_ids.insert(item.to_string(), schema_id.to_string());
    }
    same("storage ids", &storage_ids, &expected.storage_ids)?;
    same("schema ids of the items", &item_ids, &expected.item_ids)
}
