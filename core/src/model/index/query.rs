//! Typed index queries.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use permazen_kv::Direction;

use super::known_views::{KnownViews, ViewOf};
use super::page::{Page, PageToken, read_page};
use super::partial::{OpenAs, WhenPartial, complete, complete_for_all};
use super::starts_with::{StoredAsString, starting_with};
use crate::encoding::{Encoding, EncodingError, FieldType};
use crate::id::StorageId;
use crate::model::binding::{Binding, Part};
use crate::model::error::{Error, Result};
use crate::model::fields::{
    Field, Indexed, ListField, MapKey, MapValue, MapValueKeys, Positions, SetField,
};
use crate::model::kind::{Places, Slot, Source};
use crate::model::objects::{Objs, SetOfObjs};
use crate::model::target::{Any, Handles, Target};
use crate::model::tx::Tx;
use crate::model::values::EncodeAs;
use crate::object::{
    self, IdSet, IndexEntryRef, IndexKind, IndexView, borrowed, encode_bound, map_key_of,
};

/// Something with an index: an indexed field; the elements, keys or values of a collection; or a
/// composite index.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no index",
    label = "not indexed",
    note = "add `#[permazen(indexed)]` to the field, or to its `element`, `key` or `value`"
)]
pub trait IndexOn: Sized {
    /// The index, as queries see it.
    type View<'t>;

    /// The index in a transaction. See [`Tx::index`].
    ///
    /// # Errors
    /// If the model is not registered, or objects lack entries in the index.
    fn open(self, tx: &Tx) -> Result<Self::View<'_>> {
        self.open_as(tx, OpenAs::default())
    }

    /// The index in a transaction, whether objects lack entries in it or not.
    ///
    /// # Errors
    /// The errors of [`IndexOn::open`].
    #[doc(hidden)]
    fn open_as(self, tx: &Tx, how: OpenAs) -> Result<Self::View<'_>>;
}

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

/// An index on one value, restricted to objects of `T`: a live, ordered view.
///
/// Entries come in the order of the encoded values, and those with the same value by object ID.
/// Null is last, and a range without upper end includes it. [`Tx::index`] says what opening a view
/// reads. Reading it costs one seek, then one step per entry. If entries of other schemas are shown
/// too, each batch of entries that is read costs one more seek for each index in which they are. If
/// the index has entries of objects of other schemas that are not shown, each entry of their type
/// costs one get for each such schema.
///
/// The index may change during an iteration. The iterator does not return entries that were removed
/// ahead of it, and does return entries that were inserted ahead of it.
pub struct Index<'t, T, C> {
    tx: &'t Tx,
    view: IndexView<'t>,
    opened: Opened,
    types: PhantomData<fn() -> (T, C)>,
}

/// How an index was opened.
#[derive(Clone)]
struct Opened {
    how: OpenAs,
    /// For map values with their keys: the encoding of the keys.
    keys: Option<Arc<dyn Encoding>>,
}

impl<T, C> fmt::Debug for Index<'_, T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Index").field(&self.view).finish()
    }
}

impl<T, C> Clone for Index<'_, T, C> {
    fn clone(&self) -> Self {
        self.with(self.view.clone())
    }
}

impl<'t, T, C> Index<'t, T, C> {
    fn with(&self, view: IndexView<'t>) -> Self {
        Index { tx: self.tx, view, opened: self.opened.clone(), types: PhantomData }
    }
}

impl<'t, T: Target, C: Columns> Index<'t, T, C> {
    /// The entries; can also be read from the back.
    pub fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = Result<C::Entry<T::Live<'t>>>> + use<'t, T, C> {
        entries::<T, C>(self.tx, &self.view)
    }

