//! Objects of older schemas moved to the newest one, with and without converting their values.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use permazen::__internal::schema::ResolvedKind;
use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::TxOptions;
use permazen::object::{
    Database, FieldValue, Migrate, Result as ObjectResult, SchemaChange, Transaction,
    TransactionConfig,
};
use permazen::schema::ResolvedField;
use permazen_tests::digest::{self, StateDigest};
use permazen_tests::files;

use super::answers::{State, Steps};
use super::forms::{self, Form};
use super::objects::{obj_id, reading, schema_index};
use super::scripts::newest_model;
use crate::report::{Outcome, Report, fail, same, same_text};

/// The step from the database, or from the state before, to a state. The numbers of objects in each
/// schema tell which step it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Half of the objects, or all, are moved to the newest schema.
    Migrate { half: bool },
    /// Objects of types that the newest schema does not have are deleted.
    DeleteRemovedTypes,
    /// The newest schema is opened, which removes schemas without objects.
    OpenAgain,
}

/// Runs the continuations in a file like `steps.json`, on a fresh copy of every form.
pub fn check(group: &str, folder: &Path, file: &str, report: &mut Report) {
    let steps: Steps = match files::json(folder, file) {
        Ok(steps) => steps,
        Err(error) => return report.case(group, file, || Err(error.into())),
    };
    for kind in forms::kinds_in(folder) {
        let (start, counts) = match state(&kind.open(folder)) {
            Ok(state) => state,
            Err(stop) => {
                report.case(group, &format!("{}: {file}", kind.name), || Err(stop));
                continue;
            }
        };
        // The states before the one of the forms belong to the making of the database.
        let begin = steps.steps.iter().position(|state| state.state_digest == start.sha256);
        let name = format!("{}: {file}: the state to continue from", kind.name);
        report.case(group, &name, || {
            let begin = begin.and_then(|at| steps.steps.get(at)).ok_or_else(|| {
                fail(format!("none of its states is that of the database, {}", start.sha256))
            })?;
            compare(&(start, counts.clone()), begin)
        });
        let mut form = None;
        for expected in steps.steps.iter().skip(begin.map_or(steps.steps.len(), |at| at + 1)) {
            let name = format!("{}: {}", kind.name, expected.name);
            report.case(group, &name, || {
                let before = form.take();
                let after = match step(&counts, expected, &steps.half)? {
                    Step::Migrate { half } => {
                        migrated(|| kind.open(folder), half.then_some(&steps.half), expected)?
                    }
                    last => {
                        let form =
                            before.ok_or_else(|| fail("there is nothing to continue from"))?;
                        match last {
                            Step::OpenAgain => open_again(&form)?,
                            _ => delete_removed_types(&form)?,
                        }
                        form
                    }
                };
                compare(&state(&after)?, expected)?;
                form = Some(after);
                Ok(())
            });
        }
    }
}

type Counts = BTreeMap<u32, u64>;

/// Digest and number of objects in each recorded schema.
fn state(form: &Form) -> Outcome<(StateDigest, Counts)> {
    let found = digest::state_digest(&*form.store()?.begin(&TxOptions::reading())?)?;
    let database = Database::new(form.shared()?);
    let tx = database.begin(&reading())?;
    let mut counts = Counts::new();
    for schema in tx.bundle().schemas() {
        let count = tx.objects_in_schema(schema.index)?.count()?;
        counts.insert(schema.index.get(), count as u64);
    }
    Ok((found, counts))
}

fn expected_counts(state: &State) -> Outcome<Counts> {
    let count = |(index, count): (&String, &u64)| Ok((schema_index(index)?.get(), *count));
    state.objects_by_schema.iter().map(count).collect()
}

fn compare((found, counts): &(StateDigest, Counts), expected: &State) -> Outcome {
    same("objects by schema", counts, &expected_counts(expected)?)?;
    same("pairs", found.pairs, expected.pairs)?;
    same_text("state digest", &found.sha256, &expected.state_digest)
}

/// The step that leads to this state, from a database with these numbers of objects in its schemas.
fn step(start: &Counts, expected: &State, half: &[String]) -> Outcome<Step> {
    let counts = expected_counts(expected)?;
    let total = |counts: &Counts| counts.values().sum::<u64>();
    if start.keys().any(|schema| !counts.contains_key(schema)) {
        return Ok(Step::OpenAgain);
    }
    if total(&counts) < total(start) {
        return Ok(Step::DeleteRemovedTypes);
    }
    let newest = start.last_key_value().map(|(schema, count)| (schema, *count));
    let (newest, before) = newest.ok_or_else(|| fail("no schema is recorded"))?;
    let moved = counts.get(newest).and_then(|after| after.checked_sub(before));
    match moved {
        Some(moved) if total(&counts) == total(start) && moved > 0 => {
            Ok(Step::Migrate { half: moved <= half.len() as u64 })
        }
        _ => Err(fail("nothing that is done here leads to these numbers of objects")),
    }
}

/// The form with these objects moved, or all. The name of the state says whether values are
/// converted. If it does not, both ways are tried.
fn migrated(
    open: impl Fn() -> Form,
    half: Option<&Vec<String>>,
    expected: &State,
) -> Outcome<Form> {
    let ways = match (expected.name.contains("without "), expected.name.contains("with ")) {
        (true, _) => &[false][..],
        (false, true) => &[true],
        (false, false) => &[false, true],
    };
    let mut last = Err(fail("no way to migrate"));
    for convert in ways {
        let form = open();
        migrate(&form, half, *convert)?;
        if state(&form)?.0.sha256 == expected.state_digest {
            return Ok(form);
        }
        last = Ok(form);
    }
    last
}

fn open_again(form: &Form) -> Outcome {
    let database = Database::new(form.shared()?);
    let model = newest_model(&database)?;
    Ok(Database::new(form.shared()?).begin(&TransactionConfig::new(model)?)?.commit()?)
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

/// Converts every simple field and counter whose encoding has changed, if the new encoding has a
/// value for the old one.
fn convert_values(tx: &Transaction, change: &SchemaChange) -> ObjectResult<()> {
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

/// The count that a number becomes; `None` if the field was already a counter.
fn count_of(old: &ResolvedField, value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(i64::from(*number)),
        Value::Long(number) if old.simple().is_some() => Some(*number),
        _ => None,
    }
}

/// Deletes the objects whose type the newest schema does not have.
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
