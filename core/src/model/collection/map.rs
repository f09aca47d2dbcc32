//! Maps of objects, with typed keys and values.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use super::field::{CollectionField, view_basics};
use crate::encoding::FieldType;
use crate::model::error::Result;
use crate::model::handle::Handle;
use crate::model::values::EncodeAs;
use crate::object::{self, MapView, borrowed};

/// A map of an object: a live view in the order of the encoded keys, with null last.
///
/// The map may be changed during an iteration. The iterator does not return entries that were
/// removed ahead of it, and does return entries that were added ahead of it. The map of a deleted
/// object is empty and refuses changes. Costs are for an object that the transaction has used
/// before; the first use costs one more get.
pub struct MapOf<'t, K, V> {
    at: CollectionField<'t>,
    view: MapView<'t>,
    types: PhantomData<fn() -> (K, V)>,
}

view_basics!(MapOf<K, V>);

impl<'t, K: FieldType, V: FieldType> MapOf<'t, K, V> {
    pub(crate) fn new(handle: Handle<'t>, position: usize) -> Result<Self> {
        // The object moves before anything is read, so that what is read is of the right
        // definition.
        handle.prepare_to_read(position)?;
        Self::prepared(handle, position)
    }

    fn prepared(handle: Handle<'t>, position: usize) -> Result<Self> {
        let field = handle.binding.field(position)?;
        let view = handle.tx.core.encoded().map_view(handle.id, field)?;
        Ok(MapOf { at: CollectionField { handle, position }, view, types: PhantomData })
    }

    /// The value of a key. Cost: one get.
    ///
    /// # Errors
    /// If the field cannot hold the key. [`Error::Decode`](crate::Error::Decode) if the value is
    /// damaged.
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
    /// [`Error::Decode`](crate::Error::Decode) if the old value is damaged.
    pub fn insert(&self, key: impl EncodeAs<K>, value: impl EncodeAs<V>) -> Result<Option<V>> {
        let value = self.at.encoded(&value, |bytes| Ok(bytes.to_vec()))?;
        self.at.decoding(|old| {
            self.at.change(&key, |key| self.view.encoded().put_with(key, &value, &mut *old))
        })
    }

    /// The encoded forms of all entries that an iterator gives.
    fn encoded_entries<A: EncodeAs<K>, B: EncodeAs<V>>(
        &self,
        entries: impl IntoIterator<Item = (A, B)>,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let encode = |(key, value)| {
            let key = self.at.encoded(&key, |bytes| Ok(bytes.to_vec()))?;
            Ok((key, self.at.encoded(&value, |bytes| Ok(bytes.to_vec()))?))
        };
        entries.into_iter().map(encode).collect()
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
        let entries = self.encoded_entries(entries)?;
        self.at.change_all(|| {
            // One operation, so that an entry that is refused leaves the map as it was.
            self.at.handle.tx.core.mutate(|| {
                entries
                    .iter()
                    .try_for_each(|(key, value)| self.view.encoded().put(key, value).map(drop))
            })
        })
    }

    /// Gives the map these entries and no others, as one operation. Writes only the differences. If
    /// a key is given more than once, the last value counts.
    ///
    /// The iterator is read to its end before anything changes, so it may read this map. Listeners
    /// run when the map is as it will be. Cost: one seek and one step per entry that is there, and
    /// the writes of [`insert`](MapOf::insert) and [`remove`](MapOf::remove) for each entry that
    /// differs.
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold a key or a value. Nothing has then
    /// changed.
    pub fn replace<A: EncodeAs<K>, B: EncodeAs<V>>(
        &self,
        entries: impl IntoIterator<Item = (A, B)>,
    ) -> Result<()> {
        // Of equal keys, `collect` keeps the last one.
        let wanted: BTreeMap<Vec<u8>, Vec<u8>> =
            self.encoded_entries(entries)?.into_iter().collect();
        self.at.change_all(|| {
            self.at.handle.tx.core.mutate(|| {
                let map = || self.view.encoded();
                let there = map().iter(|key, _| Ok(key.to_vec()));
                let there: Vec<Vec<u8>> = there.collect::<object::Result<_>>()?;
                for key in there.iter().filter(|key| !wanted.contains_key(*key)) {
                    map().remove(key)?;
                }
                wanted.iter().try_for_each(|(key, value)| map().put(key, value).map(drop))
            })
        })
    }

    /// Removes the entry of a key and returns its value. Cost: one get; one delete, and one for
    /// each index.
    ///
    /// # Errors
    /// If the object does not exist; the errors of [`Obj::migrate`](crate::model::Obj::migrate) if
    /// it must move. [`Error::Decode`](crate::Error::Decode) if the value is damaged.
    pub fn remove(&self, key: impl EncodeAs<K>) -> Result<Option<V>> {
        // The object need not move only to find out that there is nothing.
        if self.at.has_nothing_to_remove()? {
            return Ok(None);
        }
        self.at.decoding(|old| {
            self.at.change(&key, |key| self.view.encoded().remove_with(key, &mut *old))
        })
    }

    /// Removes all entries of this map, or of this range.
    ///
    /// # Errors
    /// If the object does not exist; the errors of [`Obj::migrate`](crate::model::Obj::migrate) if
    /// it must move.
    pub fn clear(&self) -> Result<()> {
        // The object need not move only to find out that there is nothing.
        if self.at.has_nothing_to_remove()? {
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

/// For generated accessors. `position` is the position of the field in the struct.
impl<'t> Handle<'t> {
    /// The live view of a map.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn map_of<K: FieldType, V: FieldType>(&self, position: usize) -> Result<MapOf<'t, K, V>> {
        MapOf::new(*self, position)
    }

    /// Gives a map these entries and no others.
    ///
    /// # Errors
    /// The errors of [`MapOf::replace`].
    pub fn replace_map<K: FieldType, V: FieldType, A: EncodeAs<K>, B: EncodeAs<V>>(
        &self,
        position: usize,
        entries: impl IntoIterator<Item = (A, B)>,
    ) -> Result<()> {
        // An object that moves for this moves to be changed, not to be read.
        self.prepare_to_replace(position)?;
        MapOf::<K, V>::prepared(*self, position)?.replace(entries)
    }
}
