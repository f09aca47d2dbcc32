//! Maps (docs/src/objects.md#sets-lists-and-maps).

use std::ops::Bound;
use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use super::content::{Content, ContentIter, Target, checked_range};
use crate::encoding::Value;
use crate::id::ObjId;
use crate::object::encoded::Encoded;
use crate::object::error::{Error, Result};
use crate::object::index::{EncodedRange, intersect_ranges, is_within};
use crate::object::notify::ChangeKind;
use crate::object::transaction::Transaction;
use crate::schema::{ResolvedField, ResolvedKind};

/// A live view of a map field of an object, or of a range of its keys.
///
/// Entries are in the order of their encoded keys, null last. The view stays usable after the
/// object changes. If the object is deleted, the view is empty and refuses changes with
/// [`Error::DeletedObject`]. [`encoded`](MapView::encoded) has the methods for encoded keys and
/// values.
#[derive(Debug, Clone)]
pub struct MapView<'t, 'db> {
    content: Content<'t, 'db>,
    key: Arc<ResolvedField>,
    value: Arc<ResolvedField>,
    range: EncodedRange,
}

impl<'t, 'db> MapView<'t, 'db> {
    pub(crate) fn new(
        tx: &'t Transaction<'db>,
        id: ObjId,
        field: &Arc<ResolvedField>,
    ) -> Option<Self> {
        let ResolvedKind::Map { key, value } = &field.kind else { return None };
        Some(MapView {
            content: Content::new(tx, id, field.clone()),
            key: key.clone(),
            value: value.clone(),
            range: (Bound::Unbounded, Bound::Unbounded),
        })
    }

    /// The object.
    pub fn id(&self) -> ObjId {
        self.content.id
    }

    /// The field.
    pub fn field(&self) -> &Arc<ResolvedField> {
        &self.content.field
    }

