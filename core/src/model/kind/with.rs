//! Objects of any model that has a mix-in.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;

use super::mixin::{Mixin, start_of};
use crate::encoding::FieldType;
use crate::id::ObjId;
use crate::model::any_obj::AnyObj;
use crate::model::error::Result;
use crate::model::fields::Field;
use crate::model::handle::{Accessors, Handle};
use crate::model::reference::{Any, Ref};
use crate::model::target::wrong_type;
use crate::model::tx::Tx;
use crate::model::values::EncodeAs;

/// An object of any model that has mix-in `X`, as hooks of the mix-in and observers of its fields
/// get it. The accessors of the mix-in's own fields are methods of the handle.
///
/// ```
/// use permazen::model::{With, changes};
/// # use permazen::{Permazen, PermazenFields, PermazenObject, kv::memory::MemoryStore};
///
/// #[derive(PermazenFields, Default)]
/// struct Named { name: String }
///
/// #[derive(PermazenObject, Default)]
/// struct Dog { #[permazen(flatten)] named: Named, good: bool }
///
/// fn describe(object: With<'_, Named>) -> permazen::Result<String> {
///     let kind = if object.any().downcast::<Dog>().is_some() { "dog" } else { "object" };
///     Ok(format!("{kind} {}", object.name()?))
/// }
///
/// # let db = Permazen::builder(MemoryStore::new()).model::<Dog>().build()?;
/// db.write(|tx| {
///     tx.observe(changes::<Named>(), |object, change| {
///         println!("{} of {}", change.field(), describe(object)?);
///         Ok(())
///     })?;
///     tx.create_default::<Dog>()?.set_name("Rex")
/// })?;
/// # Ok::<(), permazen::Error>(())
/// ```
pub struct With<'t, X> {
    object: Bare<'t>,
    mixin: PhantomData<fn() -> X>,
}

/// An object without accessors of its own.
#[derive(Debug, Clone, Copy)]
struct Bare<'t>(Handle<'t>);

impl<'t> Accessors<'t> for Bare<'t> {
    const LEN: usize = 0;

    fn bind(handle: Handle<'t>) -> Self {
        Bare(handle)
    }

    fn handle(&self) -> Handle<'t> {
        self.0
    }
}

impl<'t, X: Mixin> With<'t, X> {
    /// The object with this ID.
    ///
    /// # Errors
    /// If no registered model with the mix-in has objects of this type.
    pub(crate) fn of(tx: &'t Tx, id: ObjId) -> Result<Self> {
        let binding = tx.models()?.of_type(id.storage_id());
        let binding = binding.filter(|binding| binding.info.included::<X>().is_some());
        let binding = binding.ok_or_else(|| wrong_type(tx, id, X::PATH))?;
        Ok(With { object: Bare(Handle { tx, binding, id }), mixin: PhantomData })
    }

    /// Reads a simple field of the mix-in, or of one that it flattens. Cost: one get.
    ///
    /// # Errors
    /// If the object does not exist, or the stored value does not fit `V`.
    pub fn get<V: FieldType, I>(&self, field: Field<X, V, I>) -> Result<V> {
        let handle = self.object.0;
        handle.get(start_of::<X>(&handle) + field.position)
    }

    /// Sets a simple field of the mix-in, or of one that it flattens. Costs the same as
    /// [`Obj::set`](crate::Obj::set).
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold the value.
    pub fn set<V: FieldType, I>(
        &self,
        field: Field<X, V, I>,
        value: impl EncodeAs<V>,
    ) -> Result<()> {
        let handle = self.object.0;
        handle.set::<V>(start_of::<X>(&handle) + field.position, value)
    }
}

impl<'t, X> With<'t, X> {
    /// The object ID.
    pub fn id(&self) -> ObjId {
        self.object.0.id
    }

    /// The object, for access by name, and for the handle of its model:
    /// `object.any().downcast::<Dog>()`.
    pub fn any(&self) -> AnyObj<'t> {
        AnyObj::new(self.tx(), self.id())
    }

    /// A reference to the object, which outlives the transaction.
    pub fn to_ref(&self) -> Ref<Any> {
        Ref::new(self.id())
    }

    /// The transaction.
    pub fn tx(&self) -> &'t Tx {
        self.object.0.tx
    }

    /// Whether the object exists. Cost: one get, or none if the object is known in this
    /// transaction.
    ///
    /// # Errors
    /// If the store fails.
    pub fn exists(&self) -> Result<bool> {
        self.any().exists()
    }

    /// Deletes the object. Returns false if it does not exist.
    ///
    /// # Errors
    /// If a reference to it forbids the deletion.
    pub fn delete(&self) -> Result<bool> {
        self.any().delete()
    }
}

impl<'t, X: Mixin> Deref for With<'t, X> {
    type Target = X::Shared<'t>;

    fn deref(&self) -> &X::Shared<'t> {
        X::shared::<Bare<'t>>(&self.object)
    }
}

impl<X> Clone for With<'_, X> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<X> Copy for With<'_, X> {}

impl<X> PartialEq for With<'_, X> {
    fn eq(&self, other: &Self) -> bool {
        self.any() == other.any()
    }
}

impl<X> Eq for With<'_, X> {}

impl<X> Hash for With<'_, X> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl<X> fmt::Debug for With<'_, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.0.fmt(f)
    }
}

impl<'t> AnyObj<'t> {
    /// The object with the accessors of mix-in `X`, if a registered model of its type has it.
    /// Queries of the constants of a mix-in give `AnyObj`. No cost.
    ///
    /// ```
    /// # use permazen::{Permazen, PermazenFields, PermazenObject, kv::memory::MemoryStore};
    /// #[derive(PermazenFields, Default)]
    /// struct Named { #[permazen(indexed)] name: String }
    ///
    /// #[derive(PermazenObject, Default)]
    /// struct Dog { #[permazen(flatten)] named: Named }
    ///
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Dog>().build()?;
    /// db.write(|tx| {
    ///     tx.create_default::<Dog>()?.set_name("Rex")?;
    ///     for object in tx.index(Named::NAME)?.objects() {
    ///         if let Some(named) = object?.with::<Named>() {
    ///             named.set_name("Max")?;
    ///         }
    ///     }
    ///     assert_eq!(tx.index(Named::NAME)?.get("Max")?.count()?, 1);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), permazen::Error>(())
    /// ```
    pub fn with<X: Mixin>(&self) -> Option<With<'t, X>> {
        With::of(self.tx(), self.id()).ok()
    }
}

/// The object with this ID, of any model that has mix-in `X`, for generated code.
///
/// # Errors
/// If the ID is of another type.
pub fn object_with<X: Mixin>(tx: &Tx, id: ObjId) -> Result<With<'_, X>> {
    With::of(tx, id)
}
