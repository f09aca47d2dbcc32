//! Targets of references.

use std::any::TypeId;

use super::binding::{Binding, Models};
use super::declare::ValueDecl;
use super::error::{Error, Result};
use super::reference::Ref;
use super::tx::Tx;
use crate::encoding::{self, Encodable, EncodingId, Reader, SchemaForm, Value};
use crate::id::ObjId;

/// A target of a [`Ref`]: a model, a kind of models, or [`Any`](crate::Any) object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no model or kind",
    label = "no object is of this type",
    note = "add `#[derive(PermazenObject)]` to a struct, or `#[derive(PermazenKind)]` to an enum `Pet<'t>`, whose kind \
            is then `PetKind`; a reference to any object is a `Ref<Any>`"
)]
pub trait Target: Sized + 'static {
    /// The type that following a reference returns.
    type Live<'t>: Copy;

    /// Names of the allowed object types; `None` allows every type.
    const TYPES: Option<&'static [&'static str]>;

    /// The object with this ID.
    ///
    /// # Errors
    /// If the ID is of another type.
    #[doc(hidden)]
    fn live<'t>(from: Handles<'t>, id: ObjId) -> Result<Self::Live<'t>>;
}

/// The parts from which handles are made: the transaction, and for many objects of one model also
/// its binding, so that it is not looked up for each.
#[derive(Debug, Clone, Copy)]
pub struct Handles<'t> {
    pub(crate) tx: &'t Tx,
    binding: Option<&'t Binding>,
}

impl<'t> Handles<'t> {
    /// For one object.
    pub(crate) fn one(tx: &'t Tx) -> Self {
        Handles { tx, binding: None }
    }

    /// For many objects of `T`.
    pub(crate) fn many<T: Target>(tx: &'t Tx) -> Self {
        let binding = match T::TYPES {
            // If the model is not registered, making the first handle says so.
            Some([name]) => tx.models().and_then(|models| models.named(name)).ok(),
            _ => None,
        };
        Handles { tx, binding }
    }

    /// The binding of a model, if it is `T` of [`Handles::many`].
    #[inline]
    pub(crate) fn known<M: 'static>(self) -> Option<&'t Binding> {
        self.binding.filter(|binding| binding.info.type_id == TypeId::of::<M>())
    }
}

impl Tx {
    /// A handle on the object that a reference, an ID or a handle of another transaction names: an
    /// [`Obj`](crate::Obj) for a model, the enum for a kind. The object need not exist. Reads
    /// nothing.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; [`Error::WrongType`] if the ID belongs to another type.
    pub fn get<T: Target>(&self, object: impl Into<Ref<T>>) -> Result<T::Live<'_>> {
        T::live(Handles::one(self), object.into().id())
    }

    /// The models whose objects a reference to `T` can refer to.
    pub(crate) fn bindings_of<T: Target>(&self) -> Result<Vec<&Binding>> {
        self.models()?.of_target::<T>()
    }
}

impl Models {
    /// The bindings of a model or kind, or all.
    pub(crate) fn of_target<T: Target>(&self) -> Result<Vec<&Binding>> {
        match T::TYPES {
            Some(names) => names.iter().map(|name| self.named(name)).collect(),
            None => Ok(self.iter().collect()),
        }
    }
}

impl ValueDecl {
    /// References to objects of type `T` that may be null.
    pub const fn reference<T: Target>() -> Self {
        ValueDecl { optional: true, ..Self::of::<Ref<T>>() }
    }

    /// References to objects of type `T`. Null is no value of the struct.
    pub const fn required_reference<T: Target>() -> Self {
        Self::of::<Ref<T>>()
    }
}

#[cold]
pub(super) fn wrong_type(tx: &Tx, id: ObjId, expected: &'static str) -> Error {
    Error::WrongType { id, found: tx.core.type_name_of(id), expected }
}

impl<M: Target> Encodable for Ref<M> {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const FIXED_WIDTH: Option<usize> = Some(ObjId::LEN);
    const SORTS_NATURALLY: bool = true;
    const SCHEMA_FORM: SchemaForm = SchemaForm::Reference(M::TYPES);

    fn encoding_id() -> EncodingId {
        EncodingId::known("ObjId")
    }

    fn write_to(&self, out: &mut Vec<u8>) -> encoding::Result<()> {
        out.extend_from_slice(self.id().as_bytes());
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> encoding::Result<Self> {
        ObjId::read_from(reader).map(Ref::new)
    }

    fn to_text(&self) -> String {
        self.id().to_string()
    }

    fn from_text(text: &str) -> encoding::Result<Self> {
        text.parse().map(Ref::new)
    }

    fn into_value(self) -> Value {
        Value::Ref(self.id())
    }

    fn borrow_value(value: &Value) -> Option<std::borrow::Cow<'_, Self>> {
        match value {
            Value::Ref(id) => Some(std::borrow::Cow::Owned(Ref::new(*id))),
            _ => None,
        }
    }
}
