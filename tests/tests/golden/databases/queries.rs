//! Indexes: their content, and queries on them.

use std::collections::BTreeSet;
use std::ops::Bound as End;

use permazen::__internal::encoding::EncodingKind;
use permazen::__internal::object::IndexKind;
use permazen::__internal::schema::{ResolvedKind, ResolvedPart};
use permazen::encoding::{Encoding, Value};
use permazen::object::{Database, Error, IndexEntry, IndexView, Transaction};
use permazen::schema::SchemaIndex;
use permazen::{ObjId, StorageId};
use serde_json::Value as Json;

use super::answers::{self, Answers, Bound, Bounds, Index, Query, TupleBound};
use super::forms::Form;
use super::objects::{ids_digest, obj_id, reading};
use crate::report::{Outcome, Report, fail, same, same_text};
use permazen_tests::trace::index_rows::{column_value, restricted, row};

/// Compares every index and every query.
pub fn check(group: &str, form: &Form, answers: &Answers, report: &mut Report) {
    let database = match form.shared() {
        Ok(store) => Database::new(store),
        Err(stop) => return report.case(group, &format!("{}: indexes", form.name), || Err(stop)),
    };
    let tx = match database.begin(&reading()) {
        Ok(tx) => tx,
        Err(error) => {
            return report.case(group, &format!("{}: indexes", form.name), || Err(error.into()));
        }
    };
    for index in &answers.indexes {
        let name = format!("{}: index {}", form.name, index.storage_id);
        report.case(group, &name, || contents(&tx, index));
        for query in &index.queries {
            report.case(group, &format!("{name}: {}", query.name), || run(&tx, index, query));
        }
    }
}

fn storage_id(number: u32) -> Outcome<StorageId> {
    StorageId::new(number).ok_or_else(|| fail(format!("{number} is no storage id")))
}

fn contents(tx: &Transaction, index: &Index) -> Outcome {
    let id = storage_id(index.storage_id)?;
    let view = tx.index(id)?;
    same("kind", kind(view.shape().kind()), Some(index.kind))?;
    let encodings: Vec<String> =
        view.shape().values().iter().map(|encoding| encoding_name(&**encoding)).collect();
    same("encodings", encodings, index.encodings.clone())?;
    same(
        "encodings of map keys",
        map_keys(tx, id),
        index.map_key_encoding.iter().cloned().collect(),
    )?;
    same("items", items(tx, id), index_items(index))?;
    same("entries", view.count()? as u64, index.entries)?;
    same("distinct values", view.values().count()? as u64, index.distinct_values)?;
    let objects = view.distinct(view.shape().id_column() + 1);
    same("distinct values and objects", objects.count()? as u64, index.value_object_pairs)?;

    let first = index.all.as_ref().or(index.first.as_ref()).map(Vec::as_slice).unwrap_or_default();
    let found = rows(tx, &view, view.entries().take(first.len()))?;
    same_text("first entries", &text(&found), &text(first))?;
    let last = index.all.as_ref().or(index.last.as_ref()).map(Vec::as_slice).unwrap_or_default();
    let mut found = rows(tx, &view, view.entries().rev().take(last.len()))?;
    found.reverse();
    same_text("last entries", &text(&found), &text(last))
}

fn kind(kind: IndexKind) -> Option<answers::IndexKind> {
    Some(match kind {
        IndexKind::Field => answers::IndexKind::Field,
        IndexKind::SetElement => answers::IndexKind::SetElement,
        IndexKind::ListElement => answers::IndexKind::ListElement,
        IndexKind::MapKey => answers::IndexKind::MapKey,
        IndexKind::MapValue => answers::IndexKind::MapValue,
        IndexKind::Composite => answers::IndexKind::Composite,
        _ => return None,
    })
}

/// The alias of a built-in encoding, or what kind it is.
fn encoding_name(encoding: &dyn Encoding) -> String {
    match (encoding.id(), encoding.kind()) {
        (Some(id), _) => id.alias().to_owned(),
        (None, EncodingKind::NullSafe(inner)) => encoding_name(&**inner),
        (None, EncodingKind::Reference(_)) => "reference".to_owned(),
        (None, EncodingKind::Enum(_)) => "enum".to_owned(),
        (None, EncodingKind::Array(_)) => "enumArray".to_owned(),
        (None, kind) => format!("{kind:?}"),
    }
}

/// The schema items that share the index, by schema index and path.
fn items(tx: &Transaction, id: StorageId) -> BTreeSet<(u32, String)> {
    let bundle = tx.bundle();
    let places = bundle.item(id).map(|item| item.occurrences.as_slice()).unwrap_or_default();
    let path = |place: &permazen::__internal::schema::Occurrence| {
        let object_type = &place.object_type;
        let path = match &place.part {
            ResolvedPart::Field(field) if field.is_indexed() => {
                format!("{}.{}", object_type.name, field.full_name)
            }
            ResolvedPart::Index(index) => format!("{}#{}", object_type.name, index.name),
            _ => return None,
        };
        Some((object_type.schema.get(), path))
    };
    places.iter().filter_map(path).collect()
}

