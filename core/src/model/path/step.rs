//! Fields that can be steps of a path.

use std::collections::BTreeSet;

use crate::encoding::FieldType;
use crate::id::{ObjId, StorageId};
use crate::model::any_obj::AnyObj;
use crate::model::binding::{self, Binding, Models};
use crate::model::declare::{Shape, ValueDecl, ValueKind};
use crate::model::error::{Error, Result};
use crate::model::fields::{Field, ListField, MapKey, MapValue, SetField};
use crate::model::handle::Handle;
use crate::model::index::{self, OnPartial, OpenAs};
use crate::model::kind::{Places, Slot, Source};
use crate::model::obj::Obj;
use crate::model::target::{Any, Model, Ref, Target};
use crate::model::tx::Tx;
use crate::object::{self, IdSet};
use crate::schema::ResolvedKind;

use super::typed::{Many, One, Plurality};

/// A field with references, as a step of a path takes it: a reference, the elements of a set or
/// list, or the keys or values of a map.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no references that a path can follow",
    label = "not a reference",
    note = "a step is the constant of a field with references, such as `Person::FRIENDS`; of a map, `Person::LABELS.key()` or `Person::LABELS.value()`"
)]
pub trait ReferenceField: Copy {
    /// What has the field: a model or a kind; [`Any`] for a field of a mix-in.
    type Owner: Target;

    /// To what the references refer.
    type To: Target;

    /// [`One`] for a reference, [`Many`] for a collection.
    type Plurality: Plurality;

    /// The field as steps need it.
    #[doc(hidden)]
    fn at(self) -> ReferenceAt;
}

/// Whether an object can belong to both types: a model meets itself and the kinds to which it belongs,
/// a kind meets itself and its members, and [`Any`] meets all of them.
#[diagnostic::on_unimplemented(
    message = "this step cannot be made from `{Self}`: the field is of or refers to `{Other}`",
    label = "the objects here are `{Self}`",
    note = "`.to(field)` takes a field of the type that the path has reached; `.from(field)`, `referrers(field)` and `inverse(name = field)` take a field that refers to it"
)]
pub trait Meets<Other> {}

#[diagnostic::do_not_recommend]
impl<A: Target, B: Target> Meets<B> for A where A::Live<'static>: MeetsHandle<B::Live<'static>> {}

/// A handle on an object that can also have an `L`, or an object of which some have one. It is to
/// [`Meets`] what `Becomes` is to `Within`.
#[doc(hidden)]
pub trait MeetsHandle<L> {}

impl<'t, M: Model> MeetsHandle<Obj<'t, M>> for Obj<'t, M> {}
impl<'t, M: Model> MeetsHandle<AnyObj<'t>> for Obj<'t, M> {}
impl<'t, M: Model> MeetsHandle<Obj<'t, M>> for AnyObj<'t> {}
impl<'t> MeetsHandle<AnyObj<'t>> for AnyObj<'t> {}

/// Names of object types; `None` means all types.
pub(crate) type TypeNames = Option<&'static [&'static str]>;

/// Which values of a field are the references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Simple,
    Element,
    Key,
    Value,
}

/// A field with references, of models that are found when the field is used.
#[derive(Debug, Clone, Copy)]
pub struct ReferenceAt {
    places: for<'m> fn(&'m Models, Slot) -> Result<Places<'m>>,
    position: usize,
    part: Part,
    owner: TypeNames,
    to: TypeNames,
}

impl ReferenceAt {
    fn new<S: Source, F: ReferenceField>(position: usize, part: Part) -> Self {
        ReferenceAt { places: S::places, position, part, owner: F::Owner::TYPES, to: F::To::TYPES }
    }

    /// The types that the constant says have the field.
    pub(super) fn owner(&self) -> TypeNames {
        self.owner
    }

    /// The types to which the field refers.
    pub(super) fn to(&self) -> TypeNames {
        self.to
    }

    /// The field, bound to the schema of a transaction.
    pub(super) fn of<'m>(&self, models: &'m Models) -> Result<Parts<'m>> {
        let places = (self.places)(models, Slot::Field(self.position))?;
        Ok(Parts { places, part: self.part })
    }
}

/// The values of one field, which one model has or several share.
#[derive(Debug)]
pub(super) struct Parts<'m> {
    places: Places<'m>,
    part: Part,
}

