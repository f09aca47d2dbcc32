//! The operations of a trace, performed on the object layer.
//!
//! Everything here uses recorded texts; [`super::objects`] turns them into calls.

use permazen::ObjId;
use serde_json::{Value, json};

use super::listening;
use super::objects::{How, ObjectField, Tx, obj_id};
use super::refusal::{Answer, Refusal};
use super::step::Step;
use super::text::Text;

/// Performs an operation on objects in the open transaction. Returns its answer in recorded form.
///
/// If a value does not belong to its encoding, the error is "invalid value" where a value is
/// stored, and "illegal argument" elsewhere.
pub fn perform(tx: &Tx<'_>, step: &Step) -> Answer {
    let stores =
        ["set", "set.add", "list.append", "list.insert", "list.insertAll", "list.set", "map.put"];
    operate(tx, step).map_err(|mut refusal| {
        if refusal.kind == "invalid-value" && !stores.contains(&step.op()) {
            refusal.kind = "illegal-argument";
        }
        refusal
    })
}

fn operate(tx: &Tx<'_>, step: &Step) -> Answer {
    let (op, detail) = step.op().split_once('.').unwrap_or((step.op(), ""));
    match op {
        "addSchema" => Ok(tx.add_schema(step.text("schema")?)?.into()),
        "removeSchema" => Ok(tx.remove_schema(step.text("schema")?)?.into()),
        "create" => Ok(tx.create(step.text("id")?, step.optional_text("in")?)?.into()),
        "delete" => Ok(tx.delete(step.text("id")?)?.into()),
        "exists" => Ok(tx.exists(step.text("id")?)?.into()),
        "typeOf" => Ok(tx.type_of(step.text("id")?)?.into()),
        "schemaOf" => Ok(tx.schema_of(step.text("id")?)?.into()),
        "migrate" => Ok(tx.migrate(step.text("id")?)?.into()),
        "copy" => Ok(tx.copy(step.text("from")?, step.text("to")?, step.flag("migrate"))?.into()),
        "all" => {
            let ids = tx.all(step.optional_text("type")?, &step.bounds()?, step.flag("reverse"))?;
            Ok(ids.into_iter().take(step.limit()).collect())
        }
        "bySchema" => by_schema(tx, step),
        "follow" | "invert" => follow(tx, step),
        "index" => super::index_views::query(tx, step),
        "setRollbackOnly" => {
            tx.tx.set_rollback_only();
            done(())
        }
        "addCallback" => done(listening::add_callback(tx, step)?),
        "listen" => done(listening::listen(tx, step)?),
        "unlisten" => done(listening::unlisten(tx, step.text("name")?)?),
        "get" | "set" | "isDefault" if detail.is_empty() => simple(tx, step, op),
        "counter" => counter(tx, step, detail),
        "set" => set(tx, step, detail),
        "list" => list(tx, step, detail),
        "map" => map(tx, step, detail),
        _ => Err(unknown(step)),
    }
}

fn unknown(step: &Step) -> Refusal {
    Refusal::new("test error", format!("there is no operation {}", step.op()))
}

/// The answer of an operation that returns nothing.
pub fn done((): ()) -> Answer {
    Ok("ok".into())
}

/// The answer of an operation that returns nothing here, and true in Java.
fn done_if(changed: bool) -> Answer {
    if changed { done(()) } else { Ok(false.into()) }
}

fn object_field(step: &Step) -> Answer<ObjectField<'_>> {
    Ok(ObjectField {
        id: step.text("id")?,
        field: step.text("field")?,
        migrate: step.flag("migrate"),
    })
}

fn value<'s>(step: &'s Step, name: &str) -> Answer<Option<&'s str>> {
    Ok(step.optional_text(name)?)
}

fn position(step: &Step, name: &str) -> Answer<i64> {
    Ok(step.integer(name)?)
}

fn amount(step: &Step) -> Answer<i64> {
    let text = step.text("value")?;
    text.parse().map_err(|_| Refusal::new("invalid-value", format!("{text} is no counter value")))
}

fn ids(step: &Step, name: &str) -> Answer<Vec<ObjId>> {
    step.list(name)?.iter().filter_map(Value::as_str).map(obj_id).collect()
}

fn by_schema(tx: &Tx<'_>, step: &Step) -> Answer {
    let wanted = step.optional_text("schema")?;
    let mut groups = Vec::new();
    for (index, schema, ids) in tx.by_schema(wanted)? {
        let ids: Vec<String> = ids.into_iter().take(step.limit()).collect();
        groups.push(json!([index, schema, ids]));
    }
    Ok(groups.into())
}

fn follow(tx: &Tx<'_>, step: &Step) -> Answer {
    let (path, filters) = listening::path(tx, step)?;
    let reached = if step.op() == "follow" {
        tx.tx.follow_path(ids(step, "start")?, &path, &filters)?
    } else {
        tx.tx.invert_path(&path, &filters, ids(step, "targets")?)?
    };
    Ok(reached.iter().map(ObjId::to_string).collect())
}

