//! The parts that all forms of queries share: entries with the types of their columns, pages of
//! them, and columns restricted to values.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use permazen_kv::Direction;

use super::page::{Page, PageToken};
use crate::encoding::{EncodingError, FieldType};
use crate::id::StorageId;
use crate::model::binding::Binding;
use crate::model::error::{Error, Result};
use crate::model::target::{Handles, Target};
use crate::model::tx::Tx;
use crate::model::values::EncodeAs;
use crate::object::{self, EntryPage, IdSet, IndexEntryRef, IndexView, borrowed, encode_bound};

/// The form of the entries of an index.
pub trait Columns {
    /// The type of the values of the first column.
    type First: FieldType;

    /// The type of an entry with an object of type `L`.
    type Entry<L>;

    /// The number of columns, with the column of the object.
    #[doc(hidden)]
    const COUNT: usize;

    /// Makes an entry.
    ///
    /// # Errors
    /// If a value cannot be decoded.
    #[doc(hidden)]
    fn entry<L>(
        columns: &IndexEntryRef<'_, '_>,
        object: L,
    ) -> Result<Self::Entry<L>, EncodingError>;
}

/// Entries of the form `(value, object)`.
#[derive(Debug)]
pub struct ByValue<V>(PhantomData<fn() -> V>);

/// Entries of the form `(element, object, position)`.
#[derive(Debug)]
pub struct ByPosition<E>(PhantomData<fn() -> E>);

/// Entries of the form `(value, object, key)`.
#[derive(Debug)]
pub struct ByKey<V, K>(PhantomData<fn() -> (V, K)>);

impl<V: FieldType> Columns for ByValue<V> {
    type First = V;
    type Entry<L> = (V, L);
    const COUNT: usize = 2;

    fn entry<L>(columns: &IndexEntryRef<'_, '_>, object: L) -> Result<(V, L), EncodingError> {
        Ok((V::decode_all(columns.encoded(0))?, object))
    }
}

impl<E: FieldType> Columns for ByPosition<E> {
    type First = E;
    type Entry<L> = (E, L, u32);
    const COUNT: usize = 3;

    fn entry<L>(columns: &IndexEntryRef<'_, '_>, object: L) -> Result<(E, L, u32), EncodingError> {
        let position = crate::layout::parse_list_position(columns.encoded(2))?;
        Ok((E::decode_all(columns.encoded(0))?, object, position))
    }
}

impl<V: FieldType, K: FieldType> Columns for ByKey<V, K> {
    type First = V;
    type Entry<L> = (V, L, K);
    const COUNT: usize = 3;

    fn entry<L>(columns: &IndexEntryRef<'_, '_>, object: L) -> Result<(V, L, K), EncodingError> {
        Ok((V::decode_all(columns.encoded(0))?, object, K::decode_all(columns.encoded(2))?))
    }
}

/// The entries of a view with the columns `C`, for objects of `T`.
pub(super) fn entries<'t, T: Target, C: Columns>(
    tx: &'t Tx,
    view: &IndexView<'t>,
) -> impl DoubleEndedIterator<Item = Result<C::Entry<T::Live<'t>>>> + use<'t, T, C> {
    let name = view.clone();
    let from = Handles::many::<T>(tx);
    // The ID is read first: an entry without one is damage, whatever its value is.
    view.rows(move |entry| {
        let live = match entry.id() {
            Ok(id) => T::live(from, id)?,
            Err(error) => return Err(*boxed(error)),
        };
        match C::entry(&entry, live) {
            Ok(row) => Ok(row),
            Err(source) => Err(*boxed(bad_entry(&name, source))),
        }
    })
}

/// The objects of a view that are in a set.
pub(super) fn objects_in<'t, T: Target>(
    tx: &'t Tx,
    view: &IndexView<'t>,
    set: IdSet<'t>,
) -> impl DoubleEndedIterator<Item = Result<T::Live<'t>>> + use<'t, T> {
    let from = Handles::many::<T>(tx);
    view.ids().filter_map(move |id| {
        let found = id.and_then(|id| Ok(set.contains(id)?.then_some(id)));
        found.map_err(Error::from).transpose().map(|id| T::live(from, id?))
    })
}

