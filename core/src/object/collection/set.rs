//! Sets (docs/src/objects.md#sets-lists-and-maps).

use std::ops::Bound;
use std::sync::Arc;

use permazen_kv::Direction;

use super::sorted::Sorted;
use crate::encoding::Value;
use crate::id::ObjId;
#[cfg(doc)]
use crate::object::Error;
use crate::object::encoded::Encoded;
use crate::object::error::Result;
use crate::object::transaction::Transaction;
use crate::schema::{ResolvedField, ResolvedKind};

/// A live view of a set field of an object, or of a range of it.
///
/// Elements are in the order of their encoding, null last. The view stays usable after the object
/// changes. If the object is deleted, the view is empty and refuses changes with
/// [`Error::DeletedObject`]. [`encoded`](SetView::encoded) has the methods for encoded elements.
#[derive(Debug, Clone)]
pub struct SetView<'t>(Sorted<'t>);

impl<'t> SetView<'t> {
    pub(crate) fn new(tx: &'t Transaction, id: ObjId, field: &Arc<ResolvedField>) -> Option<Self> {
        let ResolvedKind::Set { element } = &field.kind else { return None };
        Some(SetView(Sorted::new(tx, id, field, element, None)))
    }

    /// The object.
    pub fn id(&self) -> ObjId {
        self.0.content.id
    }

    /// The field.
    pub fn field(&self) -> &Arc<ResolvedField> {
        &self.0.content.field
    }

    /// The methods for encoded elements. Reads nothing.
    #[doc(hidden)]
    pub fn encoded(&self) -> Encoded<'_, Self> {
        Encoded(self)
    }

    /// The part of this view between two bounds.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if a bound cannot be an element; [`Error::InvalidArgument`] if the
    /// lower bound is above the upper one.
    pub fn range(&self, lower: Bound<&Value>, upper: Bound<&Value>) -> Result<Self> {
        self.0.range(lower, upper).map(SetView)
    }

    // ------------------------------------------------------------------ reading

    /// Whether the set contains a value. It does not contain a value that cannot be an element.
    /// Cost: one get.
    ///
    /// # Errors
    /// [`Error::Kv`] if the store fails; [`Error::Ended`].
    pub fn contains(&self, value: &Value) -> Result<bool> {
        match self.0.find_encoding(value)? {
            Some(element) => self.encoded().contains(&element),
            None => Ok(false),
        }
    }

    /// The elements in order; can also be read from the back. Live: the set may be changed during
    /// the iteration. A damaged element gives an error, and the iterator continues after it. Cost:
    /// one seek, then one step per element.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Result<Value>> + use<'t> {
        let sorted = self.0.clone();
        self.encoded().iter(move |element| sorted.decode(element))
    }

    /// All elements in order. Costs as much as [`iter`](SetView::iter).
    ///
    /// # Errors
    /// The errors of [`contains`](SetView::contains), and [`Error::Inconsistent`] for damaged
    /// elements.
    pub fn to_vec(&self) -> Result<Vec<Value>> {
        self.iter().collect()
    }

    /// The first element. Cost: one seek.
    ///
    /// # Errors
    /// The errors of [`to_vec`](SetView::to_vec).
    pub fn first(&self) -> Result<Option<Value>> {
        self.0.decode_end(Direction::Forward, |element, _| self.0.decode(element))
    }

    /// The last element. Cost: one seek.
    ///
    /// # Errors
    /// The errors of [`to_vec`](SetView::to_vec).
    pub fn last(&self) -> Result<Option<Value>> {
        self.0.decode_end(Direction::Reverse, |element, _| self.0.decode(element))
    }

    /// Whether there are no elements. Cost: one seek.
    ///
    /// # Errors
    /// The errors of [`contains`](SetView::contains).
    pub fn is_empty(&self) -> Result<bool> {
        self.0.is_empty()
    }

    /// How many elements there are. Cost: all of them are read.
    ///
    /// # Errors
    /// The errors of [`contains`](SetView::contains).
    pub fn len(&self) -> Result<usize> {
        self.0.len()
    }

    // ------------------------------------------------------------------ changing

    /// Adds an element. Returns `false` if it was in the set. Cost: one get and one put; with an
    /// index, another put.
    ///
    /// # Errors
    /// In this order: [`Error::InvalidValue`], also for references to types that the field does not
    /// allow; [`Error::InvalidArgument`] outside of the range of the view; [`Error::Ended`];
    /// [`Error::DeletedObject`] if the object does not exist, or if the element refers to a missing
    /// object and the field does not allow that.
    pub fn add(&self, value: &Value) -> Result<bool> {
        self.encoded().add(&self.0.encode(value)?)
    }

    /// Removes an element. Returns `false` if it was not in the set or cannot be an element. Cost:
    /// one get and one delete; with an index, another delete.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist.
    pub fn remove(&self, value: &Value) -> Result<bool> {
        match self.0.find_encoding(value)? {
            Some(element) => self.encoded().remove(&element),
            None => Ok(false),
        }
    }

    /// Removes and returns the first element. Cost: one seek and one delete; with an index, another
    /// delete.
    ///
    /// # Errors
    /// The errors of [`remove`](SetView::remove) and [`first`](SetView::first).
    pub fn pop_first(&self) -> Result<Option<Value>> {
        self.0.pop(Direction::Forward, |element, _| self.0.decode(element))
    }

    /// Removes and returns the last element. Costs as much as [`pop_first`](SetView::pop_first).
    ///
    /// # Errors
    /// The errors of [`remove`](SetView::remove) and [`last`](SetView::last).
    pub fn pop_last(&self) -> Result<Option<Value>> {
        self.0.pop(Direction::Reverse, |element, _| self.0.decode(element))
    }

    /// Removes every element for which `keep` returns `false`. Returns how many were removed. Cost:
    /// all elements are read, then each removal costs as much as [`remove`](SetView::remove).
    ///
    /// `keep` is called for a copy of the elements at the beginning. It may change anything, even
    /// this set: of the elements to remove, those are removed that are still in the set.
    ///
    /// # Errors
    /// The errors of [`remove`](SetView::remove) and [`to_vec`](SetView::to_vec); then nothing was
    /// removed.
    pub fn retain(&self, mut keep: impl FnMut(&Value) -> bool) -> Result<usize> {
        self.0.retain(|element, _| Ok(keep(&self.0.decode(element)?)))
    }

    /// Removes all elements of this view. Cost: one scan and one range removal, and one delete per
    /// index entry. If listeners watch the set and the view is only a part of it, the elements are
    /// removed one by one, as [`remove`](SetView::remove) does.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist.
    pub fn clear(&self) -> Result<()> {
        self.0.clear()
    }

    /// Removes a reference to a deleted object from the set and, if `null` is given, adds that
    /// instead.
    pub(crate) fn unreference(&self, element: &[u8], null: Option<&[u8]>) -> Result<()> {
        self.0.unreference(element, null, None).map(drop)
    }
}

