//! `schemas.json`: schema documents, their IDs, written forms and differences.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use permazen::__internal::schema::{
    DatabaseState, SchemaComparison, SchemaConfig, deflate, inflate, open_schema,
};
use permazen::StorageId;
use permazen::encoding::EncodingRegistry;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::schema::{SchemaError, SchemaModel, XmlForm};
use permazen_tests::hex;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::report::{Outcome, Report, Stop, fail, same, same_text};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    valid: Vec<Valid>,
    pairs: Vec<Pair>,
    invalid: Vec<Invalid>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Valid {
    name: String,
    xml: Option<String>,
    xml_bytes: Option<String>,
    optional: Option<String>,
    schema_id: String,
    items: Vec<Item>,
    stored_xml: String,
    pretty_xml: String,
    plain_xml: Option<String>,
    pretty_plain_xml: Option<String>,
    compressed: String,
    #[serde(rename = "encodings_known")]
    _encodings_known: IgnoredAny,
    opens: bool,
    #[serde(default, rename = "open_error")]
    _open_error: IgnoredAny,
    defect: Option<String>,
    #[serde(default)]
    storage_ids: Vec<Assigned>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    path: String,
    storage_id: u32,
    schema_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assigned {
    storage_id: u32,
    schema_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    a: String,
    b: String,
    same_id: bool,
    equal: bool,
    differences: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Invalid {
    name: String,
    xml: String,
    reason: String,
    /// The stage at which Java refuses it.
    stage: Stage,
    #[serde(rename = "error")]
    _error: IgnoredAny,
    #[serde(default, rename = "defect")]
    _defect: IgnoredAny,
}

/// The stages at which a document is refused, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stage {
    Read,
    Validate,
    Open,
}

pub fn run(group: &str, text: &str, report: &mut Report) {
    let file: File = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => return report.case(group, "file", || Err(error.into())),
    };
    let mut models = HashMap::new();
    for row in &file.valid {
        report.case(group, &row.name, || valid(row));
        // The content of a refused document is compared in its recorded form.
        let model =
            read(row).or_else(|_| Ok::<_, Stop>(SchemaModel::from_xml(row.stored_xml.as_bytes())?));
        models.extend(model.ok().map(|model| (row.name.as_str(), model)));
    }
    for row in &file.pairs {
        report.case(group, &format!("from {} to {}", row.b, row.a), || pair(row, &models));
    }
    for row in &file.invalid {
        report.case(group, &format!("refused: {}", row.name), || invalid(row));
    }
}

fn read(row: &Valid) -> Outcome<SchemaModel> {
    let bytes = match (&row.xml, &row.xml_bytes) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(bytes)) => hex::decode(bytes).ok_or_else(|| fail("bad hex"))?,
        (None, None) => return Err(fail("no document")),
    };
    Ok(SchemaModel::from_xml(&bytes)?)
}

fn valid(row: &Valid) -> Outcome {
    let model = match read(row) {
        // Java reads a DOCTYPE; here it is refused.
        Err(_) if row.optional.as_deref() == Some("doctype") => return Ok(()),
        read => read?,
    };
    model.validate()?;
    same("schema id", model.schema_id().to_string(), row.schema_id.as_str())?;
    let items: Vec<_> = model
        .items()
        .map(|i| {
            (i.to_string(), i.storage_id().map_or(0, |id| id.get()), i.schema_id().to_string())
        })
        .collect();
    let expected: Vec<_> =
        row.items.iter().map(|i| (i.path.clone(), i.storage_id, i.schema_id.clone())).collect();
    same("items", items, expected)?;

    let form = |storage_ids, pretty| model.to_xml(XmlForm { storage_ids, pretty });
    same_text("stored XML", &form(true, false), &row.stored_xml)?;
    same_text("pretty XML", &form(true, true), &row.pretty_xml)?;
    let plain = row.plain_xml.as_ref().unwrap_or(&row.stored_xml);
    same_text("plain XML", &form(false, false), plain)?;
    let pretty_plain = row.pretty_plain_xml.as_ref().unwrap_or(&row.pretty_xml);
    same_text("pretty plain XML", &form(false, true), pretty_plain)?;
    for xml in [&row.stored_xml, &row.pretty_xml] {
        same("read again", SchemaModel::from_xml(xml.as_bytes())?, model.clone())?;
    }

    let compressed = hex::decode(&row.compressed).ok_or_else(|| fail("bad hex"))?;
    same("inflated", inflate(&compressed)?, row.stored_xml.as_bytes())?;
    let ours = deflate(row.stored_xml.as_bytes());
    same("inflated own", inflate(&ours)?, row.stored_xml.as_bytes())?;
    let unreadable = ours.len() > 512 && (1..=8).contains(&(ours.len() % 512));
    same("of a length Java cannot read", unreadable, false)?;
    opening(row, model)
}

