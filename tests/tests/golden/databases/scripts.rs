//! Scripts of changes, and the states they lead to.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use permazen::__internal::schema::ResolvedKind;
use permazen::kv::TxOptions;
use permazen::object::{Database, TransactionConfig};
use permazen::schema::SchemaModel;
use permazen_tests::{digest, files};
use serde_json::Value as Json;

use super::answers::Script;
use super::forms::{self, Form};
use super::objects::reading;
use crate::report::{Outcome, Report, fail, same, same_text};
use permazen_tests::trace::event_log::EventLog;
use permazen_tests::trace::objects::{Context, ObjectField, Tx};
use permazen_tests::trace::refusal::{Answer, Refusal};
use permazen_tests::trace::step::{Header, Step};

/// Runs the scripts of a file, each on a fresh copy of every form.
pub fn check(group: &str, folder: &Path, file: &str, report: &mut Report) {
    let scripts: Vec<Script> = match files::json(folder, file) {
        Ok(scripts) => scripts,
        Err(error) => return report.case(group, file, || Err(error.into())),
    };
    if scripts.is_empty() {
        report.case(group, file, || Err(fail("there is no script in it")));
    }
    for script in &scripts {
        for kind in forms::kinds_in(folder) {
            let name = format!("{}: {}", kind.name, script.name);
            report.case(group, &name, || run(&kind.open(folder), script));
        }
    }
}

fn run(form: &Form, script: &Script) -> Outcome {
    let compared =
        [script.state_digest.is_some(), script.pairs.is_some(), script.objects.is_some()];
    if script.steps.is_empty() {
        return Err(fail("the script has no steps"));
    }
    if script.refused.is_none() && !compared.contains(&true) {
        return Err(fail("the script does not say what it leads to"));
    }
    let before = digest::state_digest(&*form.store()?.begin(&TxOptions::reading())?)?;
    let database = Database::new(form.shared()?);
    let model = newest_model(&database)?;
    let tx = database.begin(&TransactionConfig::new(model)?.allow_new_schema(false))?;
    let context = Arc::new(Context {
        header: Arc::new(Header::default()),
        log: EventLog::default(),
        listeners: Mutex::new(BTreeMap::new()),
    });
    let steps: Outcome<Vec<Step>> = script.steps.iter().cloned().map(Step::new).collect();
    let mut answer = Ok(());
    for step in steps? {
        answer = perform(&Tx::new(&tx, &context), &step);
        if answer.is_err() {
            break;
        }
    }
    match (answer, &script.refused) {
        (Ok(()), None) => tx.commit()?,
        (Err(refusal), None) => return Err(fail(refusal.text)),
        (Ok(()), Some(_)) => return Err(fail("the script should have been refused")),
        (Err(refusal), Some(expected)) => {
            same("error", refusal.kind, "referenced-object")?;
            let members = [
                ("id", &expected.deleting),
                ("referrer", &expected.referrer),
                ("field", &expected.field),
            ];
            for (member, expected) in members {
                if let Some(expected) = expected {
                    let found = refusal.detail.get(member).and_then(Json::as_str);
                    same(member, found, Some(expected.as_str()))?;
                }
            }
            // Operations that were refused have changed nothing.
            tx.commit()?;
            let after = digest::state_digest(&*form.store()?.begin(&TxOptions::reading())?)?;
            return same("state", after, before);
        }
    }
    let after = digest::state_digest(&*form.store()?.begin(&TxOptions::reading())?)?;
    if let Some(expected) = &script.state_digest {
        same_text("state digest", &after.sha256, expected)?;
    }
    same("pairs", Some(after.pairs), script.pairs.or(Some(after.pairs)))?;
    let objects = database.begin(&reading())?.all_objects()?.count()? as u64;
    same("objects", Some(objects), script.objects.or(Some(objects)))
}

/// The model of the recorded schema with the highest schema index.
pub fn newest_model(database: &Database) -> Outcome<Arc<SchemaModel>> {
    let tx = database.begin(&reading())?;
    let bundle = tx.bundle();
    let newest = bundle.schemas().last().ok_or_else(|| fail("no schema is recorded"))?;
    Ok(Arc::clone(&newest.model))
}

fn perform(tx: &Tx<'_>, step: &Step) -> Answer<()> {
    let id = step.text("id")?;
    let object_field =
        ObjectField { id, field: step.optional_text("field")?.unwrap_or_default(), migrate: false };
    let kind = tx.field(&object_field);
    let kind = kind.as_ref().map(|field| &field.kind);
    let value = step.optional_text("value")?;
    let amount = || -> Answer<i64> {
        value
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| Refusal::new("test error", "no amount"))
    };
    match (step.op(), kind) {
        ("delete", _) => tx.delete(id).map(drop),
        ("create", _) => tx.create(id, None).map(drop),
        ("set", Some(ResolvedKind::Counter)) => tx.set_counter(&object_field, amount()?),
        ("set", _) => tx.set(&object_field, value),
        ("adjust", _) => tx.adjust_counter(&object_field, amount()?),
        ("append", _) => tx.list_append(&object_field, value),
        ("insert", _) => tx
            .list_insert(&object_field, step.integer("index")?, &[value.map(str::to_owned)])
            .map(drop),
        ("replace", _) => tx.list_set(&object_field, step.integer("index")?, value).map(drop),
        ("remove", Some(ResolvedKind::List { .. })) => {
            tx.list_remove(&object_field, step.integer("index")?).map(drop)
        }
        ("add", _) => tx.set_add(&object_field, value).map(drop),
        ("remove", Some(ResolvedKind::Set { .. })) => tx.set_remove(&object_field, value).map(drop),
        ("put", _) => tx.map_put(&object_field, step.optional_text("key")?, value).map(drop),
        ("remove", Some(ResolvedKind::Map { .. })) => {
            tx.map_remove(&object_field, step.optional_text("key")?).map(drop)
        }
        ("clear", Some(ResolvedKind::List { .. })) => tx.list_clear(&object_field),
        ("clear", Some(ResolvedKind::Set { .. })) => tx.set_clear(&object_field, &step.bounds()?),
        ("clear", Some(ResolvedKind::Map { .. })) => tx.map_clear(&object_field, &step.bounds()?),
        (op, _) => Err(Refusal::new("test error", format!("{op} does not fit the field"))),
    }
}
