//! Running statements that read.

use std::ops::ControlFlow;
use std::sync::Arc;

use permazen::ObjId;
use permazen::object::{FieldValue, Migrate, Transaction};
use permazen::schema::{ResolvedField, ResolvedKind};

use crate::catalog::Catalog;
use crate::check::{Checked, CheckedKind, CheckedObjectsKind, CheckedQuery};
use crate::error::QueryError;
use crate::limits::Limits;
use crate::rows::{Cell, Column, ObjectRow, Row, Rows};

/// What came of a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ran {
    /// How many rows or objects were given.
    pub rows: u64,
    /// How many damaged values were met.
    pub damaged: u64,
    /// Whether it was stopped: [`Limits::stop`] was set. What it has given so far is right, but not
    /// all. It is not set if [`Rows`] wanted no more.
    pub stopped: bool,
    /// If all objects of a type were read for lack of an index: what index would have helped, in words.
    pub scanned_without_index: Option<String>,
}

/// Runs a statement that reads, and gives what it finds to `rows`. An explanation gives the lines of
/// its plan; what is explained is not run.
///
/// # Errors
/// If the store fails, the schemas have changed since the check, or the statement changes objects.
pub fn run(
    tx: &Transaction<'_>,
    checked: &Checked,
    limits: &Limits,
    rows: &mut dyn Rows,
) -> Result<Ran, QueryError> {
    let mut ran = Ran::default();
    match &checked.kind {
        CheckedKind::Show(query) | CheckedKind::Export(query) => {
            each(tx, query, limits, &mut ran, &mut |id, ran| {
                let object = object(tx, id)?;
                ran.rows += 1;
                Ok(rows.object(&object))
            })?;
        }
        CheckedKind::Find(query, _) => {
            let catalog = Catalog::new(Arc::clone(&checked.bundle));
            let fields: Vec<_> = query
                .objects
                .types
                .iter()
                .filter_map(|id| catalog.type_with_id(*id))
                .flat_map(|entry| entry.fields())
                .collect();
            let mut columns = vec![Column::new("id", false)];
            columns.extend(fields.iter().map(|field| Column::new(&*field.name, false)));
            let mut flow = rows.columns(&columns);
            each(tx, query, limits, &mut ran, &mut |id, ran| {
                if flow.is_break() {
                    return Ok(flow);
                }
                let object = object(tx, id)?;
                let cell = |name: &str| {
                    let mut fields = object.fields.iter();
                    fields.find(|(other, _)| **other == *name).map(|(_, cell)| cell.clone())
                };
                let mut cells = vec![Cell::Id(id)];
                cells.extend(fields.iter().map(|f| cell(&f.name).unwrap_or(Cell::Absent)));
                ran.rows += 1;
                flow = rows.row(&Row { id: Some(id), cells });
                Ok(flow)
            })?;
        }
        CheckedKind::Count(query) => {
            let mut count = 0;
            each(tx, query, limits, &mut ran, &mut |_, _| {
                count += 1;
                Ok(ControlFlow::Continue(()))
            })?;
            if rows.columns(&[Column::new("count", true)]).is_continue() && !ran.stopped {
                ran.rows = 1;
                let _ = rows.row(&Row { id: None, cells: vec![Cell::Number(count)] });
            }
        }
        CheckedKind::Explain { statement, .. } => {
            let plan = crate::plan::plan(tx, statement)?;
            let mut flow = rows.columns(&[Column::new("plan", false)]);
            for line in plan.to_string().lines() {
                if flow.is_continue() {
                    ran.rows += 1;
                    flow = rows.row(&Row { id: None, cells: vec![Cell::Text(line.into())] });
                }
            }
        }
        _ => return Err(QueryError::WrongKind("a statement that changes objects is not read")),
    }
    Ok(ran)
}

/// The objects of a statement with a query, in order: those that `set`, `delete`, `migrate` change, that
/// `export` writes. Fewer if it is stopped.
///
/// # Errors
/// The errors of [`run`]; if the statement has no query.
pub fn matches(
    tx: &Transaction<'_>,
    checked: &Checked,
    limits: &Limits,
) -> Result<Vec<ObjId>, QueryError> {
    let query = match &checked.kind {
        CheckedKind::Find(query, _)
        | CheckedKind::Show(query)
        | CheckedKind::Count(query)
        | CheckedKind::Export(query) => query,
        _ => return Err(QueryError::WrongKind("this statement has no query")),
    };
    let mut ids = Vec::new();
    each(tx, query, limits, &mut Ran::default(), &mut |id, _| {
        ids.push(id);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(ids)
}

type Found<'f> = dyn FnMut(ObjId, &mut Ran) -> Result<ControlFlow<()>, QueryError> + 'f;

fn each(
    tx: &Transaction<'_>,
    query: &CheckedQuery,
    limits: &Limits,
    ran: &mut Ran,
    found: &mut Found<'_>,
) -> Result<(), QueryError> {
    let ids: Box<dyn Iterator<Item = permazen::object::Result<ObjId>>> = match query.objects.kind {
        CheckedObjectsKind::Id(id) => Box::new(tx.exists(id)?.then_some(Ok(id)).into_iter()),
        CheckedObjectsKind::Type(_) => {
            Box::new(tx.objects_of(query.objects.types.iter().copied())?.iter())
        }
        _ => return Err(QueryError::WrongKind("conditions and paths are not run yet")),
    };
    let most = query.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    for id in ids.take(most) {
        if limits.is_stopped() {
            ran.stopped = true;
            break;
        }
        if found(id?, ran)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn object(tx: &Transaction<'_>, id: ObjId) -> Result<ObjectRow, QueryError> {
    let data = tx.load(id, Migrate::No)?;
    let object_type = data.object_type();
    let mut fields = Vec::new();
    for field in object_type.fields_by_storage_id() {
        let cell = match data.decode_field(field) {
            Ok(value) => cell_of(field, value),
            Err(error) => Cell::Damaged { bytes: Vec::new(), reason: error.to_string() },
        };
        fields.push((Arc::clone(&field.name), cell));
    }
    let schema = Cell::Number(object_type.schema.get().into());
    Ok(ObjectRow { id, type_name: Arc::clone(&object_type.name), schema, fields })
}

fn cell_of(field: &ResolvedField, value: FieldValue) -> Cell {
    let cell = |field: &ResolvedField, value| match field.simple() {
        Some(simple) => Cell::Value(value, Arc::clone(&simple.encoding)),
        None => Cell::Absent,
    };
    match (&field.kind, value) {
        (_, FieldValue::Counter(count)) => Cell::Counter(count),
        (_, FieldValue::Simple(value)) => cell(field, value),
        (ResolvedKind::Set { element }, FieldValue::Set(values)) => {
            Cell::Set(values.into_iter().map(|value| cell(element, value)).collect())
        }
        (ResolvedKind::List { element }, FieldValue::List(values)) => {
            Cell::List(values.into_iter().map(|value| cell(element, value)).collect())
        }
        (ResolvedKind::Map { key, value }, FieldValue::Map(pairs)) => {
            Cell::Map(pairs.into_iter().map(|(k, v)| (cell(key, k), cell(value, v))).collect())
        }
        _ => Cell::Absent,
    }
}
