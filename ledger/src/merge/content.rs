//! Makes the content of a merge from two versions and their base.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use permazen_kv::overlay::MutableView;

use super::merger::{Conflict, KeyClass, Merger, Resolution};
use super::sides::{ALL, MergeSides, changes};
use super::strategy::{Strategy, ThreeVersions, Version};
use crate::error::{LedgerError, Result};
use crate::node::items::{Payload, Priority, REFERENCE};
use crate::page::pinned_page::PinnedPage;
use crate::page::readable_draft::ReadableDraft;
use crate::page::shared::Shared;
use crate::page::snapshot::PageSnapshot;
use crate::page::write::Draft;
use crate::process::streams::Streamed;
use crate::tree::diff::Stored;
use crate::tree::edit::{Edits, End, RemovedRange, edit};
use crate::tree::lookup::find;
use crate::tree::nodes::root;
use crate::tree::three_way::ThreeWay;
use crate::value::reference::Reference;
use crate::value::split::NewPiece;

/// The result of the merge for an entry.
pub(crate) enum Outcome {
    /// It stays as in the newer version.
    Newer,
    Stored(Option<Stored>),
    Value(Vec<u8>),
    /// A value, or a reference to one that was written in parts.
    New(Vec<u8>, Priority),
}

impl Outcome {
    /// A counter to which both versions have added. It is lazy if it is lazy in both.
    pub(crate) fn sum(sum: i64, found: &ThreeWay) -> Self {
        let flags = |side: &Option<Stored>| side.as_ref().map_or(0, |stored| stored.flags);
        let flags = flags(&found.older) & flags(&found.newer);
        let bytes = Bytes::copy_from_slice(&sum.to_be_bytes());
        Outcome::Stored(Some(Stored { flags, bytes }))
    }
}

/// How two versions have changed an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changed {
    /// Only the newer one has changed it, or both in the same way, or it is derived.
    Newer,
    /// Only the older one has changed it.
    Older,
    /// Both have added to a counter: the sum.
    Sum(i64),
    /// Both have changed it in different ways.
    Both,
}

/// The content of a merge while it is made: the newer version with changes.
pub(crate) struct MergedContent<'s> {
    shared: &'s Arc<Shared>,
    versions: &'s ThreeVersions,
    /// The changes by their keys.
    edits: Edits,
    pieces: Vec<NewPiece>,
    streamed: BTreeMap<u64, Arc<Streamed>>,
}

impl<'s> MergedContent<'s> {
    /// Begins with the newer version.
    pub(crate) fn new(shared: &'s Arc<Shared>, versions: &'s ThreeVersions) -> Self {
        let (edits, pieces, streamed) = (Edits::default(), Vec::new(), BTreeMap::new());
        MergedContent { shared, versions, edits, pieces, streamed }
    }

    /// Sets an entry. The keys ascend.
    pub(crate) fn set(&mut self, key: Vec<u8>, outcome: Outcome) -> Result<()> {
        let MergedContent { shared, edits, pieces, streamed, .. } = self;
        match outcome {
            Outcome::Newer => Ok(()),
            Outcome::Stored(None) => {
                let to = End::Included(key.clone());
                edits.drops.push(RemovedRange { from: key, to });
                Ok(())
            }
            Outcome::Stored(Some(stored)) => {
                edits.puts.push(&key, stored.payload());
                Ok(())
            }
            Outcome::Value(value) => shared.put(&mut edits.puts, &key, &value, pieces),
            Outcome::New(value, priority) => {
                shared.put_new(&mut edits.puts, &key, (&value, priority), pieces, streamed)
            }
        }
    }

    /// The content, after the merger has rebuilt the derived entries.
    pub(crate) fn draft(self, merger: &mut dyn Merger) -> Result<Draft> {
        let MergedContent { shared, versions, edits, pieces, streamed } = self;
        let edited = edit(&**shared, &shared.boundaries, &versions.newer.root, edits)?;
        let draft = Draft { streamed, ..Draft::new(edited, pieces) };
        if !merger.has_derived() {
            return Ok(draft);
        }
        let pins = vec![versions.newer.pin.clone(), versions.older.pin.clone()];
        let page = PinnedPage::new(Arc::clone(shared), pins).with(ReadableDraft::of(&draft)?);
        let page = Arc::new(page);
        let newer = versions.newer.commit;
        let merged = PageSnapshot::of(Arc::clone(&page), newer, &draft.root)?;
        let mut view = MutableView::untracked(merged);
        let finished = merger.finish_with(&mut view, &MergeSides::new(shared, versions));
        finished.map_err(|error| of_its_side(shared, versions, error))?;
        let changed = shared.draft_on(&page, &draft.root, view.writes())?;
        draft.then(changed)
    }
}

