//! Queries of indexes in which objects of other recorded schemas have no entries
//! (docs/src/evolution.md).

use std::sync::Arc;

use super::coverage::has_index;
use super::elsewhere::{EntryLocation, Other, Wanted};
use super::lacking::COUNTED;
use super::open_as::{OnPartial, OpenAs};
use super::seen_objects::{Rely, SeenObjects};
use crate::encoding::Encoding;
use crate::id::{ObjId, StorageId};
use crate::layout::SchemaIndex;
use crate::model::binding::Binding;
use crate::model::error::{About, Error, Result, about};
use crate::model::evolution::{Evolution, after_move};
use crate::model::tx::Tx;
use crate::object::{
    HiddenObjects, IndexKind, IndexOverlay, IndexView, MergedIndex, Migrate, map_key_of,
};
use crate::schema::{ResolvedType, SchemaId};

/// Whether a type has no objects in a schema. Cost: one seek, unless the transaction remembers it.
fn has_none(tx: &Tx, schema: SchemaIndex, of_type: StorageId, rely: Rely) -> Result<bool> {
    Ok(SeenObjects::has_none(tx.seen_objects()?, &tx.core, (schema, of_type), rely)?)
}

/// Whether the objects of a model in another recorded schema lack entries in an index of the model,
/// or have entries in it that queries must leave out.
pub(in crate::model) fn lacks_entries(
    tx: &Tx,
    binding: &Binding,
    schema: SchemaIndex,
) -> Result<bool> {
    let of_type = binding.storage_id();
    for shape in binding.indexes() {
        let wanted = Wanted { shape, with_keys: shape.kind() == IndexKind::MapValue };
        let others = tx.bindings()?.others(binding, wanted, &tx.core);
        for other in others.iter().filter(|other| other.schema == schema) {
            let in_use = |rival| Ok(!has_none(tx, rival, of_type, Rely::UntilNextWrite)?);
            // Entries that must be hidden mean that the objects should move, even if none are
            // missing.
            if matches!(other.entries, EntryLocation::Hidden { .. })
                || other.lacks_entries(in_use)?
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Extends `view` to the objects of these models in all recorded schemas. Entries in other indexes
/// that mean the same are added, and entries of values that the model sees differently are left
/// out. Objects that still lack entries are treated as [`OpenAs::on_partial`] says:
///
/// * [`OnPartial::Refuse`]: if there is such an object, the query is refused.
/// * [`OnPartial::Allow`]: the query does not find them.
/// * [`OnPartial::Scan`]: they are loaded, and their entries are added to the view.
///
/// `with_keys` tells whether the query returns map keys.
pub(in crate::model) fn complete<'t>(
    tx: &'t Tx,
    view: &IndexView<'t>,
    models: &[&'t Binding],
    with_keys: bool,
    open_as: OpenAs,
) -> Result<IndexView<'t>> {
    // Without models nothing is completed, and the view stays as it is.
    let models = if shows_only_entries(tx, open_as)? { &[] } else { models };
    complete_with(tx, view, models, with_keys, (open_as, &mut |_, error| Err(error)), Vec::new())
}

/// Whether a query returns the entries that exist and no others: by Java's rules, unless the caller
/// asks for a scan.
pub(super) fn shows_only_entries(tx: &Tx, open_as: OpenAs) -> Result<bool> {
    let as_java = tx.models()?.evolution() == Evolution::AsJava;
    Ok(as_java && open_as.on_partial != OnPartial::Scan)
}

/// Does the same as [`complete`] for the check of a rule, also by Java's rules: objects that the
/// index lacks would not be checked.
pub(in crate::model) fn complete_for_rules<'t>(
    tx: &'t Tx,
    view: &IndexView<'t>,
    models: &[&'t Binding],
    open_as: OpenAs,
) -> Result<IndexView<'t>> {
    complete_with(tx, view, models, false, (open_as, &mut |_, error| Err(error)), Vec::new())
}

/// Does the same as [`complete_for_rules`], and calls `unreadable` for each object whose entries
/// cannot be found out, which then has none. If it fails, this does.
pub(in crate::model) fn complete_for_check<'t>(
    tx: &'t Tx,
    view: &IndexView<'t>,
    models: &[&'t Binding],
    open_as: OpenAs,
    unreadable: &mut Unreadable<'_>,
) -> Result<IndexView<'t>> {
    complete_with(tx, view, models, false, (open_as, unreadable), Vec::new())
}