    /// The methods for encoded keys and values. Reads nothing.
    pub fn encoded(&self) -> Encoded<'_, Self> {
        Encoded(self)
    }

    /// The part of this view with keys between two bounds.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if a bound cannot be a key; [`Error::InvalidArgument`] if the lower
    /// bound is above the upper one.
    pub fn range(&self, lower: Bound<&Value>, upper: Bound<&Value>) -> Result<Self> {
        let lower = self.content.encode_bound(&self.key, lower)?;
        let upper = self.content.encode_bound(&self.key, upper)?;
        self.restricted(lower, upper)
    }

    fn restricted(&self, lower: Bound<Vec<u8>>, upper: Bound<Vec<u8>>) -> Result<Self> {
        let range = intersect_ranges(&self.range, &checked_range(lower, upper)?);
        Ok(MapView { range, ..self.clone() })
    }

    fn is_in_range(&self, key: &[u8]) -> bool {
        is_within(key, &self.range)
    }

    fn is_unbounded(&self) -> bool {
        matches!(self.range, (Bound::Unbounded, Bound::Unbounded))
    }

    /// The encoded key; `None` if the value cannot be a key.
    fn key_bytes(&self, key: &Value) -> Result<Option<Vec<u8>>> {
        match self.content.encode(&self.key, key) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::InvalidValue { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    // ------------------------------------------------------------------ reading

    /// The value of a key; `None` if there is no such entry or the value cannot be a key. Cost: one
    /// get.
    ///
    /// # Errors
    /// [`Error::Kv`] if the store fails; [`Error::Ended`]; [`Error::Inconsistent`] if the value is
    /// damaged.
    pub fn get(&self, key: &Value) -> Result<Option<Value>> {
        let Some(key) = self.key_bytes(key)? else { return Ok(None) };
        self.encoded().get(&key, |value| {
            value.map(|value| self.content.decode(&self.value, value, || &key)).transpose()
        })?
    }

    /// Whether there is an entry with this key. Cost: one get.
    ///
    /// # Errors
    /// [`Error::Kv`] if the store fails; [`Error::Ended`].
    pub fn contains_key(&self, key: &Value) -> Result<bool> {
        match self.key_bytes(key)? {
            Some(key) => self.encoded().contains_key(&key),
            None => Ok(false),
        }
    }

    /// The entries in the order of their keys; can also be read from the back. Live: the map may be
    /// changed during the iteration. A damaged entry gives an error, and the iterator continues
    /// after it. Cost: one seek, then one step per entry.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Result<(Value, Value)>> + use<'t, 'db> {
        let view = self.clone();
        self.encoded().iter(move |key, value| view.decode_pair(key, value))
    }

    /// The keys in order, without copying the values; can also be read from the back. Costs as much
    /// as [`iter`](MapView::iter).
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = Result<Value>> + use<'t, 'db> {
        let (content, part) = (self.content.clone(), self.key.clone());
        self.encoded().keys(move |key| content.decode(&part, key, || key))
    }

    fn decode_pair(&self, key: &[u8], value: &[u8]) -> Result<(Value, Value)> {
        Ok((
            self.content.decode(&self.key, key, || key)?,
            self.content.decode(&self.value, value, || key)?,
        ))
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
        self.encoded().first(|entry| self.decode_entry(entry))?
    }

    /// The last entry. Cost: one seek.
    ///
    /// # Errors
    /// The errors of [`get`](MapView::get).
    pub fn last(&self) -> Result<Option<(Value, Value)>> {
        self.encoded().last(|entry| self.decode_entry(entry))?
    }

    fn decode_entry(&self, entry: Option<(&[u8], &[u8])>) -> Result<Option<(Value, Value)>> {
        entry.map(|(key, value)| self.decode_pair(key, value)).transpose()
    }

    /// Lends the first entry, or in reverse the last one, encoded. Cost: one seek.
    fn end<R>(
        &self,
        direction: Direction,
        read: impl FnOnce(Option<(&[u8], &[u8])>) -> R,
    ) -> Result<R> {
        let Some((min, max)) = self.content.span(&self.range) else { return Ok(read(None)) };
        let prefix_len = self.content.prefix().len();
        let span = KeySpan::new(&min, max.as_deref());
        self.content.first(span, direction, |pair| {
            read(pair.map(|(key, value)| (key.get(prefix_len..).unwrap_or_default(), value)))
        })
    }

    /// Whether there are no entries. Cost: one seek.
    ///
    /// # Errors
    /// The errors of [`contains_key`](MapView::contains_key).
    pub fn is_empty(&self) -> Result<bool> {
        self.encoded().first(|entry| entry.is_none())
    }

    /// How many entries there are. Cost: all of them are read.
    ///
    /// # Errors
    /// The errors of [`contains_key`](MapView::contains_key).
    pub fn len(&self) -> Result<usize> {
        self.encoded().keys(|_| Ok(())).try_fold(0, |count, key| key.map(|()| count + 1))
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
        let key = self.content.encode(&self.key, key)?;
        let value = self.content.encode(&self.value, value)?;
        self.encoded().put_with(&key, &value, |old| self.content.decode(&self.value, old, || &key))
    }

    fn put_in<R>(
        &self,
        target: &Target,
        key: &[u8],
        value: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        let (key_part, value_part) = self.parts_of(target);
        let stored = self.content.key(key);
        let old = self.content.get(&stored)?;
        let result = old.as_deref().map(read).transpose()?;
        if old.as_deref() == Some(value) {
            return Ok(result);
        }
        self.content.check_entry(key_part, key, 0)?;
        self.content.check_entry(value_part, value, key.len())?;
        self.content.put(&stored, value, old.as_deref())?;
        match &old {
            Some(old) => self.content.unindex(value_part, old, key)?,
            None => self.content.index(key_part, key, &[])?,
        }
        self.content.index(value_part, value, key)?;
        if target.monitored {
            let (key, new) = (key.into(), value.into());
            self.content.changed(
                target,
                match &old {
                    Some(old) => ChangeKind::MapReplace { key, old: old[..].into(), new },
                    None => ChangeKind::MapAdd { key, value: new },
                },
            );
        }
        Ok(result)
    }

    /// Removes an entry and returns its value. `None` if there was no entry or `key` cannot be a
    /// key. Cost: one get, one delete, and one delete for each index.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist;
    /// [`Error::Inconsistent`] if the value is damaged (`encoded().remove` removes it).
    pub fn remove(&self, key: &Value) -> Result<Option<Value>> {
        let Some(key) = self.key_bytes(key)? else { return Ok(None) };
        self.encoded().remove_with(&key, |old| self.content.decode(&self.value, old, || &key))
    }

    fn remove_in<R>(
        &self,
        target: &Target,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        let Some(old) = self.content.get(&self.content.key(key))? else { return Ok(None) };
        let result = read(&old)?;
        self.take_in(target, key, &old)?;
        Ok(Some(result))
    }

    /// Removes an entry that is in the map; `old` is its value.
    fn take_in(&self, target: &Target, key: &[u8], old: &[u8]) -> Result<()> {
        let (key_part, value_part) = self.parts_of(target);
        self.content.remove(&self.content.key(key), old)?;
        self.content.unindex(key_part, key, &[])?;
        self.content.unindex(value_part, old, key)?;
        if target.monitored {
            let (key, value) = (key.into(), old.into());
            self.content.changed(target, ChangeKind::MapRemove { key, value });
        }
        Ok(())
    }

    /// Removes and returns the first entry. Cost: one seek, one delete, and one delete for each
    /// index.
    ///
    /// # Errors
    /// The errors of [`remove`](MapView::remove).
    pub fn pop_first(&self) -> Result<Option<(Value, Value)>> {
        self.pop(Direction::Forward)
    }

    /// Removes and returns the last entry. Costs as much as [`pop_first`](MapView::pop_first).
    ///
    /// # Errors
    /// The errors of [`remove`](MapView::remove).
    pub fn pop_last(&self) -> Result<Option<(Value, Value)>> {
        self.pop(Direction::Reverse)
    }

    fn pop(&self, direction: Direction) -> Result<Option<(Value, Value)>> {
        self.content.mutate(|target| {
            let pair = self.end(direction, |pair| {
                pair.map(|(key, value)| {
                    Ok::<_, Error>((key.to_vec(), value.to_vec(), self.decode_pair(key, value)?))
                })
                .transpose()
            })??;
            let Some((key, old, pair)) = pair else { return Ok(None) };
            self.take_in(target, &key, &old)?;
            Ok(Some(pair))
        })
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
        let entries: Vec<(Vec<u8>, Vec<u8>)> = self
            .encoded()
            .iter(|key, value| Ok((key.to_vec(), value.to_vec())))
            .collect::<Result<_>>()?;
        let mut unwanted = Vec::new();
        for entry in entries {
            let (key, value) = self.decode_pair(&entry.0, &entry.1)?;
            if !keep(&key, &value) {
                unwanted.push(entry);
            }
        }
        if unwanted.is_empty() {
            return Ok(0);
        }
        self.content.mutate(|target| {
            unwanted.iter().try_fold(0, |removed, (key, shown)| {
                let removed_one = self.remove_in(target, key, |value| match value == shown {
                    true => Ok(()),
                    false => Err(Error::ChangedMeanwhile { of: self.content.describe() }),
                })?;
                Ok(removed + usize::from(removed_one.is_some()))
            })
        })
    }

    /// Removes all entries of this view. Cost: one scan and one range removal, and one delete per
    /// index entry. If listeners watch the map and the view is only a part of it, the entries are
    /// removed one by one, as [`remove`](MapView::remove) does.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist.
    pub fn clear(&self) -> Result<()> {
        self.content.mutate(|target| {
            let Some((min, max)) = self.content.span(&self.range) else { return Ok(()) };
            // The only notification for many entries is that the whole map was cleared.
            if target.monitored && !self.is_unbounded() {
                let keys = self.encoded().keys(|key| Ok(key.to_vec()));
                let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
                for key in keys {
                    self.remove_in(target, &key, |_| Ok(()))?;
                }
                return Ok(());
            }
            let (key_part, value_part) = self.parts_of(target);
            let id = self.content.id;
            let found =
                self.content.remove_content(&min, max.as_deref(), |key, value, entries| {
                    entries.add_entry(key_part, key, id, &[]);
                    entries.add_entry(value_part, value, id, key);
                    Ok(())
                })?;
            if found && target.monitored {
                self.content.changed(target, ChangeKind::MapClear);
            }
            Ok(())
        })
    }

    /// Removes the entry whose key is a reference to a deleted object. If `null` is given, puts the
    /// value under that key instead. The value is not checked: it may refer to the deleted object
    /// too.
    pub(crate) fn unreference_key(&self, key: &[u8], null: Option<&[u8]>) -> Result<()> {
        self.content.mutate(|target| {
            if let Some(value) = self.remove_in(target, key, |old| Ok(old.to_vec()))?
                && let Some(null) = null
            {
                self.put_in(target, null, &value, |_| Ok(()))?;
            }
            Ok(())
        })
    }

    /// Handles a reference to a deleted object in the value of `key`. If `null` is given, it
    /// becomes the value; otherwise the entry is removed.
    pub(crate) fn unreference_value(&self, key: &[u8], null: Option<&[u8]>) -> Result<()> {
        self.content.mutate(|target| {
            match null {
                Some(null) => self.put_in(target, key, null, |_| Ok(()))?,
                None => self.remove_in(target, key, |_| Ok(()))?,
            };
            Ok(())
        })
    }

    /// The key and value fields, as the object's present schema defines them.
    fn parts_of<'a>(&'a self, target: &'a Target) -> (&'a ResolvedField, &'a ResolvedField) {
        self.parts_in(Some(&target.field))
    }

    fn parts_in<'a>(
        &'a self,
        field: Option<&'a ResolvedField>,
    ) -> (&'a ResolvedField, &'a ResolvedField) {
        match field.map(|field| &field.kind) {
            Some(ResolvedKind::Map { key, value }) => (key, value),
            _ => (&self.key, &self.value),
        }
    }
}