impl<'m> Parts<'m> {
    /// The values in each model.
    fn each(&self) -> impl Iterator<Item = ValuePart<'m>> {
        let part = self.part;
        let places = self.places.as_slice().iter();
        places.map(move |&(binding, position)| ValuePart { binding, position, part })
    }

    /// The types that have the field.
    pub(super) fn types(&self) -> BTreeSet<StorageId> {
        self.each().map(|part| part.binding.storage_id()).collect()
    }

    /// The storage ID of the field or sub-field. Fields of one name and definition have the same.
    pub(super) fn storage_id(&self) -> Result<StorageId> {
        let ids = self.each().map(|part| part.storage_id()).collect::<Result<BTreeSet<_>>>()?;
        match ids.first() {
            Some(id) if ids.len() == 1 => Ok(*id),
            _ => {
                let what = "a field that several types share has different storage IDs";
                Err(Error::Object(object::Error::Inconsistent { what: what.into() }))
            }
        }
    }

    /// Visits the objects to which an object refers. An object without the field refers to nothing.
    pub(super) fn each_reference(
        &self,
        tx: &Tx,
        id: ObjId,
        visit: &mut dyn FnMut(ObjId),
    ) -> Result<()> {
        match self.each().find(|part| part.binding.storage_id() == id.storage_id()) {
            Some(part) => part.each_reference(tx, id, visit),
            None => Ok(()),
        }
    }

    /// The objects that refer to `target`.
    pub(super) fn referrers<'t>(&self, tx: &'t Tx, target: ObjId) -> Result<IdSet<'t>>
    where
        'm: 't,
    {
        let mut sets = self.each().map(|part| part.referrers(tx, target));
        let first = sets.next().transpose()?;
        let first = first.map_or_else(|| tx.core.id_set([]), Ok)?;
        let others = sets.collect::<Result<Vec<_>>>()?;
        Ok(if others.is_empty() { first } else { first.union_all(others) })
    }
}

/// A value of a model: a simple field, or the elements, keys or values of a collection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValuePart<'m> {
    binding: &'m Binding,
    position: usize,
    part: Part,
}

impl<'m> ValuePart<'m> {
    /// All values of a model.
    pub(crate) fn all(binding: &'m Binding) -> impl Iterator<Item = ValuePart<'m>> {
        binding.info.fields.iter().enumerate().flat_map(move |(position, field)| {
            let parts: &[Part] = match field.shape {
                Shape::Simple(_) => &[Part::Simple],
                Shape::Set(_) | Shape::List(_) => &[Part::Element],
                Shape::Map(..) => &[Part::Key, Part::Value],
                Shape::Counter => &[],
            };
            parts.iter().map(move |part| ValuePart { binding, position, part: *part })
        })
    }

    /// Whether objects of this model have the values.
    pub(crate) fn is_of(&self, binding: &Binding) -> bool {
        self.binding.storage_id() == binding.storage_id()
    }

    /// What the model says about the values.
    pub(crate) fn decl(&self) -> Option<&'static ValueDecl> {
        let [first, second] = self.binding.info.fields.get(self.position)?.values();
        if self.part == Part::Value { second } else { first }
    }

    /// The types to which the values refer; `None` if they are no references.
    pub(crate) fn targets(&self) -> Option<TypeNames> {
        match (self.decl()?.kind)() {
            ValueKind::Reference(types) => Some(types),
            _ => None,
        }
    }

    /// The storage ID of the field or sub-field.
    fn storage_id(&self) -> Result<StorageId> {
        let field = self.binding.field(self.position)?;
        let part = match (&field.kind, self.part) {
            (ResolvedKind::Set { element } | ResolvedKind::List { element }, _) => element,
            (ResolvedKind::Map { value, .. }, Part::Value) => value,
            (ResolvedKind::Map { key, .. }, _) => key,
            (ResolvedKind::Simple(_) | ResolvedKind::Counter, _) => field,
        };
        Ok(part.storage_id)
    }

