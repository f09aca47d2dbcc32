//! The methods of `ListView` that change a list; `list.rs` has those that read.

use permazen_kv::KeySpan;

use super::content::Target;
use super::list::ListView;
use super::list_shift;
use super::position::MAX_LIST_LEN;
use crate::encoding::{Value, uint};
use crate::layout::{self, list_position};
use crate::object::encoded::Encoded;
use crate::object::error::{Error, Result};
use crate::object::notify::ChangeKind;
use crate::schema::{ResolvedField, ResolvedKind};

/// Changes. Inserting and removing in the middle moves the elements after the position.
impl ListView<'_> {
    /// Replaces the element at a position, and returns the old one. Cost: one get; if the elements
    /// differ, also one put, and with an index one delete and one put.
    ///
    /// # Errors
    /// In this order: [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist;
    /// [`Error::InvalidValue`]; [`Error::OutOfRange`]; [`Error::DeletedObject`] if the element
    /// refers to a missing object and the field does not allow that; [`Error::Inconsistent`] if the
    /// old element is damaged (`encoded().set` replaces it).
    pub fn set(&self, position: u32, value: &Value) -> Result<Value> {
        self.set_value_with(position, value, |old| self.decode(position, old))
    }

    /// Replaces an element, and returns the result of `read` for the old one. If `read` fails,
    /// nothing changes.
    pub(in crate::object) fn set_value_with<R>(
        &self,
        position: u32,
        value: &Value,
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        self.content.mutate(|target| {
            let element = self.content.encode(&self.element, value)?;
            self.set_in(target, position, &element, true, read)
        })
    }

    fn set_in<R>(
        &self,
        target: &Target,
        at: u32,
        element: &[u8],
        checked: bool,
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        let part = self.element_of(target);
        // A deletion sets a reference to null, which is always allowed.
        if checked {
            self.content.check_type(part, element)?;
        }
        // The documentation promises this order of errors: the position before a missing object.
        let old = self.encoded().get(at, |element| element.map(<[u8]>::to_vec))?;
        let Some(old) = old else { return Err(self.out_of_range(at)) };
        if checked {
            self.content.check_exists(part, element)?;
        }
        let result = read(&old)?;
        // Nothing changes, so no pair is written and listeners are not called.
        if old != element {
            let suffix = list_position(at);
            // Before the first write, so that an element that is too long for its index changes
            // nothing.
            self.content.check_entry(part, element, suffix.len())?;
            self.content.put(&self.element_key(at), element, Some(&old))?;
            self.content.got(target, (&suffix, element));
            self.content.unindex(part, &old, &suffix)?;
            self.content.index(part, element, &suffix)?;
            if target.monitored {
                let (old, new) = (old[..].into(), element.into());
                self.content.changed(target, ChangeKind::ListReplace { index: at, old, new });
            }
        }
        Ok(result)
    }

    /// Appends an element. Cost: one seek and one put; with an index, another put.
    ///
    /// # Errors
    /// The errors of [`insert`](ListView::insert).
    pub fn push(&self, value: &Value) -> Result<()> {
        self.insert_values(None, std::slice::from_ref(value))
    }

    /// Appends elements. Returns `false` if `values` is empty. Listeners are called after all
    /// elements are in the list. Cost: one seek and one put per element, in key order; with an
    /// index, another put per element.
    ///
    /// # Errors
    /// The errors of [`insert`](ListView::insert).
    pub fn extend(&self, values: &[Value]) -> Result<bool> {
        self.insert_values(None, values)?;
        Ok(!values.is_empty())
    }

    /// Inserts an element before a position, or at the end. Cost: one seek; one put for the element
    /// and for each element after it; a scan of the elements after it, with one seek for every 512
    /// of them. With an index, another put for each of these, and one delete for each moved
    /// element.
    ///
    /// # Errors
    /// In this order: [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist, or
    /// if the element refers to a missing object and the field does not allow that;
    /// [`Error::InvalidValue`]; [`Error::OutOfRange`] if the position is after the end or the list
    /// would get too long.
    pub fn insert(&self, position: u32, value: &Value) -> Result<()> {
        self.insert_values(Some(position), std::slice::from_ref(value))
    }

    /// Inserts elements before a position, or at the end. Returns `false`, and changes nothing, if
    /// `values` is empty. Costs as much as [`insert`](ListView::insert): the elements after the
    /// position move only once.
    ///
    /// # Errors
    /// The errors of [`insert`](ListView::insert).
    pub fn insert_all(&self, position: u32, values: &[Value]) -> Result<bool> {
        self.insert_values(Some(position), values)?;
        Ok(!values.is_empty())
    }

    fn insert_values(&self, position: Option<u32>, values: &[Value]) -> Result<()> {
        self.content.mutate(|target| {
            let part = self.element_of(target);
            // As in Java, missing objects are reported before values that cannot be encoded.
            for value in values {
                if let Value::Ref(id) = value
                    && part.is_reference()
                {
                    self.content.check_exists(part, id.as_bytes())?;
                }
            }
            let encoded: Vec<Vec<u8>> = values
                .iter()
                .map(|value| self.content.encode(part, value))
                .collect::<Result<_>>()?;
            let elements: Vec<&[u8]> = encoded.iter().map(|element| &element[..]).collect();
            elements.iter().try_for_each(|element| self.content.check_type(part, element))?;
            self.insert_in(target, position, &elements)
        })
    }

    fn insert_in(&self, target: &Target, position: Option<u32>, elements: &[&[u8]]) -> Result<()> {
        let size = self.len()?;
        let at = position.unwrap_or(size);
        let too_long = u32::try_from(elements.len())
            .ok()
            .and_then(|count| size.checked_add(count))
            .is_none_or(|size| size > MAX_LIST_LEN);
        if at > size || too_long {
            return Err(self.outside(at, size));
        }
        // An empty insertion at a wrong position is still refused, so this comes after that check.
        if elements.is_empty() {
            return Ok(());
        }
        let part = self.element_of(target);
        for (index, element) in (at..).zip(elements) {
            self.content.check_entry(part, element, uint::len(index))?;
        }
        list_shift::insert(self, part, at, size, elements)?;
        elements.iter().for_each(|element| self.content.got(target, (&[], element)));
        if target.monitored {
            for (index, element) in (at..).zip(elements) {
                let value = (*element).into();
                self.content.changed(target, ChangeKind::ListAdd { index, value });
            }
        }
        Ok(())
    }

    /// Removes and returns the element at a position. Cost: one seek; a scan of it and the elements
    /// after it, with one seek for every 512 of them; one put for each element after it; one
    /// delete. With an index, one delete for each of these elements, and one put for each moved
    /// one.
    ///
    /// # Errors
    /// [`Error::OutOfRange`]; [`Error::Ended`]; [`Error::DeletedObject`] if the object does not
    /// exist; [`Error::Inconsistent`] if an element to move is missing, or if the element to remove
    /// is damaged (`encoded().remove` removes it).
    pub fn remove(&self, position: u32) -> Result<Value> {
        self.encoded().remove_with(position, |old| self.decode(position, old))
    }

    /// Queues the removal of the element at a position of a list of `size` elements for listeners.
    fn removed_one(&self, target: &Target, at: u32, size: u32, old: &[u8]) {
        if target.monitored {
            // A list that becomes empty is told as cleared, in whichever way its last element goes.
            let kind = match size {
                1 => ChangeKind::ListClear,
                _ => ChangeKind::ListRemove { index: at, value: old.into() },
            };
            self.content.changed(target, kind);
        }
    }

    /// Removes the first element equal to `value`. Returns `false` if there is none. Cost: the
    /// elements up to there are read, then as much as [`remove`](ListView::remove).
    ///
    /// # Errors
    /// The errors of [`remove`](ListView::remove).
    pub fn remove_value(&self, value: &Value) -> Result<bool> {
        match self.position(value)? {
            Some(position) => self.encoded().remove(position).map(|_| true),
            None => Ok(false),
        }
    }

    /// Removes the last element and returns it. Cost: one seek and one delete; with an index,
    /// another delete.
    ///
    /// # Errors
    /// The errors of [`remove`](ListView::remove).
    pub fn pop(&self) -> Result<Option<Value>> {
        self.encoded().pop_with(|at, element| self.decode(at, element))
    }

    /// Removes the elements from position `from` up to, but not including, `to`. Listeners get the
    /// positions that the elements had before; if all elements are removed, they get the event that
    /// the list was cleared.
    ///
    /// Cost: one seek; a scan of these elements and all after them; one put for each element after
    /// them; one range removal. For the range removal, as many elements as were removed are read
    /// again, unless none follow. With an index, one delete for each scanned element, and one put
    /// for each moved one.
    ///
    /// # Errors
    /// In this order: [`Error::InvalidArgument`] if `from` is above `to`; [`Error::Ended`];
    /// [`Error::DeletedObject`] if the object does not exist; [`Error::OutOfRange`];
    /// [`Error::Inconsistent`] if an element to move is missing.
    pub fn remove_range(&self, from: u32, to: u32) -> Result<()> {
        if from > to {
            return Err(Error::invalid_argument(format!(
                "cannot remove from position {from} to position {to}"
            )));
        }
        self.content.mutate(|target| self.remove_in(target, from, to))
    }

    fn remove_in(&self, target: &Target, from: u32, to: u32) -> Result<()> {
        let size = self.len()?;
        if to > size {
            return Err(self.outside(to, size));
        }
        if from == to {
            return Ok(());
        }
        // Listeners get one change, that the list was cleared, and none for single elements.
        if from == 0 && to == size {
            return self.clear_in(target);
        }
        let removed = |at: u32, value: &[u8]| {
            if target.monitored {
                let kind = ChangeKind::ListRemove { index: at, value: value.into() };
                self.content.changed(target, kind);
            }
            Ok(())
        };
        // No element has to move.
        if to == size {
            return self.truncate_in(target, from, removed).map(drop);
        }
        let goes = |at: u32| (from..to).contains(&at);
        list_shift::remove(self, self.element_of(target), size, from, to, goes, removed)
    }

    /// Removes the elements from a position to the end, and shows each to `removed`. Returns
    /// `false` if there are none.
    fn truncate_in(
        &self,
        target: &Target,
        from: u32,
        mut removed: impl FnMut(u32, &[u8]) -> Result<()>,
    ) -> Result<bool> {
        let part = self.element_of(target);
        let id = self.content.id;
        let min = if from == 0 { self.content.prefix() } else { self.element_key(from) };
        let max = layout::prefix_end(&self.content.prefix());
        let mut at = from;
        self.content.remove_content(&min, max.as_deref(), |suffix, value, entries| {
            entries.add_entry(part, value, id, suffix);
            removed(at, value)?;
            at = at.saturating_add(1);
            Ok(())
        })
    }

    /// Removes every element for which `keep` returns `false`, in one pass. Returns how many were
    /// removed. Listeners are called for each of them, from the front, with the position that it
    /// has when those before it are gone, as if each were removed alone; if all are removed, they
    /// get the event that the list was cleared. Cost: all elements are read once, then as much as
    /// [`remove_range`](ListView::remove_range) from the first one removed.
    ///
    /// `keep` is called for a copy of the elements at the beginning. It may change anything except
    /// this list: if the list is not the same when an element is to be removed, nothing is removed.
    /// (If anything was changed meanwhile, all elements are read again.)
    ///
    /// # Errors
    /// The errors of [`remove`](ListView::remove); [`Error::ChangedMeanwhile`] if `keep` changed
    /// the list, directly or by deleting an object that it refers to.
    pub fn retain(&self, mut keep: impl FnMut(&Value) -> bool) -> Result<u32> {
        // The number is taken before `keep` runs, which may change the list.
        let changes = self.content.tx.store().changes().get();
        let elements = self.positioned()?;
        let mut positions = Vec::new();
        for (position, element) in &elements {
            if !keep(&self.decode(*position, element)?) {
                positions.push(*position);
            }
        }
        // Without removals the list is not looked at again, whatever `keep` has changed.
        if positions.is_empty() {
            return Ok(0);
        }
        self.content.mutate(|target| {
            // The counter covers the whole transaction, so the list is compared only if something
            // was changed.
            let changed = self.content.tx.store().changes().get() != changes;
            if changed && self.positioned()? != elements {
                return Err(Error::ChangedMeanwhile { of: self.content.describe() });
            }
            self.remove_positions_in(target, &positions)
        })?;
        u32::try_from(positions.len()).map_err(|_| self.outside(u32::MAX, MAX_LIST_LEN))
    }

    /// All elements, encoded, with their positions.
    fn positioned(&self) -> Result<Vec<(u32, Vec<u8>)>> {
        self.encoded().iter(|position, element| Ok((position, element.to_vec()))).collect()
    }

    /// Removes the elements at these positions in one pass. The positions must ascend.
    pub(in crate::object) fn remove_positions(&self, positions: &[u32]) -> Result<()> {
        self.content.mutate(|target| self.remove_positions_in(target, positions))
    }

    fn remove_positions_in(&self, target: &Target, positions: &[u32]) -> Result<()> {
        let (Some(&first), Some(&last)) = (positions.first(), positions.last()) else {
            return Ok(());
        };
        let size = self.len()?;
        if last >= size {
            return Err(self.outside(last, size));
        }
        // Clearing needs no positions, and listeners get one change for it.
        if positions.len() == size as usize {
            return self.clear_in(target);
        }
        let goes = |at: u32| positions.binary_search(&at).is_ok();
        let mut gone = 0;
        let removed = |at: u32, value: &[u8]| {
            if target.monitored {
                // The elements removed before it have gone for listeners, so its position is lower.
                let kind = ChangeKind::ListRemove { index: at - gone, value: value.into() };
                self.content.changed(target, kind);
            }
            gone += 1;
            Ok(())
        };
        list_shift::remove(self, self.element_of(target), size, first, last + 1, goes, removed)
    }

    /// Removes all elements. Cost: one scan and one range removal, and one delete per index entry.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist.
    pub fn clear(&self) -> Result<()> {
        self.content.mutate(|target| self.clear_in(target))
    }

    fn clear_in(&self, target: &Target) -> Result<()> {
        if self.truncate_in(target, 0, |_, _| Ok(()))? && target.monitored {
            self.content.changed(target, ChangeKind::ListClear);
        }
        Ok(())
    }

    /// Sets a reference to null because the object it refers to is deleted.
    pub(in crate::object) fn nullify(&self, position: u32, null: &[u8]) -> Result<()> {
        self.content.mutate(|target| self.set_in(target, position, null, false, |_| Ok(())))
    }

    /// Removes or nullifies a reference to a deleted object if its key ends with no valid position.
    /// No element moves and listeners are not called, because it has no place in the list.
    pub(in crate::object) fn unreference_stray(
        &self,
        suffix: &[u8],
        reference: &[u8],
        null: Option<&[u8]>,
    ) -> Result<()> {
        let key = self.content.key(suffix);
        self.content.mutate(|target| {
            // An index entry led here, but the content decides: the entry may be damage.
            if self.content.get(&key)?.as_deref() != Some(reference) {
                return Ok(());
            }
            let part = self.element_of(target);
            self.content.unindex(part, reference, suffix)?;
            match null {
                None => self.content.remove(&key, reference),
                Some(null) => {
                    self.content.put(&key, null, Some(reference))?;
                    self.content.index(part, null, suffix)
                }
            }
        })
    }

    /// The ascending positions from `first` to `last` of the elements equal to `element`. Cost: one
    /// seek and one step for each element in between.
    pub(in crate::object) fn positions_between(
        &self,
        first: u32,
        last: u32,
        element: &[u8],
    ) -> Result<Vec<u32>> {
        let prefix_len = self.content.prefix().len();
        let (min, max) = (self.element_key(first), layout::prefix_end(&self.element_key(last)));
        let mut positions = Vec::new();
        let span = KeySpan::new(&min, max.as_deref());
        self.content.tx.store().each(span, |key, value| {
            if value == element
                // A malformed key has no position. The caller handles it as a stray one.
                && let Ok(position) = self.position_of(key, prefix_len)
            {
                positions.push(position);
            }
            Ok(())
        })?;
        Ok(positions)
    }

    fn out_of_range(&self, position: u32) -> Error {
        self.len().map_or_else(|error| error, |size| self.outside(position, size))
    }

    pub(super) fn outside(&self, position: u32, size: u32) -> Error {
        Error::OutOfRange { of: self.content.describe(), index: i64::from(position), size }
    }

    /// The element field, as the object's present schema defines it.
    fn element_of<'a>(&'a self, target: &'a Target) -> &'a ResolvedField {
        match &target.field.kind {
            ResolvedKind::List { element } => element,
            _ => &self.element,
        }
    }
}

