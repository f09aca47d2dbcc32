//! Changing a list while walking over it.

use super::list::ListView;
use crate::encoding::Value;
use crate::object::error::{Error, Result};

/// A place between two elements of a list. The list can be changed there while walking over it.
/// Cost: one get per step; changes cost as much as those of the [`ListView`].
///
/// The cursor has a position, which stays the same when other code changes the list. But it removes
/// and replaces only the element that it stepped over.
#[derive(Debug, Clone)]
pub struct ListCursor<'t> {
    list: ListView<'t>,
    next: u32,
    last: Option<SteppedOver>,
}

/// An encoded element and its position.
#[derive(Debug, Clone)]
struct SteppedOver {
    position: u32,
    element: Vec<u8>,
}

impl<'t> ListView<'t> {
    /// A cursor before the first element. Reads nothing.
    ///
    /// ```
    /// # use permazen::encoding::Value;
    /// # use permazen::object::{ListView, Result};
    /// # fn example(list: &ListView<'_>) -> Result<()> {
    /// let mut cursor = list.cursor();
    /// while let Some(value) = cursor.step()? {
    ///     if value == Value::Null {
    ///         cursor.remove()?;
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub fn cursor(&self) -> ListCursor<'t> {
        self.cursor_at(0)
    }

    /// A cursor before the element at a position. Costs the same for any position.
    pub fn cursor_at(&self, position: u32) -> ListCursor<'t> {
        ListCursor { list: self.clone(), next: position, last: None }
    }
}

impl<'t> ListCursor<'t> {
    /// The position of the next element.
    pub fn position(&self) -> u32 {
        self.next
    }

    /// Moves over the next element and returns it; `None` at the end.
    ///
    /// # Errors
    /// The errors of [`ListView::get`].
    pub fn step(&mut self) -> Result<Option<Value>> {
        let value = self.step_over(self.next)?;
        // At the end the place stays, so that elements appended later can still be stepped over.
        self.next += u32::from(value.is_some());
        Ok(value)
    }

    /// Moves back over the previous element and returns it; `None` at the beginning.
    ///
    /// # Errors
    /// The errors of [`ListView::get`].
    pub fn step_back(&mut self) -> Result<Option<Value>> {
        let Some(before) = self.next.checked_sub(1) else { return Ok(None) };
        let value = self.step_over(before)?;
        if value.is_some() {
            self.next = before;
        }
        Ok(value)
    }

    fn step_over(&mut self, position: u32) -> Result<Option<Value>> {
        let Some(element) =
            self.list.encoded().get(position, |element| element.map(<[u8]>::to_vec))?
        else {
            return Ok(None);
        };
        // A damaged element is not noted, so `remove` cannot take it for one that the caller has
        // seen.
        let value = self.list.decode(position, &element)?;
        self.last = Some(SteppedOver { position, element });
        Ok(Some(value))
    }

    /// Removes the element that was stepped over last. The next step returns the element after it.
    ///
    /// # Errors
    /// The errors of [`ListView::remove`]; [`Error::InvalidArgument`] if there was no step since
    /// the last removal or insertion; [`Error::ChangedMeanwhile`] if its position now has another
    /// element.
    pub fn remove(&mut self) -> Result<Value> {
        let last = self.stepped_over()?;
        let value =
            // The element may have changed since, and then another one would go.
            self.list.encoded().remove_with(last.position, |found| self.same(last, found))?;
        self.next = last.position;
        // The next call would remove an element that the caller has not seen.
        self.last = None;
        Ok(value)
    }

    /// Replaces the element that was stepped over last, and returns the old one.
    ///
    /// # Errors
    /// The errors of [`ListView::set`] and [`ListCursor::remove`].
    pub fn set(&mut self, value: &Value) -> Result<Value> {
        let last = self.stepped_over()?;
        let old = self.list.set_value_with(last.position, value, |found| self.same(last, found))?;
        let element = self.list.content.encode(&self.list.element, value)?;
        self.last = Some(SteppedOver { position: last.position, element });
        Ok(old)
    }

    /// Decodes the element that was stepped over, if it is still at its position.
    fn same(&self, last: &SteppedOver, found: &[u8]) -> Result<Value> {
        if found == last.element {
            return self.list.decode(last.position, found);
        }
        let of = format!("position {} of {}", last.position, self.list.content.describe());
        Err(Error::ChangedMeanwhile { of })
    }

    /// Inserts an element here. The next step returns the element after it.
    ///
    /// # Errors
    /// The errors of [`ListView::insert`].
    pub fn insert(&mut self, value: &Value) -> Result<()> {
        self.list.insert(self.next, value)?;
        self.next += 1;
        // The positions after this place have moved, so the noted one means another element.
        self.last = None;
        Ok(())
    }

    fn stepped_over(&self) -> Result<&SteppedOver> {
        self.last
            .as_ref()
            .ok_or_else(|| Error::invalid_argument("the cursor has not stepped over an element"))
    }
}
