//! Typed queries of composite indexes, column by column.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use permazen_kv::Direction;

use super::known_views::{KnownViews, ViewOf};
use super::page::{Page, PageToken, read_page};
use super::partial::{OpenAs, WhenPartial, complete};
use super::query::{
    Columns, IndexOn, bad_bound, entries, fix, ids, objects_in, restrict, when_partial,
};
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

/// A column of a composite index, at compile time.
pub trait Column {
    /// The number of the column, counted from 0.
    const POSITION: usize;
    /// The next column.
    type Next;
}

macro_rules! columns {
    ($($name:ident $position:literal $next:ident;)*) => {
        $(
            #[doc = concat!("Column ", $position, " of a composite index, counted from 0.")]
            #[derive(Debug)]
            pub enum $name {}

            impl Column for $name {
                const POSITION: usize = $position;
                type Next = $next;
            }
        )*
    };
}

columns! { Column0 0 Column1; Column1 1 Column2; Column2 2 Column3; Column3 3 Column4; }

/// The place after the last column.
#[derive(Debug)]
pub enum Column4 {}

/// A tuple of indexed values that has a column `P`.
#[diagnostic::on_unimplemented(
    message = "all columns of this index are fixed already",
    label = "no column is left",
    note = "read what was found with `objects()`, `iter()` or `page(…)`, or give all values at once with `get((…))`"
)]
pub trait HasColumn<P: Column> {
    /// The type of the values in the column.
    type Value: FieldType;
}

/// The values of a composite index, as a tuple.
pub trait Tuple: Sized + 'static {
    /// The number of values.
    const LEN: usize;

    /// Decodes the first columns of an entry.
    ///
    /// # Errors
    /// If a value cannot be decoded.
    fn decode(columns: &IndexEntryRef<'_, '_>) -> Result<Self, EncodingError>;
}

/// Values to look up in a composite index on the values of the tuple `V`: a tuple with one value for
/// each, which is the value itself or something that means it, as for [`EncodeAs`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` are not the values of a composite index on `{V}`",
    label = "expected a tuple of values for `{V}`",
    note = "give one value for each field of the index, in its order; to give only the first ones, use \
            `tx.index(…)?.prefix(value)?`"
)]
pub trait TupleAs<V> {
    /// Encodes the values one by one, and calls `each` with the column and the encoded value. If a
    /// value cannot be encoded, `each` gets the reason instead.
    ///
    /// # Errors
    /// The errors of `each`.
    fn each_encoded<E>(
        &self,
        each: impl FnMut(usize, Result<&[u8], EncodingError>) -> Result<(), E>,
    ) -> Result<(), E>;
}

macro_rules! tuple {
    ($len:literal: $($value:ident $given:ident $column:ident $position:tt),*) => {
        impl<$($value: FieldType),*> Tuple for ($($value,)*) {
            const LEN: usize = $len;

            fn decode(columns: &IndexEntryRef<'_, '_>) -> Result<Self, EncodingError> {
                Ok(($($value::decode_all(columns.encoded($position))?,)*))
            }
        }

        impl<$($value,)* $($given: EncodeAs<$value>),*> TupleAs<($($value,)*)> for ($($given,)*) {
            fn each_encoded<Error>(
                &self,
                mut each: impl FnMut(usize, Result<&[u8], EncodingError>) -> Result<(), Error>,
            ) -> Result<(), Error> {
                let mut bytes = Vec::new();
                $(
                    bytes.clear();
                    let encoded = self.$position.encode_as(&mut bytes);
                    each($position, encoded.map(|()| &bytes[..]))?;
                )*
                Ok(())
            }
        }

        tuple!(@columns [$($value),*] $($value $column),*);
    };
    (@columns $all:tt $($value:ident $column:ident),*) => {
        $(tuple!(@column $all $value $column);)*
    };
    (@column [$($all:ident),*] $value:ident $column:ident) => {
        impl<$($all: FieldType),*> HasColumn<$column> for ($($all,)*) {
            type Value = $value;
        }
    };
}

tuple!(2: A P Column0 0, B Q Column1 1);
tuple!(3: A P Column0 0, B Q Column1 1, C R Column2 2);
tuple!(4: A P Column0 0, B Q Column1 1, C R Column2 2, D S Column3 3);

/// Entries of the form `((value, value, …), object)`.
#[derive(Debug)]
pub struct ByTuple<V>(PhantomData<fn() -> V>);

/// A composite index, restricted to objects of `M`: a live view in the order of the columns.
///
/// `P` is the first column that is not fixed to one value. [`prefix`](CompositeIndex::prefix) fixes
/// it and continues with the next column. [`range`](CompositeIndex::range) restricts it.
pub struct CompositeIndex<'t, M, V, P = Column0> {
    tx: &'t Tx,
    view: IndexView<'t>,
    types: Types<M, V, P>,
}

