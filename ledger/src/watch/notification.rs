//! The notifications of watchers.

use std::fmt;
use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use crate::commit::time::CommitTime;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::items::REFERENCE;
use crate::page::pinned_page::PinnedPage;
use crate::page::whole_value::reference;
use crate::tree::diff::{Diff, Difference, Stored};
use crate::tree::nodes::root;

/// The size of keys and values after which a notification is continued in another one.
const PART_BYTES: usize = 1 << 20;

/// Of a longer value, a notification has only length and digest.
const LONGEST_VALUE: u64 = 64 << 10;

/// The differences between two commits of a branch, below the prefix of a watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notification {
    /// The entries that were changed, added or removed, by their keys.
    pub updates: Vec<Update>,
    /// The newer commit. [`Page::snapshot`](crate::Page::snapshot) has its content.
    pub commit: CommitId,
    /// The time of that commit.
    pub time: CommitTime,
    /// Whether there are more changes up to this commit.
    pub part: NotificationPart,
    /// The branch was reset, or its history was pruned: the commit of the last notification is no
    /// ancestor of this one. The differences are exact all the same.
    pub moved: bool,
    /// The watcher was idle for more than ten minutes, and the commit of its last notification is
    /// no longer kept. So the differences are not known: there are no updates, and the program must
    /// read the entries with the prefix again from the snapshot of `commit`.
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
    /// A value of more than 64 KiB, or an absent one.
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
pub enum NotificationPart {
    /// All of them.
    Whole,
    /// The first ones; the next notifications continue.
    Started,
    /// More of them; the next notification continues.
    Continued,
    /// The last ones.
    Completed,
}

/// The differences of two roots that are not delivered yet.
pub(super) struct Pending {
    page: Arc<PinnedPage>,
    diff: Diff<Arc<PinnedPage>>,
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
        page: &Arc<PinnedPage>,
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
    pub(super) fn part(&mut self) -> Result<(Vec<Update>, NotificationPart)> {
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
            (false, true) => NotificationPart::Whole,
            (false, false) => NotificationPart::Started,
            (true, false) => NotificationPart::Continued,
            (true, true) => NotificationPart::Completed,
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

fn new_value(page: &PinnedPage, key: &[u8], stored: &Stored) -> Result<NewValue> {
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
