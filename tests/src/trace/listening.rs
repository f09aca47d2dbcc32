//! Listeners and callbacks that record their events.

use std::sync::{Arc, PoisonError};

use permazen::__internal::schema::ResolvedKind;
use permazen::ObjId;
use permazen::object::{
    Callback, ChangeKind, Error, FieldChange, IdFilter, PathStep, Result, SchemaChange,
    Transaction, Watch,
};
use permazen::schema::ResolvedField;
use serde_json::{Value, json};

use super::event_log::EventLog;
use super::objects::{Context, Tx, storage_id};
use super::operations::perform;
use super::refusal::{Answer, Refusal};
use super::step::Step;
use super::text::{Text, field_text, object_texts};

/// The action of a listener after an event.
struct Reaction {
    name: String,
    steps: Vec<Step>,
    context: Arc<Context>,
}

impl Reaction {
    fn new(step: &Step, context: &Arc<Context>) -> Answer<Reaction> {
        let steps = match step.get("do") {
            Some(Value::Array(steps)) => {
                steps.iter().cloned().map(Step::new).collect::<std::result::Result<_, _>>()?
            }
            _ => Vec::new(),
        };
        let name = step.text("name")?.to_owned();
        let times = step.get("times").and_then(Value::as_u64).unwrap_or(u64::MAX);
        context.log.set_acts(&name, times);
        Ok(Reaction { name, steps, context: Arc::clone(context) })
    }

    /// Records the event and performs the listener's steps.
    fn to(&self, tx: &Transaction, mut event: Value) -> Result<()> {
        event["listener"] = json!(self.name);
        self.context.log.add(event);
        if !self.context.log.acts(&self.name) {
            return Ok(());
        }
        let tx = Tx::new(tx, &self.context);
        for step in &self.steps {
            if step.op() == "fail" {
                return Err(Error::listener("the trace asked for this failure"));
            }
            if let Ok(id) = step.text("id") {
                self.context.log.note_change(id);
            }
            perform(&tx, step).map_err(Refusal::into_error)?;
        }
        Ok(())
    }
}

/// Registers the listener that a `listen` step describes.
pub fn listen(tx: &Tx<'_>, step: &Step) -> Answer<()> {
    let reaction = Reaction::new(step, &tx.context)?;
    let id = match step.text("kind")? {
        "create" => tx.tx.on_create(
            storage_id(step)?,
            Arc::new(move |tx, id| {
                reaction.to(tx, json!({ "on": "create", "id": id.to_string() }))
            }),
        )?,
        "schemaChange" => tx.tx.on_schema_change(
            storage_id(step)?,
            Arc::new(move |tx, change| reaction.to(tx, schema_change(&reaction.context, change)?)),
        )?,
        "delete" => tx.tx.on_delete(
            watch(tx, step)?,
            Arc::new(move |tx, id, referrers| {
                let event =
                    json!({ "on": "delete", "id": id.to_string(), "referrers": texts(referrers) });
                reaction.to(tx, event)
            }),
        )?,
        "field" => tx.tx.on_change(
            storage_id(step)?,
            watch(tx, step)?,
            Arc::new(move |tx, change, referrers| {
                let mut event = field_change(change)?;
                event["referrers"] = texts(referrers);
                reaction.to(tx, event)
            }),
        )?,
        kind => return Err(Refusal::new("unknown listener", kind)),
    };
    let mut listeners = tx.context.listeners.lock().unwrap_or_else(PoisonError::into_inner);
    listeners.insert(step.text("name")?.to_owned(), id);
    Ok(())
}

/// Removes the listener with this name.
pub fn unlisten(tx: &Tx<'_>, name: &str) -> Answer<()> {
    let mut listeners = tx.context.listeners.lock().unwrap_or_else(PoisonError::into_inner);
    match listeners.remove(name) {
        Some(id) => Ok(tx.tx.remove_listener(id)?),
        None => Err(Refusal::new("test error", "no listener has this name")),
    }
}

fn watch(tx: &Tx<'_>, step: &Step) -> Answer<Watch> {
    let (path, filters) = path(tx, step)?;
    if filters.is_empty() { Ok(Watch::along(path)) } else { Ok(Watch::filtered(path, filters)?) }
}

/// The reference path of a step and its type filters. The filters are empty if it has none.
pub fn path(tx: &Tx<'_>, step: &Step) -> Answer<(Vec<PathStep>, Vec<Option<IdFilter>>)> {
    let mut path = Vec::new();
    for number in step.list("path")?.iter().filter_map(Value::as_i64) {
        let id = u32::try_from(number.unsigned_abs()).ok().and_then(permazen::StorageId::new);
        let id = id.ok_or_else(|| Refusal::new("test error", "a path step is no storage id"))?;
        path.push(if number < 0 { PathStep::Inverse(id) } else { PathStep::Forward(id) });
    }
    let mut filters = Vec::new();
    for names in step.types()?.unwrap_or_default() {
        let filter = match names {
            None => None,
            Some(names) => {
                let ids: Answer<Vec<_>> = names.iter().map(|name| tx.type_id(name)).collect();
                Some(IdFilter::of_types(ids?))
            }
        };
        filters.push(filter);
    }
    Ok((path, filters))
}

