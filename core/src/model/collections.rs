//! Live views of the collections of an object, with typed values.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use super::error::{Error, Result};
use super::handle::Handle;
use super::target::{Ref, Target};
use super::values::EncodeAs;
use crate::encoding::{EncodingError, FieldType};
use crate::object::{self, EncodedRange, ListView, MapView, SetView, borrowed, encode_bound};

/// What the views of sets, lists and maps share.
#[derive(Clone, Copy)]
struct At<'t> {
    handle: Handle<'t>,
    position: usize,
}

impl<'t> At<'t> {
    fn undecodable(&self, source: EncodingError) -> Error {
        match self.handle.binding.field(self.position) {
            Ok(field) => self.handle.undecodable(field, source),
            Err(error) => error,
        }
    }

    fn decode<V: FieldType>(&self, bytes: &[u8]) -> Result<V> {
        V::decode_all(bytes).map_err(|source| self.undecodable(source))
    }

    /// Runs a change. The change decodes the old value with the closure that it receives, before it
    /// writes anything. So if the old value is damaged, nothing changes.
    fn decoding<V: FieldType, R>(
        &self,
        change: impl FnOnce(&mut dyn FnMut(&[u8]) -> object::Result<V>) -> Result<R>,
    ) -> Result<R> {
        // The object layer can only pass on its own errors, so the error with field and object is
        // kept here.
        let mut damage = None;
        let result = change(&mut |bytes| {
            self.decode(bytes).map_err(|error| {
                let told = object::Error::inconsistent(error.to_string());
                damage = Some(error);
                told
            })
        });
        match damage {
            Some(error) => Err(error),
            None => result,
        }
    }

    /// Runs `body` on the encoded form of a value.
    fn encoded<V, R>(
        &self,
        value: &impl EncodeAs<V>,
        body: impl FnOnce(&[u8]) -> object::Result<R>,
    ) -> Result<R> {
        self.handle.tx.with_encoded(value, |result, bytes| {
            self.check_encoded(result)?;
            Ok(body(bytes)?)
        })
    }

    fn check_encoded(&self, result: Result<(), EncodingError>) -> Result<()> {
        let Err(source) = result else { return Ok(()) };
        let field = self.handle.binding.field(self.position)?;
        Err(self.handle.unencodable(field, source))
    }

    /// Changes the collection with the encoded form of a value. The object moves first if it must.
    fn change<V, R>(
        &self,
        value: &impl EncodeAs<V>,
        mut change: impl FnMut(&[u8]) -> object::Result<R>,
    ) -> Result<R> {
        self.handle.tx.with_encoded(value, |result, bytes| {
            self.check_encoded(result)?;
            self.handle.change(self.position, || change(bytes))
        })
    }

    /// Whether the object's own schema lacks the collection, so that nothing can be removed.
    fn is_empty_there(&self) -> Result<bool> {
        self.handle.is_empty_there(self.position)
    }

    /// Changes the collection. The object moves first if it must.
    fn change_all<R>(&self, change: impl FnMut() -> object::Result<R>) -> Result<R> {
        self.handle.change(self.position, change)
    }

    /// The encoded forms of all values that an iterator gives. Nothing is written before the
    /// iterator has ended, so it may read and change what it likes.
    fn encoded_all<V>(&self, values: impl IntoIterator<Item: EncodeAs<V>>) -> Result<Vec<Vec<u8>>> {
        values.into_iter().map(|value| self.encoded(&value, |bytes| Ok(bytes.to_vec()))).collect()
    }

    fn bounds<V, Q: EncodeAs<V>>(&self, range: &impl RangeBounds<Q>) -> Result<EncodedRange> {
        let bytes = |value: &Q| self.encoded(value, |bytes| Ok(bytes.to_vec()));
        Ok((encode_bound(range.start_bound(), bytes)?, encode_bound(range.end_bound(), bytes)?))
    }
}

macro_rules! view_basics {
    ($name:ident<$($parameter:ident),*>) => {
        impl<$($parameter),*> Clone for $name<'_, $($parameter),*> {
            fn clone(&self) -> Self {
                $name { at: self.at, view: self.view.clone(), types: PhantomData }
            }
        }

        impl<$($parameter),*> fmt::Debug for $name<'_, $($parameter),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.view).finish()
            }
        }
    };
}

