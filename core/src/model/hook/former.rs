//! Fields of a model in objects of other schemas, where they can have another name or type.

use std::collections::BTreeSet;

use crate::encoding::Conversion;
use crate::id::StorageId;
use crate::model::binding::Binding;
use crate::model::bound_fields::FieldPart;
use crate::model::declare::ValueDecl;
use crate::model::error::{Error, Result};
use crate::model::evolution::FieldPlan;
use crate::object::FieldChange;
use crate::schema::{ResolvedField, ResolvedKind, SchemaBundle};

/// The storage IDs under which the fields at these positions are stored: their own, and those that
/// they have in other recorded schemas. There, fields of another kind are left out, because their
/// changes cannot be reported as those of the model's field.
pub(super) fn stored_ids(
    binding: &Binding,
    positions: &[usize],
    bundle: &SchemaBundle,
) -> Result<BTreeSet<StorageId>> {
    let own = positions.iter().map(|position| Ok(binding.field(*position)?.storage_id));
    let mut ids = own.collect::<Result<BTreeSet<_>>>()?;
    let types = bundle.schemas().iter();
    for old in types.filter_map(|schema| schema.type_by_storage_id(binding.storage_id())) {
        let plan = binding.plan(old);
        for &position in positions {
            // A field of the same definition has the storage ID that is in the set already.
            let FieldPlan::Differs(from) = plan.field(position) else { continue };
            // A change of another kind could not be told in the type that the hook expects.
            if is_same_kind(from, binding.field(position)?) {
                ids.insert(from.storage_id);
            }
        }
    }
    Ok(ids)
}

fn is_same_kind(from: &ResolvedField, to: &ResolvedField) -> bool {
    use ResolvedKind::{List, Map, Set, Simple};
    matches!(
        (&from.kind, &to.kind),
        (Simple(_), Simple(_))
            | (Set { .. }, Set { .. })
            | (List { .. }, List { .. })
            | (Map { .. }, Map { .. })
    )
}

/// Whether this is a change of the field at a position, in whatever schema the object is.
pub(super) fn is_of(binding: &Binding, position: usize, change: &FieldChange) -> bool {
    let id = change.field().storage_id;
    if binding.field(position).is_ok_and(|field| field.storage_id == id) {
        return true;
    }
    let object_type = change.object_type();
    // The plan need not be looked up for the schema of the models.
    object_type.schema != binding.fields.object_type.schema
        && matches!(binding.plan(object_type).field(position), FieldPlan::Differs(from) if from.storage_id == id)
}

/// A value of a change in the encoding of the model's field; `None` if it has that already.
pub(super) fn in_own_encoding(
    binding: &Binding,
    change: &FieldChange,
    part: FieldPart,
    bytes: &[u8],
) -> Result<Option<Vec<u8>>> {
    let from = change.field();
    if binding.fields.object_type.field_by_storage_id(from.storage_id).is_some() {
        return Ok(None);
    }
    let mut positions = 0..binding.info.fields.len();
    let Some(position) = positions.find(|position| is_of(binding, *position, change)) else {
        return Ok(None);
    };
    let [main, map_value] =
        binding.info.fields.get(position).map_or([None, None], |it| it.values());
    let decl = if part == FieldPart::Main { main } else { map_value };
    let to = binding.field(position)?;
    let (Some(from), Some(to), Some(decl)) = (part_of(from, part), part_of(to, part), decl) else {
        return Ok(None);
    };
    // The value is converted as it would be if the object moved, but the object stays.
    let converted = converted_value(from, to, decl, bytes).map_err(|reason| {
        let (id, field) = (change.id(), &change.field().name);
        let name = binding.info.name;
        Error::other(format!("a changed value of field {field:?} of object {id} has no counterpart in {name}: {reason}"))
    });
    converted.map(Some)
}

fn part_of(field: &ResolvedField, part: FieldPart) -> Option<&ResolvedField> {
    match (&field.kind, part) {
        (ResolvedKind::Simple(_), FieldPart::Main) => Some(field),
        (ResolvedKind::Set { element } | ResolvedKind::List { element }, FieldPart::Main) => {
            Some(element)
        }
        (ResolvedKind::Map { key, .. }, FieldPart::Main) => Some(key),
        (ResolvedKind::Map { value, .. }, FieldPart::MapValue) => Some(value),
        _ => None,
    }
}

/// A single value of a field, converted to one of the model's field, with the constants renamed as
/// its declaration says. The error is the reason why it has no counterpart.
fn converted_value(
    from: &ResolvedField,
    to: &ResolvedField,
    decl: &ValueDecl,
    bytes: &[u8],
) -> std::result::Result<Vec<u8>, String> {
    let (Some(from), Some(to)) = (from.simple(), to.simple()) else {
        return Err("the field holds no values".to_owned());
    };
    let conversion = Conversion::new(&*from.encoding, &*to.encoding).renaming(decl.renamed);
    conversion.exact(bytes).map_err(|inexact| inexact.to_string())
}