    /// The objects that have a value, by object ID. Sets from several indexes can be combined:
    /// `a.get(1)?.intersection(b.get(2)?)`.
    ///
    /// Reads nothing. [`Objs`] says what reading the set costs.
    ///
    /// # Errors
    /// If the field cannot hold the value.
    pub fn get(&self, value: impl EncodeAs<C::First>) -> Result<Objs<'t, T>> {
        let ids = self.tx.with_encoded(&value, |result, bytes| {
            result.map_err(|source| bad_bound(&self.view, source))?;
            match self.view.id_set_of_value(bytes) {
                Some(ids) => Ok::<_, Error>(ids),
                None => Ok(self.view.encoded().with_value(0, bytes)?.id_set()?),
            }
        })?;
        Ok(Objs::new(self.tx, ids))
    }

    /// The part of the index with values in a range: `range("A".."B")`, `range(1..=5)`.
    ///
    /// # Errors
    /// If the field cannot hold a bound, or the range ends before it begins.
    pub fn range<Q: EncodeAs<C::First>>(&self, range: impl RangeBounds<Q>) -> Result<Self> {
        Ok(self.with(restrict(self.tx, &self.view, 0, &range)?))
    }

    /// The part of the index with strings that begin with a text: `starts_with("Ann")`. Null does not
    /// begin with anything.
    ///
    /// The strings with one beginning lie side by side, so this reads nothing else: one seek, then
    /// one step per entry.
    ///
    /// # Errors
    /// Those of the object layer.
    pub fn starts_with(&self, text: &str) -> Result<Self>
    where
        C::First: StoredAsString,
    {
        Ok(self.with(starting_with(&self.view, 0, text)?))
    }

    /// A page of entries: the first `limit` of those after the token of the previous page. `None`
    /// gives the first page. A limit of 0 counts as 1.
    ///
    /// ```
    /// use permazen::model::PageToken;
    /// # use permazen::{Permazen, PermazenObject, kv::memory::MemoryStore};
    ///
    /// #[derive(PermazenObject)]
    /// struct User {
    ///     #[permazen(indexed)]
    ///     name: String,
    /// }
    ///
    /// # let db = Permazen::builder(MemoryStore::new()).model::<User>().build()?;
    /// # db.write(|tx| {
    /// #     for name in ["Ann", "Bob", "Cid"] { tx.create(User { name: name.into() })?; }
    /// #     Ok(())
    /// # })?;
    /// let page = |token: Option<&PageToken>| {
    ///     db.read(|tx| {
    ///         let page = tx.index(User::NAME)?.page(2, token)?;
    ///         let names: Vec<_> = page.entries.into_iter().map(|(name, _)| name).collect();
    ///         Ok((names, page.next.map(|next| next.to_string())))
    ///     })
    /// };
    /// let (names, next) = page(None)?;
    /// assert_eq!(names, ["Ann", "Bob"]);
    /// let token = next.unwrap().parse()?;
    /// let (names, next) = page(Some(&token))?;
    /// assert_eq!((&names[..], next), (&["Cid".to_owned()][..], None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Cost: one seek, one step per entry, and one more step to see whether there are more entries.
    /// A page of thousands costs more seeks. If several types share the index, entries of other
    /// types cost seeks too.
    ///
    /// # Errors
    /// [`Error::PageToken`] if the token belongs to another index.
    pub fn page(
        &self,
        limit: usize,
        token: Option<&PageToken>,
    ) -> Result<Page<C::Entry<T::Live<'t>>>> {
        read_page::<T, C>(self.tx, &self.view, limit, token, Direction::Forward)
    }

    /// A page of entries in descending order: the last `limit` of those before the token. `None`
    /// gives the last page. Costs as much as [`page`](Index::page).
    ///
    /// # Errors
    /// The errors of [`page`](Index::page).
    pub fn page_back(
        &self,
        limit: usize,
        token: Option<&PageToken>,
    ) -> Result<Page<C::Entry<T::Live<'t>>>> {
        read_page::<T, C>(self.tx, &self.view, limit, token, Direction::Reverse)
    }

    /// The values that at least one object has, each once; can also be read from the back.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = Result<C::First>> + use<'t, T, C> {
        let view = self.view.distinct(1);
        let inner = view.iter_with(|entry| Ok(C::First::decode_all(entry.encoded(0))));
        inner.map(move |value| value?.map_err(|source| bad_entry(&view, source)))
    }

    /// The objects in the order of their values; can also be read from the back. An object that has
    /// several values is returned several times.
    pub fn objects(&self) -> impl DoubleEndedIterator<Item = Result<T::Live<'t>>> + use<'t, T, C> {
        let from = Handles::many::<T>(self.tx);
        self.view.ids().map(move |id| match id {
            Ok(id) => T::live(from, id),
            Err(error) => Err(*boxed(error)),
        })
    }

    /// The objects of a set, in the order of this view; can also be read from the back.
    ///
    /// Cost: that of [`objects`](Index::objects), and for each object of the view at most one seek for
    /// each simple set of which the set is composed. If the set is small and the order does not
    /// matter, read the set.
    pub fn objects_in<S: SetOfObjs<'t, T>>(
        &self,
        set: S,
    ) -> impl DoubleEndedIterator<Item = Result<T::Live<'t>>> + use<'t, T, C, S> {
        objects_in::<T>(self.tx, &self.view, set.into_ids())
    }

    /// The entry with the smallest value.
    pub fn first(&self) -> Result<Option<C::Entry<T::Live<'t>>>> {
        self.iter().next().transpose()
    }

    /// The entry with the largest value.
    pub fn last(&self) -> Result<Option<C::Entry<T::Live<'t>>>> {
        self.iter().next_back().transpose()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.view.is_empty()?)
    }

    /// The number of entries. Reads all of them.
    pub fn count(&self) -> Result<usize> {
        Ok(self.view.count()?)
    }

    /// The same index without the restriction to one type. Ranges of values remain. Types that have
    /// a field of the same name and type share one index, so this finds objects of all these types.
    ///
    /// Of the types with a registered model, all objects are found, as far as the index was opened
    /// for that. Of other types, those that are indexed. The cost is that of [`Tx::index`] for each
    /// of the models.
    ///
    /// An index of map values with their keys shows maps whose keys have the same type. Maps of
    /// types without a model are left out if their keys have another one.
    ///
    /// # Errors
    /// [`Error::PartialIndex`] if objects of one of these models lack entries in the index;
    /// [`Error::OtherKeys`] if one of these models has maps with other keys, and the index was not
    /// opened with `allow_partial`, which leaves them out.
    pub fn of_all_types(&self) -> Result<Index<'t, Any, C>> {
        let Opened { how, keys } = &self.opened;
        let view = complete_for_all(self.tx, &self.view.of_any_object(), keys.as_ref(), *how)?;
        Ok(Index { tx: self.tx, view, opened: self.opened.clone(), types: PhantomData })
    }

    /// The underlying view, for queries by column and [`Value`](crate::encoding::Value).
    pub fn as_view(&self) -> &IndexView<'t> {
        &self.view
    }
}