/// A set of an object: a live view in the order of the encoded elements, with null last.
///
/// The set may be changed during an iteration. The iterator does not return elements that were
/// removed ahead of it, and does return elements that were added ahead of it. The set of a deleted
/// object is empty and refuses changes. Costs are for an object that the transaction has used
/// before; the first use costs one more get.
pub struct SetOf<'t, E> {
    at: At<'t>,
    view: SetView<'t, 'static>,
    types: PhantomData<fn() -> E>,
}

view_basics!(SetOf<E>);

impl<'t, E: FieldType> SetOf<'t, E> {
    pub(crate) fn new(handle: Handle<'t>, position: usize) -> Result<Self> {
        let field = handle.binding.field(position)?;
        handle.prepare_to_read(position)?;
        let view = handle.tx.core.encoded().set_view(handle.id, field)?;
        Ok(SetOf { at: At { handle, position }, view, types: PhantomData })
    }

    /// Whether an element is in the set. Cost: one get.
    ///
    /// # Errors
    /// If the field cannot hold the element.
    pub fn contains(&self, element: impl EncodeAs<E>) -> Result<bool> {
        self.at.encoded(&element, |bytes| self.view.encoded().contains(bytes))
    }

    /// Adds an element. Returns false if it was already there. Cost: one get; one put, and one more
    /// for an index.
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold the element.
    pub fn add(&self, element: impl EncodeAs<E>) -> Result<bool> {
        self.at.change(&element, |bytes| self.view.encoded().add(bytes))
    }

    /// Adds all elements or none. Elements that are already there stay. Each element costs the same
    /// as with [`add`](SetOf::add).
    ///
    /// The iterator is read to its end before the first element is added, so it may read this set.
    /// Listeners run when all elements have been added.
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold an element.
    pub fn extend(&self, elements: impl IntoIterator<Item: EncodeAs<E>>) -> Result<()> {
        let elements = self.at.encoded_all(elements)?;
        self.at.change_all(|| {
            self.at.handle.tx.core.mutate(|| {
                elements.iter().try_for_each(|element| self.view.encoded().add(element).map(drop))
            })
        })
    }

    /// Removes an element. Returns false if it was not there. Cost: one get; one delete, and one
    /// more for an index.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn remove(&self, element: impl EncodeAs<E>) -> Result<bool> {
        if self.at.is_empty_there()? {
            return Ok(false);
        }
        self.at.change(&element, |bytes| self.view.encoded().remove(bytes))
    }

    /// Removes all elements of this set, or of this range.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn clear(&self) -> Result<()> {
        // Nothing is there to remove.
        if self.at.is_empty_there()? {
            return Ok(());
        }
        self.at.change_all(|| self.view.clear())
    }

    /// The elements in order; can also be read from the back. Cost: one seek, then one step per
    /// element.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Result<E>> + use<'t, E> {
        let at = self.at;
        self.view.encoded().iter(move |bytes| Ok(at.decode(bytes))).map(|element| element?)
    }

    /// The part of the set in a range. Reads nothing.
    ///
    /// # Errors
    /// If a bound cannot be an element, or the range ends before it begins.
    pub fn range<Q: EncodeAs<E>>(&self, range: impl RangeBounds<Q>) -> Result<Self> {
        let (lower, upper) = self.at.bounds(&range)?;
        Ok(SetOf {
            view: self.view.encoded().range(borrowed(&lower), borrowed(&upper))?,
            ..self.clone()
        })
    }

    /// The smallest element. Cost: one seek.
    pub fn first(&self) -> Result<Option<E>> {
        self.view.encoded().first(|bytes| bytes.map(|bytes| self.at.decode(bytes)).transpose())?
    }

    /// The largest element. Cost: one seek.
    pub fn last(&self) -> Result<Option<E>> {
        self.view.encoded().last(|bytes| bytes.map(|bytes| self.at.decode(bytes)).transpose())?
    }

    /// The number of elements. Reads all of them.
    pub fn len(&self) -> Result<usize> {
        Ok(self.view.len()?)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.view.is_empty()?)
    }

    /// Collects all elements in order.
    pub fn load<C: FromIterator<E>>(&self) -> Result<C> {
        self.iter().collect()
    }
}

impl<'t, T: Target> SetOf<'t, Ref<T>> {
    /// The objects the set refers to.
    pub fn objects(&self) -> impl DoubleEndedIterator<Item = Result<T::Live<'t>>> + use<'t, T> {
        let tx = self.at.handle.tx;
        self.iter().map(move |reference| T::live(tx, reference?.id()))
    }
}