/// Maps of encoded keys and values.
impl<'t, 'db> Encoded<'_, MapView<'t, 'db>> {
    /// The part of this view with keys between two bounds.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lower bound is above the upper one.
    pub fn range(self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<MapView<'t, 'db>> {
        self.0.restricted(lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec))
    }

    /// Lends the value of a key. Costs as much as [`MapView::get`].
    ///
    /// # Errors
    /// The errors of [`MapView::contains_key`].
    pub fn get<R>(self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let MapView { content, .. } = self.0;
        // The encoding of a key is never empty.
        if key.is_empty() || !self.0.is_in_range(key) {
            return Ok(read(None));
        }
        content.lend(&content.key(key), read)
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
    pub fn iter<T, F>(
        self,
        read: F,
    ) -> impl DoubleEndedIterator<Item = Result<T>> + use<'t, 'db, T, F>
    where
        F: FnMut(&[u8], &[u8]) -> Result<T>,
    {
        ContentIter::new(&self.0.content, &self.0.range, true, read)
    }

    /// The keys in order, like [`MapView::keys`]. `read` converts each key. The iterator continues
    /// after an error of `read`.
    pub fn keys<T, F>(
        self,
        mut read: F,
    ) -> impl DoubleEndedIterator<Item = Result<T>> + use<'t, 'db, T, F>
    where
        F: FnMut(&[u8]) -> Result<T>,
    {
        let MapView { content, range, .. } = self.0;
        ContentIter::new(content, range, false, move |key: &[u8], _: &[u8]| read(key))
    }

    /// Lends the first entry. Costs as much as [`MapView::first`].
    ///
    /// # Errors
    /// The errors of [`MapView::contains_key`].
    pub fn first<R>(self, read: impl FnOnce(Option<(&[u8], &[u8])>) -> R) -> Result<R> {
        self.0.end(Direction::Forward, read)
    }

    /// Lends the last entry. Costs as much as [`MapView::last`].
    ///
    /// # Errors
    /// The errors of [`MapView::contains_key`].
    pub fn last<R>(self, read: impl FnOnce(Option<(&[u8], &[u8])>) -> R) -> Result<R> {
        self.0.end(Direction::Reverse, read)
    }

    /// Sets the value of a key. Returns the old value, which may be damaged. Costs as much as
    /// [`MapView::put`].
    ///
    /// # Errors
    /// The errors of [`MapView::put`].
    pub fn put(self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        self.put_with(key, value, |old| Ok(old.to_vec()))
    }

    /// Sets the value of a key, and returns what `read` makes of the old value. If `read` fails,
    /// nothing changes.
    pub(crate) fn put_with<R>(
        self,
        key: &[u8],
        value: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        let view = self.0;
        // The schema that the object has now decides which types may be referred to.
        let present = view.content.present_field();
        let (key_part, value_part) = view.parts_in(present.as_deref());
        for (part, bytes) in [(key_part, key), (value_part, value)] {
            view.content.check_encoded(part, bytes)?;
            view.content.check_type(part, bytes)?;
        }
        if !view.is_in_range(key) {
            return Err(Error::invalid_argument(format!(
                "the key to put is outside of the range of the view of {}",
                view.content.describe()
            )));
        }
        view.content.mutate(|target| {
            let (key_part, value_part) = view.parts_of(target);
            view.content.check_exists(key_part, key)?;
            view.content.check_exists(value_part, value)?;
            view.put_in(target, key, value, read)
        })
    }

    /// Removes an entry and returns its value, which may be damaged. Costs as much as
    /// [`MapView::remove`].
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist.
    pub fn remove(self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.remove_with(key, |old| Ok(old.to_vec()))
    }

    /// Removes an entry, and returns what `read` makes of its value. If `read` fails, nothing
    /// changes.
    pub(crate) fn remove_with<R>(
        self,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        let view = self.0;
        // The encoding of a key is never empty.
        if key.is_empty() || !view.is_in_range(key) {
            return Ok(None);
        }
        view.content.mutate(|target| view.remove_in(target, key, read))
    }
}
