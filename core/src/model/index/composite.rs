//! Typed queries of composite indexes, column by column.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use permazen_kv::Direction;

use super::known_views::ViewOf;
use super::open_as::{IndexOn, OpenAs, WhenPartial, when_partial};
use super::opened::{known, remember};
use super::page::{Page, PageToken};
use super::partial::complete;
use super::rows::{Columns, bad_bound, entries, fix, ids, objects_in, read_page, restrict};
use super::starts_with::{StoredAsString, starting_with};
use crate::encoding::{EncodingError, FieldType};
use crate::model::error::{Error, Result};
use crate::model::fields::Composite;
use crate::model::kind::{Places, Slot, Source};
use crate::model::objects::{Objs, SetOfObjs};
use crate::model::target::{Handles, Target};
use crate::model::tx::Tx;
use crate::model::values::EncodeAs;
use crate::object::{IndexEntryRef, IndexView};

/// Values of a composite index, as a tuple: all of them, or those of the columns that are not fixed
/// yet.
#[diagnostic::on_unimplemented(
    message = "all columns of this index are fixed already",
    label = "no column is left",
    note = "read what was found with `objects()`, `iter()` or `page(…)`, or give all values at once with `get((…))`"
)]
pub trait Tuple: Sized + 'static {
    /// The type of the first value.
    type First: FieldType;

    /// The values after the first one.
    type Rest: 'static;

    /// The number of values.
    #[doc(hidden)]
    const LEN: usize;

    /// Decodes the first columns of an entry.
    #[doc(hidden)]
    fn decode(columns: &IndexEntryRef<'_, '_>) -> Result<Self, EncodingError>;
}

macro_rules! tuple {
    ($len:literal: $first:ident $($rest:ident)*; $($value:ident $position:tt),*) => {
        impl<$($value: FieldType),*> Tuple for ($($value,)*) {
            type First = $first;
            type Rest = ($($rest,)*);
            const LEN: usize = $len;

            fn decode(columns: &IndexEntryRef<'_, '_>) -> Result<Self, EncodingError> {
                Ok(($($value::decode_all(columns.encoded($position))?,)*))
            }
        }
    };
}

tuple!(1: A; A 0);
tuple!(2: A B; A 0, B 1);
tuple!(3: A B C; A 0, B 1, C 2);
tuple!(4: A B C D; A 0, B 1, C 2, D 3);

/// Entries of the form `((value, value, …), object)`.
#[derive(Debug)]
pub(super) struct ByTuple<V>(PhantomData<fn() -> V>);

/// A composite index, restricted to objects of `M`: a live view in the order of the columns.
///
/// `R` is the values of the columns that are not fixed to one value.
/// [`prefix`](CompositeIndex::prefix) fixes the first of these columns and continues with the next
/// one. [`range`](CompositeIndex::range) restricts it.
pub struct CompositeIndex<'t, M, V, R = V> {
    tx: &'t Tx,
    view: IndexView<'t>,
    types: Types<M, V, R>,
}

type Types<M, V, R> = PhantomData<fn() -> (M, V, R)>;

impl<M, V, R> fmt::Debug for CompositeIndex<'_, M, V, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CompositeIndex").field(&self.view).finish()
    }
}

impl<M, V, R> Clone for CompositeIndex<'_, M, V, R> {
    fn clone(&self) -> Self {
        CompositeIndex { tx: self.tx, view: self.view.clone(), types: PhantomData }
    }
}

impl<V: Tuple> Columns for ByTuple<V> {
    type First = V::First;
    type Entry<L> = (V, L);
    const COUNT: usize = V::LEN + 1;

    fn entry<L>(columns: &IndexEntryRef<'_, '_>, object: L) -> Result<(V, L), EncodingError> {
        Ok((V::decode(columns)?, object))
    }
}