impl<'t, T: Target> SetOf<'t, Option<Ref<T>>> {
    /// The objects the set refers to. Null is left out.
    pub fn objects(&self) -> impl DoubleEndedIterator<Item = Result<T::Live<'t>>> + use<'t, T> {
        let tx = self.at.handle.tx;
        self.iter().filter_map(move |reference| match reference {
            Ok(reference) => reference.map(|reference| T::live(tx, reference.id())),
            Err(error) => Some(Err(error)),
        })
    }
}

/// A list of an object: a live view. The list of a deleted object is empty and refuses changes.
///
/// The list may be changed during an iteration. Iterators count positions, so they do not return
/// elements that a change moves to a position they have passed. Inserting and removing moves all
/// elements after the position. Each moved element costs one put, and one more delete and put if
/// the elements are indexed. Costs are for an object that the transaction has used before; the
/// first use costs one more get.
///
/// Parts of a list, cursors and `retain` are methods of the view of the object layer,
/// [`list_view`](crate::object::Transaction::list_view).
pub struct ListOf<'t, E> {
    at: At<'t>,
    view: ListView<'t, 'static>,
    types: PhantomData<fn() -> E>,
}

view_basics!(ListOf<E>);

impl<'t, E: FieldType> ListOf<'t, E> {
    pub(crate) fn new(handle: Handle<'t>, position: usize) -> Result<Self> {
        let field = handle.binding.field(position)?;
        handle.prepare_to_read(position)?;
        let view = handle.tx.core.encoded().list_view(handle.id, field)?;
        Ok(ListOf { at: At { handle, position }, view, types: PhantomData })
    }

    /// The element at a position; `None` after the end. Cost: one get.
    pub fn get(&self, position: u32) -> Result<Option<E>> {
        self.view
            .encoded()
            .get(position, |bytes| bytes.map(|bytes| self.at.decode(bytes)).transpose())?
    }

    /// Replaces the element at a position and returns the old one. Cost: one get; if the element
    /// differs, one put, and one delete and one put for an index.
    ///
    /// # Errors
    /// If the object or the position does not exist, or the field cannot hold the element.
    /// [`Error::Decode`] if the old element is damaged.
    pub fn set(&self, position: u32, element: impl EncodeAs<E>) -> Result<E> {
        self.at.decoding(|old| {
            self.at
                .change(&element, |bytes| self.view.encoded().set_with(position, bytes, &mut *old))
        })
    }

    /// Appends an element. Cost: one seek and one put, and one put for an index.
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold the element.
    pub fn push(&self, element: impl EncodeAs<E>) -> Result<()> {
        self.at.change(&element, |bytes| self.view.encoded().push(bytes))
    }

    /// Appends all elements or none. Cost: one seek, and the puts of [`push`](ListOf::push) for
    /// each element.
    ///
    /// The iterator is read to its end before the first element is appended, so it may read this
    /// list.
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold an element.
    pub fn extend(&self, elements: impl IntoIterator<Item: EncodeAs<E>>) -> Result<()> {
        let elements = self.at.encoded_all(elements)?;
        let elements: Vec<&[u8]> = elements.iter().map(|bytes| &bytes[..]).collect();
        self.at.change_all(|| self.view.encoded().extend(&elements))?;
        Ok(())
    }

    /// Inserts an element before the element at a position, or at the end. All elements after it
    /// move.
    ///
    /// # Errors
    /// If the object does not exist, the position is after the end, or the field cannot hold the
    /// element.
    pub fn insert(&self, position: u32, element: impl EncodeAs<E>) -> Result<()> {
        self.at.change(&element, |bytes| self.view.encoded().insert(position, bytes))
    }

    /// Removes the element at a position and returns it. All elements after it move.
    ///
    /// # Errors
    /// If the object or the position does not exist. [`Error::Decode`] if the element is damaged.
    pub fn remove(&self, position: u32) -> Result<E> {
        self.at.decoding(|old| {
            self.at.change_all(|| self.view.encoded().remove_with(position, &mut *old))
        })
    }

    /// Removes the last element and returns it. Cost: one seek and one delete, and one delete for
    /// an index.
    ///
    /// # Errors
    /// If the object does not exist. [`Error::Decode`] if the element is damaged.
    pub fn pop(&self) -> Result<Option<E>> {
        if self.at.is_empty_there()? {
            return Ok(None);
        }
        self.at.decoding(|old| {
            self.at.change_all(|| self.view.encoded().pop_with(|_, bytes| old(bytes)))
        })
    }

