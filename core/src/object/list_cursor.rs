//! Walking a list while changing it.

use super::error::{Error, Result};
use super::list_view::ListView;
use crate::encoding::Value;

/// A place between two elements of a list, through which the list can be changed while walking it.
/// Each step is one get; changes cost what those of the [`ListView`] do.
#[derive(Debug, Clone)]
pub struct ListCursor<'t, 'db> {
    list: ListView<'t, 'db>,
    next: u32,
    last: Option<u32>,
}

impl<'t, 'db> ListCursor<'t, 'db> {
    pub(super) fn new(list: ListView<'t, 'db>, next: u32) -> Self {
        ListCursor { list, next, last: None }
    }

    /// Where the next element stands.
    pub fn position(&self) -> u32 {
        self.next
    }

    /// Moves over the next element and returns it.
    ///
    /// # Errors
    /// As [`ListView::get`].
    pub fn step(&mut self) -> Result<Option<Value>> {
        let value = self.list.get(self.next)?;
        if value.is_some() {
            self.last = Some(self.next);
            self.next += 1;
        }
        Ok(value)
    }

    /// Moves back over the element before and returns it.
    ///
    /// # Errors
    /// As [`ListView::get`].
    pub fn step_back(&mut self) -> Result<Option<Value>> {
        let Some(before) = self.next.checked_sub(1) else { return Ok(None) };
        let value = self.list.get(before)?;
        if value.is_some() {
            self.next = before;
            self.last = Some(before);
        }
        Ok(value)
    }

    /// Removes the element stepped over last. The next step returns the element behind it.
    ///
    /// # Errors
    /// As [`ListView::remove`]; [`Error::InvalidArgument`] if there was no step since the last removal
    /// or insertion.
    pub fn remove(&mut self) -> Result<Value> {
        let last = self.stepped_over()?;
        let value = self.list.remove(last)?;
        self.next = last;
        self.last = None;
        Ok(value)
    }

    /// Replaces the element stepped over last.
    ///
    /// # Errors
    /// As [`ListView::set`] and [`ListCursor::remove`].
    pub fn set(&mut self, value: &Value) -> Result<Value> {
        self.list.set(self.stepped_over()?, value)
    }

    /// Inserts an element here; the next step returns the one behind it.
    ///
    /// # Errors
    /// As [`ListView::insert`].
    pub fn insert(&mut self, value: &Value) -> Result<()> {
        self.list.insert(self.next, value)?;
        self.next += 1;
        self.last = None;
        Ok(())
    }

    fn stepped_over(&self) -> Result<u32> {
        self.last
            .ok_or_else(|| Error::invalid_argument("the cursor has not stepped over an element"))
    }
}
