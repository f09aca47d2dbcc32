//! Maps (docs/src/objects.md#sets-lists-and-maps).

use std::ops::Bound;
use std::sync::Arc;

use permazen_kv::Direction;

use super::sorted::{Sorted, Stays};
use crate::encoding::Value;
use crate::id::ObjId;
#[cfg(doc)]
use crate::object::Error;
use crate::object::encoded::Encoded;
use crate::object::error::Result;
use crate::object::transaction::Transaction;
use crate::schema::{ResolvedField, ResolvedKind};

/// A live view of a map field of an object, or of a range of its keys.
///
/// Entries are in the order of their encoded keys, null last. The view stays usable after the
/// object changes. If the object is deleted, the view is empty and refuses changes with
/// [`Error::DeletedObject`]. [`encoded`](MapView::encoded) has the methods for encoded keys and
/// values.
#[derive(Debug, Clone)]
pub struct MapView<'t> {
    sorted: Sorted<'t>,
    value: Arc<ResolvedField>,
}

impl<'t> MapView<'t> {
    pub(crate) fn new(tx: &'t Transaction, id: ObjId, field: &Arc<ResolvedField>) -> Option<Self> {
        let ResolvedKind::Map { key, value } = &field.kind else { return None };
        Some(MapView { sorted: Sorted::new(tx, id, field, key, Some(value)), value: value.clone() })
    }

    /// The object.
    pub fn id(&self) -> ObjId {
        self.sorted.content.id
    }

    /// The field.
    pub fn field(&self) -> &Arc<ResolvedField> {
        &self.sorted.content.field
    }

