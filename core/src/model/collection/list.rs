//! Lists of objects, with typed elements.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use super::field::{CollectionField, view_basics};
use crate::encoding::FieldType;
use crate::model::error::Result;
use crate::model::handle::Handle;
use crate::model::reference::Ref;
use crate::model::target::Target;
use crate::model::values::EncodeAs;
use crate::object::{self, ListView};

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
    at: CollectionField<'t>,
    view: ListView<'t>,
    types: PhantomData<fn() -> E>,
}

view_basics!(ListOf<E>);

impl<'t, E: FieldType> ListOf<'t, E> {
    pub(crate) fn new(handle: Handle<'t>, position: usize) -> Result<Self> {
        // The object moves before anything is read, so that what is read is of the right
        // definition.
        handle.prepare_to_read(position)?;
        Self::prepared(handle, position)
    }

    fn prepared(handle: Handle<'t>, position: usize) -> Result<Self> {
        let field = handle.binding.field(position)?;
        let view = handle.tx.core.encoded().list_view(handle.id, field)?;
        Ok(ListOf { at: CollectionField { handle, position }, view, types: PhantomData })
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
    /// [`Error::Decode`](crate::Error::Decode) if the old element is damaged.
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

    /// Gives the list these elements and no others, as one operation. Writes the elements that
    /// differ at each position, so elements that only move are written again.
    ///
    /// The iterator is read to its end before anything changes, so it may read this list. Listeners
    /// run when the list is as it will be. Cost: one seek and one step per element that is there;
    /// the writes of [`set`](ListOf::set) for each position that differs, and those of removing or
    /// appending elements at the end.
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold an element. Nothing has then changed.
    pub fn replace(&self, elements: impl IntoIterator<Item: EncodeAs<E>>) -> Result<()> {
        let wanted = self.at.encoded_all(elements)?;
        self.at.change_all(|| {
            // One operation, so that an element that is refused leaves the list as it was.
            self.at.handle.tx.core.mutate(|| {
                let list = || self.view.encoded();
                let there: Vec<Vec<u8>> =
                    list().iter(|_, bytes| Ok(bytes.to_vec())).collect::<object::Result<_>>()?;
                for ((position, old), new) in (0u32..).zip(&there).zip(&wanted) {
                    // Elements that stay where they are cost no write and no call of a listener.
                    if old != new {
                        list().set(position, new)?;
                    }
                }
                // Elements that both have are set above, so only the ends differ now.
                let kept = wanted.len().min(there.len());
                let added: Vec<&[u8]> = wanted.iter().skip(kept).map(|bytes| &bytes[..]).collect();
                if added.is_empty() {
                    let end = |count: usize| {
                        let too_long =
                            |_| object::Error::inconsistent(format!("a list has {count} elements"));
                        u32::try_from(count).map_err(too_long)
                    };
                    return self.view.remove_range(end(kept)?, end(there.len())?);
                }
                list().extend(&added).map(drop)
            })
        })
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
    /// If the object or the position does not exist. [`Error::Decode`](crate::Error::Decode) if the
    /// element is damaged.
    pub fn remove(&self, position: u32) -> Result<E> {
        self.at.decoding(|old| {
            self.at.change_all(|| self.view.encoded().remove_with(position, &mut *old))
        })
    }

    /// Removes the last element and returns it. Cost: one seek and one delete, and one delete for
    /// an index.
    ///
    /// # Errors
    /// If the object does not exist; the errors of [`Obj::migrate`](crate::model::Obj::migrate) if
    /// it must move. [`Error::Decode`](crate::Error::Decode) if the element is damaged.
    pub fn pop(&self) -> Result<Option<E>> {
        // The object need not move only to find out that there is nothing.
        if self.at.has_nothing_to_remove()? {
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
        let at = self.at;
        self.iter().map(move |reference| at.follow(reference?))
    }
}

impl<'t, T: Target> ListOf<'t, Option<Ref<T>>> {
    /// The objects the list refers to. Nulls are left out.
    pub fn objects(&self) -> impl DoubleEndedIterator<Item = Result<T::Live<'t>>> + use<'t, T> {
        let at = self.at;
        self.iter().filter_map(move |reference| at.follow_some(reference))
    }
}

/// For generated accessors. `position` is the position of the field in the struct.
impl<'t> Handle<'t> {
    /// The live view of a list.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn list_of<E: FieldType>(&self, position: usize) -> Result<ListOf<'t, E>> {
        ListOf::new(*self, position)
    }

    /// Gives a list these elements and no others.
    ///
    /// # Errors
    /// The errors of [`ListOf::replace`].
    pub fn replace_list<E: FieldType>(
        &self,
        position: usize,
        elements: impl IntoIterator<Item: EncodeAs<E>>,
    ) -> Result<()> {
        // An object that moves for this moves to be changed, not to be read.
        self.prepare_to_replace(position)?;
        ListOf::<E>::prepared(*self, position)?.replace(elements)
    }
}
