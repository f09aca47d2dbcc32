//! Models, and what references can refer to.

use std::any::TypeId;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use super::any_obj::AnyObj;
use super::binding::Binding;
use super::declare::{CompositeDecl, FieldDecl, UpgradeWith};
use super::error::Result;
use super::handle::Handle;
use super::hook::declare::HookDecl;
use super::kind::{Included, Mixin, Within};
use super::load::{ObjectReader, ObjectWriter};
use super::obj::Obj;
use super::rules::validating::{Validates, Validating};
use super::tx::Tx;
use crate::encoding::EncodingError;
use crate::id::ObjId;

/// A struct that describes an object type. `#[derive(PermazenObject)]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no object type",
    label = "not a model",
    note = "add `#[derive(PermazenObject)]` to the struct; a mix-in (`#[derive(PermazenFields)]`) has handles \
            `With<'_, Self>`, and `Obj<'_, T>` is for models only"
)]
pub trait Model: for<'t> Target<Live<'t> = Obj<'t, Self>> + 'static {
    /// The generated accessors.
    #[doc(hidden)]
    type Fields<'t>: Accessors<'t>;

    /// Name of the object type on disk.
    const TYPE_NAME: &'static str;

    /// The requested storage ID; 0 to have one assigned.
    #[doc(hidden)]
    const STORAGE_ID: u32 = 0;

    /// Whether there is at most one object of this type.
    #[doc(hidden)]
    const SINGLETON: bool = false;

    /// The fields: those of the struct in its order, then those of its mix-ins.
    #[doc(hidden)]
    const FIELDS: &'static [FieldDecl];

    /// The composite indexes: those of the struct, then those of its mix-ins.
    #[doc(hidden)]
    const COMPOSITES: &'static [CompositeDecl];

    /// The mix-ins whose fields are among the fields.
    #[doc(hidden)]
    const MIXINS: &'static [Included] = &[];

    /// Names of fields that the type had and whose values may be dropped.
    #[doc(hidden)]
    const REMOVED: &'static [&'static str] = &[];

    /// Writes values of an object that moves to the schema of the models, before anything is
    /// converted.
    #[doc(hidden)]
    const UPGRADE_WITH: Option<UpgradeWith> = None;

    /// Which functions of its own the model has to check plain data.
    #[doc(hidden)]
    const VALIDATES: Validates = Validates::NOTHING;

    /// Calls these functions.
    #[doc(hidden)]
    fn validate(&self, _with: &mut Validating) {}
    /// The hooks.
    #[doc(hidden)]
    const HOOKS: &'static [HookDecl] = &[];

    /// Reads the struct of a stored object.
    ///
    /// # Errors
    /// If a value cannot be decoded, or is null where the type in the struct cannot be null.
    #[doc(hidden)]
    fn read(from: &mut ObjectReader<'_>) -> Result<Self>;

    /// Writes all fields.
    ///
    /// # Errors
    /// If a field cannot hold its value.
    #[doc(hidden)]
    fn write(&self, to: &mut ObjectWriter<'_>) -> Result<()>;
}

/// The plain data of an object of model `M`: a struct, or a reference to one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no object type",
    label = "not a model",
    note = "add `#[derive(PermazenObject)]` to the struct"
)]
pub trait PlainData<M> {
    /// The struct.
    fn plain(&self) -> &M;
}

impl<M: Model> PlainData<M> for M {
    fn plain(&self) -> &M {
        self
    }
}

impl<M: Model> PlainData<M> for &M {
    fn plain(&self) -> &M {
        self
    }
}

/// The generated accessors of one model: those of its own fields, or those of a mix-in before them.
pub trait Accessors<'t>: Copy + fmt::Debug + 't {
    /// How many fields the struct has up to here: its own, and those of the mix-ins whose accessors
    /// these are.
    const LEN: usize;

    /// The accessors of one object.
    fn bind(handle: Handle<'t>) -> Self;

    /// The object.
    fn handle(&self) -> Handle<'t>;
}

/// What a [`Ref`] can refer to: a model, a kind of models, or [`Any`] object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no model or kind",
    label = "no object is of this type",
    note = "add `#[derive(PermazenObject)]` to a struct, or `#[derive(PermazenKind)]` to an enum `Pet<'t>`, whose kind \
            is then `PetKind`; a reference to any object is a `Ref<Any>`"
)]
pub trait Target: Sized + 'static {
    /// What following a reference returns.
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

/// What handles are made from: the transaction, and for many objects of one model also its binding,
/// so that it is not looked up for each.
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
    pub(crate) fn known<M: Model>(self) -> Option<&'t Binding> {
        self.binding.filter(|binding| binding.info.type_id == TypeId::of::<M>())
    }
}

/// Any object, of a known type or not: `Ref<Any>` is an unrestricted reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Any {}

