//! Sets (docs/src/objects.md#sets-lists-and-maps).

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

/// A live view of a set field of an object, or of a range of it.
///
/// Elements are in the order of their encoding, null last. The view stays usable after the object
/// changes. If the object is deleted, the view is empty and refuses changes with
/// [`Error::DeletedObject`]. [`encoded`](SetView::encoded) has the methods for encoded elements.
#[derive(Debug, Clone)]
pub struct SetView<'t, 'db> {
    content: Content<'t, 'db>,
    element: Arc<ResolvedField>,
    range: EncodedRange,
}

impl<'t, 'db> SetView<'t, 'db> {
    pub(crate) fn new(
        tx: &'t Transaction<'db>,
        id: ObjId,
        field: &Arc<ResolvedField>,
    ) -> Option<Self> {
        let ResolvedKind::Set { element } = &field.kind else { return None };
        Some(SetView {
            content: Content::new(tx, id, field.clone()),
            element: element.clone(),
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

    /// The methods for encoded elements. Reads nothing.
    pub fn encoded(&self) -> Encoded<'_, Self> {
        Encoded(self)
    }

    /// The part of this view between two bounds.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if a bound cannot be an element; [`Error::InvalidArgument`] if the
    /// lower bound is above the upper one.
    pub fn range(&self, lower: Bound<&Value>, upper: Bound<&Value>) -> Result<Self> {
        let lower = self.content.encode_bound(&self.element, lower)?;
        let upper = self.content.encode_bound(&self.element, upper)?;
        self.restricted(lower, upper)
    }

    fn restricted(&self, lower: Bound<Vec<u8>>, upper: Bound<Vec<u8>>) -> Result<Self> {
        let range = intersect_ranges(&self.range, &checked_range(lower, upper)?);
        Ok(SetView { range, ..self.clone() })
    }

    fn is_in_range(&self, element: &[u8]) -> bool {
        is_within(element, &self.range)
    }

    fn is_unbounded(&self) -> bool {
        matches!(self.range, (Bound::Unbounded, Bound::Unbounded))
    }

    // ------------------------------------------------------------------ reading

    /// Whether the set contains a value. It does not contain a value that cannot be an element.
    /// Cost: one get.
    ///
    /// # Errors
    /// [`Error::Kv`] if the store fails; [`Error::Ended`].
    pub fn contains(&self, value: &Value) -> Result<bool> {
        match self.content.encode(&self.element, value) {
            Ok(element) => self.encoded().contains(&element),
            Err(Error::InvalidValue { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The elements in order; can also be read from the back. Live: the set may be changed during
    /// the iteration. A damaged element gives an error, and the iterator continues after it. Cost:
    /// one seek, then one step per element.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Result<Value>> + use<'t, 'db> {
        let (content, element) = (self.content.clone(), self.element.clone());
        self.encoded().iter(move |bytes| content.decode(&element, bytes, || bytes))
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
        self.encoded().first(|element| self.decode(element))?
    }

    /// The last element. Cost: one seek.
    ///
    /// # Errors
    /// The errors of [`to_vec`](SetView::to_vec).
    pub fn last(&self) -> Result<Option<Value>> {
        self.encoded().last(|element| self.decode(element))?
    }

    fn decode(&self, element: Option<&[u8]>) -> Result<Option<Value>> {
        element.map(|element| self.content.decode(&self.element, element, || element)).transpose()
    }

    /// Lends the first element, or in reverse the last one, and the value of its pair. Cost: one
    /// seek.
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

    /// Whether there are no elements. Cost: one seek.
    ///
    /// # Errors
    /// The errors of [`contains`](SetView::contains).
    pub fn is_empty(&self) -> Result<bool> {
        self.encoded().first(|element| element.is_none())
    }

    /// How many elements there are. Cost: all of them are read.
    ///
    /// # Errors
    /// The errors of [`contains`](SetView::contains).
    pub fn len(&self) -> Result<usize> {
        self.encoded().iter(|_| Ok(())).try_fold(0, |count, element| element.map(|()| count + 1))
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
        self.encoded().add(&self.content.encode(&self.element, value)?)
    }

    fn add_in(&self, target: &Target, part: &ResolvedField, element: &[u8]) -> Result<bool> {
        let key = self.content.key(element);
        if self.content.tx.store().contains(&key)? {
            return Ok(false);
        }
        self.content.check_entry(part, element, 0)?;
        self.content.put(&key, &[], None)?;
        self.content.index(part, element, &[])?;
        if target.monitored {
            self.content.changed(target, ChangeKind::SetAdd { value: element.into() });
        }
        Ok(true)
    }

    /// Removes an element. Returns `false` if it was not in the set or cannot be an element. Cost:
    /// one get and one delete; with an index, another delete.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist.
    pub fn remove(&self, value: &Value) -> Result<bool> {
        match self.content.encode(&self.element, value) {
            Ok(element) => self.encoded().remove(&element),
            Err(Error::InvalidValue { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn remove_in(&self, target: &Target, element: &[u8]) -> Result<bool> {
        let Some(stored) = self.content.get(&self.content.key(element))? else {
            return Ok(false);
        };
        self.take_in(target, element, &stored).map(|()| true)
    }

    /// Removes an element that is in the set; `stored` is the value of its pair.
    fn take_in(&self, target: &Target, element: &[u8], stored: &[u8]) -> Result<()> {
        self.content.remove(&self.content.key(element), stored)?;
        self.content.unindex(self.element_of(target), element, &[])?;
        if target.monitored {
            self.content.changed(target, ChangeKind::SetRemove { value: element.into() });
        }
        Ok(())
    }

    /// Removes and returns the first element. Cost: one seek and one delete; with an index, another
    /// delete.
    ///
    /// # Errors
    /// The errors of [`remove`](SetView::remove) and [`first`](SetView::first).
    pub fn pop_first(&self) -> Result<Option<Value>> {
        self.pop(Direction::Forward)
    }

    /// Removes and returns the last element. Costs as much as [`pop_first`](SetView::pop_first).
    ///
    /// # Errors
    /// The errors of [`remove`](SetView::remove) and [`last`](SetView::last).
    pub fn pop_last(&self) -> Result<Option<Value>> {
        self.pop(Direction::Reverse)
    }

    fn pop(&self, direction: Direction) -> Result<Option<Value>> {
        self.content.mutate(|target| {
            let pair = self.end(direction, |pair| {
                pair.map(|(element, stored)| {
                    let value = self.content.decode(&self.element, element, || element)?;
                    Ok::<_, Error>((element.to_vec(), stored.to_vec(), value))
                })
                .transpose()
            })??;
            let Some((element, stored, value)) = pair else { return Ok(None) };
            self.take_in(target, &element, &stored)?;
            Ok(Some(value))
        })
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
        let mut unwanted = Vec::new();
        for element in self.encoded().to_vec()? {
            if !keep(&self.content.decode(&self.element, &element, || &element)?) {
                unwanted.push(element);
            }
        }
        if unwanted.is_empty() {
            return Ok(0);
        }
        self.content.mutate(|target| {
            unwanted.iter().try_fold(0, |removed, element| {
                Ok(removed + usize::from(self.remove_in(target, element)?))
            })
        })
    }

    /// Removes all elements of this view. Cost: one scan and one range removal, and one delete per
    /// index entry. If listeners watch the set and the view is only a part of it, the elements are
    /// removed one by one, as [`remove`](SetView::remove) does.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::DeletedObject`] if the object does not exist.
    pub fn clear(&self) -> Result<()> {
        self.content.mutate(|target| {
            let Some((min, max)) = self.content.span(&self.range) else { return Ok(()) };
            // The only notification for many elements is that the whole set was cleared.
            if target.monitored && !self.is_unbounded() {
                for element in self.encoded().to_vec()? {
                    self.remove_in(target, &element)?;
                }
                return Ok(());
            }
            let part = self.element_of(target);
            let found =
                self.content.remove_content(&min, max.as_deref(), |element, _, entries| {
                    entries.add_entry(part, element, self.content.id, &[]);
                    Ok(())
                })?;
            if found && target.monitored {
                self.content.changed(target, ChangeKind::SetClear);
            }
            Ok(())
        })
    }

    /// Removes a reference to a deleted object from the set and, if `null` is given, adds that
    /// instead.
    pub(crate) fn unreference(&self, element: &[u8], null: Option<&[u8]>) -> Result<()> {
        self.content.mutate(|target| {
            if self.remove_in(target, element)?
                && let Some(null) = null
            {
                self.add_in(target, self.element_of(target), null)?;
            }
            Ok(())
        })
    }

    /// The element field, as the object's present schema defines it.
    fn element_of<'a>(&'a self, target: &'a Target) -> &'a ResolvedField {
        element_part(&target.field).unwrap_or(&self.element)
    }
}

/// Sets of encoded elements.
impl<'t, 'db> Encoded<'_, SetView<'t, 'db>> {
    /// The part of this view between two bounds.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lower bound is above the upper one.
    pub fn range(self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<SetView<'t, 'db>> {
        self.0.restricted(lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec))
    }

    /// Whether the set contains an element with these bytes. Cost: one get.
    ///
    /// # Errors
    /// The errors of [`SetView::contains`].
    pub fn contains(self, element: &[u8]) -> Result<bool> {
        let SetView { content, .. } = self.0;
        // The encoding of an element is never empty.
        if element.is_empty() || !self.0.is_in_range(element) {
            return Ok(false);
        }
        content.lend(&content.key(element), |value| value.is_some())
    }

    /// The elements in order, like [`SetView::iter`]. `read` converts each element. The iterator
    /// continues after an error of `read`.
    pub fn iter<T, F>(
        self,
        mut read: F,
    ) -> impl DoubleEndedIterator<Item = Result<T>> + use<'t, 'db, T, F>
    where
        F: FnMut(&[u8]) -> Result<T>,
    {
        let SetView { content, range, .. } = self.0;
        ContentIter::new(content, range, false, move |element: &[u8], _: &[u8]| read(element))
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
        self.0.end(Direction::Forward, |pair| read(pair.map(|(element, _)| element)))
    }

    /// Lends the last element. Costs as much as [`SetView::last`].
    ///
    /// # Errors
    /// The errors of [`SetView::contains`].
    pub fn last<R>(self, read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.0.end(Direction::Reverse, |pair| read(pair.map(|(element, _)| element)))
    }

    /// Adds an element. Returns `false` if it was in the set. Costs as much as [`SetView::add`].
    ///
    /// # Errors
    /// The errors of [`SetView::add`].
    #[allow(clippy::should_implement_trait, reason = "the name that it has for values")]
    pub fn add(self, element: &[u8]) -> Result<bool> {
        let view = self.0;
        view.content.check_encoded(&view.element, element)?;
        // The schema that the object has now decides which types may be referred to.
        let present = view.content.present_field();
        let part = present.as_deref().and_then(element_part).unwrap_or(&view.element);
        view.content.check_type(part, element)?;
        if !view.is_in_range(element) {
            return Err(Error::invalid_argument(format!(
                "the element to add is outside of the range of the view of {}",
                view.content.describe()
            )));
        }
        view.content.mutate(|target| {
            let part = view.element_of(target);
            view.content.check_exists(part, element)?;
            view.add_in(target, part, element)
        })
    }

    /// Removes an element. Returns `false` if it was not in the set. Costs as much as
    /// [`SetView::remove`].
    ///
    /// # Errors
    /// The errors of [`SetView::remove`].
    pub fn remove(self, element: &[u8]) -> Result<bool> {
        let view = self.0;
        // The encoding of an element is never empty.
        if element.is_empty() || !view.is_in_range(element) {
            return Ok(false);
        }
        view.content.mutate(|target| view.remove_in(target, element))
    }
}

/// The element field of a set.
fn element_part(field: &ResolvedField) -> Option<&ResolvedField> {
    match &field.kind {
        ResolvedKind::Set { element } => Some(element),
        _ => None,
    }
}