impl<'t, T: Target, C: Columns + 't> IntoIterator for &Index<'t, T, C> {
    type Item = Result<C::Entry<T::Live<'t>>>;
    type IntoIter = Box<dyn Iterator<Item = Self::Item> + 't>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(entries::<T, C>(self.tx, &self.view))
    }
}

/// The entries of a view with the columns `C`, for objects of `T`.
pub(super) fn entries<'t, T: Target, C: Columns>(
    tx: &'t Tx,
    view: &IndexView<'t>,
) -> impl DoubleEndedIterator<Item = Result<C::Entry<T::Live<'t>>>> + use<'t, T, C> {
    let name = view.clone();
    let from = Handles::many::<T>(tx);
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

/// An error that comes in a box is not written to where the rows are returned, so rows need not be
/// copied from there.
#[cold]
fn boxed(error: impl Into<Error>) -> Box<Error> {
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

/// The view of an index of a model, a mix-in or a kind, restricted to its objects.
fn open<'t, S: Source, C: Columns>(
    tx: &'t Tx,
    position: usize,
    part: Part,
    how: OpenAs,
) -> Result<Index<'t, S::Found, C>> {
    let of = ViewOf { source: TypeId::of::<S>(), position, part: Some(part), columns: C::COUNT };
    let known = KnownViews::get(tx, of, how)?;
    let (view, keys) = match known {
        Some(known) => known,
        None => open_places(tx, &S::places(tx.models()?, Slot::Field(position))?, of, part, how)?,
    };
    Ok(Index { tx, view, opened: Opened { how, keys }, types: PhantomData })
}