/// Changes by encoded elements.
impl Encoded<'_, ListView<'_>> {
    /// Replaces the element at a position, and returns the old one, which may be damaged. Costs as
    /// much as [`ListView::set`].
    ///
    /// # Errors
    /// The errors of [`ListView::set`].
    pub fn set(self, position: u32, element: &[u8]) -> Result<Vec<u8>> {
        self.set_with(position, element, |old| Ok(old.to_vec()))
    }

    /// Replaces an element, and returns the result of `read` for the old one. If `read` fails,
    /// nothing changes.
    pub(crate) fn set_with<R>(
        self,
        position: u32,
        element: &[u8],
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        let list = self.0;
        list.content.mutate(|target| {
            list.content.check_encoded(&list.element, element)?;
            list.set_in(target, position, element, true, read)
        })
    }

    /// Appends an element. Costs as much as [`ListView::push`].
    ///
    /// # Errors
    /// The errors of [`ListView::insert`].
    pub fn push(self, element: &[u8]) -> Result<()> {
        self.insert_elements(None, &[element])
    }

    /// Appends elements. Returns `false` if there are none. Costs as much as [`ListView::extend`].
    ///
    /// # Errors
    /// The errors of [`ListView::insert`].
    pub fn extend(self, elements: &[&[u8]]) -> Result<bool> {
        self.insert_elements(None, elements)?;
        Ok(!elements.is_empty())
    }

