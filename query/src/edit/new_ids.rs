//! The IDs of new objects.

use permazen::ObjId;
use permazen::object::Transaction;
use permazen::schema::ResolvedType;

use crate::error::QueryError;

/// The IDs of the objects that the statements of a transaction create. They are drawn once: if the
/// same statements are run again, on newer data, their objects get the same IDs.
///
/// ```
/// use permazen_query::NewIds;
///
/// let mut ids = NewIds::new();
/// // Run statements with `edit`. Then, to run them again in another transaction:
/// ids.begin_again();
/// ```
#[derive(Debug, Clone, Default)]
pub struct NewIds {
    drawn: Vec<ObjId>,
    /// How many of them are in use.
    used: usize,
}

impl NewIds {
    /// No IDs yet.
    pub fn new() -> Self {
        NewIds::default()
    }

    /// Lets the next statements use the same IDs again, in the same order.
    pub fn begin_again(&mut self) {
        self.used = 0;
    }

    /// The IDs that are in use.
    pub fn in_use(&self) -> &[ObjId] {
        self.drawn.get(..self.used).unwrap_or_default()
    }

    /// Takes back the IDs that were used since there were `used` IDs in use.
    pub(super) fn take_back(&mut self, used: usize) {
        self.used = used;
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// An ID for an object of this type: the next one that was drawn, if it is of this type and
    /// free.
    pub(super) fn next(
        &mut self,
        tx: &Transaction,
        object_type: &ResolvedType,
    ) -> Result<ObjId, QueryError> {
        let kept = self.drawn.get(self.used).copied();
        let kept = kept.filter(|id| id.storage_id() == object_type.storage_id);
        let id = match kept {
            Some(kept) if !tx.exists(kept)? => kept,
            _ => tx.generate_id(&object_type.name)?,
        };
        match self.drawn.get_mut(self.used) {
            Some(drawn) => *drawn = id,
            None => self.drawn.push(id),
        }
        self.used += 1;
        Ok(id)
    }
}
