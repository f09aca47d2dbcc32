//! Objects by type and by schema, and chosen ones with every field.

use std::collections::BTreeMap;

use permazen::__internal::schema::ResolvedKind;
use permazen::ObjId;
use permazen::object::{Database, Migrate, Transaction, TransactionConfig};
use permazen::schema::{SchemaIndex, SchemaRemoval};
use permazen_tests::digest::Lines;
use serde_json::{Value as Json, json};

use super::answers::{Answers, ChosenObject};
use super::forms::Form;
use crate::report::{Outcome, Report, fail, same, same_text};
use permazen_tests::trace::text::{field_text, object_texts};

/// A transaction that sees everything and changes nothing.
pub fn reading() -> TransactionConfig {
    TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never).read_only()
}

/// Compares the objects of `form`.
pub fn check(group: &str, form: &Form, answers: &Answers, report: &mut Report) {
    let form_name = form.name;
    report.case(group, &format!("{form_name}: objects"), || {
        let database = Database::new(form.shared()?);
        let tx = database.begin(&reading())?;
        let objects = &answers.objects;
        let all = tx.all_objects()?.to_vec()?;
        same("objects", all.len() as u64, objects.total)?;
        same_text("digest of all ids", &ids_digest(&all), &objects.ids_digest)
    });
    report.case(group, &format!("{form_name}: objects by schema"), || {
        let database = Database::new(form.shared()?);
        by_schema(&database.begin(&reading())?, answers)
    });
    for name in answers.objects.by_type.keys() {
        report.case(group, &format!("{form_name}: objects of type {name}"), || {
            let database = Database::new(form.shared()?);
            of_type(&database.begin(&reading())?, answers, name)
        });
    }
    for object in &answers.chosen_objects {
        report.case(group, &format!("{form_name}: object {}", object.id), || {
            let database = Database::new(form.shared()?);
            chosen(&database.begin(&reading())?, object)
        });
    }
}

/// SHA-256 over the IDs, one per line.
pub fn ids_digest(ids: &[ObjId]) -> String {
    let mut lines = Lines::default();
    ids.iter().for_each(|id| lines.add(&id.to_string()));
    lines.finish()
}

/// The object with this ID.
pub fn obj_id(text: &str) -> Outcome<ObjId> {
    text.parse().map_err(|_| fail(format!("{text} is no object id")))
}

/// The schema index written in a JSON name.
pub fn schema_index(text: &str) -> Outcome<SchemaIndex> {
    text.parse().ok().and_then(SchemaIndex::new).ok_or_else(|| fail(format!("schema index {text}")))
}

fn by_schema(tx: &Transaction, answers: &Answers) -> Outcome {
    let expected = &answers.objects.by_schema;
    let with_objects = expected.values().filter(|schema| schema.count > 0).count();
    same("schemas with objects", tx.schemas_in_use()?.len(), with_objects)?;
    for (index, expected) in expected {
        let ids = tx.objects_in_schema(schema_index(index)?)?.to_vec()?;
        same(&format!("objects in schema {index}"), ids.len() as u64, expected.count)?;
        same_text("digest of the ids", &ids_digest(&ids), &expected.ids_digest)?;
    }
    Ok(())
}

fn of_type(tx: &Transaction, answers: &Answers, name: &str) -> Outcome {
    let Some(expected) = answers.objects.by_type.get(name) else { return Ok(()) };
    same("storage id", tx.type_storage_id(name)?.get(), expected.storage_id)?;
    let set = tx.objects(name)?;
    let ids = set.to_vec()?;
    same("objects", ids.len() as u64, expected.count)?;
    same_text("digest of the ids", &ids_digest(&ids), &expected.ids_digest)?;
    let texts: Vec<String> = ids.iter().map(ObjId::to_string).collect();
    let few = texts.len().min(5);
    same("first ids", &texts[..few], &expected.first_ids[..])?;
    same("last ids", &texts[texts.len() - few..], &expected.last_ids[..])?;
    let mut backwards = set.iter().rev().collect::<Result<Vec<_>, _>>()?;
    backwards.reverse();
    same("ids read backwards", backwards == ids, true)?;

    let mut counts = BTreeMap::new();
    for id in &ids {
        *counts.entry(tx.object_schema(*id)?.index.to_string()).or_insert(0) += 1;
    }
    let mut expected_counts = expected.count_by_schema.clone();
    expected_counts.retain(|_, count| *count > 0);
    same("objects by schema", counts, expected_counts)
}

/// Compares an object read whole, and field by field.
fn chosen(tx: &Transaction, expected: &ChosenObject) -> Outcome {
    let id = obj_id(&expected.id)?;
    let object_type = tx.object_type(id)?;
    same_text("type", &object_type.name, &expected.type_name)?;
    same("schema", tx.object_schema(id)?.index.get(), expected.schema)?;

    let data = tx.load(id, Migrate::No)?;
    let texts = object_texts(&data)?;
    same("fields", texts.keys().collect::<Vec<_>>(), expected.fields.keys().collect::<Vec<_>>())?;
    for (name, expected) in &expected.fields {
        let found = texts.get(name).unwrap_or(&Json::Null);
        same_text(&format!("field {name}"), &found.to_string(), &expected.to_string())?;
    }
    for field in &object_type.fields {
        let name = &*field.name;
        let list = |part, values: Vec<_>| -> Outcome<Json> {
            let texts: Result<Vec<_>, _> = values.iter().map(|v| field_text(part, v)).collect();
            Ok(json!(texts?))
        };
        let found = match &field.kind {
            ResolvedKind::Simple(_) => json!(field_text(field, &tx.get(id, name, Migrate::No)?)?),
            ResolvedKind::Counter => json!(tx.counter(id, name, Migrate::No)?.to_string()),
            ResolvedKind::Set { element } => {
                list(element, tx.set_view(id, name, Migrate::No)?.to_vec()?)?
            }
            ResolvedKind::List { element } => {
                list(element, tx.list_view(id, name, Migrate::No)?.to_vec()?)?
            }
            ResolvedKind::Map { key, value } => {
                let mut entries = Vec::new();
                for (k, v) in tx.map_view(id, name, Migrate::No)?.to_vec()? {
                    entries.push(json!([field_text(key, &k)?, field_text(value, &v)?]));
                }
                entries.into()
            }
        };
        let expected = expected.fields.get(name).unwrap_or(&Json::Null);
        same_text(&format!("field {name} alone"), &found.to_string(), &expected.to_string())?;
    }
    Ok(())
}
