//! A transaction: its reads, and its commit.

use std::sync::Arc;
use std::time::Duration;

use permazen_kv::Result;
use permazen_kv::remote::{Changes, RangePage, RangeRead, Session};

use crate::commit;
use crate::reading::Reading;
use crate::shared::Shared;

/// A transaction.
pub(crate) struct EtcdSession(Reading);

impl EtcdSession {
    pub(crate) fn new(shared: Arc<Shared>, read_only: bool, wait: Duration) -> Self {
        EtcdSession(Reading::new(shared, read_only, wait))
    }
}

impl Session for EtcdSession {
    fn ask(&mut self, reads: &[RangeRead]) -> Result<()> {
        self.0.ask(reads)
    }

    fn answer(&mut self) -> Result<Vec<RangePage>> {
        self.0.answer()
    }

    fn is_begun(&self) -> bool {
        self.0.is_begun()
    }

    /// A revision that was read can be read again, unless it is compacted.
    fn share(&mut self) -> Result<()> {
        self.0.fix()
    }

    fn commit(self: Box<Self>, changes: Changes) -> Result<()> {
        // A transaction that only reads has read one revision, so it cannot be in conflict.
        match changes.is_empty() {
            true => Ok(()),
            false => commit::commit(self.0, changes),
        }
    }
}
