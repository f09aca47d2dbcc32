//! Where the index entries of a model's objects are that lie in other recorded schemas. Queries,
//! the report and `build_indexes` ask here.

use std::sync::{Arc, PoisonError};

use super::elsewhere::{EntryLocation, Other, Wanted};
use crate::encoding::{Conversion, Encoding, EncodingKind, EnumEncoding, Exactness};
use crate::id::StorageId;
use crate::model::binding::{Binding, Bindings};
use crate::model::declare::{FieldDecl, Upgrade, ValueDecl};
use crate::model::evolution::{Evolution, FieldPlan, Plan};
use crate::object::{IndexKind, IndexShape, MergedIndex, Transaction, map_key_of};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType, SchemaBundle};

impl Bindings {
    /// The recorded schemas in which the entries of a model's objects are not just those of an
    /// index, as a transaction sees them.
    pub(crate) fn others(
        &self,
        binding: &Binding,
        wanted: Wanted<'_>,
        tx: &Transaction,
    ) -> Arc<[Other]> {
        let bundle = tx.bundle();
        let find = || others(binding, wanted, &bundle, self.models().evolution());
        // The transaction has changed the recorded schemas.
        if !Arc::ptr_eq(&bundle, self.bundle()) {
            return find().into();
        }
        let key = (wanted.shape.storage_id(), wanted.with_keys);
        let all = binding.others.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(&key) {
            return Arc::clone(known);
        }
        // `write` below would wait for this lock forever. It is released already here, so that no
        // other thread waits while this is found out.
        drop(all);
        let others: Arc<[Other]> = find().into();
        let mut all = binding.others.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(key, Arc::clone(&others));
        others
    }
}

/// The recorded schemas in which the entries of the model's objects are not just those of the
/// index.
fn others(
    binding: &Binding,
    wanted: Wanted<'_>,
    bundle: &SchemaBundle,
    evolution: Evolution,
) -> Vec<Other> {
    let types = || {
        let schemas = bundle.schemas().iter();
        schemas.filter_map(|schema| schema.type_by_storage_id(binding.storage_id()))
    };
    let mut others = Vec::new();
    for old in types() {
        let plan = binding.plan(old);
        let covered = Covered { binding, old, plan: &plan, wanted, bundle, evolution };
        if let Some(entries) = covered.entries() {
            others.push(Other { schema: old.schema, schema_id: old.schema_of, entries });
        }
    }
    // In which schemas the merged indexes mean something else.
    let merged_in = |other: &Other, id| matches!(&other.entries, EntryLocation::Merged { index, .. } if index.shape.storage_id() == id);
    let all = others.clone();
    for other in &mut others {
        let EntryLocation::Merged { index, unless } = &mut other.entries else { continue };
        let id = index.shape.storage_id();
        let with_it = types().filter(|old| has_index(old, id)).map(|old| old.schema);
        // Objects of these schemas have entries in the merged index that mean something else.
        *unless = with_it
            .filter(|schema| !all.iter().any(|all| all.schema == *schema && merged_in(all, id)))
            .collect();
        // New objects come to be in the schema of the models at any time.
        if unless.contains(&binding.fields.object_type.schema) {
            other.entries = EntryLocation::Missing;
        }
    }
    others
}

/// Whether a type has the index with this storage ID.
pub(crate) fn has_index(object_type: &ResolvedType, id: StorageId) -> bool {
    object_type.indexes.iter().any(|index| index.storage_id == id)
        || object_type.all_fields().any(|field| field.storage_id == id && field.is_indexed())
}

/// Whether the maps of two types have keys of the same encoding, so that the entries of their
/// values have the same form.
pub(super) fn keys_agree(one: &ResolvedType, other: &ResolvedType, id: StorageId) -> bool {
    let keys = map_key_of(one, id).zip(map_key_of(other, id));
    keys.is_none_or(|(one, other)| one.is_same(&**other))
}

/// The fate of the values of a field when an object moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// They stay as they are.
    Same,
    /// Each is converted exactly, or the object does not move.
    Converted,
    /// The collection is empty.
    Empty,
    /// The model makes, replaces or leaves out values.
    Replaced,
}

