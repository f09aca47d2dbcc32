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
use crate::report::{Outcome, Report, fail, same, same_text, skip};

/// The states of the programs that made the database. Only the last one's is at hand: it is what the
/// forms hold.
const PROGRAMS: &str = "after the program of version ";
/// Half or all objects moved, with or without their values: how the states are named.
const MIGRATED: [&str; 4] = [
    "half migrated without value conversion",
    "all migrated without value conversion",
    "half migrated with value conversion",
    "all migrated with value conversion",
];
/// Goes on from the last of [`MIGRATED`].
const REMOVED_DELETED: &str = "... then all objects of the removed types deleted";
/// Goes on from [`REMOVED_DELETED`].
const OPENED_AGAIN: &str = "... then opened once more with version 3";

/// Runs the continuations of `steps.json`, on a fresh copy of every form.
pub fn check(group: &str, folder: &Path, report: &mut Report) {
    if files::find(folder, "steps.json").is_none() {
        return;
    }
    report.case(group, "every recorded step is known", || {
        let steps: Steps = files::json(folder, "steps.json")?;
        match steps.steps.iter().find(|state| !is_known(&state.name)) {
            Some(state) => Err(fail(format!("steps.json has a step {:?}", state.name))),
            None => Ok(()),
        }
    });
    for kind in forms::kinds_in(folder) {
        let case = |what: &str| format!("{}: {what}", kind.name);
        let run = |half: bool, convert: bool| {
            let steps: Steps = files::json(folder, "steps.json")?;
            let form = kind.open(folder);
            same_state(&form, steps.steps.iter().rfind(|state| is_program(&state.name)), PROGRAMS)?;
            migrate(&form, half.then_some(&steps.half), convert)?;
            let which = if half { "half" } else { "all" };
            let how = if convert { "with" } else { "without" };
            let named = |name: &str| steps.steps.iter().find(|state| plain(&state.name) == name);
            let migrated = format!("{which} migrated {how} value conversion");
            same_state(&form, named(&migrated), &migrated)?;
            if !half && convert {
                delete_removed_types(&form)?;
                same_state(&form, named(REMOVED_DELETED), REMOVED_DELETED)?;
                let database = Database::new(form.shared()?);
                let model = newest_model(&database)?;
                Database::new(form.shared()?).begin(&TransactionConfig::new(model)?)?.commit()?;
                same_state(&form, named(OPENED_AGAIN), OPENED_AGAIN)?;
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

/// The name of a state without what explains it: `half … (= evolution-after)`, `…, unused schemas
/// removed`.
fn plain(name: &str) -> &str {
    let end = [" (", ", "].iter().filter_map(|mark| name.find(mark)).min();
    name.get(..end.unwrap_or(name.len())).unwrap_or(name)
}

fn is_program(name: &str) -> bool {
    plain(name).strip_prefix(PROGRAMS).is_some_and(|version| version.parse::<u32>().is_ok())
}

/// Whether [`check`] knows what happens in the step of this name.
fn is_known(name: &str) -> bool {
    let name = plain(name);
    is_program(name) || MIGRATED.contains(&name) || [REMOVED_DELETED, OPENED_AGAIN].contains(&name)
}

/// Compares with the recorded state of this name.
fn same_state(form: &Form, expected: Option<&State>, name: &str) -> Outcome {
    let expected = expected.ok_or_else(|| skip(format!("no state is recorded {name}")))?;
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
