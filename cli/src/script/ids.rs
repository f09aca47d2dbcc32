//! The IDs that statements and commands draw at random, and keep if they are run again.

use permazen::__internal::object_xml::GeneratedIds;
use permazen_query::NewIds;

/// The IDs of the objects that the statements and commands of a transaction create, and the objects
/// that they change. If they are run again, their objects get the same IDs.
#[derive(Default)]
pub(crate) struct Ids {
    /// IDs that statements have created.
    pub(crate) of_statements: NewIds,
    /// The IDs of each `load`, in order: the same names mean other objects in another file.
    of_loads: Vec<GeneratedIds>,
    /// How many of `of_loads` are in use.
    loads: usize,
    /// How many objects were created, set, deleted, moved or read.
    changed: u64,
}

impl Ids {
    /// Lets the next run use the same IDs again, in the same order.
    pub(crate) fn begin_again(&mut self) {
        self.of_statements.begin_again();
        self.loads = 0;
    }

    /// The IDs of the next `load`.
    pub(crate) fn of_next_load(&mut self) -> GeneratedIds {
        self.of_loads.get_mut(self.loads).map(std::mem::take).unwrap_or_default()
    }

    /// Keeps the IDs of a `load` that was done.
    pub(crate) fn keep(&mut self, ids: GeneratedIds) {
        match self.of_loads.get_mut(self.loads) {
            Some(kept) => *kept = ids,
            None => self.of_loads.push(ids),
        }
        self.loads += 1;
    }

    /// Gives the IDs of a `load` back that has failed, for when it is run again.
    pub(crate) fn give_back(&mut self, ids: GeneratedIds) {
        // The IDs of a `load` that never succeeded are not kept: the next one may be of another
        // file.
        if let Some(kept) = self.of_loads.get_mut(self.loads) {
            *kept = ids;
        }
    }

    /// Adds how many objects were changed.
    pub(crate) fn has_changed(&mut self, objects: u64) {
        self.changed += objects;
    }

    /// How many objects were changed, again and again if something is run again.
    pub(crate) fn changed(&self) -> u64 {
        self.changed
    }
}