    /// The methods for encoded keys and values. Reads nothing.
    #[doc(hidden)]
    pub fn encoded(&self) -> Encoded<'_, Self> {
        Encoded(self)
    }

    /// The part of this view with keys between two bounds.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if a bound cannot be a key; [`Error::InvalidArgument`] if the lower
    /// bound is above the upper one.
    pub fn range(&self, lower: Bound<&Value>, upper: Bound<&Value>) -> Result<Self> {
        Ok(self.with(self.sorted.range(lower, upper)?))
    }

    fn with(&self, sorted: Sorted<'t>) -> Self {
        MapView { sorted, value: self.value.clone() }
    }

    fn decode_value(&self, key: &[u8], value: &[u8]) -> Result<Value> {
        self.sorted.content.decode(&self.value, value, || key)
    }

    fn decode_pair(&self, key: &[u8], value: &[u8]) -> Result<(Value, Value)> {
        Ok((self.sorted.decode(key)?, self.decode_value(key, value)?))
    }

    // ------------------------------------------------------------------ reading

    /// The value of a key; `None` if there is no such entry or the value cannot be a key. Cost: one
    /// get.
    ///
    /// # Errors
    /// [`Error::Kv`] if the store fails; [`Error::Ended`]; [`Error::Inconsistent`] if the value is
    /// damaged.
    pub fn get(&self, key: &Value) -> Result<Option<Value>> {
        let Some(key) = self.sorted.find_encoding(key)? else { return Ok(None) };
        self.encoded()
            .get(&key, |value| value.map(|value| self.decode_value(&key, value)).transpose())?
    }

    /// Whether there is an entry with this key. Cost: one get.
    ///
    /// # Errors
    /// [`Error::Kv`] if the store fails; [`Error::Ended`].
    pub fn contains_key(&self, key: &Value) -> Result<bool> {
        match self.sorted.find_encoding(key)? {
            Some(key) => self.encoded().contains_key(&key),
            None => Ok(false),
        }
    }

    /// The entries in the order of their keys; can also be read from the back. Live: the map may be
    /// changed during the iteration. A damaged entry gives an error, and the iterator continues
    /// after it. Cost: one seek, then one step per entry.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Result<(Value, Value)>> + use<'t> {
        let view = self.clone();
        self.encoded().iter(move |key, value| view.decode_pair(key, value))
    }

    /// The keys in order, without copying the values; can also be read from the back. Costs as much
    /// as [`iter`](MapView::iter).
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = Result<Value>> + use<'t> {
        let sorted = self.sorted.clone();
        self.encoded().keys(move |key| sorted.decode(key))
    }

    /// All entries in order. Costs as much as [`iter`](MapView::iter).
    ///
    /// # Errors
    /// The errors of [`get`](MapView::get).
    pub fn to_vec(&self) -> Result<Vec<(Value, Value)>> {
        self.iter().collect()
    }

    /// The first entry. Cost: one seek.
    ///
    /// # Errors
    /// The errors of [`get`](MapView::get).
    pub fn first(&self) -> Result<Option<(Value, Value)>> {
        self.sorted.decode_end(Direction::Forward, |key, value| self.decode_pair(key, value))
    }

    /// The last entry. Cost: one seek.
    ///
    /// # Errors
    /// The errors of [`get`](MapView::get).
    pub fn last(&self) -> Result<Option<(Value, Value)>> {
        self.sorted.decode_end(Direction::Reverse, |key, value| self.decode_pair(key, value))
    }

    /// Whether there are no entries. Cost: one seek.
    ///
    /// # Errors
    /// The errors of [`contains_key`](MapView::contains_key).
    pub fn is_empty(&self) -> Result<bool> {
        self.sorted.is_empty()
    }

    /// How many entries there are. Cost: all of them are read.
    ///
    /// # Errors
    /// The errors of [`contains_key`](MapView::contains_key).
    pub fn len(&self) -> Result<usize> {
        self.sorted.len()
    }

    // ------------------------------------------------------------------ changing

    /// Sets the value of a key. Returns the old value; `None` if there was no entry. Cost: one get;
    /// if the value differs, also one put. An indexed value costs one delete and one put more; an
    /// indexed key of a new entry costs one put more.
    ///
    /// # Errors
    /// In this order: [`Error::InvalidValue`] for the key and the value, also for references to
    /// types that the field does not allow; [`Error::InvalidArgument`] for a key outside of the
    /// range of the view; [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist,
    /// or if the key or the value refers to a missing object and the field does not allow that;
    /// [`Error::Inconsistent`] if the old value is damaged (`encoded().put` replaces it).
    pub fn put(&self, key: &Value, value: &Value) -> Result<Option<Value>> {
        let key = self.sorted.encode(key)?;
        let value = self.sorted.content.encode(&self.value, value)?;
        self.encoded().put_with(&key, &value, |old| self.decode_value(&key, old))
    }

    /// Removes an entry and returns its value. `None` if there was no entry or `key` cannot be a
    /// key. Cost: one get, one delete, and one delete for each index.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist;
    /// [`Error::Inconsistent`] if the value is damaged (`encoded().remove` removes it).
    pub fn remove(&self, key: &Value) -> Result<Option<Value>> {
        let Some(key) = self.sorted.find_encoding(key)? else { return Ok(None) };
        self.encoded().remove_with(&key, |old| self.decode_value(&key, old))
    }

    /// Removes and returns the first entry. Cost: one seek, one delete, and one delete for each
    /// index.
    ///
    /// # Errors
    /// The errors of [`remove`](MapView::remove).
    pub fn pop_first(&self) -> Result<Option<(Value, Value)>> {
        self.sorted.pop(Direction::Forward, |key, value| self.decode_pair(key, value))
    }

    /// Removes and returns the last entry. Costs as much as [`pop_first`](MapView::pop_first).
    ///
    /// # Errors
    /// The errors of [`remove`](MapView::remove).
    pub fn pop_last(&self) -> Result<Option<(Value, Value)>> {
        self.sorted.pop(Direction::Reverse, |key, value| self.decode_pair(key, value))
    }

    /// Removes every entry for which `keep` returns `false`. Returns how many were removed. Cost:
    /// all entries are read, then each removal costs as much as [`remove`](MapView::remove).
    ///
    /// `keep` is called for a copy of the entries at the beginning. It may change anything, even
    /// this map: of the entries to remove, those are removed that are still in the map. But it may
    /// not give one of them another value.
    ///
    /// # Errors
    /// The errors of [`remove`](MapView::remove) and [`to_vec`](MapView::to_vec);
    /// [`Error::ChangedMeanwhile`] if an entry to remove does not have the value that `keep` was
    /// shown. Then nothing was removed.
    pub fn retain(&self, mut keep: impl FnMut(&Value, &Value) -> bool) -> Result<usize> {
        self.sorted.retain(|key, value| {
            let (key, value) = self.decode_pair(key, value)?;
            Ok(keep(&key, &value))
        })
    }

    /// Removes all entries of this view. Cost: one scan and one range removal, and one delete per
    /// index entry. If listeners watch the map and the view is only a part of it, the entries are
    /// removed one by one, as [`remove`](MapView::remove) does.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist.
    pub fn clear(&self) -> Result<()> {
        self.sorted.clear()
    }

    /// Removes the entry whose key is a reference to a deleted object. If `null` is given, puts the
    /// value under that key instead. The value is not checked: it may refer to the deleted object
    /// too. If `stays` says so of the value that is there and of the other one, it is left there,
    /// and the other one is lost. Returns whether there was such an entry.
    pub(crate) fn unreference_key(
        &self,
        key: &[u8],
        null: Option<&[u8]>,
        stays: Option<Stays<'_>>,
    ) -> Result<bool> {
        self.sorted.unreference(key, null, stays)
    }

    /// Handles a reference to a deleted object in the value of `key`. If `null` is given, it
    /// becomes the value; otherwise the entry is removed.
    pub(crate) fn unreference_value(&self, key: &[u8], null: Option<&[u8]>) -> Result<()> {
        self.sorted.unreference_value(key, null)
    }
}