    /// Inserts an element before a position. Costs as much as [`ListView::insert`].
    ///
    /// # Errors
    /// The errors of [`ListView::insert`].
    pub fn insert(self, position: u32, element: &[u8]) -> Result<()> {
        self.insert_elements(Some(position), &[element])
    }

    /// Inserts elements before a position. Returns `false` if there are none. Costs as much as
    /// [`ListView::insert_all`].
    ///
    /// # Errors
    /// The errors of [`ListView::insert`].
    pub fn insert_all(self, position: u32, elements: &[&[u8]]) -> Result<bool> {
        self.insert_elements(Some(position), elements)?;
        Ok(!elements.is_empty())
    }

    fn insert_elements(self, position: Option<u32>, elements: &[&[u8]]) -> Result<()> {
        let list = self.0;
        list.content.mutate(|target| {
            let part = list.element_of(target);
            // As in Java, missing objects are reported before bytes that are no value.
            for element in elements {
                list.content.check_exists(part, element)?;
            }
            for element in elements {
                list.content.check_encoded(part, element)?;
                list.content.check_type(part, element)?;
            }
            list.insert_in(target, position, elements)
        })
    }

    /// Removes and returns the element at a position, which may be damaged. Costs as much as
    /// [`ListView::remove`].
    ///
    /// # Errors
    /// The errors of [`ListView::remove`].
    pub fn remove(self, position: u32) -> Result<Vec<u8>> {
        self.remove_with(position, |old| Ok(old.to_vec()))
    }

