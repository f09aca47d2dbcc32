//! The pairs below the objects.

use permazen_kv::KvRead;

use super::{Result, Transaction};

impl Transaction<'_> {
    /// Lends the key/value pairs for reading, as this transaction sees them: for tools that look at
    /// the layout itself. Nothing can be changed in the transaction while they are lent.
    ///
    /// # Errors
    /// Those of `body`; [`Error::Ended`](super::Error::Ended).
    pub fn read_pairs<R>(&self, body: impl FnOnce(&dyn KvRead) -> Result<R>) -> Result<R> {
        self.check_open()?;
        self.store().read(body)
    }
}
