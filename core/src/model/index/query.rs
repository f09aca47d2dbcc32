//! Typed index queries.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use permazen_kv::Direction;

use super::known_views::ViewOf;
use super::open_as::{IndexOn, OpenAs, WhenPartial, when_partial};
use super::opened::{known, remember};
use super::page::{Page, PageToken};
use super::partial::{complete, complete_for_all};
use super::rows::{
    ByKey, ByPosition, ByValue, Columns, bad_bound, bad_entry, boxed, entries, ids, objects_in,
    read_page, restrict,
};
use super::starts_with::{StoredAsString, starting_with};
use crate::encoding::{Encoding, FieldType};
use crate::model::bound_fields::FieldPart;
use crate::model::error::{Error, Result};
use crate::model::fields::{
    Field, Indexed, ListField, MapKey, MapValue, MapValueKeys, Positions, SetField,
};
use crate::model::kind::{Places, Slot, Source};
use crate::model::objects::{Objs, SetOfObjs};
use crate::model::reference::Any;
use crate::model::target::{Handles, Target};
use crate::model::tx::Tx;
use crate::model::values::EncodeAs;
use crate::object::{IndexKind, IndexView, map_key_of};

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
            // The usual case needs no view between the index and the set.
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

    /// The part of the index with strings that begin with a text: `starts_with("Ann")`. Null does
    /// not begin with anything.
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
    /// Cost: that of [`objects`](Index::objects), and for each object of the view at most one seek
    /// for each simple set of which the set is composed. If the set is small and the order does not
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
        // The restriction to the types of the model goes, and other types may lack entries.
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

/// The view of an index of a model, a mix-in or a kind, restricted to its objects.
fn open<'t, S: Source, C: Columns>(
    tx: &'t Tx,
    position: usize,
    part: FieldPart,
    how: OpenAs,
) -> Result<Index<'t, S::Found, C>> {
    let of = ViewOf { source: TypeId::of::<S>(), position, part: Some(part), columns: C::COUNT };
    let known = known(tx, of, how)?;
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
    part: FieldPart,
    how: OpenAs,
) -> Result<(IndexView<'t>, Option<Arc<dyn Encoding>>)> {
    let (shape, bindings) =
        places.index(|binding, position| binding.index_shape(position, part))?;
    // A query with map keys has three columns.
    let with_keys = shape.kind() == IndexKind::MapValue && of.columns == shape.columns();
    let first = bindings.first().filter(|_| with_keys);
    let keys =
        first.and_then(|first| map_key_of(&first.fields.object_type, shape.storage_id())).cloned();
    // Types come before completion: only their objects count as missing.
    let view = tx.core.index_view(shape)?.of_types(ids(&bindings)).distinct(of.columns);
    let view = complete(tx, &view, &bindings, with_keys, how)?;
    remember(tx, of, how, &bindings, &view, keys.as_ref())?;
    Ok((view, keys))
}

macro_rules! index_on {
    ([$($parameter:ident),*] $field:ty, $columns:ty, $part:ident) => {
        impl<M: Source, $($parameter: FieldType),*> IndexOn for $field {
            type View<'t> = Index<'t, M::Found, $columns>;

            fn open_as(self, tx: &Tx, how: OpenAs) -> Result<Self::View<'_>> {
                open::<M, _>(tx, self.position, FieldPart::$part, how)
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

/// Queries of indexes.
impl Tx {
    /// The index of a field, collection or composite index: `tx.index(Person::NAME)?`.
    ///
    /// Asking for an index that does not exist does not compile.
    ///
    /// Objects that are in another recorded schema have the index entries of that schema. If it has
    /// the same index, or one whose entries mean the same, they are found. Entries mean the same,
    /// for example, if only constants were added at the end of an enum, or if the field has another
    /// name now (`was`). Otherwise the index is incomplete, and the query is refused, unless it
    /// says what to do with the missing objects:
    /// [`Person::NAME.allow_partial()`](crate::model::Field::allow_partial) or
    /// [`Person::NAME.complete_by_scan()`](crate::model::Field::complete_by_scan). Whether the
    /// index is complete is found out when it is opened here.
    ///
    /// Cost: nothing if all recorded schemas with that type have the index. Otherwise one seek for
    /// each schema without it, once in a transaction; if objects would be missing, again after each
    /// write. A query that is refused counts the missing objects, up to 1,000, and tries whether
    /// the first one can move.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; [`Error::PartialIndex`] if objects are in schemas without this
    /// index.
    pub fn index<I: IndexOn>(&self, on: I) -> Result<I::View<'_>> {
        on.open(self)
    }

    /// The index of a field or composite index by name, with dynamic values: exactly its entries,
    /// even if objects of other schemas have none in it. Reads nothing. See
    /// [`index_by_name`](crate::object::Transaction::index_by_name) of the object layer.
    ///
    /// # Errors
    /// If there is no such index.
    pub fn index_by_name(&self, type_name: &str, name: &str) -> Result<IndexView<'_>> {
        Ok(self.core.index_by_name(type_name, name)?)
    }
}
