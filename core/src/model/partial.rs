//! Queries of indexes in which objects of other recorded schemas have no entries
//! (docs/src/evolution.md).

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::binding::Binding;
use super::coverage::{Entries, Other, Wanted, has_index};
use super::error::{Error, Result};
use super::index::IndexOn;
use super::tx::Tx;
use super::upgrade::Evolution;
use crate::encoding::Encoding;
use crate::id::{ObjId, StorageId};
use crate::layout::SchemaIndex;
use crate::object::{self, IndexOverlay, IndexView, Migrate, ObjectData, map_key_of};
use crate::schema::SchemaId;

/// What a query does if objects of other recorded schemas lack entries in its index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OnPartial {
    /// It is refused with [`Error::PartialIndex`].
    #[default]
    Refuse,
    /// It finds what is indexed.
    Allow,
    /// The objects are loaded, and their entries are added.
    Scan,
}

/// An index, with what a query does if it is incomplete. See
/// [`Field::allow_partial`](super::Field::allow_partial) and
/// [`Field::complete_by_scan`](super::Field::complete_by_scan).
#[derive(Debug, Clone, Copy)]
pub struct WhenPartial<I> {
    index: I,
    on_partial: OnPartial,
}

impl<I> WhenPartial<I> {
    pub(super) const fn new(index: I, on_partial: OnPartial) -> Self {
        WhenPartial { index, on_partial }
    }
}

impl<I: IndexOn> IndexOn for WhenPartial<I> {
    type View<'t> = I::View<'t>;

    fn open(self, tx: &Tx) -> Result<I::View<'_>> {
        self.index.open_as(tx, self.on_partial)
    }

    fn open_as(self, tx: &Tx, _: OnPartial) -> Result<I::View<'_>> {
        self.open(tx)
    }
}

/// How many missing objects are counted for an error.
const COUNTED: usize = 1000;

/// What is wrong with a partial index, in words.
pub(super) fn described(
    index: &str,
    type_name: &str,
    missing: usize,
    schemas: &[SchemaId],
) -> String {
    let schemas: Vec<String> = schemas.iter().map(ToString::to_string).collect();
    let (at_least, objects) = match missing {
        COUNTED.. => ("at least ", "objects"),
        1 => ("", "object"),
        _ => ("", "objects"),
    };
    format!(
        "index {index} has no entries for {at_least}{missing} {objects} of type {type_name} in schema {}, which has \
         no such index: move them to the schema of the models with `db.build_indexes()` or `db.upgrade_all()`, query \
         what is indexed with `allow_partial()`, or load the others in the query with `complete_by_scan()`",
        schemas.join(" and ")
    )
}

/// In which schemas a transaction has seen that a type has objects, or none.
#[derive(Debug, Default)]
pub(crate) struct SeenObjects {
    as_of: (u64, u64),
    /// An object only comes to be in another schema by steps that the object layer counts.
    none: HashSet<(SchemaIndex, StorageId)>,
    /// With the store's change counter: objects leave another schema by any write.
    some: HashMap<(SchemaIndex, StorageId), u64>,
}

/// Whether a type has no objects in a schema. Cost: one seek, unless the transaction knows.
fn has_none(
    core: &object::Transaction<'_>,
    seen: &RefCell<SeenObjects>,
    schema: SchemaIndex,
    of_type: StorageId,
) -> Result<bool> {
    let (put, changes) = (core.put_elsewhere(), core.changes());
    let key = (schema, of_type);
    {
        let mut seen = seen.borrow_mut();
        if seen.as_of != put {
            *seen = SeenObjects { as_of: put, ..SeenObjects::default() };
        }
        if seen.none.contains(&key) {
            return Ok(true);
        }
        if seen.some.get(&key) == Some(&changes) {
            return Ok(false);
        }
    }
    let any = core.has_objects_in(schema, of_type)?;
    // A read without conflict detection must not replace a later read that needs it.
    if core.reads_tracked() {
        let mut seen = seen.borrow_mut();
        match any {
            true => drop(seen.some.insert(key, changes)),
            false => drop(seen.none.insert(key)),
        }
    }
    Ok(!any)
}

