//! The part that sets and maps share: pairs in the order of their encoded elements or keys.

use std::ops::Bound;
use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use super::content::{Content, ContentIter, Target};
use crate::encoding::Value;
use crate::id::ObjId;
use crate::object::error::{Error, Result};
use crate::object::index::{EncodedRange, intersect_ranges, is_inverted, is_within};
use crate::object::notify::ChangeKind;
use crate::object::transaction::Transaction;
use crate::schema::{ResolvedField, ResolvedKind};

/// Whether the first of two encoded values stays where only one of them can be.
pub(crate) type Stays<'s> = &'s dyn Fn(&[u8], &[u8]) -> bool;

/// The pairs of a set or map, or only those in a range. An element of a set is the key of a pair
/// with an empty value.
#[derive(Debug, Clone)]
pub(super) struct Sorted<'t> {
    pub(super) content: Content<'t>,
    /// The element field of a set, or the key field of a map.
    key: Arc<ResolvedField>,
    /// The value field of a map.
    value: Option<Arc<ResolvedField>>,
    range: EncodedRange,
}

impl<'t> Sorted<'t> {
    pub(super) fn new(
        tx: &'t Transaction,
        id: ObjId,
        field: &Arc<ResolvedField>,
        key: &Arc<ResolvedField>,
        value: Option<&Arc<ResolvedField>>,
    ) -> Self {
        Sorted {
            content: Content::new(tx, id, field.clone()),
            key: key.clone(),
            value: value.cloned(),
            range: (Bound::Unbounded, Bound::Unbounded),
        }
    }