/// Sets of encoded elements.
impl<'t> Encoded<'_, SetView<'t>> {
    /// The part of this view between two bounds.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lower bound is above the upper one.
    pub fn range(self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<SetView<'t>> {
        let SetView(sorted) = self.0;
        sorted.restricted(lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec)).map(SetView)
    }

    /// Whether the set contains an element with these bytes. Cost: one get.
    ///
    /// # Errors
    /// The errors of [`SetView::contains`].
    pub fn contains(self, element: &[u8]) -> Result<bool> {
        let SetView(sorted) = self.0;
        sorted.get(element, |value| value.is_some())
    }

    /// The elements in order, like [`SetView::iter`]. `read` converts each element. The iterator
    /// continues after an error of `read`.
    pub fn iter<T, F>(
        self,
        mut read: F,
    ) -> impl DoubleEndedIterator<Item = Result<T>> + use<'t, T, F>
    where
        F: FnMut(&[u8]) -> Result<T>,
    {
        let SetView(sorted) = self.0;
        sorted.iter(false, move |element: &[u8], _: &[u8]| read(element))
    }

    /// All elements in order. Costs as much as [`SetView::iter`].
    ///
    /// # Errors
    /// The errors of [`SetView::contains`].
    pub fn to_vec(self) -> Result<Vec<Vec<u8>>> {
        self.iter(|element| Ok(element.to_vec())).collect()
    }

    /// Lends the first element. Costs as much as [`SetView::first`].
    ///
    /// # Errors
    /// The errors of [`SetView::contains`].
    pub fn first<R>(self, read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.0.0.end(Direction::Forward, |pair| read(pair.map(|(element, _)| element)))
    }

    /// Lends the last element. Costs as much as [`SetView::last`].
    ///
    /// # Errors
    /// The errors of [`SetView::contains`].
    pub fn last<R>(self, read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.0.0.end(Direction::Reverse, |pair| read(pair.map(|(element, _)| element)))
    }

    /// Adds an element. Returns `false` if it was in the set. Costs as much as [`SetView::add`].
    ///
    /// # Errors
    /// The errors of [`SetView::add`].
    #[allow(clippy::should_implement_trait, reason = "the name that it has for values")]
    pub fn add(self, element: &[u8]) -> Result<bool> {
        let SetView(sorted) = self.0;
        Ok(sorted.put(element, &[], |_| Ok(()))?.is_none())
    }

    /// Removes an element. Returns `false` if it was not in the set. Costs as much as
    /// [`SetView::remove`].
    ///
    /// # Errors
    /// The errors of [`SetView::remove`].
    pub fn remove(self, element: &[u8]) -> Result<bool> {
        let SetView(sorted) = self.0;
        Ok(sorted.remove(element, |_| Ok(()))?.is_some())
    }
}