impl<'t, M: Target, V: Tuple, R> CompositeIndex<'t, M, V, R> {
    fn with<Q>(&self, view: IndexView<'t>) -> CompositeIndex<'t, M, V, Q> {
        CompositeIndex { tx: self.tx, view, types: PhantomData }
    }

    /// The part of the index with one value in the first column that is not fixed yet.
    ///
    /// # Errors
    /// If the field cannot hold the value.
    pub fn prefix(
        &self,
        value: impl EncodeAs<R::First>,
    ) -> Result<CompositeIndex<'t, M, V, R::Rest>>
    where
        R: Tuple,
    {
        Ok(self.with(fix(self.tx, &self.view, V::LEN - R::LEN, &value)?))
    }

    /// The part of the index with a range of values in the first column that is not fixed yet.
    ///
    /// # Errors
    /// If the field cannot hold a bound, or the range ends before it begins.
    pub fn range<Q: EncodeAs<R::First>>(&self, range: impl RangeBounds<Q>) -> Result<Self>
    where
        R: Tuple,
    {
        Ok(self.with(restrict(self.tx, &self.view, V::LEN - R::LEN, &range)?))
    }

    /// The part of the index with strings that begin with a text, in the first column that is not
    /// fixed yet. See [`Index::starts_with`](super::Index::starts_with).
    ///
    /// # Errors
    /// Those of the object layer.
    pub fn starts_with(&self, text: &str) -> Result<Self>
    where
        R: Tuple,
        R::First: StoredAsString,
    {
        Ok(self.with(starting_with(&self.view, V::LEN - R::LEN, text)?))
    }

    /// A page of entries: the first `limit` of those after the token of the previous page. `None`
    /// gives the first page. A limit of 0 counts as 1. See [`Index::page`](super::Index::page).
    ///
    /// Cost: one seek, one step per entry, and one more step to see whether there are more entries,
    /// if no column after the first restricted one is restricted too. A page of thousands costs
    /// more seeks. If several types share the index, entries of other types cost seeks too.
    ///
    /// # Errors
    /// [`Error::PageToken`] if the token belongs to another index.
    pub fn page(&self, limit: usize, token: Option<&PageToken>) -> Result<Page<(V, M::Live<'t>)>> {
        read_page::<M, ByTuple<V>>(self.tx, &self.view, limit, token, Direction::Forward)
    }

    /// A page of entries in descending order: the last `limit` of those before the token. `None`
    /// gives the last page. Costs as much as [`page`](CompositeIndex::page).
    ///
    /// # Errors
    /// The errors of [`page`](CompositeIndex::page).
    pub fn page_back(
        &self,
        limit: usize,
        token: Option<&PageToken>,
    ) -> Result<Page<(V, M::Live<'t>)>> {
        read_page::<M, ByTuple<V>>(self.tx, &self.view, limit, token, Direction::Reverse)
    }

    /// The objects that have exactly these values, by object ID: `get(("Ann", 30))`. Reads nothing.
    ///
    /// # Errors
    /// If a field cannot hold its value.
    pub fn get(&self, values: impl EncodeAs<V>) -> Result<Objs<'t, M>> {
        let mut view = self.view.clone();
        values.each_encoded(|column, bytes| {
            let bytes = bytes.map_err(|source| bad_bound(&self.view, source))?;
            view = view.encoded().with_value(column, bytes)?;
            Ok::<_, Error>(())
        })?;
        Ok(Objs::new(self.tx, view.id_set()?))
    }

    /// The entries: the indexed values and the object; can also be read from the back.
    pub fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = Result<(V, M::Live<'t>)>> + use<'t, M, V, R> {
        entries::<M, ByTuple<V>>(self.tx, &self.view)
    }

    /// The objects in index order; can also be read from the back.
    pub fn objects(
        &self,
    ) -> impl DoubleEndedIterator<Item = Result<M::Live<'t>>> + use<'t, M, V, R> {
        let from = Handles::many::<M>(self.tx);
        self.view.ids().map(move |id| M::live(from, id?))
    }

    /// The objects of a set, in the order of this view; can also be read from the back.
    ///
    /// Cost: that of [`objects`](CompositeIndex::objects), and for each object of the view at most
    /// one seek for each simple set of which the set is composed. If the set is small and the order
    /// does not matter, read the set.
    pub fn objects_in<S: SetOfObjs<'t, M>>(
        &self,
        set: S,
    ) -> impl DoubleEndedIterator<Item = Result<M::Live<'t>>> + use<'t, M, V, R, S> {
        objects_in::<M>(self.tx, &self.view, set.into_ids())
    }

    /// The first entry.
    pub fn first(&self) -> Result<Option<(V, M::Live<'t>)>> {
        self.iter().next().transpose()
    }

    /// The last entry.
    pub fn last(&self) -> Result<Option<(V, M::Live<'t>)>> {
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

    /// The underlying view, for queries by column and [`Value`](crate::encoding::Value).
    pub fn as_view(&self) -> &IndexView<'t> {
        &self.view
    }
}

impl<M: Source, V: Tuple> IndexOn for Composite<M, V> {
    type View<'t> = CompositeIndex<'t, M::Found, V>;

    fn open_as(self, tx: &Tx, how: OpenAs) -> Result<Self::View<'_>> {
        let (source, position) = (TypeId::of::<M>(), self.position);
        let of = ViewOf { source, position, part: None, columns: 0 };
        // Most programs open an index again and again in a transaction.
        let view = match known(tx, of, how)? {
            Some((view, _)) => view,
            None => open_places(tx, &M::places(tx.models()?, Slot::Composite(position))?, of, how)?,
        };
        Ok(CompositeIndex { tx, view, types: PhantomData })
    }
}

/// The view of a composite index without types, so that the compiler makes it once for all models.
fn open_places<'t>(
    tx: &'t Tx,
    places: &Places<'t>,
    of: ViewOf,
    how: OpenAs,
) -> Result<IndexView<'t>> {
    let (shape, bindings) = places.index(|binding, position| binding.composite_shape(position))?;
    let view = tx.core.index_view(shape)?.of_types(ids(&bindings));
    let view = complete(tx, &view, &bindings, false, how)?;
    remember(tx, of, how, &bindings, &view, None)?;
    Ok(view)
}

when_partial!([M, V] Composite<M, V>);
