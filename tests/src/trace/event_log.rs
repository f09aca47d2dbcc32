//! The events that listeners and callbacks got.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// The events that listeners and callbacks got since the last look, and how often each listener
/// acts yet.
#[derive(Debug, Clone, Default)]
pub struct EventLog {
    told: Arc<Mutex<Vec<Value>>>,
    left: Arc<Mutex<ActsLeft>>,
    changed: Arc<Mutex<BTreeSet<String>>>,
}

/// How often each listener acts yet, by its name.
pub type ActsLeft = BTreeMap<String, u64>;

impl EventLog {
    pub fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn add(&self, event: Value) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    pub fn acts_left(&self) -> ActsLeft {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Continues as if there had been only these events since listeners could act that often.
    pub fn told_instead(&self, events: &[Value], left: ActsLeft) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = events.to_vec();
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = left;
        for name in events.iter().filter_map(|event| event.get("listener")?.as_str()) {
            self.acts(name);
        }
    }

    /// Notes the ID of an object that a listener changes.
    pub(super) fn note_change(&self, id: &str) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
    }

    /// The IDs of the objects that listeners have changed since the last look.
    pub(super) fn take_changed(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_acts(&self, name: &str, times: u64) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), times);
    }

    /// Whether the listener acts once more.
    pub(super) fn acts(&self, name: &str) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        match left.get_mut(name) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}