/// The function that is called with an object that cannot be read.
pub(in crate::model) type Unreadable<'u> = dyn FnMut(ObjId, Error) -> Result<()> + 'u;

/// Does the same as [`complete`], and leaves out the entries of the objects in `hidden`.
fn complete_with<'t>(
    tx: &'t Tx,
    view: &IndexView<'t>,
    models: &[&'t Binding],
    with_keys: bool,
    (open_as, unreadable): (OpenAs, &mut Unreadable<'_>),
    hidden: Vec<HiddenObjects>,
) -> Result<IndexView<'t>> {
    let OpenAs { on_partial, skip_unknown } = open_as;
    let shape = &view.selection.shape;
    let wanted = Wanted { shape, with_keys };
    let mut overlay = IndexOverlay::new(Arc::clone(shape));
    overlay.hidden = hidden;
    let mut missing: Vec<(&Binding, Other)> = Vec::new();
    for binding in models {
        let of_type = binding.storage_id();
        for other in tx.bindings()?.others(binding, wanted, &tx.core).iter() {
            // These objects have no entries to add or to leave out, and `Allow` does not find them.
            if on_partial == OnPartial::Allow && matches!(other.entries, EntryLocation::Missing) {
                continue;
            }
            // A query must not be refused because of objects that are gone. So where it may be
            // refused, what the transaction remembers counts only until the next write.
            let may_refuse = on_partial == OnPartial::Refuse && other.may_lack_entries();
            let rely = if may_refuse { Rely::UntilNextWrite } else { Rely::Always };
            if has_none(tx, other.schema, of_type, rely)? {
                continue;
            }
            let lacks = other.lacks_entries(|rival| Ok(!has_none(tx, rival, of_type, rely)?))?;
            match &other.entries {
                // An index that is ambiguous is not merged: its entries may mean something else.
                EntryLocation::Merged { index, .. } if !lacks => {
                    merge(&mut overlay, index, skip_unknown)
                }
                // The model sees other values than those of the entries, so the entries must not be
                // shown.
                EntryLocation::Hidden { .. } => {
                    let schema = Some(other.schema);
                    overlay.hidden.push(HiddenObjects { of_type, schema });
                }
                EntryLocation::Merged { .. } | EntryLocation::Missing => {}
            }
            if lacks {
                missing.push((binding, other.clone()));
            }
        }
    }
    match on_partial {
        OnPartial::Refuse if !missing.is_empty() => return Err(refusal(tx, wanted, &missing)?),
        // No object is missing, or the query does not find the missing ones.
        OnPartial::Refuse | OnPartial::Allow => {}
        OnPartial::Scan => {
            for (binding, other) in &missing {
                let how = (skip_unknown, &mut *unreadable);
                add_entries(tx, binding, other.schema, how, &mut overlay)?;
            }
        }
    }
    // Without an overlay a scan reads the pairs of the store as they are.
    Ok(view.through((!overlay.is_empty()).then(|| Arc::new(overlay))))
}

/// Shows the entries of another index too.
fn merge(overlay: &mut IndexOverlay, index: &MergedIndex, skips_unknown: bool) {
    let id = index.shape.storage_id();
    // Several models may share the other index, and it must be read once.
    match overlay.merged.iter_mut().find(|known| known.shape.storage_id() == id) {
        None => overlay.merged.push(MergedIndex { skips_unknown, ..index.clone() }),
        Some(known) => {
            for of_type in &index.types {
                if !known.types.contains(of_type) {
                    known.types.push(*of_type);
                }
            }
        }
    }
}

