//! Lists (docs/src/objects.md#sets-lists-and-maps).

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use super::content::{Content, ContentIter};
use super::position::{MAX_LIST_LEN, position_in};
use crate::encoding::{EncodingError, Value};
use crate::id::ObjId;
use crate::layout::{self, list_position};
use crate::object::encoded::Encoded;
use crate::object::error::{Error, Result};
use crate::object::transaction::Transaction;
use crate::schema::{ResolvedField, ResolvedKind};

/// A live view of a list field of an object.
///
/// The view stays usable after the object changes. If the object is deleted, the view is empty and
/// refuses changes with [`Error::DeletedObject`]. [`encoded`](ListView::encoded) has the methods
/// for encoded elements.
///
/// Inserting and removing in the middle moves the elements after the position. Cost per moved
/// element: part of a scan and one put; if the elements are indexed, also one delete and one put.
#[derive(Debug, Clone)]
pub struct ListView<'t> {
    pub(in crate::object) content: Content<'t>,
    pub(in crate::object) element: Arc<ResolvedField>,
}

#[cold]
fn no_position(content: &Content<'_>, key: &[u8], reason: &EncodingError) -> Error {
    content.damaged(
        key,
        &format_args!(
            "no list position ({reason}); check and repair the database, or clear the list"
        ),
    )
}

impl<'t> ListView<'t> {
    pub(crate) fn new(tx: &'t Transaction, id: ObjId, field: &Arc<ResolvedField>) -> Option<Self> {
        let ResolvedKind::List { element } = &field.kind else { return None };
        Some(ListView { content: Content::new(tx, id, field.clone()), element: element.clone() })
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
    #[doc(hidden)]
    pub fn encoded(&self) -> Encoded<'_, Self> {
        Encoded(self)
    }

    // ------------------------------------------------------------------ reading

    /// How many elements there are. Cost: one seek for the last element.
    ///
    /// # Errors
    /// [`Error::Kv`] if the store fails; [`Error::Ended`]; [`Error::Inconsistent`] if the last key
    /// is damaged.
    pub fn len(&self) -> Result<u32> {
        Ok(self.last_pair(|at, _| at + 1)?.unwrap_or(0))
    }

    /// Calls `read` with the position and bytes of the last element; `None` if the list is empty.
    /// Cost: one seek.
    pub(in crate::object) fn last_pair<R>(
        &self,
        read: impl FnOnce(u32, &[u8]) -> R,
    ) -> Result<Option<R>> {
        let prefix = self.content.prefix();
        let max = layout::prefix_end(&prefix);
        let span = KeySpan::new(&prefix, max.as_deref());
        self.content.first(span, Direction::Reverse, |pair| {
            pair.map(|(key, value)| Ok(read(self.position_of(key, prefix.len())?, value)))
                .transpose()
        })?
    }

    /// Whether there are no elements. Cost: one seek.
    ///
    /// # Errors
    /// The errors of [`len`](ListView::len).
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The position in a key of this list.
    pub(in crate::object) fn position_of(&self, key: &[u8], prefix_len: usize) -> Result<u32> {
        position_in(key.get(prefix_len..).unwrap_or_default())
            .map_err(|reason| no_position(&self.content, key, &reason))
    }

    /// The element at a position; `None` if there is no such position. Cost: one get.
    ///
    /// # Errors
    /// [`Error::Kv`]; [`Error::Ended`]; [`Error::Inconsistent`] if the element is damaged.
    pub fn get(&self, position: u32) -> Result<Option<Value>> {
        self.encoded().get(position, |element| {
            element.map(|element| self.decode(position, element)).transpose()
        })?
    }

    pub(in crate::object) fn decode(&self, position: u32, element: &[u8]) -> Result<Value> {
        self.content.decode(&self.element, element, || list_position(position))
    }

    pub(in crate::object) fn element_key(&self, position: u32) -> Vec<u8> {
        self.content.key(&list_position(position))
    }

