//! Both sides of a merge and their base, for mergers.

use std::fmt;
use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use super::strategy::{ThreeVersions, Version};
use crate::error::Result;
use crate::ids::CommitId;
use crate::page::entry_value::EntryValue;
use crate::page::pinned_page::PinnedPage;
use crate::page::shared::Shared;
use crate::page::snapshot::PageSnapshot;
use crate::tree::diff::Stored;
use crate::tree::nodes::root;
use crate::tree::three_way::{ThreeWay, ThreeWayDiff};

/// All keys.
pub(crate) const ALL: KeySpan<'static> = KeySpan { min: b"", max: None };

/// The entries of a span that at least one version has changed.
pub(crate) fn changes(
    shared: &Arc<Shared>,
    versions: &ThreeVersions,
    span: KeySpan<'_>,
) -> Result<ThreeWayDiff<Arc<Shared>>> {
    let base = root(&**shared, &versions.base.root)?;
    let older = root(&**shared, &versions.older.root)?;
    let newer = root(&**shared, &versions.newer.root)?;
    ThreeWayDiff::new(shared, &base, (&older, &newer), span, Direction::Forward)
}

/// An entry that at least one side of a merge has changed, in value or priority. An absent lazy
/// value has no bytes: [`PageSnapshot::fetch`] gets them, in the snapshot of its side. Nor has a
/// value over the limit for whole values: [`PageSnapshot::read_value`] reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SideChange {
    /// The key.
    pub key: Vec<u8>,
    /// The value in the base; `None` if there was none.
    pub base: Option<EntryValue>,
    /// The value on the side with the newer head.
    pub newer: Option<EntryValue>,
    /// The value on the side with the older head.
    pub older: Option<EntryValue>,
}

impl SideChange {
    /// A change with those values that are stored here.
    pub(crate) fn read(
        page: &PinnedPage,
        versions: &ThreeVersions,
        found: ThreeWay,
    ) -> Result<SideChange> {
        let ThreeWay { key, base, older, newer } = found;
        let value = |of: &Version, stored: Option<Stored>| {
            let read = |stored: Stored| EntryValue::read(page, &of.commit, &key, stored.payload());
            stored.map(read).transpose()
        };
        let (base, older) = (value(&versions.base, base)?, value(&versions.older, older)?);
        let newer = value(&versions.newer, newer)?;
        Ok(SideChange { key, base, newer, older })
    }
}

/// The view of a [`Merger`](crate::Merger): both sides of a merge in which both have changes, and
/// their base.
#[derive(Clone, Copy)]
pub struct MergeSides<'m> {
    shared: &'m Arc<Shared>,
    versions: &'m ThreeVersions,
}

impl fmt::Debug for MergeSides<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeSides").field("commits", &self.commits()).finish_non_exhaustive()
    }
}

impl<'m> MergeSides<'m> {
    pub(crate) fn new(shared: &'m Arc<Shared>, versions: &'m ThreeVersions) -> Self {
        MergeSides { shared, versions }
    }

    /// The number of the page.
    pub(super) fn page(&self) -> u64 {
        self.shared.number()
    }

    /// The commits that are merged: the newer one, the older one.
    pub fn commits(&self) -> [CommitId; 2] {
        [self.versions.newer.commit, self.versions.older.commit]
    }

    /// The content of the base.
    ///
    /// # Errors
    /// If its root cannot be loaded.
    pub fn base(&self) -> Result<PageSnapshot> {
        self.snapshot(&self.versions.base)
    }

    /// The content of the older side.
    ///
    /// # Errors
    /// If its root cannot be loaded.
    pub fn older(&self) -> Result<PageSnapshot> {
        self.snapshot(&self.versions.older)
    }

    /// The content of the newer side.
    ///
    /// # Errors
    /// If its root cannot be loaded.
    pub fn newer(&self) -> Result<PageSnapshot> {
        self.snapshot(&self.versions.newer)
    }

    fn snapshot(&self, of: &Version) -> Result<PageSnapshot> {
        PageSnapshot::new(Arc::clone(self.shared), of.pin.clone(), &of.root)
    }

    /// The entries of a span that at least one side has changed, by their keys. Loads only nodes
    /// that the sides do not share with the base, and one entry at a time.
    ///
    /// # Errors
    /// If a node cannot be loaded, here or by the iterator.
    pub fn changes(&self, span: KeySpan<'_>) -> Result<MergeChanges<'m>> {
        let diff = changes(self.shared, self.versions, span)?;
        let ThreeVersions { base, older, newer } = self.versions;
        let pins = [base, older, newer].map(|version| version.pin.clone());
        let page = PinnedPage::new(Arc::clone(self.shared), pins.into());
        Ok(MergeChanges { versions: self.versions, page, diff, failed: false })
    }
}

/// The iterator of [`MergeSides::changes`]. An error ends it.
pub struct MergeChanges<'m> {
    versions: &'m ThreeVersions,
    page: PinnedPage,
    diff: ThreeWayDiff<Arc<Shared>>,
    failed: bool,
}

impl fmt::Debug for MergeChanges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeChanges").finish_non_exhaustive()
    }
}

impl Iterator for MergeChanges<'_> {
    type Item = Result<SideChange>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let found = self.diff.next().and_then(|found| {
            found.map(|found| SideChange::read(&self.page, self.versions, found)).transpose()
        });
        let found = found.transpose();
        self.failed = matches!(found, Some(Err(_)));
        found
    }
}
