//! The values of reference fields: the objects that they refer to, and the objects that refer to an
//! object through them.

use std::collections::BTreeSet;

use super::way::{ReferenceAt, TypeNames, ValueRole};
use crate::encoding::FieldType;
use crate::id::{ObjId, StorageId};
use crate::model::binding::{Binding, Models};
use crate::model::bound_fields::FieldPart;
use crate::model::declare::{Shape, ValueDecl, ValueKind};
use crate::model::error::{Error, Result};
use crate::model::handle::Handle;
use crate::model::index::{self, OnPartial, OpenAs, Other, Wanted};
use crate::model::kind::{Places, Slot};
use crate::model::reference::{Any, Ref};
use crate::model::tx::Tx;
use crate::object::{self, IdSet};
use crate::schema::ResolvedKind;

impl ReferenceAt {
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
    part: ValueRole,
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
    part: ValueRole,
}

impl<'m> ValuePart<'m> {
    /// All values of a model.
    pub(crate) fn all(binding: &'m Binding) -> impl Iterator<Item = ValuePart<'m>> {
        binding.info.fields.iter().enumerate().flat_map(move |(position, field)| {
            let parts: &[ValueRole] = match field.shape {
                Shape::Simple(_) => &[ValueRole::Simple],
                Shape::Set(_) | Shape::List(_) => &[ValueRole::Element],
                Shape::Map(..) => &[ValueRole::Key, ValueRole::Value],
                Shape::Counter => &[],
            };
            parts.iter().map(move |part| ValuePart { binding, position, part: *part })
        })
    }

    /// Whether objects of this model have the values.
    pub(crate) fn is_of(&self, binding: &Binding) -> bool {
        self.binding.storage_id() == binding.storage_id()
    }

    /// The declaration of the values in the model.
    pub(crate) fn decl(&self) -> Option<&'static ValueDecl> {
        let [first, second] = self.binding.info.fields.get(self.position)?.values();
        if self.part == ValueRole::Value { second } else { first }
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
            (ResolvedKind::Map { value, .. }, ValueRole::Value) => value,
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
        if self.part != ValueRole::Simple && !tx.core.exists(id)? {
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
                let keys = part == ValueRole::Key;
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
        let open = |how| index::referrers(tx, self.binding, self.index(), target, how);
        match open(OpenAs::default()) {
            Err(Error::PartialIndex { .. }) if self.lacks_only_null(tx)? => {
                open(OpenAs { on_partial: OnPartial::Allow, ..OpenAs::default() })
            }
            found => found,
        }
    }

    /// The field of the index of the values, and which of its indexes that is.
    fn index(&self) -> (usize, FieldPart) {
        let part = match self.part {
            ValueRole::Value => FieldPart::MapValue,
            ValueRole::Simple | ValueRole::Element | ValueRole::Key => FieldPart::Main,
        };
        (self.position, part)
    }

    /// Whether all objects without an entry in the index have no reference: their schemas lack the
    /// field, and nothing else makes a value for it.
    fn lacks_only_null(&self, tx: &Tx) -> Result<bool> {
        let decl = self.binding.info.fields.get(self.position);
        if decl.is_none_or(|decl| decl.has_default()) {
            return Ok(false);
        }
        let (position, part) = self.index();
        let shape = self.binding.index_shape(position, part)?;
        let wanted = Wanted { shape: &shape, with_keys: false };
        let others = tx.bindings()?.others(self.binding, wanted, &tx.core);
        let bundle = tx.core.bundle();
        let of_type = self.binding.storage_id();
        let types = bundle.schemas().iter();
        Ok(types.filter_map(|schema| schema.type_by_storage_id(of_type)).all(|old| {
            // That the old type has the field does not tell: half of a map keeps its storage ID if
            // the other half changes, and the model may see other entries then.
            let mut others = others.iter().filter(|other| other.schema == old.schema);
            if !others.any(Other::may_lack_entries) {
                return true;
            }
            let plan = self.binding.plan(old);
            self.binding.is_missing(&plan, position) && !self.binding.has_unknown_fields(&plan)
        }))
    }
}
