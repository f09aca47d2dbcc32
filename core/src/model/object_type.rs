//! Structs as object types.

use std::any::TypeId;

use super::binding::{Binding, Models};
use super::bound_fields::BoundFields;
use super::declare::{CompositeDecl, FieldDecl, UpgradeWith};
use super::error::{Error, Result};
use super::handle::Accessors;
use super::hook::declare::HookDecl;
use super::kind::Included;
use super::load::{ObjectReader, ObjectWriter};
use super::model_info::ModelInfo;
use super::obj::Obj;
use super::rules::validating::{Validates, Validating};
use super::target::Target;
use super::tx::Tx;
use crate::object::ObjectData;

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

impl ModelInfo {
    pub(crate) fn of<M: Model>() -> Self {
        ModelInfo {
            type_id: TypeId::of::<M>(),
            name: M::TYPE_NAME,
            storage_id: M::STORAGE_ID,
            fields: M::FIELDS,
            composites: M::COMPOSITES,
            mixins: M::MIXINS.iter().map(|included| included.at).collect(),
            removed: M::REMOVED,
            upgrade_with: M::UPGRADE_WITH,
            singleton: M::SINGLETON,
            validates: M::VALIDATES,
            validate: M::VALIDATES.any().then_some(|from, with| {
                M::read(from)?.validate(with);
                Ok(())
            }),
        }
    }
}

impl Models {
    /// The binding of a model. Cost: a binary search without hashing.
    pub(crate) fn of<M: Model>(&self) -> Result<&Binding> {
        let missing = Error::NotRegistered { type_name: M::TYPE_NAME };
        self.with_type_id(TypeId::of::<M>()).ok_or(missing)
    }
}

impl Tx {
    pub(crate) fn binding<M: Model>(&self) -> Result<&Binding> {
        self.models()?.of::<M>()
    }
}

impl<'a> ObjectWriter<'a> {
    /// The content of an object with the values of `value`.
    pub(crate) fn content<M: Model>(fields: &'a BoundFields, value: &M) -> Result<ObjectData> {
        Self::content_of(fields, &mut |writer| value.write(writer))
    }
}