/// The encodings of the map keys that an index has beside the values.
fn map_keys(tx: &Transaction, id: StorageId) -> BTreeSet<String> {
    let bundle = tx.bundle();
    let places = bundle.item(id).map(|item| item.occurrences.as_slice()).unwrap_or_default();
    let fields = places.iter().flat_map(|place| &place.object_type.fields);
    fields
        .filter_map(|field| match &field.kind {
            ResolvedKind::Map { key, value } if value.storage_id == id && value.is_indexed() => {
                Some(encoding_name(&*key.simple()?.encoding))
            }
            _ => None,
        })
        .collect()
}

fn index_items(index: &Index) -> BTreeSet<(u32, String)> {
    index.items.iter().map(|item| (item.schema, item.item.clone())).collect()
}

fn rows<'t>(
    tx: &Transaction,
    view: &IndexView<'t>,
    entries: impl Iterator<Item = Result<IndexEntry<'t>, Error>>,
) -> Outcome<Vec<Vec<Json>>> {
    entries.map(|entry| Ok(row(tx, view, &entry?)?)).collect()
}

fn text(rows: &[Vec<Json>]) -> String {
    Json::from(rows.iter().cloned().map(Json::from).collect::<Vec<_>>()).to_string()
}

fn run(tx: &Transaction, index: &Index, query: &Query) -> Outcome {
    let view = view(tx, index, query)?;
    let entries: Result<Vec<IndexEntry<'_>>, Error> =
        if query.reverse { view.entries().rev().collect() } else { view.entries().collect() };
    let entries = entries?;
    let ids: Result<Vec<ObjId>, Error> = entries.iter().map(IndexEntry::id).collect();
    same("results", entries.len() as u64, query.count)?;
    let first = rows(tx, &view, entries.iter().take(query.first.len()).cloned().map(Ok))?;
    same_text("first results", &text(&first), &text(&query.first))?;
    if let Some(expected) = &query.last {
        let last = rows(tx, &view, entries.iter().rev().take(1).cloned().map(Ok))?;
        same_text("last result", &text(&last), &text(std::slice::from_ref(expected)))?;
    }
    same_text("digest of the ids", &ids_digest(&ids?), &query.ids_digest)
}

/// The view the query asks for.
fn view<'t>(tx: &'t Transaction, index: &Index, query: &Query) -> Outcome<IndexView<'t>> {
    let view = tx.index(storage_id(index.storage_id)?)?;
    let mut view = view.distinct(view.shape().id_column() + 1);
    for (column, Bounds { lower, upper }) in query.columns.iter().flatten().enumerate() {
        let (lower, upper) = (json(lower), json(upper));
        view = restricted(tx, &view, column, end(&lower), end(&upper))?;
    }
    if let Some(bounds) = &query.tuple {
        let (lower, upper) = (tuple(tx, &view, &bounds.lower)?, tuple(tx, &view, &bounds.upper)?);
        view = view.with_tuple_bounds(
            lower.as_ref().map(Vec::as_slice),
            upper.as_ref().map(Vec::as_slice),
        )?;
    }
    if let Some(name) = &query.type_name {
        view = view.of_types([tx.type_storage_id(name)?]);
    }
    if let Some(schema) = query.schema {
        view = view.in_schema(index_number(schema)?);
    }
    if let Some(id) = &query.from_id {
        view = view.of_ids(obj_id(id)?..);
    }
    Ok(view)
}

fn index_number(number: u32) -> Outcome<SchemaIndex> {
    SchemaIndex::new(number).ok_or_else(|| fail(format!("schema index {number}")))
}

fn json(bound: &Option<Bound>) -> Option<(Json, bool)> {
    bound.as_ref().map(|bound| (bound.value.clone().into(), bound.included))
}

fn end(bound: &Option<(Json, bool)>) -> End<&Json> {
    match bound {
        None => End::Unbounded,
        Some((value, true)) => End::Included(value),
        Some((value, false)) => End::Excluded(value),
    }
}

/// A bound on whole tuples.
fn tuple(
    tx: &Transaction,
    view: &IndexView<'_>,
    bound: &Option<TupleBound>,
) -> Outcome<End<Vec<Value>>> {
    let Some(bound) = bound else { return Ok(End::Unbounded) };
    let values = bound.values.iter().enumerate();
    let values: Result<Vec<Value>, Error> =
        values.map(|(column, text)| column_value(tx, view, column, &text.clone().into())).collect();
    Ok(if bound.included { End::Included(values?) } else { End::Excluded(values?) })
}