type Types<M, V, P> = PhantomData<fn() -> (M, V, P)>;

impl<M, V, P> fmt::Debug for CompositeIndex<'_, M, V, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CompositeIndex").field(&self.view).finish()
    }
}

impl<M, V, P> Clone for CompositeIndex<'_, M, V, P> {
    fn clone(&self) -> Self {
        CompositeIndex { tx: self.tx, view: self.view.clone(), types: PhantomData }
    }
}

impl<V: Tuple + HasColumn<Column0>> Columns for ByTuple<V> {
    type First = <V as HasColumn<Column0>>::Value;
    type Entry<L> = (V, L);
    const COUNT: usize = V::LEN + 1;

    fn entry<L>(columns: &IndexEntryRef<'_, '_>, object: L) -> Result<(V, L), EncodingError> {
        Ok((V::decode(columns)?, object))
    }
}

impl<'t, M: Target, V: Tuple + HasColumn<Column0>, P> CompositeIndex<'t, M, V, P> {
    fn with<Q>(&self, view: IndexView<'t>) -> CompositeIndex<'t, M, V, Q> {
        CompositeIndex { tx: self.tx, view, types: PhantomData }
    }

    /// The part of the index with one value in the first column that is not fixed yet.
    ///
    /// # Errors
    /// If the field cannot hold the value.
    pub fn prefix(
        &self,
        value: impl EncodeAs<<V as HasColumn<P>>::Value>,
    ) -> Result<CompositeIndex<'t, M, V, P::Next>>
    where
        P: Column,
        V: HasColumn<P>,
    {
        Ok(self.with(fix(self.tx, &self.view, P::POSITION, &value)?))
    }

    /// The part of the index with a range of values in the first column that is not fixed yet.
    ///
    /// # Errors
    /// If the field cannot hold a bound, or the range ends before it begins.
    pub fn range<Q: EncodeAs<<V as HasColumn<P>>::Value>>(
        &self,
        range: impl RangeBounds<Q>,
    ) -> Result<Self>
    where
        P: Column,
        V: HasColumn<P>,
    {
        Ok(self.with(restrict(self.tx, &self.view, P::POSITION, &range)?))
    }

    /// The part of the index with strings that begin with a text, in the first column that is not
    /// fixed yet. See [`Index::starts_with`](super::Index::starts_with).
    ///
    /// # Errors
    /// Those of the object layer.
    pub fn starts_with(&self, text: &str) -> Result<Self>
    where
        P: Column,
        V: HasColumn<P>,
        <V as HasColumn<P>>::Value: StoredAsString,
    {
        Ok(self.with(starting_with(&self.view, P::POSITION, text)?))
    }

    /// A page of entries: the first `limit` of those after the token of the previous page. `None`
    /// gives the first page. A limit of 0 counts as 1. See [`Index::page`](super::Index::page).
    ///
    /// Cost: one seek, one step per entry, and one more step to see whether there are more entries,
    /// if no column after the first restricted one is restricted too. A page of thousands costs more
    /// seeks. If several types share the index, entries of other types cost seeks too.
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
    pub fn get(&self, values: impl TupleAs<V>) -> Result<Objs<'t, M>> {
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
    ) -> impl DoubleEndedIterator<Item = Result<(V, M::Live<'t>)>> + use<'t, M, V, P> {
        entries::<M, ByTuple<V>>(self.tx, &self.view)
    }

    /// The objects in index order; can also be read from the back.
    pub fn objects(
        &self,
    ) -> impl DoubleEndedIterator<Item = Result<M::Live<'t>>> + use<'t, M, V, P> {
        let from = Handles::many::<M>(self.tx);
        self.view.ids().map(move |id| M::live(from, id?))
    }

    /// The objects of a set, in the order of this view; can also be read from the back.
    ///
    /// Cost: that of [`objects`](CompositeIndex::objects), and for each object of the view at most one seek for
    /// each simple set of which the set is composed. If the set is small and the order does not
    /// matter, read the set.
    pub fn objects_in<S: SetOfObjs<'t, M>>(
        &self,
        set: S,
    ) -> impl DoubleEndedIterator<Item = Result<M::Live<'t>>> + use<'t, M, V, P, S> {
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

impl<M: Source, V: Tuple + HasColumn<Column0>> IndexOn for Composite<M, V> {
    type View<'t> = CompositeIndex<'t, M::Found, V>;

    fn open_as(self, tx: &Tx, how: OpenAs) -> Result<Self::View<'_>> {
        let (source, position) = (TypeId::of::<M>(), self.position);
        let of = ViewOf { source, position, part: None, columns: 0 };
        let view = match KnownViews::get(tx, of, how)? {
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
    KnownViews::remember(tx, of, how, &bindings, &view, None)?;
    Ok(view)
}

when_partial!([M, V] Composite<M, V>);
