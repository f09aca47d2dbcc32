//! Types that belong to a kind, and so can be given where an object of the kind is wanted.

use crate::encoding::Result;
use crate::id::ObjId;
use crate::model::any_obj::AnyObj;
use crate::model::obj::Obj;
use crate::model::object_type::Model;
use crate::model::reference::Ref;
use crate::model::target::Target;
use crate::model::values::{EncodeAs, encode_option};

/// A model or kind whose objects are all of `K`: `K` itself, a kind that has it, or
/// [`Any`](crate::Any).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no member of `{K}`",
    label = "an object of another type",
    note = "add it to the enum of the kind, if it belongs there; a member of a kind within the kind is given as one: \
            `Outer::from(Inner::from(object))`"
)]
pub trait Within<K> {}

#[diagnostic::do_not_recommend]
impl<T: Target, K: Target> Within<K> for T where T::Live<'static>: Becomes<K::Live<'static>> {}

/// A handle on an object that can also have an `L`. The derive of a kind knows the enums of other
/// kinds among its members, and not how these kinds are called; so what belongs to a kind is said
/// of handles.
#[doc(hidden)]
pub trait Becomes<L> {}

impl<'t, M: Model> Becomes<Obj<'t, M>> for Obj<'t, M> {}
impl<'t, M: Model> Becomes<AnyObj<'t>> for Obj<'t, M> {}
impl<'t> Becomes<AnyObj<'t>> for AnyObj<'t> {}

impl<M> Ref<M> {
    /// The same reference as one of a kind that the model belongs to. (`into()` does that for
    /// handles.)
    pub const fn within<K>(self) -> Ref<K>
    where
        M: Within<K>,
    {
        Ref::new(self.id())
    }
}

impl<'t, M: Model + Within<T>, T: Target> From<Obj<'t, M>> for Ref<T> {
    fn from(object: Obj<'t, M>) -> Ref<T> {
        Ref::new(object.id())
    }
}

impl<M: Model + Within<T>, T: Target> EncodeAs<Ref<T>> for Obj<'_, M> {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        write_id(self.id(), out)
    }
}

impl<M: Model + Within<T>, T: Target> EncodeAs<Option<Ref<T>>> for Obj<'_, M> {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        write_id(self.id(), out)
    }
}

/// An `Option` of a handle of a model or kind, or of an [`AnyObj`]: each handle can have itself,
/// and nothing else that is a value can.
#[diagnostic::do_not_recommend]
impl<H: Becomes<H> + EncodeAs<Option<Ref<T>>>, T: Target> EncodeAs<Option<Ref<T>>> for &Option<H> {
    #[inline]
    fn encode_as(&self, out: &mut Vec<u8>) -> Result<()> {
        encode_option::<Option<Ref<T>>>(self.as_ref(), out)
    }
}

fn write_id(id: ObjId, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(id.as_bytes());
    Ok(())
}
