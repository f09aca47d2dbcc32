//! What a watcher is told.

use std::fmt;
use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use crate::commit::time::CommitTime;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::items::REFERENCE;
use crate::page::protected::Protected;
use crate::page::whole::reference;
use crate::tree::diff::{Diff, Difference, Stored};
use crate::tree::nodes::root;

/// After this many bytes of keys and values, a notification is continued in another one.
const PART_BYTES: usize = 1 << 20;

/// Longer values are not in a notification, only their length.
const LONGEST_VALUE: u64 = 64 << 10;

/// What differs between two commits of a branch, below the prefix of a watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notification {
    /// The entries that were changed, added or removed, by their keys.
    pub updates: Vec<Update>,
    /// The commit up to which it tells. [`Page::snapshot`](crate::Page::snapshot) has its content.
    pub commit: CommitId,
    /// The time of that commit.
    pub time: CommitTime,
    /// Whether there is more up to this commit.
    pub part: Part,
    /// The branch was reset, or its history is gone: what was told before does not lead to this
    /// commit. The differences are exact all the same.
    pub moved: bool,
    /// Nobody has asked the watcher for more than ten minutes, and what it has told last is no
    /// longer kept. So it cannot say what differs: there are no updates, and what is below the
    /// prefix is to be read anew from the snapshot of `commit`.
    pub lost: bool,
}

/// An entry that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Update {
    /// The key.
    pub key: Vec<u8>,
    /// The value; `None` if the entry was removed.
    pub value: Option<NewValue>,
}

/// The value of an entry that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewValue {
    /// The value.
    Whole(Vec<u8>),
    /// A value of more than 64 KiB, or one that is not here.
    /// [`PageSnapshot::read_value`](crate::PageSnapshot::read_value) reads it.
    Long {
        /// Its length in bytes.
        len: u64,
        /// Its digest: equal values have equal digests.
        digest: Digest,
    },
}

/// Which part of the differences a notification has. A part has about 1 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// All of them.
    Whole,
    /// The first ones; the next notifications continue.
    Started,
    /// More of them; the next notification continues.
    Continued,
    /// The last ones.
    Completed,
}

/// The differences of two roots that are still to be told.
pub(super) struct Pending {
    page: Arc<Protected>,
    diff: Diff<Arc<Protected>>,
    next: Option<Difference>,
    started: bool,
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("started", &self.started).finish_non_exhaustive()
    }
}

impl Pending {
    /// `None` if nothing differs.
    pub(super) fn new(
        page: &Arc<Protected>,
        (old, new): (&Digest, &Digest),
        span: KeySpan<'_>,
    ) -> Result<Option<Self>> {
        let roots = (root(&**page, old)?, root(&**page, new)?);
        let mut diff = Diff::new(page, (&roots.0, &roots.1), span, Direction::Forward)?;
        let next = diff.next()?;
        let page = Arc::clone(page);
        Ok(next.is_some().then_some(Pending { page, diff, next, started: false }))
    }

    /// The next part.
    pub(super) fn part(&mut self) -> Result<(Vec<Update>, Part)> {
        let (mut updates, mut bytes) = (Vec::new(), 0);
        while bytes < PART_BYTES
            && let Some(found) = self.next.take()
        {
            let value = found.new.map(|new| new_value(&self.page, &found.key, &new)).transpose()?;
            let len = value.as_ref().map_or(0, NewValue::len_here);
            bytes += found.key.len() + len;
            updates.push(Update { key: found.key, value });
            self.next = self.diff.next()?;
        }
        let part = match (self.started, self.is_done()) {
            (false, true) => Part::Whole,
            (false, false) => Part::Started,
            (true, false) => Part::Continued,
            (true, true) => Part::Completed,
        };
        self.started = true;
        Ok((updates, part))
    }

    pub(super) fn is_done(&self) -> bool {
        self.next.is_none()
    }
}

impl NewValue {
    /// How many bytes of it are in the notification.
    fn len_here(&self) -> usize {
        match self {
            NewValue::Whole(value) => value.len(),
            NewValue::Long { .. } => Digest::LEN,
        }
    }
}

fn new_value(page: &Protected, key: &[u8], stored: &Stored) -> Result<NewValue> {
    let payload = stored.payload();
    if payload.flags & REFERENCE != 0 {
        let reference = reference(payload)?;
        if reference.len > LONGEST_VALUE {
            return Ok(NewValue::Long { len: reference.len, digest: reference.top });
        }
    }
    match page.value(&CommitId::FIRST, || key.to_vec(), payload) {
        Err(LedgerError::NeedsFetch { len, digest, .. }) => Ok(NewValue::Long { len, digest }),
        value => Ok(NewValue::Whole(value?.into_owned())),
    }
}