/// `view` with a column restricted to one value.
pub(super) fn fix<'t, V>(
    tx: &'t Tx,
    view: &IndexView<'t>,
    column: usize,
    value: &impl EncodeAs<V>,
) -> Result<IndexView<'t>> {
    tx.with_encoded(value, |result, bytes| {
        result.map_err(|source| bad_bound(view, source))?;
        Ok(view.encoded().with_value(column, bytes)?)
    })
}

/// `view` with a column restricted to a range.
pub(super) fn restrict<'t, V, Q: EncodeAs<V>>(
    tx: &'t Tx,
    view: &IndexView<'t>,
    column: usize,
    range: &impl RangeBounds<Q>,
) -> Result<IndexView<'t>> {
    let encode = |bound: Bound<&Q>| -> Result<Bound<Vec<u8>>> {
        let bytes = |value: &Q| -> Result<Vec<u8>> {
            tx.with_encoded(value, |result, bytes| {
                result.map_err(|source| bad_bound(view, source))?;
                Ok(bytes.to_vec())
            })
        };
        encode_bound(bound, bytes)
    };
    let (lower, upper) = (encode(range.start_bound())?, encode(range.end_bound())?);
    Ok(view.encoded().with_bounds(column, borrowed(&lower), borrowed(&upper))?)
}

pub(super) fn bad_bound(view: &IndexView<'_>, source: EncodingError) -> Error {
    Error::Encode { field: view.shape().name().to_string(), source }
}

/// A page of a view with the columns `C`, for objects of `T`: what comes after the token in a
/// direction.
pub(super) fn read_page<'t, T: Target, C: Columns>(
    tx: &'t Tx,
    view: &IndexView<'t>,
    limit: usize,
    token: Option<&PageToken>,
    direction: Direction,
) -> Result<Page<C::Entry<T::Live<'t>>>> {
    let rest = match token {
        None => view.clone(),
        Some(token) => {
            // A token of another index would be a place in the middle of some value.
            token.check(view)?;
            view.beyond(token.position(), direction)
        }
    };
    let from = Handles::many::<T>(tx);
    // A page of no entries would have no token to go on with.
    let read = rest.read_page(limit.max(1), direction, |entry| {
        // Errors of the typed layer are passed as values: the walk can only return its own.
        let live = T::live(from, entry.id()?);
        Ok(live.map(|live| C::entry(&entry, live)))
    })?;
    let EntryPage { read, ends, more } = read;
    let entries = read.into_iter().map(|row| row?.map_err(|source| bad_entry(view, source)));
    let entries = entries.collect::<Result<_>>()?;
    let token = |position| PageToken::of_entry(view, position);
    let (start, last) = ends.unzip();
    // A token without further entries would promise a page that is empty.
    let next = last.filter(|_| more).map(token);
    Ok(Page { entries, next, start: start.map(token) })
}

/// An error that comes in a box is not written to where the rows are returned, so rows need not be
/// copied from there.
#[cold]
pub(super) fn boxed(error: impl Into<Error>) -> Box<Error> {
    Box::new(error.into())
}

#[cold]
pub(super) fn bad_entry(view: &IndexView<'_>, source: EncodingError) -> Error {
    let index = view.shape().name();
    // If an object was stored before its type had the field, the field is null, also in the index.
    // This is not damage.
    if let EncodingError::NullValue(_) = source {
        let field = format!("an entry of index {index}");
        return Error::Object(object::Error::InvalidValue { field, source });
    }
    let what = format!("an entry of index {index}: {source}");
    Error::Object(object::Error::Inconsistent { what })
}

/// The storage IDs of the types of these models.
pub(super) fn ids(bindings: &[&Binding]) -> impl Iterator<Item = StorageId> {
    bindings.iter().map(|binding| binding.storage_id())
}