    /// Removes the elements from position `from` up to, but not including, position `to`. The
    /// elements after them move once.
    ///
    /// # Errors
    /// If the object or a position does not exist.
    pub fn remove_range(&self, from: u32, to: u32) -> Result<()> {
        self.at.change_all(|| self.view.remove_range(from, to))
    }

    /// Removes all elements.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn clear(&self) -> Result<()> {
        // Nothing is there to remove.
        if self.at.is_empty_there()? {
            return Ok(());
        }
        self.at.change_all(|| self.view.clear())
    }

    /// The elements in order; can also be read from the back. Cost: one seek, then one step per
    /// element.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Result<E>> + use<'t, E> {
        let at = self.at;
        self.view.encoded().iter(move |_, bytes| Ok(at.decode(bytes))).map(|element| element?)
    }

    /// The elements at these positions in order; can also be read from the back. Cost: one seek,
    /// then one step per element, wherever in the list they are.
    pub fn iter_range<R: RangeBounds<u32>>(
        &self,
        positions: R,
    ) -> impl DoubleEndedIterator<Item = Result<E>> + use<'t, E, R> {
        let at = self.at;
        let read = move |_: u32, bytes: &[u8]| Ok(at.decode(bytes));
        self.view.encoded().iter_range(positions, read).map(|element| element?)
    }

    /// The first position of an element. Cost: one seek, then one step per element up to that
    /// position.
    ///
    /// # Errors
    /// If the field cannot hold the element.
    pub fn position(&self, element: impl EncodeAs<E>) -> Result<Option<u32>> {
        self.at.encoded(&element, |bytes| self.view.encoded().position(bytes))
    }

    /// The number of elements. Cost: one seek.
    pub fn len(&self) -> Result<u32> {
        Ok(self.view.len()?)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.view.is_empty()?)
    }

    /// Collects all elements in order.
    pub fn load<C: FromIterator<E>>(&self) -> Result<C> {
        self.iter().collect()
    }
}

impl<'t, T: Target> ListOf<'t, Ref<T>> {
    /// The objects the list refers to.
    pub fn objects(&self) -> impl DoubleEndedIterator<Item = Result<T::Live<'t>>> + use<'t, T> {
        let tx = self.at.handle.tx;
        self.iter().map(move |reference| T::live(tx, reference?.id()))
    }
}

impl<'t, T: Target> ListOf<'t, Option<Ref<T>>> {
    /// The objects the list refers to. Nulls are left out.
    pub fn objects(&self) -> impl DoubleEndedIterator<Item = Result<T::Live<'t>>> + use<'t, T> {
        let tx = self.at.handle.tx;
        self.iter().filter_map(move |reference| match reference {
            Ok(reference) => reference.map(|reference| T::live(tx, reference.id())),
            Err(error) => Some(Err(error)),
        })
    }
}

/// A map of an object: a live view in the order of the encoded keys, with null last.
///
/// The map may be changed during an iteration. The iterator does not return entries that were
/// removed ahead of it, and does return entries that were added ahead of it. The map of a deleted
/// object is empty and refuses changes. Costs are for an object that the transaction has used
/// before; the first use costs one more get.
pub struct MapOf<'t, K, V> {
    at: At<'t>,
    view: MapView<'t, 'static>,
    types: PhantomData<fn() -> (K, V)>,
}

view_basics!(MapOf<K, V>);

impl<'t, K: FieldType, V: FieldType> MapOf<'t, K, V> {
    pub(crate) fn new(handle: Handle<'t>, position: usize) -> Result<Self> {
        let field = handle.binding.field(position)?;
        handle.prepare_to_read(position)?;
        let view = handle.tx.core.encoded().map_view(handle.id, field)?;
        Ok(MapOf { at: At { handle, position }, view, types: PhantomData })
    }

    /// The value of a key. Cost: one get.
    ///
    /// # Errors
    /// If the field cannot hold the key. [`Error::Decode`] if the value is damaged.
    pub fn get(&self, key: impl EncodeAs<K>) -> Result<Option<V>> {
        let at = self.at;
        let value = |bytes: Option<&[u8]>| bytes.map(|bytes| at.decode(bytes)).transpose();
        at.encoded(&key, |key| self.view.encoded().get(key, value))?
    }

    /// Whether there is an entry with this key. Cost: one get.
    ///
    /// # Errors
    /// If the field cannot hold the key.
    pub fn contains_key(&self, key: impl EncodeAs<K>) -> Result<bool> {
        self.at.encoded(&key, |key| self.view.encoded().contains_key(key))
    }