/// One type of a recorded schema, and an index of the model.
struct Covered<'a> {
    binding: &'a Binding,
    old: &'a Arc<ResolvedType>,
    plan: &'a Plan,
    wanted: Wanted<'a>,
    bundle: &'a SchemaBundle,
    evolution: Evolution,
}

/// An index whose entries mean the same, and the columns that may have values which the wanted
/// index cannot have.
type ShapeAndColumns = (IndexShape, Vec<(usize, Arc<dyn Encoding>)>);

impl Covered<'_> {
    /// Where the entries are; `None` if they are just those of the index.
    fn entries(&self) -> Option<EntryLocation> {
        let id = self.wanted.shape.storage_id();
        let in_index = has_index(self.old, id);
        match self.fate() {
            Fate::Same if in_index => None,
            Fate::Converted if in_index => {
                // The entries are there, but without keys of the right encoding they cannot be
                // shown.
                let shown = !self.wanted.with_keys
                    || keys_agree(&self.binding.fields.object_type, self.old, id);
                (!shown).then_some(EntryLocation::Hidden { missing: true })
            }
            // By Java's rules, queries read no other index.
            Fate::Same | Fate::Converted if self.evolution == Evolution::AsJava => {
                Some(EntryLocation::Missing)
            }
            Fate::Same | Fate::Converted => Some(self.merged().unwrap_or(EntryLocation::Missing)),
            Fate::Empty => in_index.then_some(EntryLocation::Hidden { missing: false }),
            Fate::Replaced if in_index => Some(EntryLocation::Hidden { missing: true }),
            Fate::Replaced => Some(EntryLocation::Missing),
        }
    }

    /// The fate of the values of the index: of several columns, the worst.
    fn fate(&self) -> Fate {
        let positions = self.binding.indexed_fields(self.wanted.shape);
        let fates = positions.map(|position| self.fate_of(position));
        // A single column whose values are replaced makes all entries wrong.
        fates.max_by_key(|fate| *fate as u8).unwrap_or(Fate::Replaced)
    }

    fn fate_of(&self, position: usize) -> Fate {
        let info = &self.binding.info;
        let (Some(decl), Ok(to)) = (info.fields.get(position), self.binding.field(position)) else {
            return Fate::Replaced;
        };
        let plan = self.plan.field(position);
        let same = matches!(plan, FieldPlan::Same);
        // By Java's rules each access moves the object, and own code may set any field.
        let moves = !same || self.evolution == Evolution::AsJava;
        if moves && info.upgrade_with.is_some() || !same && decl.upgrade_with.is_some() {
            return Fate::Replaced;
        }
        // A collection that starts empty has no entries. A simple field has one for its default.
        let empty = || match to.simple() {
            None if !decl.has_default() => Fate::Empty,
            _ => Fate::Replaced,
        };
        match plan {
            FieldPlan::Same => Fate::Same,
            // A newer program may have moved the values to a field that this one does not know.
            FieldPlan::Missing if self.has_unknown_fields() => Fate::Replaced,
            FieldPlan::Missing => empty(),
            FieldPlan::Differs(from) => match decl.rule(self.evolution, from, to) {
                Upgrade::Reset => empty(),
                Upgrade::Exact => Fate::Converted,
                // A conversion that may lose something makes values that the entries do not have.
                Upgrade::Lossy if always_exact(decl, from, to) => Fate::Converted,
                Upgrade::Lossy => Fate::Replaced,
            },
        }
    }

    /// Whether the old type has fields that the model does not know. By Java's rules they are
    /// dropped.
    fn has_unknown_fields(&self) -> bool {
        self.evolution == Evolution::Exact && self.binding.has_unknown_fields(self.plan)
    }

    /// The entries in the index of the old type that mean the same as those of the wanted index.
    fn merged(&self) -> Option<EntryLocation> {
        let (shape, checked) = match self.wanted.shape.kind() {
            IndexKind::Composite => self.merged_composite(),
            _ => self.merged_field(),
        }?;
        let types = vec![self.binding.storage_id()];
        let index = MergedIndex { shape: Arc::new(shape), types, checked, skips_unknown: false };
        Some(EntryLocation::Merged { index, unless: Vec::new() })
    }

    fn merged_composite(&self) -> Option<ShapeAndColumns> {
        let own = &self.binding.fields.object_type.indexes;
        let own = own.iter().find(|index| index.storage_id == self.wanted.shape.storage_id())?;
        self.old.indexes.iter().find_map(|index| {
            if index.fields.len() != own.fields.len() {
                return None;
            }
            let mut checked = Vec::new();
            for (column, (from, to)) in index.fields.iter().zip(&own.fields).enumerate() {
                // A column of the same field has the same values in both indexes.
                if from.storage_id == to.storage_id {
                    continue;
                }
                let parts = self.parts(to.storage_id)?;
                let part = parts.iter().find(|part| part.from.storage_id == from.storage_id)?;
                checked.extend(part.check(column)?);
            }
            Some((IndexShape::of_index(self.old, index), checked))
        })
    }

    fn merged_field(&self) -> Option<ShapeAndColumns> {
        let id = self.wanted.shape.storage_id();
        let parts = self.parts(id)?;
        let part = parts.iter().find(|part| part.to.storage_id == id)?;
        let shape = IndexShape::of_field(self.bundle, self.old, part.from)?;
        let mut checked: Vec<_> = part.check(0)?.into_iter().collect();
        // The map keys are a column of the entries too, so they must mean the same.
        if self.wanted.with_keys {
            let keys = parts.iter().find(|part| part.to.storage_id != id)?;
            checked.extend(keys.check(shape.id_column() + 1)?);
        }
        Some((shape, checked))
    }

    /// The parts of the field of the model that is or has the field or sub-field with this storage
    /// ID, if a field of the old type has the same parts.
    fn parts(&self, id: StorageId) -> Option<Vec<MovedValues<'_>>> {
        let position = self.binding.field_with(id)?;
        let FieldPlan::Differs(from) = self.plan.field(position) else { return None };
        parts(self.binding.info.fields.get(position)?, from, self.binding.field(position).ok()?)
    }
}