fn simple(tx: &Tx<'_>, step: &Step, op: &str) -> Answer {
    let object_field = object_field(step)?;
    match op {
        "get" => Ok(tx.get(&object_field)?.into()),
        "set" => done(tx.set(&object_field, value(step, "value")?)?),
        _ => Ok(tx.is_default(&object_field)?.into()),
    }
}

fn counter(tx: &Tx<'_>, step: &Step, detail: &str) -> Answer {
    let object_field = object_field(step)?;
    match detail {
        "get" => Ok(tx.counter(&object_field)?.to_string().into()),
        "set" => done(tx.set_counter(&object_field, amount(step)?)?),
        "adjust" => done(tx.adjust_counter(&object_field, amount(step)?)?),
        _ => Err(unknown(step)),
    }
}

fn how(step: &Step) -> Answer<How> {
    match step.text("how")? {
        "lower" => Ok(How::Lower),
        "floor" => Ok(How::Floor),
        "ceiling" => Ok(How::Ceiling),
        "higher" => Ok(How::Higher),
        _ => Err(unknown(step)),
    }
}

fn set(tx: &Tx<'_>, step: &Step, detail: &str) -> Answer {
    let object_field = object_field(step)?;
    match detail {
        "add" => Ok(tx.set_add(&object_field, value(step, "value")?)?.into()),
        "remove" => Ok(tx.set_remove(&object_field, value(step, "value")?)?.into()),
        "contains" => Ok(tx.set_contains(&object_field, value(step, "value")?)?.into()),
        "size" => Ok(tx.set_size(&object_field)?.into()),
        "clear" => done(tx.set_clear(&object_field, &step.bounds()?)?),
        "list" => Ok(tx.set_list(&object_field, &step.bounds()?, step.flag("reverse"))?.into()),
        "near" => {
            let near = tx.set_near(&object_field, how(step)?, value(step, "value")?)?;
            Ok(near.map_or_else(|| json!([]), |near| json!([near])))
        }
        _ => Err(unknown(step)),
    }
}

fn list(tx: &Tx<'_>, step: &Step, detail: &str) -> Answer {
    let object_field = object_field(step)?;
    match detail {
        "append" => done(tx.list_append(&object_field, value(step, "value")?)?),
        "insert" => done_if(tx.list_insert(
            &object_field,
            position(step, "index")?,
            &[value(step, "value")?.map(str::to_owned)],
        )?),
        "insertAll" => {
            let values: Vec<Text> =
                step.list("values")?.iter().map(|v| v.as_str().map(str::to_owned)).collect();
            Ok(tx.list_insert(&object_field, position(step, "index")?, &values)?.into())
        }
        "set" => {
            Ok(tx.list_set(&object_field, position(step, "index")?, value(step, "value")?)?.into())
        }
        "get" => Ok(tx.list_get(&object_field, position(step, "index")?)?.into()),
        "remove" => Ok(tx.list_remove(&object_field, position(step, "index")?)?.into()),
        "removeValue" => Ok(tx.list_remove_value(&object_field, value(step, "value")?)?.into()),
        "removeRange" => done(tx.list_remove_range(
            &object_field,
            position(step, "from")?,
            position(step, "to")?,
        )?),
        "indexOf" => {
            let at = tx.list_index_of(&object_field, value(step, "value")?)?;
            Ok(at.map_or_else(|| json!(-1), |at| json!(at)))
        }
        "size" => Ok(tx.list_size(&object_field)?.into()),
        "clear" => done(tx.list_clear(&object_field)?),
        "list" => Ok(tx.list_values(&object_field)?.into()),
        _ => Err(unknown(step)),
    }
}

fn map(tx: &Tx<'_>, step: &Step, detail: &str) -> Answer {
    let object_field = object_field(step)?;
    match detail {
        "put" => Ok(tx.map_put(&object_field, value(step, "key")?, value(step, "value")?)?.into()),
        "get" => Ok(tx.map_get(&object_field, value(step, "key")?)?.flatten().into()),
        "remove" => Ok(tx.map_remove(&object_field, value(step, "key")?)?.into()),
        "contains" => Ok(tx.map_contains(&object_field, value(step, "key")?)?.into()),
        "size" => Ok(tx.map_size(&object_field)?.into()),
        "clear" => done(tx.map_clear(&object_field, &step.bounds()?)?),
        "list" => {
            let entries = tx.map_list(&object_field, &step.bounds()?, step.flag("reverse"))?;
            Ok(entries.into_iter().map(|(key, value)| json!([key, value])).collect())
        }
        "near" => {
            let near = tx.map_near(&object_field, how(step)?, value(step, "key")?)?;
            Ok(near.map_or_else(|| json!([]), |(key, value)| json!([key, value])))
        }
        _ => Err(unknown(step)),
    }
}