    /// Sets the value of a key and returns the old one. Cost: one get; if the value differs, one
    /// put; one put if the keys are indexed and the key is new; one delete and one put if the
    /// values are indexed.
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold the key or the value.
    /// [`Error::Decode`] if the old value is damaged.
    pub fn insert(&self, key: impl EncodeAs<K>, value: impl EncodeAs<V>) -> Result<Option<V>> {
        let value = self.at.encoded(&value, |bytes| Ok(bytes.to_vec()))?;
        self.at.decoding(|old| {
            self.at.change(&key, |key| self.view.encoded().put_with(key, &value, &mut *old))
        })
    }

    /// Sets the values of all these keys or of none. If a key is given more than once, the last
    /// value counts. Each entry costs the same as with [`insert`](MapOf::insert).
    ///
    /// The iterator is read to its end before the first value is set, so it may read this map.
    /// Listeners run when all values have been set.
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold a key or a value. Damaged old values
    /// are replaced.
    pub fn extend<A: EncodeAs<K>, B: EncodeAs<V>>(
        &self,
        entries: impl IntoIterator<Item = (A, B)>,
    ) -> Result<()> {
        let encode = |(key, value)| {
            let key = self.at.encoded(&key, |bytes| Ok(bytes.to_vec()))?;
            Ok((key, self.at.encoded(&value, |bytes| Ok(bytes.to_vec()))?))
        };
        let entries: Vec<(Vec<u8>, Vec<u8>)> =
            entries.into_iter().map(encode).collect::<Result<_>>()?;
        self.at.change_all(|| {
            self.at.handle.tx.core.mutate(|| {
                entries
                    .iter()
                    .try_for_each(|(key, value)| self.view.encoded().put(key, value).map(drop))
            })
        })
    }

    /// Removes the entry of a key and returns its value. Cost: one get; one delete, and one for
    /// each index.
    ///
    /// # Errors
    /// If the object does not exist. [`Error::Decode`] if the value is damaged.
    pub fn remove(&self, key: impl EncodeAs<K>) -> Result<Option<V>> {
        if self.at.is_empty_there()? {
            return Ok(None);
        }
        self.at.decoding(|old| {
            self.at.change(&key, |key| self.view.encoded().remove_with(key, &mut *old))
        })
    }

    /// Removes all entries of this map, or of this range.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn clear(&self) -> Result<()> {
        // Nothing is there to remove.
        if self.at.is_empty_there()? {
            return Ok(());
        }
        self.at.change_all(|| self.view.clear())
    }

    /// The entries in the order of their keys; can also be read from the back. Cost: one seek, then
    /// one step per entry.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Result<(K, V)>> + use<'t, K, V> {
        let at = self.at;
        let entry = move |key: &[u8], value: &[u8]| Ok((at.decode(key)?, at.decode(value)?));
        self.view.encoded().iter(move |key, value| Ok(entry(key, value))).map(|entry| entry?)
    }

    /// The keys in order; can also be read from the back.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = Result<K>> + use<'t, K, V> {
        let at = self.at;
        self.view.encoded().iter(move |key, _| Ok(at.decode(key))).map(|key| key?)
    }

    /// The values in the order of their keys; can also be read from the back.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = Result<V>> + use<'t, K, V> {
        let at = self.at;
        self.view.encoded().iter(move |_, value| Ok(at.decode(value))).map(|value| value?)
    }

    /// The part of the map with keys in a range. Reads nothing.
    ///
    /// # Errors
    /// If a bound cannot be a key, or the range ends before it begins.
    pub fn range<Q: EncodeAs<K>>(&self, range: impl RangeBounds<Q>) -> Result<Self> {
        let (lower, upper) = self.at.bounds(&range)?;
        Ok(MapOf {
            view: self.view.encoded().range(borrowed(&lower), borrowed(&upper))?,
            ..self.clone()
        })
    }

    /// The entry with the smallest key. Cost: one seek, which may read the first few entries.
    pub fn first(&self) -> Result<Option<(K, V)>> {
        self.iter().next().transpose()
    }

    /// The entry with the largest key. Cost: one seek, which may read the last few entries.
    pub fn last(&self) -> Result<Option<(K, V)>> {
        self.iter().next_back().transpose()
    }

    /// The number of entries. Reads all of them.
    pub fn len(&self) -> Result<usize> {
        Ok(self.view.len()?)
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.view.is_empty()?)
    }

    /// Collects all entries in order.
    pub fn load<C: FromIterator<(K, V)>>(&self) -> Result<C> {
        self.iter().collect()
    }
}