    /// The elements in order; can also be read from the back.
    ///
    /// Live and by position: if a change moves an element to before the iterator's position, it is
    /// not returned. To remove elements during the iteration, use [`retain`](ListView::retain) or
    /// [`cursor`](ListView::cursor). A damaged element gives an error, and the iterator continues
    /// after it. Cost: one seek, then one step per element.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Result<Value>> + use<'t> {
        self.iter_range(..)
    }

    /// The elements at these positions in order, like [`iter`](ListView::iter). Positions after the
    /// end have none. Cost: one seek, then one step per element, independent of the position.
    ///
    /// ```
    /// # use permazen::encoding::Value;
    /// # use permazen::object::{ListView, Result};
    /// # fn example(list: &ListView<'_>) -> Result<()> {
    /// let page: Vec<Value> = list.iter_range(20..30).collect::<Result<_>>()?;
    /// # Ok(()) }
    /// ```
    pub fn iter_range<R: RangeBounds<u32>>(
        &self,
        positions: R,
    ) -> impl DoubleEndedIterator<Item = Result<Value>> + use<'t, R> {
        let (content, element) = (self.content.clone(), self.element.clone());
        self.encoded().iter_range(positions, move |position, bytes| {
            content.decode(&element, bytes, || list_position(position))
        })
    }

    /// All elements in order. Costs as much as [`iter`](ListView::iter).
    ///
    /// # Errors
    /// The errors of [`get`](ListView::get).
    pub fn to_vec(&self) -> Result<Vec<Value>> {
        self.iter().collect()
    }

    /// The position of the first element equal to `value`. `None` if there is none, or if the value
    /// cannot be an element. Cost: one seek, then one step per element up to there, in batches.
    ///
    /// # Errors
    /// The errors of [`get`](ListView::get).
    pub fn position(&self, value: &Value) -> Result<Option<u32>> {
        match self.content.find_encoding(&self.element, value)? {
            Some(element) => self.encoded().position(&element),
            None => Ok(None),
        }
    }
}

/// Lists of encoded elements.
impl<'t> Encoded<'_, ListView<'t>> {
    /// Lends the element at a position. Costs as much as [`ListView::get`].
    ///
    /// # Errors
    /// [`Error::Kv`]; [`Error::Ended`].
    pub fn get<R>(self, position: u32, read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let ListView { content, .. } = self.0;
        // No list is this long. A pair under such a position is damage.
        if position >= MAX_LIST_LEN {
            content.tx.check_open()?;
            return Ok(read(None));
        }
        content.lend(&self.0.element_key(position), read)
    }

    /// The elements in order, like [`ListView::iter`]. `read` converts each position and element.
    /// The iterator continues after an error of `read`.
    pub fn iter<T, F>(self, read: F) -> impl DoubleEndedIterator<Item = Result<T>> + use<'t, T, F>
    where
        F: FnMut(u32, &[u8]) -> Result<T>,
    {
        self.iter_range(.., read)
    }

    /// The elements at these positions, like [`ListView::iter_range`]. `read` converts each
    /// position and element. The iterator continues after an error of `read`.
    pub fn iter_range<T, F, R: RangeBounds<u32>>(
        self,
        positions: R,
        mut read: F,
    ) -> impl DoubleEndedIterator<Item = Result<T>> + use<'t, T, F, R>
    where
        F: FnMut(u32, &[u8]) -> Result<T>,
    {
        let content = self.0.content.clone();
        let suffix = |bound: Bound<&u32>| bound.map(|position| list_position(*position));
        ContentIter::new(
            &self.0.content,
            &(suffix(positions.start_bound()), suffix(positions.end_bound())),
            true,
            move |suffix: &[u8], value: &[u8]| {
                let position = position_in(suffix)
                    .map_err(|reason| no_position(&content, &content.key(suffix), &reason))?;
                read(position, value)
            },
        )
    }

    /// The position of the first element with these bytes. Costs as much as [`ListView::position`].
    ///
    /// # Errors
    /// The errors of [`ListView::get`].
    pub fn position(self, element: &[u8]) -> Result<Option<u32>> {
        let matches = |position, bytes: &[u8]| Ok((bytes == element).then_some(position));
        for found in self.iter(matches) {
            if let Some(position) = found? {
                return Ok(Some(position));
            }
        }
        Ok(None)
    }
}
