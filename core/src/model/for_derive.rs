//! Functions for generated code.

use super::any_obj::AnyObj;
use super::copy::Copy;
use super::error::{Error, Result};
use super::handle::Handle;
use super::kind::KindMember;
use super::obj::Obj;
use super::object_type::Model;
use super::reference::Ref;
use super::target::{Handles, Target, wrong_type};
use super::tx::Tx;
use crate::encoding::EncodingError;
use crate::id::ObjId;

/// The object of model `M` with this ID.
///
/// # Errors
/// If the model is not registered, or the ID is of another type.
#[inline]
pub fn object<'t, M: Model>(from: Handles<'t>, id: ObjId) -> Result<Obj<'t, M>> {
    match from.known::<M>() {
        Some(binding) if id.storage_id() == binding.storage_id() => {
            Ok(Obj::new(from.tx, binding, id))
        }
        _ => match looked_up(from.tx, id) {
            Ok(object) => Ok(object),
            Err(error) => Err(*error),
        },
    }
}

/// Does the same as [`object`] where the binding is not known, or is that of another type.
#[inline(never)]
fn looked_up<M: Model>(tx: &Tx, id: ObjId) -> Result<Obj<'_, M>, Box<Error>> {
    let binding = tx.binding::<M>()?;
    if id.storage_id() != binding.storage_id() {
        return Err(wrong_type(tx, id, M::TYPE_NAME).into());
    }
    Ok(Obj::new(tx, binding, id))
}

/// The handle to which accessors belong.
pub fn this<'t, M: Model>(object: &Handle<'t>) -> Obj<'t, M> {
    Obj::new(object.tx, object.binding, object.id)
}

/// The object of a kind with this ID.
///
/// # Errors
/// If the ID is of a type that does not belong to the kind, or whose model is not registered.
pub fn object_of_kind<'t, K: KindMember<'t>>(
    from: Handles<'t>,
    id: ObjId,
    kind: &'static str,
) -> Result<K> {
    K::of(from.tx, id)?.ok_or_else(|| wrong_type(from.tx, id, kind))
}

/// Copies an object of kind `K`, as [`Obj::copy_to`].
///
/// # Errors
/// If the destination lacks the model, and the errors of copying.
pub fn copied<'d, K: Target>(object: AnyObj<'_>, dest: &'d Tx, copy: Copy) -> Result<K::Live<'d>> {
    dest.get(Ref::<K>::new(object.id()))?;
    let copied = object.copy_to(dest, copy)?;
    dest.get(Ref::<K>::new(copied.id()))
}

/// Appends the encoded form of a reference.
///
/// # Errors
/// Never.
pub fn encode_id(id: ObjId, out: &mut Vec<u8>) -> Result<(), EncodingError> {
    out.extend_from_slice(id.as_bytes());
    Ok(())
}

/// The value that an expression of the program makes.
pub fn made<T>(make: fn() -> T) -> T {
    make()
}
