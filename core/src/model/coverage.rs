//! In which recorded schemas the objects of a model have no entries in an index of the model, and
//! in which they have them elsewhere.

use std::sync::Arc;

use super::binding::Binding;
use super::declare::{FieldDecl, Upgrade, ValueDecl};
use super::plan::{FieldPlan, Plan};
use crate::encoding::{Conversion, Encoding, EncodingKind, EnumEncoding, Exactness};
use crate::id::StorageId;
use crate::layout::SchemaIndex;
use crate::object::{IndexKind, IndexShape, SameMeaning, map_key_of};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType, SchemaBundle, SchemaId};

/// An index that a query reads.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) shape: &'a IndexShape,
    /// For a query with the keys of map values: the encoding of the keys.
    pub(crate) keys: Option<&'a Arc<dyn Encoding>>,
}

/// A recorded schema in which objects of a model lack entries in an index.
#[derive(Debug, Clone)]
pub(crate) struct Other {
    pub(crate) schema: SchemaIndex,
    pub(crate) schema_id: SchemaId,
    pub(crate) entries: Entries,
}

/// Where the entries of an object are instead.
#[derive(Debug, Clone)]
pub(crate) enum Entries {
    /// In an index whose entries mean the same.
    Alike(SameMeaning),
    /// Nowhere.
    Nowhere,
    /// In the index, but not as the model sees them: with map keys of another encoding, or of a map
    /// that gets other entries when the object moves.
    Otherwise,
}

/// The recorded schemas in which objects of the model lack entries in an index of the model.
pub(crate) fn others(binding: &Binding, wanted: Wanted<'_>, bundle: &SchemaBundle) -> Vec<Other> {
    let storage_id = wanted.shape.storage_id();
    let types = || {
        let schemas = bundle.schemas().iter();
        schemas.filter_map(|schema| schema.type_by_storage_id(binding.storage_id()))
    };
    let mut others = Vec::new();
    for old in types() {
        let entries = if has_index(old, storage_id) {
            if keys_agree(old, wanted) && keeps_entries(binding, old, storage_id) {
                continue;
            }
            Entries::Otherwise
        } else {
            alike(binding, old, wanted, bundle).map_or(Entries::Nowhere, Entries::Alike)
        };
        others.push(Other { schema: old.schema, schema_id: old.schema_of, entries });
    }
    // If the other index means something else in another schema, its entries do not tell which
    // meaning they have.
    let ambiguous = |id: StorageId| {
        let with_it = types().filter(|old| has_index(old, id)).count();
        let alike = others.iter().filter(
            |other| matches!(&other.entries, Entries::Alike(same) if same.shape.storage_id() == id),
        );
        with_it != alike.count()
    };
    let ambiguous: Vec<bool> = others
        .iter()
        .map(|other| {
            matches!(&other.entries, Entries::Alike(same) if ambiguous(same.shape.storage_id()))
        })
        .collect();
    for (other, ambiguous) in others.iter_mut().zip(ambiguous) {
        if ambiguous {
            other.entries = Entries::Nowhere;
        }
    }
    others
}

/// Whether a type has the index with this storage ID.
pub(crate) fn has_index(object_type: &ResolvedType, id: StorageId) -> bool {
    object_type.indexes.iter().any(|index| index.storage_id == id)
        || object_type.all_fields().any(|field| field.storage_id == id && field.is_indexed())
}

/// Whether the maps of a type have keys of the encoding that the query wants.
fn keys_agree(object_type: &ResolvedType, wanted: Wanted<'_>) -> bool {
    let Some(keys) = wanted.keys else { return true };
    map_key_of(object_type, wanted.shape.storage_id()).is_none_or(|own| own.is_same(&**keys))
}

/// Whether the entries that objects of another schema have in an index are those that they would
/// have if they moved to the schema of the models. A map of another definition can share an index of
/// its keys or values with that of the model.
pub(crate) fn keeps_entries(binding: &Binding, old: &ResolvedType, storage_id: StorageId) -> bool {
    let plan = binding.plan(old);
    let differs = plan.fields().any(|(position, plan)| {
        let has_part =
            |to: &Arc<ResolvedField>| to.sub_fields().any(|part| part.storage_id == storage_id);
        matches!(plan, FieldPlan::Differs(_)) && binding.field(position).is_ok_and(has_part)
    });
    !differs || parts(binding, &plan, storage_id).is_some()
}

/// The index of a type in another schema whose entries mean the same as those of the wanted index.
fn alike(
    binding: &Binding,
    old: &Arc<ResolvedType>,
    wanted: Wanted<'_>,
    bundle: &SchemaBundle,
) -> Option<SameMeaning> {
    let plan = binding.plan(old);
    let found = match wanted.shape.kind() {
        IndexKind::Composite => alike_composite(binding, old, &plan, wanted),
        _ => alike_part(binding, old, &plan, wanted, bundle),
    };
    let (shape, checked) = found?;
    let types = vec![binding.storage_id()];
    Some(SameMeaning { shape: Arc::new(shape), types, checked, skips_unknown: false })
}

/// An index, and the columns that may have values which the wanted index cannot have.
type Alike = (IndexShape, Vec<(usize, Arc<dyn Encoding>)>);