/// The same without types, so that the compiler makes it once for all models.
fn open_places<'t>(
    tx: &'t Tx,
    places: &Places<'t>,
    of: ViewOf,
    part: Part,
    how: OpenAs,
) -> Result<(IndexView<'t>, Option<Arc<dyn Encoding>>)> {
    let (shape, bindings) =
        places.index(|binding, position| binding.index_shape(position, part))?;
    // A query with map keys has three columns.
    let with_keys = shape.kind() == IndexKind::MapValue && of.columns == shape.columns();
    let first = bindings.first().filter(|_| with_keys);
    let keys = first.and_then(|first| map_key_of(&first.object_type, shape.storage_id())).cloned();
    let view = tx.core.index_view(shape)?.of_types(ids(&bindings)).distinct(of.columns);
    let view = complete(tx, &view, &bindings, with_keys, how)?;
    KnownViews::remember(tx, of, how, &bindings, &view, keys.as_ref())?;
    Ok((view, keys))
}

/// The methods of an index that say what a query does if the index is incomplete.
macro_rules! when_partial {
    ([$($parameter:ident),*] $index:ty) => {
        impl<$($parameter),*> $index {
            /// The index as it is, for [`Tx::index`]: what is indexed is found, and objects of
            /// other recorded schemas that have no entries in it are not.
            pub const fn allow_partial(self) -> WhenPartial<Self> {
                WhenPartial::new(self).allow_partial()
            }

            /// The index with the entries that objects of other recorded schemas would have if they
            /// moved to the schema of the models, for [`Tx::index`]. The objects do not move. These
            /// entries are those of the moment at which the index is opened.
            ///
            /// Opening it costs, for each object that has no entries, a scan of the
            /// object. Only the indexed fields are converted, so other values may keep the
            /// object from moving. It fails if a value of the index cannot be converted; the error
            /// names the object. The entries are kept in memory until the view is dropped.
            pub const fn complete_by_scan(self) -> WhenPartial<Self> {
                WhenPartial::new(self).complete_by_scan()
            }

            /// The index without values that the model cannot have, for [`Tx::index`], such as enum
            /// constants that a newer program has added. With
            /// [`complete_by_scan`](WhenPartial::complete_by_scan), objects with such values are
            /// left out too. Otherwise such a value is an error.
            pub const fn skip_unknown(self) -> WhenPartial<Self> {
                WhenPartial::new(self).skip_unknown()
            }
        }
    };
}
pub(super) use when_partial;

macro_rules! index_on {
    ([$($parameter:ident),*] $field:ty, $columns:ty, $part:ident) => {
        impl<M: Source, $($parameter: FieldType),*> IndexOn for $field {
            type View<'t> = Index<'t, M::Found, $columns>;

            fn open_as(self, tx: &Tx, how: OpenAs) -> Result<Self::View<'_>> {
                open::<M, _>(tx, self.position, Part::$part, how)
            }
        }

        when_partial!([M $(, $parameter)*] $field);
    };
}

index_on!([V] Field<M, V, Indexed>, ByValue<V>, Main);
index_on!([E] SetField<M, E, Indexed>, ByValue<E>, Main);
index_on!([E] ListField<M, E, Indexed>, ByValue<E>, Main);
index_on!([E] Positions<M, E>, ByPosition<E>, Main);
index_on!([K] MapKey<M, K, Indexed>, ByValue<K>, Main);
index_on!([K, V] MapValue<M, K, V, Indexed>, ByValue<V>, MapValue);
index_on!([K, V] MapValueKeys<M, K, V>, ByKey<V, K>, MapValue);
