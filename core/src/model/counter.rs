//! The counters of an object.

use super::error::Result;
use super::handle::Handle;
use crate::object::Migrate;

/// A counter of an object.
#[derive(Debug, Clone, Copy)]
pub struct CounterOf<'t> {
    handle: Handle<'t>,
    position: usize,
}

impl<'t> CounterOf<'t> {
    pub(crate) fn new(handle: Handle<'t>, position: usize) -> Self {
        CounterOf { handle, position }
    }

    /// The number. Cost: one get.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn get(&self) -> Result<i64> {
        let field = self.handle.binding.field(self.position)?;
        let (core, id, handle) = (&self.handle.tx.core, self.handle.id, &self.handle);
        let mut migrate = handle.access();
        if migrate == Migrate::No && !core.encoded().defines(id, field)? {
            if handle.is_missing(self.position)? {
                return Ok(handle.binding.default_of(self.position)?.counter(field)?);
            }
            migrate = Migrate::Yes;
        }
        let read = core.encoded().counter(id, field, migrate);
        handle.or_unmovable(read, |data| Ok(data.counter(field)?))
    }

    /// Sets the number. Cost: one put.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn set(&self, number: i64) -> Result<()> {
        let field = self.handle.binding.field(self.position)?;
        let (core, id) = (&self.handle.tx.core, self.handle.id);
        let access = self.handle.access();
        // The number that is replaced need not be converted if the object must move.
        let migrate = match core.encoded().defines(id, field)? {
            true => access,
            false => Migrate::Yes,
        };
        Ok(core.encoded().set_counter(id, field, number, migrate)?)
    }

    /// Adds to the number, which wraps at 64 bits. Transactions that only add do not conflict,
    /// where the store supports that. Adding 0 does nothing.
    ///
    /// Cost: one get and one adjustment of the store. The get finds out whether the counter is
    /// damaged. It cannot cause a conflict.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn add(&self, by: i64) -> Result<()> {
        let field = self.handle.binding.field(self.position)?;
        if by == 0 {
            return Ok(());
        }
        let (core, id) = (&self.handle.tx.core, self.handle.id);
        self.handle.change(self.position, || {
            core.encoded().adjust_counter(id, field, by, self.handle.access())
        })
    }
}

/// For generated accessors. `position` is the position of the field in the struct.
impl<'t> Handle<'t> {
    /// The counter. Reads nothing.
    pub fn counter(&self, position: usize) -> CounterOf<'t> {
        CounterOf::new(*self, position)
    }
}
