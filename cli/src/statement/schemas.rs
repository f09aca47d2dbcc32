//! Schemas as lines of JSON, before the objects that `export` prints.

use permazen::object::Transaction;
use permazen::schema::XmlForm;
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;

/// Prints a line for each recorded schema, with which `load` records those that a database lacks.
pub(super) fn write(transaction: &Transaction, out: &mut Output) -> Result<(), Failure> {
    let form = XmlForm { storage_ids: true, pretty: false };
    let bundle = transaction.bundle();
    for recorded in bundle.recorded().schemas() {
        out.json(&json!({
            "type": "schema",
            "schema": recorded.index.get(),
            "id": recorded.id.to_string(),
            "xml": recorded.model_with_storage_ids().to_xml(form),
        }))?;
    }
    Ok(())
}
