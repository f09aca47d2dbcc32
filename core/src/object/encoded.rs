//! The level of resolved fields and encoded bytes.

/// The methods of a [`Transaction`], [`SetView`], [`ListView`], [`MapView`] or [`IndexView`] for resolved fields and
/// encoded bytes: what `encoded()` of these gives.
///
/// A method has the name it has for [`Value`](crate::encoding::Value)s, costs the same, and differs in this only:
///
/// * A field is given as [`ResolvedField`](crate::schema::ResolvedField), for which nothing is looked up by name.
/// * A value is given as the bytes it is stored as. Bytes that are not what writing some value of the field gives
///   are refused with [`Error::InvalidValue`] when they are written; a search for them finds nothing.
/// * A value that is read is lent to a closure, `read`, which must not change anything; the closures of iterators may.
///   Nothing is decoded, so damaged values are read like any other.
/// * What a change replaces or removes is returned as bytes, and may be damaged.
///
/// Views and iterators that are made with it live as long as the transaction is borrowed; they do not borrow the
/// `Encoded`, nor the view it was made from.
///
/// ```
/// # use permazen::object::{Migrate, Result, SetView, Transaction};
/// # use permazen::{ObjId, schema::ResolvedField};
/// /// Whether the set begins with the bytes of a simple field.
/// fn begins<'t>(
///     tx: &'t Transaction<'_>,
///     id: ObjId,
///     simple: &ResolvedField,
///     set: &SetView<'t, '_>,
/// ) -> Result<bool> {
///     let value = tx.encoded().get(id, simple, Migrate::No, |bytes| bytes.to_vec())?;
///     set.encoded().first(|element| element == Some(&value[..]))
/// }
/// ```
///
/// [`Transaction`]: super::Transaction
/// [`SetView`]: super::SetView
/// [`ListView`]: super::ListView
/// [`MapView`]: super::MapView
/// [`IndexView`]: super::IndexView
/// [`Error::InvalidValue`]: super::Error::InvalidValue
#[derive(Debug)]
pub struct Encoded<'a, T>(pub(in crate::object) &'a T);

impl<T> Clone for Encoded<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Encoded<'_, T> {}
