//! Changing lists (transactions §6.7).

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

/// Changes. Inserting and removing in the middle moves the elements behind.
impl ListView<'_, '_> {
    /// Replaces the element at a position; returns the one before. One get; nothing more if they are
    /// equal; else one put, and one delete and one put for the index if there is one.
    ///
    /// # Errors
    /// In this order: [`Error::Ended`], [`Error::DeletedObject`] if the object does not exist,
    /// [`Error::InvalidValue`], [`Error::OutOfRange`], [`Error::DeletedObject`] if the element refers to
    /// an object that does not exist and may not, [`Error::Inconsistent`] if the element before is
    /// damaged (`encoded().set` replaces it).
    pub fn set(&self, position: u32, value: &Value) -> Result<Value> {
        self.set_value_with(position, value, |old| self.decode(position, old))
    }

    /// As [`set`](ListView::set), giving what `read` makes of the element before; nothing changes if it fails.
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
        if checked {
            self.content.check_type(part, element)?;
        }
        let old = self.encoded().get(at, |element| element.map(<[u8]>::to_vec))?;
        let Some(old) = old else { return Err(self.out_of_range(at)) };
        if checked {
            self.content.check_exists(part, element)?;
        }
        let result = read(&old)?;
        if old != element {
            let suffix = list_position(at);
            self.content.check_entry(part, element, suffix.len())?;
            self.content.put(&self.element_key(at), element, Some(&old))?;
            self.content.unindex(part, &old, &suffix)?;
            self.content.index(part, element, &suffix)?;
            if target.monitored {
                let (old, new) = (old[..].into(), element.into());
                self.content.changed(target, ChangeKind::ListReplace { index: at, old, new });
            }
        }
        Ok(result)
    }

    /// Appends an element. One seek and one put, and one put for the index if there is one.
    ///
    /// # Errors
    /// As [`insert`](ListView::insert).
    pub fn push(&self, value: &Value) -> Result<()> {
        self.insert_values(None, std::slice::from_ref(value))
    }

    /// Appends elements; false if there were none. One seek and one put per element, in key order, and
    /// one for the index. Listeners are told when all of them stand.
    ///
    /// # Errors
    /// As [`insert`](ListView::insert).
    pub fn extend(&self, values: &[Value]) -> Result<bool> {
        self.insert_values(None, values)?;
        Ok(!values.is_empty())
    }

    /// Inserts an element before a position, or at the end. One seek, and for the element and each one
    /// behind it one put; those behind are read in a scan (a seek for every 512 of them). With an index,
    /// one put more for each of these, and one delete for each moved.
    ///
    /// # Errors
    /// In this order: [`Error::Ended`], [`Error::DeletedObject`] if the object does not exist or the
    /// element refers to one that does not and may not, [`Error::InvalidValue`], [`Error::OutOfRange`]
    /// if the position is beyond the end or the list would get too long.
    pub fn insert(&self, position: u32, value: &Value) -> Result<()> {
        self.insert_values(Some(position), std::slice::from_ref(value))
    }

    /// Inserts elements before a position, or at the end; false if there were none, which changes
    /// nothing. Costs as [`insert`](ListView::insert): what is behind moves once.
    ///
    /// # Errors
    /// As [`insert`](ListView::insert).
    pub fn insert_all(&self, position: u32, values: &[Value]) -> Result<bool> {
        self.insert_values(Some(position), values)?;
        Ok(!values.is_empty())
    }

    fn insert_values(&self, position: Option<u32>, values: &[Value]) -> Result<()> {
        self.content.mutate(|target| {
            let part = self.element_of(target);
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
        if elements.is_empty() {
            return Ok(());
        }
        let part = self.element_of(target);
        for (index, element) in (at..).zip(elements) {
            self.content.check_entry(part, element, uint::len(index))?;
        }
        list_shift::insert(self, part, at, size, elements)?;
        if target.monitored {
            for (index, element) in (at..).zip(elements) {
                let value = (*element).into();
                self.content.changed(target, ChangeKind::ListAdd { index, value });
            }
        }
        Ok(())
    }

    /// Removes and returns the element at a position. One seek, a scan of it and those behind it (a seek
    /// for every 512), one put for each behind it and one delete. With an index, one delete for each of
    /// these, and one put for each moved.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Ended`], [`Error::DeletedObject`] if the object does not exist,
    /// [`Error::Inconsistent`] if an element to be moved is missing, or the one to be removed is damaged
    /// (`encoded().remove` removes it).
    pub fn remove(&self, position: u32) -> Result<Value> {
        self.encoded().remove_with(position, |old| self.decode(position, old))
    }

    /// Tells that the element at a position of a list of `size` elements was removed.
    fn removed_one(&self, target: &Target, at: u32, size: u32, old: &[u8]) {
        if target.monitored {
            let kind = match size {
                1 => ChangeKind::ListClear,
                _ => ChangeKind::ListRemove { index: at, value: old.into() },
            };
            self.content.changed(target, kind);
        }
    }

    /// Removes the first equal element; false if there is none. Reads up to there, then as
    /// [`remove`](ListView::remove).
    ///
    /// # Errors
    /// As [`remove`](ListView::remove).
    pub fn remove_value(&self, value: &Value) -> Result<bool> {
        match self.position(value)? {
            Some(position) => self.encoded().remove(position).map(|_| true),
            None => Ok(false),
        }
    }

    /// Removes the last element and returns it. One seek and one delete, and one for the index if there
    /// is one.
    ///
    /// # Errors
    /// As [`remove`](ListView::remove).
    pub fn pop(&self) -> Result<Option<Value>> {
        self.encoded().pop_with(|at, element| self.decode(at, element))
    }

    /// Removes the elements from position `from` up to, not including, `to`. One seek, a scan of them and
    /// those behind, one put for each behind, and a range removal, for which as many as were removed are
    /// read again unless nothing is behind. With an index, one delete for each of these, and one put
    /// for each moved.
    ///
    /// # Errors
    /// In this order: [`Error::InvalidArgument`] if `from` is above `to`, [`Error::Ended`],
    /// [`Error::DeletedObject`] if the object does not exist, [`Error::OutOfRange`],
    /// [`Error::Inconsistent`] if an element to be moved is missing.
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
        if to == size {
            return self.truncate_in(target, from, removed).map(drop);
        }
        let goes = |at: u32| (from..to).contains(&at);
        list_shift::remove(self, self.element_of(target), size, from, to, goes, removed)
    }

    /// Removes the elements from a position on, showing each of them; false if there are none.
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

    /// Removes every element for which `keep` says false, in one pass; returns how many were removed.
    /// Listeners are told as if they had been removed one by one, from the front. Reads all elements once,
    /// then as [`remove_range`](ListView::remove_range) from the first one removed.
    ///
    /// `keep` is asked of the elements there are at the beginning, which are copied, and may change anything
    /// but this list: if the list is not the same when an element is to go, nothing is removed. (If anything
    /// was changed meanwhile, all elements are read once more.)
    ///
    /// # Errors
    /// As [`remove`](ListView::remove); [`Error::ChangedMeanwhile`] if `keep` changed the list, itself or by
    /// deleting what it refers to.
    pub fn retain(&self, mut keep: impl FnMut(&Value) -> bool) -> Result<u32> {
        let changes = self.content.tx.store().changes().get();
        let elements = self.positioned()?;
        let mut positions = Vec::new();
        for (position, element) in &elements {
            if !keep(&self.decode(*position, element)?) {
                positions.push(*position);
            }
        }
        if positions.is_empty() {
            return Ok(0);
        }
        self.content.mutate(|target| {
            let changed = self.content.tx.store().changes().get() != changes;
            if changed && self.positioned()? != elements {
                return Err(Error::ChangedMeanwhile { of: self.content.describe() });
            }
            self.remove_positions_in(target, &positions)
        })?;
        Ok(u32::try_from(positions.len()).unwrap_or(MAX_LIST_LEN))
    }

    /// All elements, encoded, with their positions.
    fn positioned(&self) -> Result<Vec<(u32, Vec<u8>)>> {
        self.encoded().iter(|position, element| Ok((position, element.to_vec()))).collect()
    }

    /// Removes the elements at these positions, which ascend, in one pass.
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
        if positions.len() == size as usize {
            return self.clear_in(target);
        }
        let goes = |at: u32| positions.binary_search(&at).is_ok();
        let mut gone = 0;
        let removed = |at: u32, value: &[u8]| {
            if target.monitored {
                let kind = ChangeKind::ListRemove { index: at - gone, value: value.into() };
                self.content.changed(target, kind);
            }
            gone += 1;
            Ok(())
        };
        list_shift::remove(self, self.element_of(target), size, first, last + 1, goes, removed)
    }

    /// Removes all elements. One scan and one range removal, and a delete per index entry.
    ///
    /// # Errors
    /// [`Error::Ended`], [`Error::DeletedObject`] if the object does not exist.
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

    /// Does to a reference under a key that ends with no position what the deletion of the object it refers to demands.
    /// No element moves for it: it had no place among them, and listeners are not told of one.
    pub(in crate::object) fn unreference_stray(
        &self,
        suffix: &[u8],
        reference: &[u8],
        null: Option<&[u8]>,
    ) -> Result<()> {
        let key = self.content.key(suffix);
        self.content.mutate(|target| {
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

    /// The positions from `first` to `last` of the elements equal to `element`, ascending. One seek and
    /// a step per element between.
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

    fn outside(&self, position: u32, size: u32) -> Error {
        Error::OutOfRange { of: self.content.describe(), index: i64::from(position), size }
    }

    /// The element as the object's present schema defines it.
    fn element_of<'a>(&'a self, target: &'a Target) -> &'a ResolvedField {
        match &target.field.kind {
            ResolvedKind::List { element } => element,
            _ => &self.element,
        }
    }
}

/// Changes by encoded elements.
impl Encoded<'_, ListView<'_, '_>> {
    /// As [`ListView::set`]; the element before may be damaged.
    ///
    /// # Errors
    /// As [`ListView::set`].
    pub fn set(self, position: u32, element: &[u8]) -> Result<Vec<u8>> {
        self.set_with(position, element, |old| Ok(old.to_vec()))
    }

    /// Replaces an element and gives what `read` makes of the one before; nothing changes if it fails.
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

    /// As [`ListView::push`].
    ///
    /// # Errors
    /// As [`ListView::insert`].
    pub fn push(self, element: &[u8]) -> Result<()> {
        self.insert_elements(None, &[element])
    }

    /// As [`ListView::extend`].
    ///
    /// # Errors
    /// As [`ListView::insert`].
    pub fn extend(self, elements: &[&[u8]]) -> Result<bool> {
        self.insert_elements(None, elements)?;
        Ok(!elements.is_empty())
    }

    /// As [`ListView::insert`].
    ///
    /// # Errors
    /// As [`ListView::insert`].
    pub fn insert(self, position: u32, element: &[u8]) -> Result<()> {
        self.insert_elements(Some(position), &[element])
    }

    /// As [`ListView::insert_all`].
    ///
    /// # Errors
    /// As [`ListView::insert`].
    pub fn insert_all(self, position: u32, elements: &[&[u8]]) -> Result<bool> {
        self.insert_elements(Some(position), elements)?;
        Ok(!elements.is_empty())
    }

    fn insert_elements(self, position: Option<u32>, elements: &[&[u8]]) -> Result<()> {
        let list = self.0;
        list.content.mutate(|target| {
            let part = list.element_of(target);
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

    /// As [`ListView::remove`]; the element may be damaged.
    ///
    /// # Errors
    /// As [`ListView::remove`].
    pub fn remove(self, position: u32) -> Result<Vec<u8>> {
        self.remove_with(position, |old| Ok(old.to_vec()))
    }

    /// Removes the element at a position and gives what `read` makes of it; nothing changes if it fails.
    pub(crate) fn remove_with<R>(
        self,
        at: u32,
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        let list = self.0;
        let size = list.len()?;
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
                    result = read.take().map(|read| read(value)).transpose()?;
                    list.removed_one(target, at, size, value);
                    Ok(())
                },
            )?;
            result.ok_or_else(|| list.outside(at, size))
        })
    }

    /// Removes the last element and gives what `read` makes of it; nothing changes if it fails.
    pub(crate) fn pop_with<R>(
        self,
        read: impl FnOnce(u32, &[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        let list = self.0;
        let Some((at, old)) = list.last_pair(|at, value| (at, value.to_vec()))? else {
            return Ok(None);
        };
        list.content.mutate(|target| {
            let value = read(at, &old)?;
            list.content.remove(&list.element_key(at), &old)?;
            list.content.unindex(list.element_of(target), &old, &list_position(at))?;
            list.removed_one(target, at, at + 1, &old);
            Ok(Some(value))
        })
    }
}
