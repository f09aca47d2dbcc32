//! A transaction that holds the write lock of the host, so it cannot conflict.

use std::sync::Arc;

use permazen_kv::overlay::MutableView;
use permazen_kv::{
    Blob, Direction, KeySpan, KvRead, KvTransaction, KvWrite, Result, Scan, Visitor,
};

use super::watched_keys::NotifiedState;
use crate::error::LedgerError;
use crate::page::shared::{BranchState, Shared};
use crate::page::snapshot::PageSnapshot;
use crate::page::write::Attempt;

/// A transaction on a branch that holds the write lock of the host until it ends. Writers of all
/// pages of the repository wait.
pub(super) struct ExclusiveTransaction {
    pub(super) host: Box<dyn KvTransaction + Send>,
    pub(super) state: BranchState,
    /// The branch, with the writes over it.
    pub(super) view: MutableView<PageSnapshot>,
    pub(super) read_only: bool,
    pub(super) notified: NotifiedState,
    pub(super) branch: Arc<str>,
    pub(super) shared: Arc<Shared>,
}

impl KvRead for ExclusiveTransaction {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.view.get(key)
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.view.scan(span, direction)
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        self.view.visit(span, direction, visitor)
    }

    /// Lets the engine compare earlier reads by tree. Only while nothing is written: a view with
    /// writes has no root.
    fn content_name(&self) -> Option<[u8; 48]> {
        if self.view.writes().is_empty() { self.view.base().content_name() } else { None }
    }

    fn max_key_len(&self) -> usize {
        self.view.max_key_len()
    }
}

impl KvWrite for ExclusiveTransaction {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.view.put(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.view.remove(key)
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        self.view.remove_span(span)
    }

    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        self.view.adjust_counter(key, by)
    }
}

impl KvTransaction for ExclusiveTransaction {
    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn set_read_only(&mut self) -> Result<()> {
        self.read_only = true;
        Ok(())
    }

    fn version(&self) -> Option<u64> {
        Some(self.state.version())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        // Dropped from the last to the first: if the others are the last handles, their end writes
        // to the host, so the transaction there must have ended before.
        let ExclusiveTransaction { shared, branch, notified, read_only, view, state, host } = *self;
        let draft = shared.draft(&state.root, view.writes())?;
        if read_only || draft.root == state.root {
            return Ok(());
        }
        let commit = shared.change(&state, draft.root)?;
        match shared.commit_draft_in(host, (&branch, &state), &commit, &draft)? {
            Attempt::Committed(_) => {
                notified.advance(&state.root, (state.version() + 1, draft.root));
                Ok(())
            }
            // Cannot happen, unless the host lets two transactions write at once.
            Attempt::Moved => Err(LedgerError::moved(shared.number(), &branch).into()),
        }
    }

    fn rollback(self: Box<Self>) {}
}
