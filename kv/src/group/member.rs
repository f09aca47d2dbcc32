//! The transaction of a member.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use super::lent::Lent;
use super::shared::Group;
use crate::contract::pass_on::pass_on;
use crate::overlay::MutableView;
use crate::store_parts::deadline::Deadline;
use crate::store_parts::write_lock::Seat;
use crate::{KvRead, KvTransaction, KvWrite, Result, TxOptions};

/// A transaction that is committed together with that of the leader. Its writes stay in memory
/// until it commits.
pub(crate) struct Member {
    view: MutableView<Lent>,
    /// Whether `commit` discards the writes.
    discard: bool,
    deadline: Deadline,
    /// The turn to run. Taken out when the transaction ends.
    seat: Option<Seat>,
}

impl Member {
    /// Begins on the turn that the thread was given.
    pub(crate) fn begin(seat: Seat, options: &TxOptions) -> Self {
        let lent = Lent { group: Arc::clone(seat.group()) };
        Member {
            view: MutableView::untracked(lent),
            discard: false,
            deadline: Deadline::new(options.timeout),
            seat: Some(seat),
        }
    }

    fn group(&self) -> &Group {
        &self.view.base().group
    }

    fn check(&self) -> Result<()> {
        self.deadline.check()?;
        self.group().check()
    }

    /// Ends it. It is committed when the leader is.
    fn end(&mut self) -> Result<()> {
        self.check()?;
        if !self.discard {
            self.group().apply(self.view.writes())?;
        }
        self.seat = None;
        self.group().outcome()
    }

    fn reading(&self) -> Result<&MutableView<Lent>> {
        self.check()?;
        Ok(&self.view)
    }

    fn writing(&mut self) -> Result<&mut MutableView<Lent>> {
        self.check()?;
        Ok(&mut self.view)
    }
}

impl KvRead for Member {
    pass_on!(self => self.reading()?; READS);
    pass_on!(self => self.view; max_key_len, encode_counter, decode_counter);
}

impl KvWrite for Member {
    pass_on!(self => self.writing()?; put, remove, remove_span, adjust_counter);
}

impl KvTransaction for Member {
    fn is_read_only(&self) -> bool {
        self.discard
    }

    fn set_read_only(&mut self) -> Result<()> {
        self.check()?;
        self.discard = true;
        Ok(())
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.deadline.set(timeout)
    }

    /// The values that it has read may not be committed yet. So a transaction that discards its
    /// writes waits too.
    fn commit(mut self: Box<Self>) -> Result<()> {
        let has_written = !self.discard && !self.view.writes().is_empty();
        let lock = self.seat.as_ref().map(|seat| Arc::clone(seat.lock()));
        let done = self.end();
        match lock {
            Some(lock) if has_written => lock.counts().committed(done),
            _ => done,
        }
    }

    fn rollback(self: Box<Self>) {}
}

impl Drop for Member {
    /// The transaction may have failed because of something that it has read and that is not
    /// committed yet. So this waits until that is committed. If it never is, or if others could not
    /// wait for this transaction, the error may be about a state that never was, and the
    /// transaction runs again.
    fn drop(&mut self) {
        if let Some(seat) = self.seat.take() {
            let runs = self.group().check().is_ok();
            drop(seat);
            if !runs || self.group().outcome().is_err() {
                HAS_READ_LOST.set(true);
            }
        }
    }
}

thread_local! {
    /// Whether a transaction of this thread has failed after it may have read uncommitted values,
    /// since it began its latest attempt.
    static HAS_READ_LOST: Cell<bool> = const { Cell::new(false) };
}

/// Notes that this thread begins another attempt.
pub(crate) fn forget_lost() {
    HAS_READ_LOST.set(false);
}

/// Keeps the note about an attempt while other attempts run within it. When this is dropped, the
/// note is set again.
pub(crate) struct KeptNote(bool);

impl KeptNote {
    pub(crate) fn new() -> Self {
        KeptNote(HAS_READ_LOST.get())
    }
}

impl Drop for KeptNote {
    fn drop(&mut self) {
        HAS_READ_LOST.set(self.0);
    }
}

/// Whether the error of the latest attempt may be about a state that never was.
pub(crate) fn has_read_lost() -> bool {
    HAS_READ_LOST.get()
}