impl Target for Any {
    type Live<'t> = AnyObj<'t>;
    const TYPES: Option<&'static [&'static str]> = None;

    fn live<'t>(from: Handles<'t>, id: ObjId) -> Result<AnyObj<'t>> {
        Ok(from.tx.any(id))
    }
}

/// A reference as it is stored: the ID of an object of type `M`. It outlives transactions.
/// [`Tx::get`] turns it into a handle again.
pub struct Ref<M> {
    id: ObjId,
    target: PhantomData<fn() -> M>,
}

impl<M> Ref<M> {
    /// A reference to the object with this ID. The type of the object is checked when the reference
    /// is used.
    pub const fn new(id: ObjId) -> Self {
        Ref { id, target: PhantomData }
    }

    /// The object ID.
    pub const fn id(self) -> ObjId {
        self.id
    }

    /// The same reference as one of a kind that the model belongs to. (`into()` does that for
    /// handles.)
    pub const fn within<K>(self) -> Ref<K>
    where
        M: Within<K>,
    {
        Ref::new(self.id)
    }

    /// The same reference without its type.
    pub const fn any(self) -> Ref<Any> {
        Ref::new(self.id)
    }
}

impl<M> Clone for Ref<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Ref<M> {}

impl<M> PartialEq for Ref<M> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl<M> Eq for Ref<M> {}

impl<M> PartialOrd for Ref<M> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<M> Ord for Ref<M> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl<M> Hash for Ref<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl<M> fmt::Debug for Ref<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ref({})", self.id)
    }
}

impl<M> fmt::Display for Ref<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

/// From 16 hex digits, as [`ObjId`] is displayed. The type of the object is checked when the
/// reference is used.
impl<M> FromStr for Ref<M> {
    type Err = EncodingError;

    fn from_str(text: &str) -> Result<Self, EncodingError> {
        text.parse().map(Ref::new)
    }
}

impl<M> From<ObjId> for Ref<M> {
    fn from(id: ObjId) -> Ref<M> {
        Ref::new(id)
    }
}

/// The same reference, so that a loop over borrowed ones can pass them on.
impl<M> From<&Ref<M>> for Ref<M> {
    fn from(reference: &Ref<M>) -> Self {
        *reference
    }
}

impl<M> From<&Ref<M>> for ObjId {
    fn from(reference: &Ref<M>) -> Self {
        reference.id()
    }
}

impl<M> From<Ref<M>> for ObjId {
    fn from(reference: Ref<M>) -> ObjId {
        reference.id
    }
}

impl<'t, M: Model + Within<T>, T: Target> From<Obj<'t, M>> for Ref<T> {
    fn from(object: Obj<'t, M>) -> Ref<T> {
        Ref::new(object.id())
    }
}

impl From<AnyObj<'_>> for Ref<Any> {
    fn from(object: AnyObj<'_>) -> Ref<Any> {
        object.to_ref()
    }
}

/// What is known about a registered model at run time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelInfo {
    pub(crate) type_id: TypeId,
    pub(crate) name: &'static str,
    pub(crate) storage_id: u32,
    pub(crate) fields: &'static [FieldDecl],
    pub(crate) composites: &'static [CompositeDecl],
    pub(crate) mixins: &'static [Included],
    pub(crate) removed: &'static [&'static str],
    pub(crate) upgrade_with: Option<UpgradeWith>,
    pub(crate) singleton: bool,
    pub(crate) validates: Validates,
    pub(crate) validate: Option<Validate>,
    pub(crate) hooks: &'static [HookDecl],
}

/// Reads the struct of an object, and calls the functions that check it.
pub(crate) type Validate = fn(&mut ObjectReader<'_>, &mut Validating) -> Result<()>;

impl ModelInfo {
    pub(crate) fn of<M: Model>() -> Self {
        ModelInfo {
            type_id: TypeId::of::<M>(),
            name: M::TYPE_NAME,
            storage_id: M::STORAGE_ID,
            fields: M::FIELDS,
            composites: M::COMPOSITES,
            mixins: M::MIXINS,
            removed: M::REMOVED,
            upgrade_with: M::UPGRADE_WITH,
            singleton: M::SINGLETON,
            validates: M::VALIDATES,
            validate: M::VALIDATES.any().then_some(|from, with| {
                M::read(from)?.validate(with);
                Ok(())
            }),
            hooks: M::HOOKS,
        }
    }

    /// Whether the model or one of its mix-ins has hooks.
    pub(crate) fn has_hooks(&self) -> bool {
        !self.hooks.is_empty() || self.mixins.iter().any(|mixin| !mixin.hooks().is_empty())
    }

    /// Where mix-in `X` is in the model, if the model has it.
    pub(crate) fn included<X: Mixin>(&self) -> Option<&'static Included> {
        self.mixins.iter().find(|included| included.is::<X>())
    }
}