    /// Visits the objects to which an object of the model refers, as the accessor of the field sees
    /// them.
    pub(crate) fn each_reference(
        &self,
        tx: &Tx,
        id: ObjId,
        visit: &mut dyn FnMut(ObjId),
    ) -> Result<()> {
        // As in Java, a step through a collection skips objects that do not exist.
        if self.part != Part::Simple && !tx.core.exists(id)? {
            return Ok(());
        }
        let handle = Handle { tx, binding: self.binding, id };
        let mut see = |target: Option<Ref<Any>>| {
            target.into_iter().for_each(|target| visit(target.id()));
        };
        let field = self.binding.field(self.position)?;
        match (&field.kind, self.part) {
            (ResolvedKind::Set { .. }, _) => {
                let set = handle.set_of::<Option<Ref<Any>>>(self.position)?;
                set.iter().try_for_each(|element| element.map(&mut see))
            }
            (ResolvedKind::List { .. }, _) => {
                let list = handle.list_of::<Option<Ref<Any>>>(self.position)?;
                list.iter().try_for_each(|element| element.map(&mut see))
            }
            (ResolvedKind::Map { .. }, part) => {
                handle.prepare_to_read(self.position)?;
                let view = tx.core.encoded().map_view(id, field)?;
                let keys = part == Part::Key;
                let read = move |key: &[u8], value: &[u8]| {
                    Ok(Option::<Ref<Any>>::decode_all(if keys { key } else { value }))
                };
                for target in view.encoded().iter(read) {
                    see(target?.map_err(|source| handle.undecodable(field, source))?);
                }
                Ok(())
            }
            (ResolvedKind::Simple(_) | ResolvedKind::Counter, _) => {
                handle.get::<Option<Ref<Any>>>(self.position).map(see)
            }
        }
    }

    /// The objects of the model that refer to `target`.
    pub(crate) fn referrers<'t>(&self, tx: &'t Tx, target: ObjId) -> Result<IdSet<'t>>
    where
        'm: 't,
    {
        let part = match self.part {
            Part::Value => binding::Part::MapValue,
            Part::Simple | Part::Element | Part::Key => binding::Part::Main,
        };
        let open = |how| index::referrers(tx, self.binding, (self.position, part), target, how);
        match open(OpenAs::default()) {
            Err(Error::PartialIndex { .. }) if self.lacks_only_null(tx)? => {
                open(OpenAs { on_partial: OnPartial::Allow, ..OpenAs::default() })
            }
            found => found,
        }
    }

    /// Whether all objects without an entry in the index have no reference: their schemas lack the
    /// field, and nothing else makes a value for it.
    fn lacks_only_null(&self, tx: &Tx) -> Result<bool> {
        let decl = self.binding.info.fields.get(self.position);
        if decl.is_none_or(|decl| decl.has_default()) {
            return Ok(false);
        }
        let own = self.storage_id()?;
        let bundle = tx.core.bundle();
        let of_type = self.binding.storage_id();
        let types = bundle.schemas().iter();
        Ok(types.filter_map(|schema| schema.type_by_storage_id(of_type)).all(|old| {
            let plan = self.binding.plan(old);
            let is_there = old.all_fields().any(|field| field.storage_id == own);
            let is_null = || {
                self.binding.is_missing(&plan, self.position)
                    && !self.binding.has_unknown_fields(&plan)
            };
            is_there || is_null()
        }))
    }
}

/// The storage IDs of the named types. `None` means all types.
pub(super) fn storage_ids(
    names: TypeNames,
    models: &Models,
) -> Result<Option<BTreeSet<StorageId>>> {
    let Some(names) = names else { return Ok(None) };
    let id_of = |name: &&'static str| models.named(name).map(Binding::storage_id);
    names.iter().map(id_of).collect::<Result<_>>().map(Some)
}

/// A value of a reference field.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no reference",
    label = "this field has no references",
    note = "a step is the constant of a field with references, such as `Person::FRIENDS`; of a map, `Person::LABELS.key()` or `Person::LABELS.value()`"
)]
pub trait ReferenceValue {
    /// To what it refers.
    type To: Target;
}

impl<T: Target> ReferenceValue for Ref<T> {
    type To = T;
}

impl<T: Target> ReferenceValue for Option<Ref<T>> {
    type To = T;
}

macro_rules! reference_field {
    ([$($parameter:ident $(: $bound:ident)?),*] $field:ty, $value:ident, $plurality:ident, $part:ident) => {
        impl<S: Source, $($parameter $(: $bound)?),*> ReferenceField for $field {
            type Owner = S::Found;
            type To = $value::To;
            type Plurality = $plurality;

            fn at(self) -> ReferenceAt {
                ReferenceAt::new::<S, Self>(self.position, Part::$part)
            }
        }
    };
}

reference_field!([V: ReferenceValue, I] Field<S, V, I>, V, One, Simple);
reference_field!([E: ReferenceValue, I] SetField<S, E, I>, E, Many, Element);
reference_field!([E: ReferenceValue, I] ListField<S, E, I>, E, Many, Element);
reference_field!([K: ReferenceValue, I] MapKey<S, K, I>, K, Many, Key);
reference_field!([K, V: ReferenceValue, I] MapValue<S, K, V, I>, V, Many, Value);
