//! The level of resolved fields and encoded bytes.

/// The methods of a [`Transaction`], [`SetView`], [`ListView`], [`MapView`] or [`IndexView`] for
/// resolved fields and encoded bytes. The method `encoded()` of these returns it.
///
/// Each method has the same name and cost as the one for [`Value`](crate::encoding::Value)s. The
/// differences are:
///
/// * A field is given as [`ResolvedField`](crate::schema::ResolvedField), so no name is looked up.
/// * A value is given as the bytes that are stored. If the bytes are not the encoding of any value
///   of the field, writing them fails with [`Error::InvalidValue`], and a search for them finds
///   nothing.
/// * A value that is read is lent to a closure, `read`, which must not change anything. The
///   closures of iterators may. Values are not decoded, so damaged values are read like any other.
/// * Values that a change replaces or removes are returned as bytes, and may be damaged.
///
/// Views and iterators that are made with it live as long as the borrow of the transaction. They
/// borrow neither the `Encoded` nor the view that it was made from.
///
/// ```
/// # use permazen::object::{Migrate, Result, SetView, Transaction};
/// # use permazen::{ObjId, schema::ResolvedField};
/// /// Whether the set begins with the bytes of a simple field.
/// fn begins<'t>(
///     tx: &'t Transaction,
///     id: ObjId,
///     simple: &ResolvedField,
///     set: &SetView<'t>,
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