/// Opens a new database with the model.
fn opening(row: &Valid, model: SchemaModel) -> Outcome {
    let store = MemoryStore::new();
    let state = DatabaseState::new(Arc::new(EncodingRegistry::new()));
    let mut tx = store.begin(&TxOptions::default())?;
    let opened = open_schema(&mut *tx, &state, &SchemaConfig::new(model)?);
    if row.defect.as_deref() == Some("compressed length") {
        opened?;
        return Ok(());
    }
    // Java records it, and then cannot list the objects of the type.
    let largest = row
        .items
        .iter()
        .any(|item| item.schema_id.starts_with("ObjectType_") && item.storage_id == StorageId::MAX);
    same("opens", opened.is_ok(), row.opens && !largest)?;
    let Ok(opened) = opened else { return Ok(()) };
    same("schema", opened.schema.id.to_string(), row.schema_id.as_str())?;
    let found: BTreeMap<_, _> = opened
        .bundle
        .items()
        .iter()
        .map(|item| (item.storage_id.get(), item.schema_id.to_string()))
        .collect();
    let expected: BTreeMap<_, _> =
        row.storage_ids.iter().map(|row| (row.storage_id, row.schema_id.clone())).collect();
    same("storage ids", found, expected)
}

fn pair(row: &Pair, models: &HashMap<&str, SchemaModel>) -> Outcome {
    let (Some(a), Some(b)) = (models.get(row.a.as_str()), models.get(row.b.as_str())) else {
        return Err(fail("no such document"));
    };
    same("same id", a.schema_id() == b.schema_id(), row.same_id)?;
    same("equal", a == b, row.equal)?;
    let differences = a.differences_from(b);
    let text = (!differences.is_empty()).then(|| differences.to_string());
    same_text(
        "differences",
        text.as_deref().unwrap_or("none"),
        row.differences.as_deref().unwrap_or("none"),
    )?;
    // Whatever is part of the ID must be reported, with what it means.
    let comparison = SchemaComparison::new(b, a);
    same("no changes", comparison.types.is_empty(), row.same_id)
}

/// A document is refused at the stage at which Java refuses it, or earlier.
fn invalid(row: &Invalid) -> Outcome {
    let stage = refused_at(row.xml.as_bytes())?
        .ok_or_else(|| fail(format!("accepted, though: {}", row.reason)))?;
    same(&format!("refused in time ({stage:?})"), stage <= row.stage, true)
}

fn refused_at(xml: &[u8]) -> Outcome<Option<Stage>> {
    let model = match SchemaModel::from_xml(xml) {
        Ok(model) => model,
        Err(SchemaError::Xml { line, column, message }) => {
            same("has a place", line > 0 && column > 0, true)?;
            same("has a message", message.is_empty(), false)?;
            return Ok(Some(Stage::Read));
        }
        Err(error) => return Err(error.into()),
    };
    let config = match SchemaConfig::new(model) {
        Ok(config) => config,
        Err(SchemaError::Invalid(problems)) => {
            same("has problems", problems.list().is_empty(), false)?;
            return Ok(Some(Stage::Validate));
        }
        Err(error) => return Err(error.into()),
    };
    let store = MemoryStore::new();
    let state = DatabaseState::new(Arc::new(EncodingRegistry::new()));
    let mut tx = store.begin(&TxOptions::default())?;
    Ok(open_schema(&mut *tx, &state, &config).is_err().then_some(Stage::Open))
}
