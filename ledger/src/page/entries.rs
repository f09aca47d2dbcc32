//! Lists entries with their values, as far as these are stored here.

use std::fmt;
use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use super::Page;
use super::entry_value::EntryValue;
use super::pinned_page::PinnedPage;
use super::snapshot::{EntryCursor, PageSnapshot};
use crate::error::Result;
use crate::ids::CommitId;
use crate::tree::diff::{Diff, Stored};
use crate::tree::nodes::root;

/// An entry of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The key.
    pub key: Vec<u8>,
    /// The value.
    pub value: EntryValue,
}

/// Entries by their keys. It ends after an error.
pub struct Entries {
    page: Arc<PinnedPage>,
    commit: CommitId,
    /// `None` at the end.
    range: Option<EntryCursor>,
}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entries").field("commit", &self.commit).finish_non_exhaustive()
    }
}

impl Entries {
    fn entry(&mut self) -> Result<Option<Entry>> {
        let Some(range) = &mut self.range else { return Ok(None) };
        if !range.descend()? {
            return Ok(None);
        }
        let Some((key, payload)) = range.cursor.item() else { return Ok(None) };
        let key = key.to_vec();
        let value = EntryValue::read(&self.page, &self.commit, &key, payload)?;
        range.cursor.step();
        Ok(Some(Entry { key, value }))
    }
}

impl Iterator for Entries {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entry().transpose();
        if !matches!(entry, Some(Ok(_))) {
            self.range = None;
        }
        entry
    }
}

/// An entry that two versions of a page do not share.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedEntry {
    /// The key.
    pub key: Vec<u8>,
    /// The old value, without the bytes of long values; `None` if the entry is new.
    pub old: Option<EntryValue>,
    /// The new value; `None` if the entry is gone.
    pub new: Option<EntryValue>,
}

/// The entries that differ, by their keys, without the bytes of long values. It ends after an
/// error.
pub struct ChangedEntries {
    diff: Option<Diff<Arc<PinnedPage>>>,
}

impl fmt::Debug for ChangedEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangedEntries").finish_non_exhaustive()
    }
}

impl ChangedEntries {
    fn change(&mut self) -> Result<Option<ChangedEntry>> {
        let Some(diff) = &mut self.diff else { return Ok(None) };
        let Some(found) = diff.next()? else { return Ok(None) };
        let value = |stored: Option<Stored>| {
            stored.map(|stored| EntryValue::of(stored.payload())).transpose()
        };
        Ok(Some(ChangedEntry { key: found.key, old: value(found.old)?, new: value(found.new)? }))
    }
}

impl Iterator for ChangedEntries {
    type Item = Result<ChangedEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        let change = self.change().transpose();
        if !matches!(change, Some(Ok(_))) {
            self.diff = None;
        }
        change
    }
}

impl PageSnapshot {
    /// The entries with keys in a span. A value that is absent, or over the limit for whole values,
    /// is listed without its bytes; the [source](Page::set_source) is not asked.
    ///
    /// # Errors
    /// If the span is invalid, or a node cannot be loaded.
    pub fn entries(&self, span: KeySpan<'_>, direction: Direction) -> Result<Entries> {
        span.check()?;
        let range = Some(self.cursor(span, direction)?);
        Ok(Entries { page: Arc::clone(&self.page), commit: self.commit, range })
    }
}

impl Page {
    /// The entries of a span that differ between two commits in value or priority, as
    /// [`diff`](Page::diff) returns them, but without the bytes of values of more than 512 bytes:
    /// their digests are compared. So it works whether these values are stored here or absent.
    ///
    /// # Errors
    /// If one of the commits is not in the page, or the host fails.
    pub fn diff_entries(
        &self,
        old: &CommitId,
        new: &CommitId,
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<ChangedEntries> {
        span.check()?;
        let (old, new) = (self.shared.pinned_root(old)?, self.shared.pinned_root(new)?);
        let page = Arc::new(PinnedPage::new(Arc::clone(&self.shared), vec![old.0, new.0]));
        let roots = (root(&*page, &old.1)?, root(&*page, &new.1)?);
        let diff = Some(Diff::new(&page, (&roots.0, &roots.1), span, direction)?);
        Ok(ChangedEntries { diff })
    }
}
