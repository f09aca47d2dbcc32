//! The changes of a repair, one for each pair.

use std::collections::BTreeMap;

use crate::Intent;

/// The change of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) key: Vec<u8>,
    pub(super) old: Option<Vec<u8>>,
    pub(super) new: Option<Vec<u8>>,
}

/// All changes of a repair, one for each pair.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pairs: BTreeMap<Vec<u8>, (Value, Value)>,
}

/// A value; `None` if there is no pair.
type Value = Option<Vec<u8>>;

impl Plan {
    /// Adds what a repair is about to do.
    pub(super) fn note(&mut self, intent: &Intent<'_>) {
        if let Intent::Change { key, old, new } = *intent {
            let [old, new] = [old, new].map(|value| value.map(<[u8]>::to_vec));
            self.add(Change { key: key.to_vec(), old, new });
        }
    }

    /// Adds a change that comes after the others.
    pub(super) fn add(&mut self, change: Change) {
        let Change { key, old, new } = change;
        self.pairs.entry(key).or_insert_with(|| (old, None)).1 = new;
    }

    /// The changes in the order of their keys. Pairs that end as they were are left out.
    pub(super) fn changes(&self) -> impl Iterator<Item = Change> {
        let changed = self.pairs.iter().filter(|(_, (old, new))| old != new);
        changed.map(|(key, (old, new))| Change {
            key: key.clone(),
            old: old.clone(),
            new: new.clone(),
        })
    }
}
