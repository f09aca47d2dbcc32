//! Operations on indexes.

use std::ops::Bound as End;

use permazen::object::{Error, IndexView};
use serde_json::Value;

use super::index_rows::{restricted, row};
use super::objects::{Tx, storage_id};
use super::refusal::{Answer, Refusal};
use super::step::{Bound, Step};

/// Answers an `index` operation.
pub(super) fn query(tx: &Tx<'_>, step: &Step) -> Answer {
    let limit = step.limit();
    let view = view(tx, step)?;
    match step.text("view")? {
        "entries" => Ok(rows(tx, step, &view, limit)?.into_iter().map(Value::from).collect()),
        "map" => {
            let groups = groups(rows(tx, step, &view, usize::MAX)?, step.flag("reverse"));
            Ok(groups.into_iter().take(limit).map(Value::from).collect())
        }
        "get" => {
            let mut view = view;
            for (column, value) in step.list("key")?.iter().enumerate() {
                let only = End::Included(value);
                view = restricted(tx.tx, &view, column, only, only)?;
            }
            let last: Vec<Value> = rows(tx, step, &view, usize::MAX)?
                .into_iter()
                .filter_map(|mut row| row.pop())
                .collect();
            Ok(if last.is_empty() { Value::Null } else { last.into() })
        }
        "distinct" => {
            let columns = usize::try_from(step.integer("columns")?).unwrap_or_default();
            let rows = rows(tx, step, &view.distinct(columns), limit)?;
            Ok(rows.into_iter().map(Value::from).collect())
        }
        view => Err(Refusal::new("test error", format!("there is no view {view}"))),
    }
}

/// The index with the restrictions of the step.
fn view<'t>(tx: &Tx<'t>, step: &Step) -> Answer<IndexView<'t>> {
    let sid = storage_id(step)?;
    let mut view = match step.text("kind")? {
        "simple" => tx.tx.simple_index(sid)?,
        "list" => tx.tx.list_element_index(sid)?,
        "mapValue" => tx.tx.map_value_index(sid)?,
        "composite2" => tx.tx.composite_index(sid, 2)?,
        "composite3" => tx.tx.composite_index(sid, 3)?,
        "composite4" => tx.tx.composite_index(sid, 4)?,
        kind => return Err(Refusal::new("test error", format!("there is no index kind {kind}"))),
    };
    for (column, bounds) in step.column_bounds()?.iter().enumerate() {
        view = restricted(tx.tx, &view, column, end(&bounds.min), end(&bounds.max))?;
    }
    if let Some(name) = step.optional_text("inSchema")? {
        let id = tx.model(name)?.schema_id();
        match tx.tx.bundle().schema_by_id(id) {
            Some(schema) => view = view.in_schema(schema.index),
            None => return Err(Refusal::new("illegal-argument", "the schema is not recorded")),
        }
    }
    Ok(view)
}

fn end(bound: &Option<Bound>) -> End<&Value> {
    match bound {
        None => End::Unbounded,
        Some(Bound { value, inclusive: true }) => End::Included(value),
        Some(Bound { value, inclusive: false }) => End::Excluded(value),
    }
}

fn rows(tx: &Tx<'_>, step: &Step, view: &IndexView<'_>, limit: usize) -> Answer<Vec<Vec<Value>>> {
    let read = |entry: Result<_, Error>| row(tx.tx, view, &entry?);
    let rows: Result<Vec<_>, Error> = if step.flag("reverse") {
        view.entries().rev().take(limit).map(read).collect()
    } else {
        view.entries().take(limit).map(read).collect()
    };
    Ok(rows?)
}

/// Groups the rows by all columns but the last. The last becomes a list, which ascends in either
/// direction.
fn groups(rows: Vec<Vec<Value>>, reverse: bool) -> Vec<Vec<Value>> {
    let mut groups: Vec<(Vec<Value>, Vec<Value>)> = Vec::new();
    for mut row in rows {
        let Some(last) = row.pop() else { continue };
        match groups.last_mut() {
            Some((key, members)) if *key == row => members.push(last),
            _ => groups.push((row, vec![last])),
        }
    }
    let whole = |(mut key, mut members): (Vec<Value>, Vec<Value>)| {
        if reverse {
            members.reverse();
        }
        key.push(members.into());
        key
    };
    groups.into_iter().map(whole).collect()
}