fn texts(ids: &[ObjId]) -> Value {
    ids.iter().map(ObjId::to_string).collect()
}

fn schema_change(context: &Context, change: &SchemaChange) -> Result<Value> {
    let name = |id: String| json!(context.header.schema_name(&id));
    Ok(json!({
        "on": "schema-change",
        "id": change.id.to_string(),
        "from": name(change.old_schema.to_string()),
        "to": name(change.new_schema.to_string()),
        "old": object_texts(&change.old)?,
    }))
}

fn field_change(change: &FieldChange) -> Result<Value> {
    let field = change.field();
    let element = |value: &permazen::encoding::Value| -> Result<Text> {
        match &field.kind {
            ResolvedKind::Set { element } | ResolvedKind::List { element } => {
                field_text(element, value)
            }
            ResolvedKind::Map { value: part, .. } => field_text(part, value),
            _ => field_text(field, value),
        }
    };
    let key = |value| field_text(map_key(field).unwrap_or(field), value);
    let mut event = match change.decode()? {
        ChangeKind::Simple { old, new } => {
            json!({ "on": "change", "old": element(&old)?, "new": element(&new)? })
        }
        ChangeKind::SetAdd { value } => json!({ "on": "set-add", "value": element(&value)? }),
        ChangeKind::SetRemove { value } => json!({ "on": "set-remove", "value": element(&value)? }),
        ChangeKind::SetClear => json!({ "on": "set-clear" }),
        ChangeKind::ListAdd { index, value } => {
            json!({ "on": "list-add", "index": index, "value": element(&value)? })
        }
        ChangeKind::ListRemove { index, value } => {
            json!({ "on": "list-remove", "index": index, "value": element(&value)? })
        }
        ChangeKind::ListReplace { index, old, new } => {
            json!({ "on": "list-replace", "index": index, "old": element(&old)?, "new": element(&new)? })
        }
        ChangeKind::ListClear => json!({ "on": "list-clear" }),
        ChangeKind::MapAdd { key: k, value } => {
            json!({ "on": "map-add", "key": key(&k)?, "value": element(&value)? })
        }
        ChangeKind::MapRemove { key: k, value } => {
            json!({ "on": "map-remove", "key": key(&k)?, "value": element(&value)? })
        }
        ChangeKind::MapReplace { key: k, old, new } => {
            json!({ "on": "map-replace", "key": key(&k)?, "old": element(&old)?, "new": element(&new)? })
        }
        ChangeKind::MapClear => json!({ "on": "map-clear" }),
        other => json!({ "on": format!("{other:?}") }),
    };
    event["id"] = json!(change.id().to_string());
    event["field"] = json!(field.name.to_string());
    Ok(event)
}

fn map_key(field: &ResolvedField) -> Option<&ResolvedField> {
    match &field.kind {
        ResolvedKind::Map { key, .. } => Some(key),
        _ => None,
    }
}

/// A callback that records its calls and fails where the trace says so.
struct Recorder {
    name: String,
    fails_in: Option<String>,
    log: EventLog,
}

impl Recorder {
    fn called(&self, on: &str, argument: Option<(&str, bool)>) -> Result<()> {
        let mut event = json!({ "callback": self.name, "on": on });
        if let Some((name, value)) = argument {
            event[name] = json!(value);
        }
        self.log.add(event);
        if self.fails_in.as_deref() == Some(on) {
            return Err(Error::listener("the trace asked for this failure"));
        }
        Ok(())
    }
}

impl Callback for Recorder {
    fn before_commit(&self, _: &Transaction, read_only: bool) -> Result<()> {
        self.called("beforeCommit", Some(("readOnly", read_only)))
    }

    fn before_completion(&self, _: &Transaction) -> Result<()> {
        self.called("beforeCompletion", None)
    }

    fn after_commit(&self) -> Result<()> {
        self.called("afterCommit", None)
    }

    fn after_completion(&self, committed: bool) -> Result<()> {
        self.called("afterCompletion", Some(("committed", committed)))
    }
}

/// Registers the callback that an `addCallback` step describes.
pub fn add_callback(tx: &Tx<'_>, step: &Step) -> Answer<()> {
    let callback = Recorder {
        name: step.text("name")?.to_owned(),
        fails_in: step.optional_text("fail")?.map(str::to_owned),
        log: tx.context.log.clone(),
    };
    Ok(tx.tx.add_callback(Arc::new(callback))?)
}
