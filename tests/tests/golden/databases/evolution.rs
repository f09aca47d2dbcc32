//! Objects of older schemas moved to the newest one, with and without converting their values.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::TxOptions;
use permazen::object::{
    Database, FieldValue, Migrate, Result as ObjectResult, SchemaChange, Transaction,
    TransactionConfig,
};
use permazen::schema::{ResolvedField, ResolvedKind};
use permazen_tests::{digest, files};

use super::answers::{State, Steps};
use super::forms::{self, Form};
use super::objects::{obj_id, reading, schema_index};
use super::scripts::newest_model;
use crate::report::{Outcome, Report, same, same_text, skip};

/// Runs the continuations of `steps.json`, on a fresh copy of every form.
pub fn check(group: &str, folder: &Path, report: &mut Report) {
    if files::find(folder, "steps.json").is_none() {
        return;
    }
    for kind in forms::kinds_in(folder) {
        let case = |what: &str| format!("{}: {what}", kind.name);
        let run = |half: bool, convert: bool| {
            let steps: Steps = files::json(folder, "steps.json")?;
            let form = kind.open(folder);
            same_state(&form, &steps, "after the program of version")?;
            migrate(&form, half.then_some(&steps.half), convert)?;
            let which = if half { "half" } else { "all" };
            let how = if convert { "with" } else { "without" };
            same_state(&form, &steps, &format!("{which} migrated {how} value conversion"))?;
            if !half && convert {
                delete_removed_types(&form)?;
                same_state(&form, &steps, "... then all objects of the removed types deleted")?;
                let database = Database::new(form.shared()?);
                let model = newest_model(&database)?;
                Database::new(form.shared()?).begin(&TransactionConfig::new(model)?)?.commit()?;
                same_state(&form, &steps, "... then opened once more")?;
            }
            Ok(())
        };
        report.case(group, &case("half migrated without value conversion"), || run(true, false));
        report.case(group, &case("all migrated without value conversion"), || run(false, false));
        report.case(group, &case("half migrated with value conversion"), || run(true, true));
        report.case(group, &case("all migrated with value conversion, and after"), || {
            run(false, true)
        });
    }
}

/// Compares with the last recorded state whose name starts like this.
fn same_state(form: &Form, steps: &Steps, name: &str) -> Outcome {
    let expected: &State = steps
        .steps
        .iter()
        .rfind(|state| state.name.starts_with(name))
        .ok_or_else(|| skip(format!("no state is recorded {name}")))?;
    let found = digest::state_digest(&*form.store()?.begin(&TxOptions::reading())?)?;
    same(&format!("pairs {name}"), found.pairs, expected.pairs)?;
    same_text(&format!("state digest {name}"), &found.sha256, &expected.state_digest)?;
    let database = Database::new(form.shared()?);
    let tx = database.begin(&reading())?;
    let mut counts = BTreeMap::new();
    for index in expected.objects_by_schema.keys() {
        let count = tx.objects_in_schema(schema_index(index)?)?.count()?;
        counts.insert(index.clone(), count as u64);
    }
    same("objects by schema", &counts, &expected.objects_by_schema)
}

/// Moves these objects, or all whose type the newest schema has, to the newest schema.
fn migrate(form: &Form, ids: Option<&Vec<String>>, convert: bool) -> Outcome {
    let database = Database::new(form.shared()?);
    let model = newest_model(&database)?;
    let tx = database.begin(&TransactionConfig::new(model)?.allow_new_schema(false))?;
    if convert {
        for object_type in &tx.schema().types {
            tx.on_schema_change(object_type.storage_id, Arc::new(convert_values))?;
        }
    }
    let ids: Vec<ObjId> = match ids {
        Some(ids) => ids.iter().map(|id| obj_id(id)).collect::<Outcome<_>>()?,
        None => {
            let types: Vec<_> = tx.schema().types.iter().map(|t| t.storage_id).collect();
            tx.objects_of(types)?.to_vec()?
        }
    };
    for id in ids {
        tx.migrate(id)?;
    }
    Ok(tx.commit()?)
}

/// Gives every simple field and counter whose encoding changed the value that corresponds to the old
/// one, if there is one.
fn convert_values(tx: &Transaction<'_>, change: &SchemaChange) -> ObjectResult<()> {
    for field in &change.new_type.fields {
        let Ok(old) = change.old.field(&field.name) else { continue };
        let old_value = match change.old.decode_field(old)? {
            FieldValue::Simple(value) => value,
            FieldValue::Counter(count) => Value::Long(count),
            _ => continue,
        };
        match &field.kind {
            ResolvedKind::Counter => {
                if let Some(count) = count_of(old, &old_value) {
                    tx.set_counter(change.id, &field.name, count, Migrate::No)?;
                }
            }
            ResolvedKind::Simple(new) => {
                let Some(old) = old.simple() else { continue };
                if new.encoding.is_same(&*old.encoding) {
                    continue;
                }
                if let Ok(value) = new.encoding.convert(&*old.encoding, &old_value) {
                    tx.set(change.id, &field.name, &value, Migrate::No)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The count that a number becomes; none if the field was a counter before.
fn count_of(old: &ResolvedField, value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(i64::from(*number)),
        Value::Long(number) if old.simple().is_some() => Some(*number),
        _ => None,
    }
}

/// Deletes the objects whose type the newest schema lacks.
fn delete_removed_types(form: &Form) -> Outcome {
    let database = Database::new(form.shared()?);
    let model = newest_model(&database)?;
    let tx = database.begin(&TransactionConfig::new(model)?.allow_new_schema(false))?;
    let schema = tx.schema();
    for id in tx.all_objects()?.to_vec()? {
        if schema.type_by_storage_id(id.storage_id()).is_none() {
            tx.delete(id)?;
        }
    }
    Ok(tx.commit()?)
}