/// Corrects the commit in an error about an absent value: it names the side that has it.
fn of_its_side(shared: &Shared, versions: &ThreeVersions, error: LedgerError) -> LedgerError {
    let LedgerError::NeedsFetch { page, key, len, digest, .. } = error else { return error };
    let has_it = |version: &Version| {
        let found = root(shared, &version.root).and_then(|root| find(shared, &root, &key));
        let Ok(Some((leaf, at))) = found else { return false };
        Reference::parse(leaf.payload(at).bytes).is_ok_and(|value| value.top == digest)
    };
    let version = if has_it(&versions.newer) { &versions.newer } else { &versions.older };
    LedgerError::NeedsFetch { page, commit: version.commit, key, len, digest }
}

/// Lets a merger decide.
pub(crate) struct ByMerger<'m>(pub(crate) &'m mut dyn Merger);

impl Strategy for ByMerger<'_> {
    fn content(&mut self, shared: &Arc<Shared>, versions: &ThreeVersions) -> Result<Draft> {
        merged_content(shared, versions, self.0)
    }
}

fn merged_content(
    shared: &Arc<Shared>,
    versions: &ThreeVersions,
    merger: &mut dyn Merger,
) -> Result<Draft> {
    merger.begin(&MergeSides::new(shared, versions))?;
    let mut content = MergedContent::new(shared, versions);
    let mut changes = changes(shared, versions, ALL)?;
    while let Some(found) = changes.next()? {
        let outcome = outcome(shared, versions, &found, merger)?;
        content.set(found.key, outcome)?;
    }
    content.draft(merger)
}

/// How two versions have changed an entry, by comparing values only.
pub(crate) fn changed(found: &ThreeWay, class: KeyClass) -> Changed {
    let ThreeWay { base, older, newer, .. } = found;
    if older == base || class == KeyClass::Derived {
        return Changed::Newer;
    }
    if newer == base {
        return Changed::Older;
    }
    // Before equality: if both sides have added the same number, it counts twice.
    if class == KeyClass::Counter
        && let Some(sum) = sum(base.as_ref(), older.as_ref(), newer.as_ref())
    {
        return Changed::Sum(sum);
    }
    if older == newer { Changed::Newer } else { Changed::Both }
}

fn outcome(
    shared: &Shared,
    versions: &ThreeVersions,
    found: &ThreeWay,
    merger: &mut dyn Merger,
) -> Result<Outcome> {
    let ThreeWay { key, base, older, newer } = found;
    match changed(found, merger.class(key)) {
        Changed::Newer => return Ok(Outcome::Newer),
        Changed::Older => return Ok(Outcome::Stored(older.clone())),
        Changed::Sum(sum) => return Ok(Outcome::sum(sum, found)),
        Changed::Both => {}
    }
    let read = |of: &Version, stored| match merger.needs_values() {
        true => read(shared, of, key, stored),
        false => Ok(None),
    };
    let ThreeVersions { base: first, older: second, newer: third } = versions;
    let values = (read(first, base)?, read(second, older)?, read(third, newer)?);
    let conflict = Conflict {
        key,
        base: values.0.as_deref(),
        older: values.1.as_deref(),
        newer: values.2.as_deref(),
    };
    Ok(match merger.resolve(&conflict)? {
        Resolution::Newer => Outcome::Newer,
        Resolution::Older => Outcome::Stored(older.clone()),
        Resolution::Remove => Outcome::Stored(None),
        Resolution::Value(value) => Outcome::Value(value),
    })
}

/// The whole value of an entry of a version.
fn read(
    shared: &Shared,
    of: &Version,
    key: &[u8],
    stored: &Option<Stored>,
) -> Result<Option<Vec<u8>>> {
    match stored {
        Some(stored) => shared
            .value(&of.commit, || key.to_vec(), stored.payload())
            .map(|value| Some(value.into_owned())),
        None => Ok(None),
    }
}

/// The base with the additions of both sides, if all three are counters. A base without the entry
/// is 0.
fn sum(base: Option<&Stored>, older: Option<&Stored>, newer: Option<&Stored>) -> Option<i64> {
    let number = |stored: &Stored| {
        let Payload { flags, bytes } = stored.payload();
        let bytes = bytes.try_into().ok().filter(|_| flags & REFERENCE == 0)?;
        Some(i64::from_be_bytes(bytes))
    };
    let base = base.map_or(Some(0), number)?;
    let (older, newer) = (number(older?)?, number(newer?)?);
    Some(older.wrapping_add(newer.wrapping_sub(base)))
}