/// One kind of values of an object that moves: those of a field, its elements, keys or values.
struct MovedValues<'a> {
    from: &'a ResolvedField,
    to: &'a ResolvedField,
    renamed: &'static [(&'static str, &'static str)],
}

/// The parts of two fields; `None` if they are of different kinds.
fn parts<'a>(
    decl: &FieldDecl,
    from: &'a ResolvedField,
    to: &'a ResolvedField,
) -> Option<Vec<MovedValues<'a>>> {
    let [first, second] = decl.values();
    let part = |from, to, decl: Option<&ValueDecl>| MovedValues {
        from,
        to,
        renamed: decl.map_or(&[], |decl| decl.renamed),
    };
    use ResolvedKind::{List, Map, Set, Simple};
    Some(match (&from.kind, &to.kind) {
        (Simple(_), Simple(_)) => vec![part(from, to, first)],
        (Set { element: from }, Set { element: to })
        | (List { element: from }, List { element: to }) => vec![part(from, to, first)],
        (Map { key, value }, Map { key: to_key, value: to_value }) => {
            vec![part(key, to_key, first), part(value, to_value, second)]
        }
        _ => return None,
    })
}

/// Whether every value has an exact counterpart.
fn always_exact(decl: &FieldDecl, from: &ResolvedField, to: &ResolvedField) -> bool {
    let exact = |part: &MovedValues<'_>| {
        part.conversion().is_some_and(|it| it.exactness() == Exactness::Always)
    };
    parts(decl, from, to).is_some_and(|parts| parts.iter().all(exact))
}

impl MovedValues<'_> {
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
            // Only the bytes of enums can mean the same in two encodings: they are numbers.
            return None;
        };
        let conversion = self.conversion()?;
        let mut may_be_unknown = false;
        for ordinal in (0..).take(before.identifiers().len()) {
            let mut bytes = Vec::new();
            EnumEncoding::write_ordinal(Some(ordinal), &mut bytes);
            match conversion.exact(&bytes) {
                // The merged entries have the old bytes, so each constant must keep its number.
                Ok(converted) if converted == bytes => {}
                Err(_) if after.by_ordinal(ordinal).is_none() => may_be_unknown = true,
                _ => return None,
            }
        }
        Some(may_be_unknown.then(|| (column, Arc::clone(&to.encoding))))
    }
}