fn alike_composite(
    binding: &Binding,
    old: &ResolvedType,
    plan: &Plan,
    wanted: Wanted<'_>,
) -> Option<Alike> {
    let own = &binding.object_type.indexes;
    let own = own.iter().find(|index| index.storage_id == wanted.shape.storage_id())?;
    old.indexes.iter().find_map(|index| {
        if index.fields.len() != own.fields.len() {
            return None;
        }
        let mut checked = Vec::new();
        for (column, (from, to)) in index.fields.iter().zip(&own.fields).enumerate() {
            if from.storage_id == to.storage_id {
                continue;
            }
            let parts = parts(binding, plan, to.storage_id)?;
            let part = parts.iter().find(|part| part.from.storage_id == from.storage_id)?;
            checked.extend(part.check(column)?);
        }
        Some((IndexShape::of_index(old, index), checked))
    })
}

fn alike_part(
    binding: &Binding,
    old: &ResolvedType,
    plan: &Plan,
    wanted: Wanted<'_>,
    bundle: &SchemaBundle,
) -> Option<Alike> {
    let storage_id = wanted.shape.storage_id();
    let parts = parts(binding, plan, storage_id)?;
    let part = parts.iter().find(|part| part.to.storage_id == storage_id)?;
    let shape = IndexShape::of_field(bundle, old, part.from)?;
    let mut checked: Vec<_> = part.check(0)?.into_iter().collect();
    if wanted.keys.is_some() {
        let keys = parts.iter().find(|part| part.to.storage_id != storage_id)?;
        checked.extend(keys.check(shape.id_column() + 1)?);
    }
    Some((shape, checked))
}

/// What becomes of one kind of values when an object moves: those of a field, its elements, keys or
/// values.
struct Part<'a> {
    from: &'a ResolvedField,
    to: &'a ResolvedField,
    renamed: &'static [(&'static str, &'static str)],
}

/// The parts of the field of the model that is or has the field or sub-field with this storage ID,
/// if its values are those of a field of the old type.
fn parts<'a>(binding: &'a Binding, plan: &'a Plan, storage_id: StorageId) -> Option<Vec<Part<'a>>> {
    let (position, from) = plan.fields().find_map(|(position, plan)| {
        let to = binding.field(position).ok()?;
        let is_it = to.storage_id == storage_id
            || to.sub_fields().any(|part| part.storage_id == storage_id);
        match plan {
            FieldPlan::Differs(from) if is_it => Some((position, from)),
            _ => None,
        }
    })?;
    let (to, decl) = (binding.field(position).ok()?, binding.info.fields.get(position)?);
    let [first, second] = decl.values();
    let part = |from, to, decl: Option<&ValueDecl>| Part {
        from,
        to,
        renamed: decl.map_or(&[], |decl| decl.renamed),
    };
    use ResolvedKind::{List, Map, Set, Simple};
    let parts = match (&from.kind, &to.kind) {
        (Simple(_), Simple(_)) => vec![part(from, to, first)],
        (Set { element: from }, Set { element: to })
        | (List { element: from }, List { element: to }) => vec![part(from, to, first)],
        (Map { key, value }, Map { key: to_key, value: to_value }) => {
            vec![part(key, to_key, first), part(value, to_value, second)]
        }
        _ => return None,
    };
    stays(binding, decl, &parts).then_some(parts)
}

/// Whether the values of a field are those that it had, apart from their conversion.
fn stays(binding: &Binding, decl: &FieldDecl, parts: &[Part<'_>]) -> bool {
    if binding.info.upgrade_with.is_some() || decl.upgrade_with.is_some() {
        return false;
    }
    match decl.upgrade {
        Upgrade::Exact => true,
        Upgrade::Lossy => parts
            .iter()
            .all(|part| part.conversion().is_some_and(|it| it.exactness() == Exactness::Always)),
        Upgrade::Reset => false,
    }
}

impl Part<'_> {
    fn conversion(&self) -> Option<Conversion<'_>> {
        let (from, to) = (self.from.simple()?, self.to.simple()?);
        Some(Conversion::new(&*from.encoding, &*to.encoding).renaming(self.renamed))
    }

    /// Whether encoded values mean the same before and after. If so, returns `column` if some of
    /// them may have no meaning afterwards, with the encoding that they then have.
    fn check(&self, column: usize) -> Option<Option<(usize, Arc<dyn Encoding>)>> {
        let (from, to) = (self.from.simple()?, self.to.simple()?);
        if from.encoding.is_same(&*to.encoding) {
            return Some(None);
        }
        let (EncodingKind::Enum(before), EncodingKind::Enum(after)) =
            (from.encoding.kind(), to.encoding.kind())
        else {
            return None;
        };
        let conversion = self.conversion()?;
        let mut may_be_unknown = false;
        for ordinal in (0..).take(before.identifiers().len()) {
            let mut bytes = Vec::new();
            EnumEncoding::write_ordinal(Some(ordinal), &mut bytes);
            match conversion.exact(&bytes) {
                Ok(converted) if converted == bytes => {}
                Err(_) if after.by_ordinal(ordinal).is_none() => may_be_unknown = true,
                _ => return None,
            }
        }
        Some(may_be_unknown.then(|| (column, Arc::clone(&to.encoding))))
    }
}
