//! Observers that are called after a commit with the changes that it made.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::id::{ObjId, StorageId};
use crate::object::{self, Callback, Happened, Transaction};

/// The effect of a committed transaction on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Committed {
    /// It has created the object.
    Created,
    /// It has changed fields of the object, other than counters.
    Changed,
    /// It has deleted the object.
    Deleted,
}

/// The function of an observer.
pub(super) type Tell = Arc<dyn Fn(ObjId, Committed) + Send + Sync>;

/// An observer of the objects of some types.
pub(super) struct ToldOfCommits {
    pub(super) types: Vec<StorageId>,
    pub(super) tell: Tell,
}

impl fmt::Debug for ToldOfCommits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToldOfCommits").field(&self.types).finish()
    }
}

/// Tells observers after the commit of one transaction.
pub(super) struct AfterCommit {
    observers: Arc<[ToldOfCommits]>,
    happened: Mutex<Vec<(ObjId, Happened)>>,
}

impl AfterCommit {
    pub(super) fn new(observers: Arc<[ToldOfCommits]>) -> Self {
        AfterCommit { observers, happened: Mutex::default() }
    }
}

impl Callback for AfterCommit {
    fn before_completion(&self, tx: &Transaction) -> object::Result<()> {
        let mut happened = self.happened.lock().unwrap_or_else(PoisonError::into_inner);
        // After the end there is no transaction to ask, so this is taken before it.
        *happened = tx.take_happened();
        Ok(())
    }

    fn after_completion(&self, committed: bool) -> object::Result<()> {
        let mut happened = self.happened.lock().unwrap_or_else(PoisonError::into_inner);
        let happened = std::mem::take(&mut *happened);
        if committed {
            for (id, done) in in_sum(&happened) {
                let of_type = |other: &&ToldOfCommits| other.types.contains(&id.storage_id());
                self.observers
                    .iter()
                    .filter(of_type)
                    .for_each(|observer| (observer.tell)(id, done));
            }
        }
        Ok(())
    }
}

/// The sum of the changes that a transaction made to each object, in the order of its first change
/// to each. Nothing if it has created and deleted it.
fn in_sum(happened: &[(ObjId, Happened)]) -> Vec<(ObjId, Committed)> {
    let mut order = Vec::new();
    // Whether the object existed before, and whether it exists after.
    let mut sums: BTreeMap<ObjId, (bool, bool)> = BTreeMap::new();
    for (id, what) in happened {
        let sum = sums.entry(*id).or_insert_with(|| {
            // The order of the first events is kept, which the map does not have.
            order.push(*id);
            // The first event says whether the object existed before the transaction.
            (*what != Happened::Created, true)
        });
        sum.1 = *what != Happened::Deleted;
    }
    let done = |id: ObjId| match sums.get(&id)? {
        (false, true) => Some((id, Committed::Created)),
        (true, true) => Some((id, Committed::Changed)),
        (true, false) => Some((id, Committed::Deleted)),
        // Others have never seen the object.
        (false, false) => None,
    };
    order.into_iter().filter_map(done).collect()
}