    /// Removes the element at a position, and returns the result of `read` for it. If `read` fails,
    /// nothing changes.
    pub(crate) fn remove_with<R>(
        self,
        at: u32,
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        let list = self.0;
        // Read before the operation, because a wrong position is reported before a missing object.
        let size = list.content.tx.store().tracked(|| list.len())?;
        if at >= size {
            return Err(list.outside(at, size));
        }
        list.content.mutate(|target| {
            let part = list.element_of(target);
            let (mut read, mut result) = (Some(read), None);
            list_shift::remove(
                list,
                part,
                size,
                at,
                at + 1,
                |_| true,
                |_, value| {
                    // The closure runs before the element goes, so its failure leaves the list as
                    // it was.
                    result = read.take().map(|read| read(value)).transpose()?;
                    list.removed_one(target, at, size, value);
                    Ok(())
                },
            )?;
            result.ok_or_else(|| list.outside(at, size))
        })
    }

    /// Removes the last element, and returns the result of `read` for it. If `read` fails, nothing
    /// changes.
    pub(crate) fn pop_with<R>(
        self,
        read: impl FnOnce(u32, &[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        let list = self.0;
        // Read before the operation, because the list of a missing object has nothing to return.
        let last = || list.last_pair(|at, value| (at, value.to_vec()));
        let Some((at, old)) = list.content.tx.store().tracked(last)? else { return Ok(None) };
        list.content.mutate(|target| {
            let value = read(at, &old)?;
            list.content.remove(&list.element_key(at), &old)?;
            list.content.unindex(list.element_of(target), &old, &list_position(at))?;
            list.removed_one(target, at, at + 1, &old);
            Ok(Some(value))
        })
    }
}
