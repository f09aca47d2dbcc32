//! The sessions that read a shared state, so that a thread need not wait for the answer to another
//! one.

use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread;

use super::engine::Siblings;
use super::lane::Lane;
use crate::store_parts::counts::Counts;
use crate::store_parts::lock::lock;

/// No more sessions than this are made beside the first one.
const MOST: usize = 15;

/// The first session, and the sessions that were made because others were busy.
pub(super) struct Lanes {
    pub(super) first: Mutex<Lane>,
    others: OnceLock<Others>,
}

struct Others {
    make: Siblings,
    counts: Arc<Counts>,
    /// Filled from the start.
    lanes: Box<[OnceLock<Mutex<Lane>>]>,
}

impl Lanes {
    pub(super) fn new(first: Lane) -> Self {
        Lanes { first: Mutex::new(first), others: OnceLock::new() }
    }

    /// From now on there can be more sessions than the first.
    pub(super) fn allow_others(&self, make: Siblings, counts: Arc<Counts>) {
        let lanes = || (0..MOST).map(|_| OnceLock::new()).collect();
        self.others.get_or_init(|| Others { make, counts, lanes: lanes() });
    }

    /// A session that no thread uses now. If there are several, the one that this thread has used
    /// last, because it has the pairs that the thread has read and asked for. Waits for the first
    /// session if all are busy and no more can be made.
    pub(super) fn choose(&self) -> MutexGuard<'_, Lane> {
        let Some(others) = self.others.get() else { return lock(&self.first) };
        let me = thread::current().id();
        let mut free = None;
        for (is_first, lane) in iter::once((true, &self.first)).chain(others.made()) {
            let lane = match lane.try_lock() {
                Ok(lane) => lane,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => continue,
            };
            if lane.user == Some(me) && lane.check().is_ok() {
                return lane;
            }
            // The connection of one of the other sessions may be lost. The rest still read the same
            // state.
            if free.is_none() && (is_first || lane.check().is_ok()) {
                free = Some(lane);
            }
        }
        let mut chosen = match free {
            Some(lane) => lane,
            None => others.another().unwrap_or_else(|| lock(&self.first)),
        };
        chosen.user = Some(me);
        chosen
    }
}

impl Others {
    fn made(&self) -> impl Iterator<Item = (bool, &Mutex<Lane>)> {
        self.lanes.iter().map_while(OnceLock::get).map(|lane| (false, lane))
    }

    /// One more session, if there is room for it.
    fn another(&self) -> Option<MutexGuard<'_, Lane>> {
        self.lanes.iter().find(|place| place.get().is_none())?;
        let mut made = Mutex::new(Lane::new((self.make)()?, Arc::clone(&self.counts)));
        for place in &self.lanes {
            // Other threads may fill places at the same time.
            match place.set(made) {
                Ok(()) => return place.get().map(lock),
                Err(again) => made = again,
            }
        }
        None
    }
}