/// Maps of encoded keys and values.
impl<'t> Encoded<'_, MapView<'t>> {
    /// The part of this view with keys between two bounds.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lower bound is above the upper one.
    pub fn range(self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<MapView<'t>> {
        let range = self.0.sorted.restricted(lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        Ok(self.0.with(range?))
    }

    /// Lends the value of a key. Costs as much as [`MapView::get`].
    ///
    /// # Errors
    /// The errors of [`MapView::contains_key`].
    pub fn get<R>(self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.0.sorted.get(key, read)
    }

    /// Whether there is an entry with this key. Cost: one get.
    ///
    /// # Errors
    /// The errors of [`MapView::contains_key`].
    pub fn contains_key(self, key: &[u8]) -> Result<bool> {
        self.get(key, |value| value.is_some())
    }

    /// The entries in order, like [`MapView::iter`]. `read` converts each entry. The iterator
    /// continues after an error of `read`.
    pub fn iter<T, F>(self, read: F) -> impl DoubleEndedIterator<Item = Result<T>> + use<'t, T, F>
    where
        F: FnMut(&[u8], &[u8]) -> Result<T>,
    {
        self.0.sorted.iter(true, read)
    }

    /// The keys in order, like [`MapView::keys`]. `read` converts each key. The iterator continues
    /// after an error of `read`.
    pub fn keys<T, F>(
        self,
        mut read: F,
    ) -> impl DoubleEndedIterator<Item = Result<T>> + use<'t, T, F>
    where
        F: FnMut(&[u8]) -> Result<T>,
    {
        self.0.sorted.iter(false, move |key: &[u8], _: &[u8]| read(key))
    }

    /// Lends the first entry. Costs as much as [`MapView::first`].
    ///
    /// # Errors
    /// The errors of [`MapView::contains_key`].
    pub fn first<R>(self, read: impl FnOnce(Option<(&[u8], &[u8])>) -> R) -> Result<R> {
        self.0.sorted.end(Direction::Forward, read)
    }

    /// Lends the last entry. Costs as much as [`MapView::last`].
    ///
    /// # Errors
    /// The errors of [`MapView::contains_key`].
    pub fn last<R>(self, read: impl FnOnce(Option<(&[u8], &[u8])>) -> R) -> Result<R> {
        self.0.sorted.end(Direction::Reverse, read)
    }

    /// Sets the value of a key. Returns the old value, which may be damaged. Costs as much as
    /// [`MapView::put`].
    ///
    /// # Errors
    /// The errors of [`MapView::put`].
    pub fn put(self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        self.put_with(key, value, |old| Ok(old.to_vec()))
    }

    /// Sets the value of a key, and returns the result of `read` for the old value. If `read`
    /// fails, nothing changes.
    pub(crate) fn put_with<R>(
        self,
        key: &[u8],
        value: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        self.0.sorted.put(key, value, read)
    }

    /// Removes an entry and returns its value, which may be damaged. Costs as much as
    /// [`MapView::remove`].
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist.
    pub fn remove(self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.remove_with(key, |old| Ok(old.to_vec()))
    }

    /// Removes an entry, and returns the result of `read` for its value. If `read` fails, nothing
    /// changes.
    pub(crate) fn remove_with<R>(
        self,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        self.0.sorted.remove(key, read)
    }
}