/// `view`, for objects of these models in all recorded schemas. `keys` is the encoding of the map
/// keys if the query returns them.
pub(super) fn complete<'t>(
    tx: &'t Tx,
    view: &IndexView<'t>,
    models: &[&'t Binding],
    keys: Option<&Arc<dyn Encoding>>,
    on_partial: OnPartial,
) -> Result<IndexView<'t>> {
    // Java shows what is indexed.
    if tx.bindings().models().evolution() == Evolution::AsJava {
        return Ok(view.clone());
    }
    let shape = &view.selection.shape;
    let wanted = Wanted { shape, keys };
    let mut overlay = IndexOverlay::new(Arc::clone(shape));
    let mut missing: Vec<(&Binding, Other)> = Vec::new();
    for binding in models {
        let of_type = binding.storage_id();
        for other in tx.bindings().others(binding, wanted, &tx.core).iter() {
            if has_none(&tx.core, tx.seen_objects(), other.schema, of_type)? {
                continue;
            }
            match &other.entries {
                Entries::Alike(same) => {
                    let known = overlay
                        .same
                        .iter_mut()
                        .find(|known| known.shape.storage_id() == same.shape.storage_id());
                    match known {
                        Some(known) if known.types.contains(&of_type) => {}
                        Some(known) => known.types.push(of_type),
                        None => {
                            let mut same = same.clone();
                            same.skips_unknown = on_partial == OnPartial::Allow;
                            overlay.same.push(same);
                        }
                    }
                }
                Entries::Nowhere => missing.push((binding, other.clone())),
                Entries::Otherwise => {
                    let prefix = crate::layout::object_schema_prefix(other.schema);
                    overlay.hidden.push((prefix, of_type));
                    missing.push((binding, other.clone()));
                }
            }
        }
    }
    match on_partial {
        OnPartial::Allow => {}
        _ if missing.is_empty() => {}
        OnPartial::Refuse => return Err(refusal(tx, wanted, &missing)?),
        OnPartial::Scan => {
            // The entries of a map whose keys have another encoding in the model itself cannot be
            // shown.
            let unfit = |binding: &Binding| {
                let own = map_key_of(&binding.object_type, shape.storage_id());
                keys.zip(own).is_some_and(|(keys, own)| !own.is_same(&**keys))
            };
            if missing.iter().any(|(binding, _)| unfit(binding)) {
                return Err(refusal(tx, wanted, &missing)?);
            }
            for (binding, other) in &missing {
                add_entries(tx, binding, other.schema, &mut overlay)?;
            }
        }
    }
    Ok(view.through((!overlay.is_empty()).then(|| Arc::new(overlay))))
}

/// The models that share the index of a view.
pub(super) fn sharing<'t>(tx: &'t Tx, view: &IndexView<'_>) -> Vec<&'t Binding> {
    let id = view.shape().storage_id();
    tx.bindings().models().iter().filter(|binding| has_index(&binding.object_type, id)).collect()
}

/// The error for an index that lacks the entries of objects.
fn refusal(tx: &Tx, wanted: Wanted<'_>, missing: &[(&Binding, Other)]) -> Result<Error> {
    let mut counted = 0;
    let mut types: Vec<&str> = Vec::new();
    let mut schemas: Vec<SchemaId> = Vec::new();
    for (binding, other) in missing {
        let ids = tx.core.objects_in_schema(other.schema)?.of_types([binding.storage_id()]);
        for id in ids.iter().take(COUNTED - counted) {
            id?;
            counted += 1;
        }
        if !types.contains(&binding.info.name) {
            types.push(binding.info.name);
        }
        if !schemas.contains(&other.schema_id) {
            schemas.push(other.schema_id);
        }
    }
    Ok(Error::PartialIndex {
        index: wanted.shape.name().to_owned(),
        type_name: types.join(" and "),
        missing: counted,
        schemas,
    })
}

/// Adds the entries that the objects of a schema would have if they moved to the schema of the
/// models.
fn add_entries(
    tx: &Tx,
    binding: &Binding,
    schema: SchemaIndex,
    overlay: &mut IndexOverlay,
) -> Result<()> {
    for id in tx.core.objects_in_schema(schema)?.of_types([binding.storage_id()]).iter() {
        let id = id?;
        overlay.add(&content(tx, binding, id)?, id)?;
    }
    Ok(())
}

/// What an object of another schema contains as the model sees it, without moving it.
fn content(tx: &Tx, binding: &Binding, id: ObjId) -> Result<ObjectData> {
    let plan = binding.plan(&*tx.core.object_type(id)?);
    if binding.fits_in_place(&plan) {
        return binding.seen(&tx.core.load(id, Migrate::No)?, &plan);
    }
    Ok(tx.core.load_unmovable(id)?)
}