/// Extends `view` to the objects of all types that share its index, in all recorded schemas. `keys`
/// is the encoding of the map keys, if the query returns them.
pub(super) fn complete_for_all<'t>(
    tx: &'t Tx,
    view: &IndexView<'t>,
    keys: Option<&Arc<dyn Encoding>>,
    open_as: OpenAs,
) -> Result<IndexView<'t>> {
    let id = view.shape().storage_id();
    let models = tx.models()?;
    let sharing = models.iter().filter(|binding| has_index(&binding.fields.object_type, id));
    let Some(keys) = keys else {
        return complete(tx, view, &sharing.collect::<Vec<_>>(), false, open_as);
    };
    let agrees = |of: &ResolvedType| map_key_of(of, id).is_none_or(|own| own.is_same(&**keys));
    let (sharing, others): (Vec<_>, Vec<_>) =
        sharing.partition(|binding| agrees(&binding.fields.object_type));
    // A query that must be complete cannot leave these objects out.
    if let Some(other) = others.first()
        && open_as.on_partial != OnPartial::Allow
    {
        return Err(Error::OtherKeys {
            index: view.shape().name().to_owned(),
            type_name: other.info.name.to_owned(),
        });
    }
    // Map keys of another encoding cannot be returned as keys of this one.
    let of_type = |other: &&Binding| HiddenObjects { of_type: other.storage_id(), schema: None };
    let mut hidden: Vec<_> = others.iter().map(of_type).collect();
    for schema in tx.core.bundle().schemas() {
        let unknown = schema.types.iter().filter(|old| {
            has_index(old, id) && !agrees(old) && models.of_type(old.storage_id).is_none()
        });
        for old in unknown {
            // Without objects there are no entries to hide, and each hidden type costs a look per
            // entry.
            if !has_none(tx, schema.index, old.storage_id, Rely::Always)? {
                let schema = Some(schema.index);
                hidden.push(HiddenObjects { of_type: old.storage_id, schema });
            }
        }
    }
    let sharing = if shows_only_entries(tx, open_as)? { Vec::new() } else { sharing };
    complete_with(tx, view, &sharing, true, (open_as, &mut |_, error| Err(error)), hidden)
}

/// The error for an index that lacks the entries of objects.
fn refusal(tx: &Tx, wanted: Wanted<'_>, missing: &[(&Binding, Other)]) -> Result<Error> {
    let mut counted = 0;
    let mut first = None;
    let mut types: Vec<&str> = Vec::new();
    let mut schemas: Vec<SchemaId> = Vec::new();
    // Types share the index, which has the name of any of them in the query.
    let named = missing.iter().find_map(|(binding, _)| {
        binding.indexes().find(|shape| shape.storage_id() == wanted.shape.storage_id())
    });
    for (binding, other) in missing {
        let ids = tx.core.objects_in_schema(other.schema)?.of_types([binding.storage_id()]);
        // The number is only told, so counting stops early.
        for id in ids.iter().take(COUNTED - counted) {
            first.get_or_insert(id?);
            counted += 1;
        }
        if !types.contains(&binding.info.name) {
            types.push(binding.info.name);
        }
        if !schemas.contains(&other.schema_id) {
            schemas.push(other.schema_id);
        }
    }
    // The first object says whether moving would help.
    let moved = first.map(|id| tx.core.load_unmovable(id).map_err(Error::from));
    let immovable = match moved {
        // The store has failed, which says nothing about the object.
        Some(Err(error)) if about(&error) == About::Transaction => return Err(error),
        Some(Err(error @ (Error::Refused(_) | Error::Upgrade { .. }))) => Some(Box::new(error)),
        _ => None,
    };
    Ok(Error::PartialIndex {
        index: named.map_or(wanted.shape.name(), |shape| shape.name()).to_owned(),
        type_name: types.join(" and "),
        missing: counted,
        schemas,
        immovable,
    })
}

/// Adds the entries that the objects of a schema would have if they moved to the schema of the
/// models. Only the fields of the index count: an object need not be able to move.
fn add_entries(
    tx: &Tx,
    binding: &Binding,
    schema: SchemaIndex,
    (skip_unknown, unreadable): (bool, &mut Unreadable<'_>),
    overlay: &mut IndexOverlay,
) -> Result<()> {
    let positions: Vec<usize> = binding.indexed_fields(overlay.shape()).collect();
    for id in tx.core.objects_in_schema(schema)?.of_types([binding.storage_id()]).iter() {
        let id = id?;
        let old = tx.core.load(id, Migrate::No).map_err(Error::from);
        let moved =
            old.and_then(|old| after_move(tx.models()?, binding, &tx.core, (id, &old), &positions));
        match moved {
            Ok(data) => overlay.add(&data, id)?,
            // Its value has no place in the model, or a required one is missing.
            Err(Error::Refused(_) | Error::Missing { .. }) if skip_unknown => {}
            Err(error) => unreadable(id, error)?,
        }
    }
    Ok(())
}
