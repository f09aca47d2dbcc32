//! Steps on which Permazen 5.2.0 for Java is known to be wrong. They are left out on both sides.
//!
//! The numbers are the rows in `docs/deviations.md`. Some defects are avoided by the choice of
//! schemas and values: `sketch` avoids delete actions that differ within a storage ID (D1),
//! `values` avoids values whose text or bytes Java misreads.

use std::collections::BTreeSet;
use std::sync::Arc;

use permazen::__internal::schema::{BundleItem, ResolvedKind, ResolvedPart, SubFieldRole};
use permazen::object::{FieldValue, Migrate, Transaction};
use permazen::schema::{ResolvedField, ResolvedType};
use permazen::{ObjId, StorageId};
use permazen_tests::outcome::Outcome;
use permazen_tests::trace::objects::{Tx, obj_id, storage_id};
use permazen_tests::trace::step::{Bounds, Step};

use crate::deletion;
use crate::values::Values;
use permazen_tests::trace::references::{options, target};

/// Why a step cannot be compared; `None` if it can.
pub fn defect(tx: &Tx<'_>, values: &Values, step: &Step) -> Outcome<Option<&'static str>> {
    let id = |name: &str| step.text(name).ok().and_then(|text| obj_id(text).ok());
    let found = match (step.op(), id("id")) {
        ("delete", Some(id)) => deletion::defect(tx.tx, id)?,
        ("index", _) => in_index(tx.tx, step),
        ("follow" | "invert", _) => in_path(tx.tx, step)?,
        ("list.removeValue" | "list.indexOf", Some(id)) => in_search(tx.tx, values, id, step)?,
        ("copy", _) => match (id("from"), id("to")) {
            (Some(from), Some(to)) => in_copy(tx.tx, values, from, to, step)?,
            _ => None,
        },
        _ => None,
    };
    match id("id") {
        Some(id) if found.is_none() && (step.op() == "migrate" || step.flag("migrate")) => {
            in_migration(tx.tx, values, id)
        }
        _ => Ok(found),
    }
}

/// D16, D31, and a range whose bounds Java believes to be the wrong way round.
fn in_index(tx: &Transaction, step: &Step) -> Option<&'static str> {
    let nothing = |bounds: &Bounds| match (&bounds.min, &bounds.max) {
        (Some(min), Some(max)) => min == max && !min.inclusive,
        _ => false,
    };
    if step.column_bounds().ok()?.iter().any(nothing) {
        return Some("a range that excludes both of its equal bounds");
    }
    let bundle = tx.bundle();
    let item = bundle.item(storage_id(step).ok()?)?;
    let indexed = |part: &ResolvedPart| match part {
        ResolvedPart::Field(field) => field.is_indexed(),
        _ => true,
    };
    if !item.representative().is_some_and(|last| indexed(&last.part))
        && item.occurrences.iter().any(|occurrence| indexed(&occurrence.part))
    {
        return Some("D16: not indexed where it was recorded last");
    }
    if step.text("kind").ok()? == "mapValue" && maps_of(item).len() > 1 {
        return Some("D31: maps with other keys share the values");
    }
    None
}

/// D30, and steps through simple fields, which Java finds by name in each object.
fn in_path(tx: &Transaction, step: &Step) -> Outcome<Option<&'static str>> {
    let bundle = tx.bundle();
    let inverted = step.op() == "invert";
    for number in step.list("path")?.iter().filter_map(serde_json::Value::as_i64) {
        let id = u32::try_from(number.unsigned_abs()).ok().and_then(StorageId::new);
        let Some(item) = id.and_then(|id| bundle.item(id)) else { continue };
        if (number < 0) != inverted {
            continue;
        }
        if maps_of(item).len() > 1 {
            return Ok(Some("D30: several maps share what the path goes through"));
        }
        let field = item.field().filter(|field| field.parent.is_none());
        let types = bundle.schemas().iter().flat_map(|schema| &schema.types);
        let mut others = types.filter_map(|object_type| object_type.field(&field?.name));
        if others.any(|other| Some(other.storage_id) != id) {
            return Ok(Some("a path through a field whose name others have"));
        }
    }
    Ok(None)
}

/// The maps that a key or value sub-field belongs to.
pub fn maps_of(item: &BundleItem) -> BTreeSet<StorageId> {
    let fields = item.occurrences.iter().filter_map(|occurrence| match &occurrence.part {
        ResolvedPart::Field(field) => field.parent.as_ref(),
        _ => None,
    });
    fields
        .filter(|parent| matches!(parent.role, SubFieldRole::MapKey | SubFieldRole::MapValue))
        .map(|parent| parent.storage_id)
        .collect()
}