    /// The key and value fields, as the schema that the object has now defines them.
    fn parts_in<'a>(
        &'a self,
        field: Option<&'a ResolvedField>,
    ) -> (&'a ResolvedField, Option<&'a ResolvedField>) {
        match (field.map(|field| &field.kind), &self.value) {
            (Some(ResolvedKind::Set { element }), None) => (element, None),
            (Some(ResolvedKind::Map { key, value }), Some(_)) => (key, Some(value)),
            // The object has no such field any more, so the definition of the view is all there is.
            (_, value) => (&self.key, value.as_deref()),
        }
    }

    /// The pairs with keys between two bounds.
    pub(super) fn range(&self, lower: Bound<&Value>, upper: Bound<&Value>) -> Result<Self> {
        let lower = self.content.encode_bound(&self.key, lower)?;
        let upper = self.content.encode_bound(&self.key, upper)?;
        self.restricted(lower, upper)
    }

    /// The pairs with keys between two encoded bounds.
    pub(super) fn restricted(&self, lower: Bound<Vec<u8>>, upper: Bound<Vec<u8>>) -> Result<Self> {
        // Such bounds are a mistake of the caller. A range that is merely empty is not refused.
        if is_inverted(&lower, &upper) {
            return Err(Error::invalid_argument(
                "the lower bound of a range is above the upper one",
            ));
        }
        let range = intersect_ranges(&self.range, &(lower, upper));
        Ok(Sorted { range, ..self.clone() })
    }

    /// Whether there can be a pair with this key.
    fn may_contain(&self, key: &[u8]) -> bool {
        // The encoding of a key is never empty.
        !key.is_empty() && is_within(key, &self.range)
    }

    pub(super) fn encode(&self, key: &Value) -> Result<Vec<u8>> {
        self.content.encode(&self.key, key)
    }

    /// The encoded key; `None` if the value cannot be a key.
    pub(super) fn find_encoding(&self, key: &Value) -> Result<Option<Vec<u8>>> {
        self.content.find_encoding(&self.key, key)
    }

    pub(super) fn decode(&self, key: &[u8]) -> Result<Value> {
        self.content.decode(&self.key, key, || key)
    }

    // ------------------------------------------------------------------ reading

    /// Lends the value of a key. Cost: one get.
    pub(super) fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        // The store need not be asked.
        if !self.may_contain(key) {
            return Ok(read(None));
        }
        self.content.lend(&self.content.key(key), read)
    }

    /// The pairs in order, each converted by `read`.
    pub(super) fn iter<T, F>(&self, with_values: bool, read: F) -> ContentIter<'t, F>
    where
        F: FnMut(&[u8], &[u8]) -> Result<T>,
    {
        ContentIter::new(&self.content, &self.range, with_values, read)
    }

    /// Lends the first pair, or the last one if `direction` is reverse. Cost: one seek.
    pub(super) fn end<R>(
        &self,
        direction: Direction,
        read: impl FnOnce(Option<(&[u8], &[u8])>) -> R,
    ) -> Result<R> {
        // An empty range has no pairs.
        let Some((min, max)) = self.content.span(&self.range) else { return Ok(read(None)) };
        let prefix_len = self.content.prefix().len();
        let span = KeySpan::new(&min, max.as_deref());
        self.content.first(span, direction, |pair| {
            read(pair.map(|(key, value)| (key.get(prefix_len..).unwrap_or_default(), value)))
        })
    }

    /// Decodes the first pair, or the last one if `direction` is reverse. Cost: one seek.
    pub(super) fn decode_end<T>(
        &self,
        direction: Direction,
        decode: impl FnOnce(&[u8], &[u8]) -> Result<T>,
    ) -> Result<Option<T>> {
        self.end(direction, |pair| pair.map(|(key, value)| decode(key, value)).transpose())?
    }

    /// Whether there are no pairs. Cost: one seek.
    pub(super) fn is_empty(&self) -> Result<bool> {
        self.end(Direction::Forward, |pair| pair.is_none())
    }

    /// How many pairs there are. Cost: all of them are read.
    pub(super) fn len(&self) -> Result<usize> {
        self.iter(false, |_, _| Ok(())).try_fold(0, |count, pair| pair.map(|()| count + 1))
    }

    // ------------------------------------------------------------------ changing

    /// Sets the value of a key, and returns the result of `read` for the old value. If `read`
    /// fails, nothing changes.
    pub(super) fn put<R>(
        &self,
        key: &[u8],
        value: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        let content = &self.content;
        // The schema that the object has now decides which types may be referred to.
        let present = content.present_field();
        let (keys, values) = self.parts_in(present.as_deref());
        for (part, bytes) in [(Some(keys), key), (values, value)] {
            let Some(part) = part else { continue };
            content.check_encoded(part, bytes)?;
            content.check_type(part, bytes)?;
        }
        // A view of a range takes no keys from outside of it.
        if !is_within(key, &self.range) {
            let what = if values.is_some() { "key to put" } else { "element to add" };
            return Err(Error::invalid_argument(format!(
                "the {what} is outside of the range of the view of {}",
                content.describe()
            )));
        }
        // The object may have moved since the check above, so the parts are looked up again.
        content.mutate(|target| {
            let (keys, values) = self.parts_in(Some(&target.field));
            content.check_exists(keys, key)?;
            if let Some(values) = values {
                content.check_exists(values, value)?;
            }
            self.put_in(target, key, value, read)
        })
    }

    fn put_in<R>(
        &self,
        target: &Target,
        key: &[u8],
        value: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        let content = &self.content;
        let (keys, values) = self.parts_in(Some(&target.field));
        let stored = content.key(key);
        let check_entries = || {
            content.check_entry(keys, key, 0)?;
            values.map_or(Ok(()), |values| content.check_entry(values, value, key.len()))
        };
        // Mostly the pair is new, and putting it finds out. If the put may be refused, the pair is
        // read first, because a pair that is there already is not refused.
        let store = content.tx.store();
        let at_once = !store.refuses() && store.fits(stored.len()) && check_entries().is_ok();
        let old = match at_once {
            true => store.get_or_put(&stored, value)?,
            false => content.get(&stored)?,
        };
        let result = old.as_deref().map(read).transpose()?;
        // The pair is there already. The pairs of a set have no values that could differ.
        if old.as_deref().is_some_and(|old| values.is_none() || old == value) {
            return Ok(result);
        }
        if !at_once {
            // Before the first write: an entry that is too long for the store must change nothing.
            check_entries()?;
        }
        if !at_once || old.is_some() {
            content.put(&stored, value, old.as_deref())?;
        }
        content.got(target, (key, value));
        if old.is_none() {
            content.index(keys, key, &[])?;
        }
        if let Some(values) = values {
            if let Some(old) = &old {
                content.unindex(values, old, key)?;
            }
            content.index(values, value, key)?;
        }
        if target.monitored {
            let (key, new) = (key.into(), value.into());
            let change = match old {
                // A set has no values, so a pair of it can only be new here.
                _ if values.is_none() => ChangeKind::SetAdd { value: key },
                Some(old) => ChangeKind::MapReplace { key, old: old.into(), new },
                None => ChangeKind::MapAdd { key, value: new },
            };
            content.changed(target, change);
        }
        Ok(result)
    }

    /// Removes a pair, and returns the result of `read` for its value. If `read` fails, nothing
    /// changes.
    pub(super) fn remove<R>(
        &self,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        // There is nothing to remove, and a view of a range does not touch other keys.
        if !self.may_contain(key) {
            return Ok(None);
        }
        self.content.mutate(|target| self.remove_in(target, key, read))
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

    /// Removes a pair that is there; `old` is its value.
    fn take_in(&self, target: &Target, key: &[u8], old: &[u8]) -> Result<()> {
        let content = &self.content;
        let (keys, values) = self.parts_in(Some(&target.field));
        content.remove(&content.key(key), old)?;
        content.unindex(keys, key, &[])?;
        if let Some(values) = values {
            content.unindex(values, old, key)?;
        }
        if target.monitored {
            let key = key.into();
            let change = match values {
                Some(_) => ChangeKind::MapRemove { key, value: old.into() },
                None => ChangeKind::SetRemove { value: key },
            };
            content.changed(target, change);
        }
        Ok(())
    }

    /// Removes the first pair, or the last one if `direction` is reverse, and returns the result of
    /// `decode` for it. If `decode` fails, nothing changes.
    pub(super) fn pop<T>(
        &self,
        direction: Direction,
        decode: impl FnOnce(&[u8], &[u8]) -> Result<T>,
    ) -> Result<Option<T>> {
        self.content.mutate(|target| {
            let pair = self.decode_end(direction, |key, value| {
                // The bytes are lent only for the call, so they are copied for the removal.
                Ok((key.to_vec(), value.to_vec(), decode(key, value)?))
            })?;
            let Some((key, value, popped)) = pair else { return Ok(None) };
            self.take_in(target, &key, &value)?;
            Ok(Some(popped))
        })
    }

    /// Removes every pair for which `keep` returns `false`, if it is still there. Returns how many
    /// were removed. `keep` gets copies. If a pair to remove no longer has the value that `keep`
    /// got, this fails and nothing changes.
    pub(super) fn retain(
        &self,
        mut keep: impl FnMut(&[u8], &[u8]) -> Result<bool>,
    ) -> Result<usize> {
        let is_map = self.value.is_some();
        // The iterator is read to its end first: `keep` may change the collection.
        let copies = self.iter(is_map, |key, value| Ok((key.to_vec(), value.to_vec())));
        let mut unwanted = Vec::new();
        for (key, value) in copies.collect::<Result<Vec<_>>>()? {
            if !keep(&key, &value)? {
                unwanted.push((key, value));
            }
        }
        // Nothing changes, so the object is not looked up.
        if unwanted.is_empty() {
            return Ok(0);
        }
        self.content.mutate(|target| {
            unwanted.iter().try_fold(0, |removed, (key, shown)| {
                // `keep` may have changed the map.
                let one = self.remove_in(target, key, |value| match is_map && value != shown {
                    true => Err(Error::ChangedMeanwhile { of: self.content.describe() }),
                    false => Ok(()),
                })?;
                Ok(removed + usize::from(one.is_some()))
            })
        })
    }

    /// Removes all pairs.
    pub(super) fn clear(&self) -> Result<()> {
        self.content.mutate(|target| {
            // An empty range has no pairs.
            let Some((min, max)) = self.content.span(&self.range) else { return Ok(()) };
            // Listeners can be called once for many pairs only if the whole field is cleared. If
            // they watch, a range is therefore removed pair by pair.
            if target.monitored && self.range != (Bound::Unbounded, Bound::Unbounded) {
                let keys = self.iter(false, |key, _| Ok(key.to_vec()));
                for key in keys.collect::<Result<Vec<_>>>()? {
                    self.remove_in(target, &key, |_| Ok(()))?;
                }
                return Ok(());
            }
            let (keys, values) = self.parts_in(Some(&target.field));
            let id = self.content.id;
            let found =
                self.content.remove_content(&min, max.as_deref(), |key, value, entries| {
                    entries.add_entry(keys, key, id, &[]);
                    if let Some(values) = values {
                        entries.add_entry(values, value, id, key);
                    }
                    Ok(())
                })?;
            if found && target.monitored {
                let is_map = values.is_some();
                let change = if is_map { ChangeKind::MapClear } else { ChangeKind::SetClear };
                self.content.changed(target, change);
            }
            Ok(())
        })
    }

    /// Removes the pair whose key is a reference to a deleted object. If `null` is given, puts the
    /// value under that key instead. Does not check the value: it may refer to the deleted object
    /// too. If `stays` says so of the value that is there and of the other one, it is left there,
    /// and the other one is lost. Returns whether there was such a pair.
    pub(super) fn unreference(
        &self,
        key: &[u8],
        null: Option<&[u8]>,
        stays: Option<Stays<'_>>,
    ) -> Result<bool> {
        self.content.mutate(|target| {
            let value = self.remove_in(target, key, |old| Ok(old.to_vec()))?;
            let Some(value) = value else { return Ok(false) };
            let Some(null) = null else { return Ok(true) };
            let stays = match stays {
                Some(stays) => self.get(null, |there| there.is_some_and(|it| stays(it, &value)))?,
                None => false,
            };
            if !stays {
                self.put_in(target, null, &value, |_| Ok(()))?;
            }
            Ok(true)
        })
    }

    /// The value of `key` is a reference to a deleted object. If `null` is given, makes it the
    /// value; otherwise removes the pair.
    pub(super) fn unreference_value(&self, key: &[u8], null: Option<&[u8]>) -> Result<()> {
        self.content.mutate(|target| {
            match null {
                Some(null) => self.put_in(target, key, null, |_| Ok(()))?,
                None => self.remove_in(target, key, |_| Ok(()))?,
            };
            Ok(())
        })
    }
}
