//! Sets of objects, with typed elements.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use super::field::{CollectionField, view_basics};
use crate::encoding::FieldType;
use crate::model::error::Result;
use crate::model::handle::Handle;
use crate::model::reference::Ref;
use crate::model::target::Target;
use crate::model::values::EncodeAs;
use crate::object::{SetView, borrowed};

/// A set of an object: a live view in the order of the encoded elements, with null last.
///
/// The set may be changed during an iteration. The iterator does not return elements that were
/// removed ahead of it, and does return elements that were added ahead of it. The set of a deleted
/// object is empty and refuses changes. Costs are for an object that the transaction has used
/// before; the first use costs one more get.
pub struct SetOf<'t, E> {
    at: CollectionField<'t>,
    view: SetView<'t>,
    types: PhantomData<fn() -> E>,
}

view_basics!(SetOf<E>);

impl<'t, E: FieldType> SetOf<'t, E> {
    pub(crate) fn new(handle: Handle<'t>, position: usize) -> Result<Self> {
        // The object moves before anything is read, so that what is read is of the right
        // definition.
        handle.prepare_to_read(position)?;
        Self::prepared(handle, position)
    }

    fn prepared(handle: Handle<'t>, position: usize) -> Result<Self> {
        let field = handle.binding.field(position)?;
        let view = handle.tx.core.encoded().set_view(handle.id, field)?;
        Ok(SetOf { at: CollectionField { handle, position }, view, types: PhantomData })
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
            // One operation, so that an element that is refused leaves the set as it was.
            self.at.handle.tx.core.mutate(|| {
                elements.iter().try_for_each(|element| self.view.encoded().add(element).map(drop))
            })
        })
    }

    /// Gives the set these elements and no others, as one operation. Writes only the differences.
    ///
    /// The iterator is read to its end before anything changes, so it may read this set. Listeners
    /// run when the set is as it will be. Cost: one seek and one step per element that is there,
    /// and the writes of [`add`](SetOf::add) and [`remove`](SetOf::remove) for each element that
    /// differs.
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold an element. Nothing has then changed.
    pub fn replace(&self, elements: impl IntoIterator<Item: EncodeAs<E>>) -> Result<()> {
        let wanted: BTreeSet<Vec<u8>> = self.at.encoded_all(elements)?.into_iter().collect();
        self.at.change_all(|| {
            self.at.handle.tx.core.mutate(|| {
                let set = || self.view.encoded();
                for element in set().to_vec()?.iter().filter(|it| !wanted.contains(*it)) {
                    set().remove(element)?;
                }
                wanted.iter().try_for_each(|element| set().add(element).map(drop))
            })
        })
    }

    /// Removes an element. Returns false if it was not there. Cost: one get; one delete, and one
    /// more for an index.
    ///
    /// # Errors
    /// If the object does not exist; the errors of [`Obj::migrate`](crate::model::Obj::migrate) if
    /// it must move.
    pub fn remove(&self, element: impl EncodeAs<E>) -> Result<bool> {
        // The object need not move only to find out that there is nothing.
        if self.at.has_nothing_to_remove()? {
            return Ok(false);
        }
        self.at.change(&element, |bytes| self.view.encoded().remove(bytes))
    }

    /// Removes all elements of this set, or of this range.
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
        let at = self.at;
        self.iter().map(move |reference| at.follow(reference?))
    }
}

impl<'t, T: Target> SetOf<'t, Option<Ref<T>>> {
    /// The objects the set refers to. Null is left out.
    pub fn objects(&self) -> impl DoubleEndedIterator<Item = Result<T::Live<'t>>> + use<'t, T> {
        let at = self.at;
        self.iter().filter_map(move |reference| at.follow_some(reference))
    }
}

/// For generated accessors. `position` is the position of the field in the struct.
impl<'t> Handle<'t> {
    /// The live view of a set.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn set_of<E: FieldType>(&self, position: usize) -> Result<SetOf<'t, E>> {
        SetOf::new(*self, position)
    }

    /// Gives a set these elements and no others.
    ///
    /// # Errors
    /// The errors of [`SetOf::replace`].
    pub fn replace_set<E: FieldType>(
        &self,
        position: usize,
        elements: impl IntoIterator<Item: EncodeAs<E>>,
    ) -> Result<()> {
        // An object that moves for this moves to be changed, not to be read.
        self.prepare_to_replace(position)?;
        SetOf::<E>::prepared(*self, position)?.replace(elements)
    }
}
