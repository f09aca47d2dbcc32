//! The commits since the oldest open transaction began.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::{KvError, Result, Writes};

/// How many changes are kept unless another limit is set.
const LIMIT: usize = 1_000_000;

#[derive(Debug)]
pub(super) struct CommitLog {
    /// The changes, without values, with the version that they led to.
    entries: VecDeque<(u64, Arc<Writes>)>,
    /// The open transactions that may still have to be checked: how many began with each version.
    open: BTreeMap<u64, usize>,
    /// The number of changes in all entries.
    size: usize,
    limit: usize,
    /// The changes up to this version were dropped because of the limit.
    lost: u64,
}

impl CommitLog {
    pub(super) fn new() -> Self {
        CommitLog {
            entries: VecDeque::new(),
            open: BTreeMap::new(),
            size: 0,
            limit: LIMIT,
            lost: 0,
        }
    }

    pub(super) fn set_limit(&mut self, changes: usize) {
        self.limit = changes;
    }

    /// Keeps the commits after `version`, until [`unregister`](Self::unregister).
    pub(super) fn register(&mut self, version: u64) {
        *self.open.entry(version).or_default() += 1;
    }

    pub(super) fn unregister(&mut self, version: u64) {
        if let Some(count) = self.open.get_mut(&version) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(&version);
            }
        }
        self.trim();
    }

    /// Notes the changes that led to `version`.
    pub(super) fn append(&mut self, version: u64, writes: &Arc<Writes>) {
        // Without open transactions there is nothing to check.
        if self.open.is_empty() {
            return;
        }
        self.size += writes.len();
        self.entries.push_back((version, Arc::clone(writes)));
        self.trim();
    }

    fn trim(&mut self) {
        let needed = self.open.keys().next().copied();
        while let Some((version, writes)) = self.entries.front() {
            let version = *version;
            let unneeded = needed.is_none_or(|oldest| version <= oldest);
            if !unneeded && self.size <= self.limit {
                break;
            }
            // Over the limit: transactions that began before this version can no longer be checked.
            if !unneeded {
                self.lost = version;
            }
            self.size -= writes.len();
            self.entries.pop_front();
        }
    }

    /// The changes that were committed after `version`.
    ///
    /// # Errors
    /// Retryable if some of them were dropped.
    pub(super) fn since(&self, version: u64) -> Result<Vec<Arc<Writes>>> {
        if version < self.lost {
            return Err(KvError::Retry(format!(
                "more than {} changes were committed since the transaction began, too many to \
                 tell whether they conflict with it",
                self.limit
            )));
        }
        let newer = self.entries.iter().rev().take_while(|(later, _)| *later > version);
        let mut newer: Vec<_> = newer.map(|(_, writes)| Arc::clone(writes)).collect();
        newer.reverse();
        Ok(newer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(keys: u8) -> Arc<Writes> {
        let puts = (0..keys).map(|key| (vec![key], vec![])).collect();
        Arc::new(Writes { puts, ..Writes::default() })
    }

    #[test]
    fn only_what_open_transactions_need_is_kept() {
        let mut log = CommitLog::new();
        log.append(1, &change(1));
        assert!(log.entries.is_empty());
        log.register(1);
        log.append(2, &change(2));
        log.register(2);
        log.register(2);
        log.append(3, &change(3));
        assert_eq!(log.since(1).unwrap().len(), 2);
        assert_eq!(log.since(2).unwrap(), [change(3)]);
        log.unregister(1);
        assert_eq!((log.entries.len(), log.size), (1, 3));
        log.unregister(2);
        assert_eq!(log.entries.len(), 1);
        log.unregister(2);
        assert_eq!((log.entries.len(), log.size), (0, 0));
    }

    #[test]
    fn old_changes_are_given_up_rather_than_memory() {
        let mut log = CommitLog::new();
        log.set_limit(4);
        log.register(0);
        log.append(1, &change(3));
        assert!(log.since(0).is_ok());
        log.register(1);
        log.append(2, &change(3));
        assert!(log.since(0).is_err_and(|error| error.is_retryable()));
        assert_eq!(log.since(1).unwrap().len(), 1);
    }
}