/// Java looks for an element as its own lists do. They do not find arrays, patterns and the like.
fn in_search(
    tx: &Transaction,
    values: &Values,
    id: ObjId,
    step: &Step,
) -> Outcome<Option<&'static str>> {
    let Ok(object_type) = tx.object_type(id) else { return Ok(None) };
    let field = object_type.field(step.text("field")?);
    let element = field.and_then(|field| field.sub_field("element"));
    let found = element.is_none_or(|element| equal_by_value(values, element));
    Ok((!found).then_some("D28: elements without equality by value"))
}

/// D28, and the defects of migration for both objects.
fn in_copy(
    tx: &Transaction,
    values: &Values,
    from: ObjId,
    to: ObjId,
    step: &Step,
) -> Outcome<Option<&'static str>> {
    if from == to {
        return Ok(Some("copied onto itself, collections of references lose elements"));
    }
    if step.flag("migrate")
        && let Some(found) = in_migration(tx, values, from)?
    {
        return Ok(Some(found));
    }
    let (Ok(source), Ok(there)) = (tx.object_type(from), tx.object_type(to)) else {
        return Ok(None);
    };
    if has_map_without_equality(values, &source) || has_map_without_equality(values, &there) {
        return Ok(Some("D28: entries of an existing object stay"));
    }
    let schema = if step.flag("migrate") { tx.schema() } else { tx.object_schema(from)? };
    match schema.type_by_storage_id(to.storage_id()) {
        Some(target) => migrating(tx, values, to, target),
        None => Ok(None),
    }
}

fn has_map_without_equality(values: &Values, object_type: &ResolvedType) -> bool {
    object_type.fields.iter().any(|field| match &field.kind {
        ResolvedKind::Map { value, .. } => !equal_by_value(values, value),
        _ => false,
    })
}

fn equal_by_value(values: &Values, field: &ResolvedField) -> bool {
    let kind = field.simple().and_then(|simple| values.of(simple));
    kind.is_none_or(|kind| kind.equal_by_value)
}

fn in_migration(tx: &Transaction, values: &Values, id: ObjId) -> Outcome<Option<&'static str>> {
    match tx.schema().type_by_storage_id(id.storage_id()) {
        Some(target) => migrating(tx, values, id, target),
        None => Ok(None),
    }
}

/// Defects of moving an object to `new`, the same type in another schema: D4, D20, D28.
fn migrating(
    tx: &Transaction,
    values: &Values,
    id: ObjId,
    new: &Arc<ResolvedType>,
) -> Outcome<Option<&'static str>> {
    let Ok(old) = tx.object_type(id) else { return Ok(None) };
    if old.schema == new.schema {
        return Ok(None);
    }
    let data = tx.load(id, Migrate::No)?;
    for field in &old.fields {
        let Some(kept) = new.field(&field.name).filter(|kept| kept.schema_id == field.schema_id)
        else {
            continue;
        };
        let lost = |part: &ResolvedField, value: &permazen::encoding::Value| {
            let target = target(value).map(ObjId::storage_id);
            target.zip(options(part)).is_some_and(|(target, options)| !options.allows(target))
        };
        match (&kept.kind, data.decode_field(field)?) {
            (ResolvedKind::Simple(_), FieldValue::Simple(value)) if lost(kept, &value) => {
                let stays = |index| old.indexes.iter().any(|other| other.schema_id == index);
                if new.indexes_of(kept).any(|index| stays(index.schema_id)) {
                    return Ok(Some("D20: the reference is in a composite index that stays"));
                }
            }
            (ResolvedKind::List { element }, FieldValue::List(content)) => {
                let adjacent = |pair: &[_]| pair.iter().all(|value| lost(element, value));
                if content.windows(2).any(adjacent) {
                    return Ok(Some("D4: adjacent elements that are to be removed"));
                }
            }
            (ResolvedKind::Map { key, value }, FieldValue::Map(entries)) => {
                let lost = entries.iter().any(|(k, v)| lost(key, k) || lost(value, v));
                if lost && !equal_by_value(values, value) {
                    return Ok(Some("D28: entries that are to be removed stay"));
                }
                let unindexed = |part: &Arc<ResolvedField>| !part.is_indexed();
                let indexed = [key, value].into_iter().all(|part| part.is_indexed());
                if lost && indexed && field.sub_fields().any(unindexed) {
                    return Ok(Some(
                        "an entry that is removed stays in the new index of its other half",
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(None)
}
