//! One version of a page.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use permazen_kv::key::next_key;
use permazen_kv::{
    Blob, Conflict, Direction, KeyRanges, KeySpan, KvRead, Pair, Result as KvResult, Scan, Visitor,
    difference_by_scan,
};

use super::pinned_page::PinnedPage;
use super::shared::Shared;
use super::value::ValueReader;
use super::whole_value::{ValueLocation, reference};
use crate::digest::Digest;
use crate::error::Result;
use crate::ids::CommitId;
use crate::node::items::{MAX_KEY_LEN, NodeItem, Payload, Priority, REFERENCE};
use crate::node::view::{Node, SplitKey};
use crate::process::pins::Pin;
use crate::tree::cursor::Cursor;
use crate::tree::diff::Diff;
use crate::tree::lookup::{count_below, find};
use crate::tree::nodes::root;

/// The content of a page at a commit. It never changes, and keeps no transaction of the host open.
///
/// A snapshot pins its commit: no process removes it, unless the lease of this process has ended,
/// after an hour without renewal. Reads then fail with
/// [`SnapshotExpired`](crate::LedgerError::SnapshotExpired).
#[derive(Clone)]
pub struct PageSnapshot {
    pub(super) page: Arc<PinnedPage>,
    /// The commit that is read, which is pinned.
    pub(super) commit: CommitId,
    digest: Digest,
    pub(super) root: Arc<Node>,
}

impl fmt::Debug for PageSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageSnapshot").field("root", &self.digest).finish_non_exhaustive()
    }
}

impl PageSnapshot {
    /// The content with this root, which is that of the commit that is pinned.
    pub(crate) fn new(shared: Arc<Shared>, pin: Pin, digest: &Digest) -> Result<Self> {
        let commit = pin.commit();
        Self::of(Arc::new(PinnedPage::new(shared, vec![pin])), commit, digest)
    }

    /// A content with this root; errors name this commit.
    pub(crate) fn of(page: Arc<PinnedPage>, commit: CommitId, digest: &Digest) -> Result<Self> {
        let root = root(&*page, digest)?;
        Ok(PageSnapshot { page, commit, digest: *digest, root })
    }

    /// The root of the tree. Equal contents of pages with one secret have equal roots.
    pub fn root(&self) -> Digest {
        self.digest
    }

    /// How many entries have a key in this span. Loads two nodes of each level.
    ///
    /// # Errors
    /// If a node cannot be loaded, or is damaged.
    pub fn count(&self, span: KeySpan<'_>) -> Result<u64> {
        let below = |key: &[u8]| count_below(&*self.page, &self.root, key);
        let end = span.max.map_or(Ok(self.root.entries()), below)?;
        let begin = if span.min.is_empty() { 0 } else { below(span.min)? };
        Ok(end.saturating_sub(begin))
    }

    /// The leaf with the entry of a key, and where it is in the leaf.
    pub(super) fn find(&self, key: &[u8]) -> Result<Option<(Arc<Node>, usize)>> {
        find(&*self.page, &self.root, key)
            .map_err(|error| error.needed(|by| by.key = Some(key.to_vec())))
    }

    /// The length of the value of a key in bytes; `None` if there is no such entry. Loads one node
    /// of each level, and nothing of the value.
    ///
    /// # Errors
    /// If a node cannot be loaded, or is damaged.
    pub fn value_len(&self, key: &[u8]) -> Result<Option<u64>> {
        Ok(self.read_value(key)?.map(|value| value.value_len()))
    }

    /// Whether copies of the page must have the value of a key; `None` if there is no such entry.
    /// Loads one node of each level.
    ///
    /// # Errors
    /// If a node cannot be loaded, or is damaged.
    pub fn priority(&self, key: &[u8]) -> Result<Option<Priority>> {
        let found = self.find(key)?;
        Ok(found.map(|(leaf, at)| leaf.payload(at).priority()))
    }

    /// The value of a key, to be read in parts; `None` if there is no such entry. Loads one node of
    /// each level; the pieces of the value are loaded when they are read.
    ///
    /// ```
    /// use std::io::{Read, Seek, SeekFrom};
    /// # use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
    /// # use permazen_ledger::{MAIN, PageId, Repository};
    /// # let repository = Repository::open_or_create(MemoryStore::new())?;
    /// # let page = repository.create_page("films", PageId::ROOT)?;
    /// # let db = page.database(MAIN)?;
    /// # let mut tx = db.begin(&TxOptions::writing())?;
    /// # tx.put(b"film", &[7; 100_000])?;
    /// # tx.commit()?;
    /// let snapshot = page.snapshot(&page.head(MAIN)?)?;
    /// let mut film = snapshot.read_value(b"film")?.expect("a film");
    /// film.seek(SeekFrom::Start(50_000))?;
    /// let mut scene = [0; 500];
    /// film.read_exact(&mut scene)?;
    /// # assert_eq!((scene, snapshot.value_len(b"film")?), ([7; 500], Some(100_000)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a node cannot be loaded, or is damaged. Reading is
    /// [`LedgerError::NeedsFetch`](crate::LedgerError::NeedsFetch) where a part of the value is
    /// absent.
    pub fn read_value(&self, key: &[u8]) -> Result<Option<ValueReader>> {
        let Some((leaf, at)) = self.find(key)? else { return Ok(None) };
        let (page, payload) = (Arc::clone(&self.page), leaf.payload(at));
        if payload.flags & REFERENCE == 0 {
            return Ok(Some(ValueReader::inline(page, payload.bytes)));
        }
        let location = ValueLocation::new(&self.commit, payload.flags, key);
        Ok(Some(ValueReader::long(page, reference(payload)?, location)))
    }

    /// The value of an entry.
    fn value<'n>(&self, key: impl FnOnce() -> Vec<u8>, payload: Payload<'n>) -> Result<Blob<'n>> {
        self.page.value(&self.commit, key, payload)
    }

    /// The first entry in the ranges of `reads` that differs in the tree `now`.
    fn first_read_change(&self, now: &Digest, reads: &KeyRanges) -> Result<Option<Conflict>> {
        let now = root(&*self.page, now)?;
        let mut from = Vec::new();
        // A difference outside of the ranges moves `from` on, to skip to the next range.
        loop {
            let rest = KeySpan::new(&from, None);
            let Some(span) = reads.overlapping(rest).next() else { return Ok(None) };
            let rest = KeySpan::new(span.min, None);
            let roots = (&self.root, &now);
            let mut changes = Diff::new(&self.page, roots, rest, Direction::Forward)?;
            let Some(change) = changes.next()? else { return Ok(None) };
            if reads.contains(&change.key) {
                let key = change.key.into();
                return Ok(Some(match change.new {
                    Some(_) => Conflict::ReadWrite(key),
                    None => {
                        let max = Some(next_key(&key).into());
                        Conflict::ReadRemove { min: key, max }
                    }
                }));
            }
            from = change.key;
        }
    }

    pub(crate) fn cursor(&self, span: KeySpan<'_>, direction: Direction) -> Result<EntryCursor> {
        let (from, end) = match direction {
            Direction::Forward => (Some(span.min).filter(|min| !min.is_empty()), span.max),
            Direction::Reverse => (span.max, Some(span.min).filter(|min| !min.is_empty())),
        };
        let (page, root) = (Arc::clone(&self.page), Arc::clone(&self.root));
        let cursor = match from {
            Some(from) => Cursor::at(page, root, from, direction)?,
            None => Cursor::new(page, root, direction),
        };
        Ok(EntryCursor { cursor, direction, end: end.map(<[u8]>::to_vec) })
    }
}

/// Calls a function for each item, until it breaks or fails.
fn try_each<'n>(
    items: impl Iterator<Item = NodeItem<'n>>,
    visit: &mut impl FnMut(NodeItem<'n>) -> KvResult<ControlFlow<()>>,
) -> KvResult<ControlFlow<()>> {
    for item in items {
        if visit(item)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Iterates the entries of a span.
pub(crate) struct EntryCursor {
    pub(super) cursor: Cursor<Arc<PinnedPage>>,
    direction: Direction,
    end: Option<Vec<u8>>,
}

impl EntryCursor {
    /// Descends to the entry at the cursor. Returns `false` at the end of the span.
    pub(super) fn descend(&mut self) -> Result<bool> {
        self.cursor.enter_leaf()?;
        Ok(self.cursor.item().is_some_and(|(key, _)| self.is_before_end(key)))
    }

    /// Whether a key is before the end.
    fn is_before_end(&self, key: SplitKey<'_>) -> bool {
        self.end.as_ref().is_none_or(|end| match self.direction {
            Direction::Forward => key.cmp_key(end).is_lt(),
            Direction::Reverse => key.cmp_key(end).is_ge(),
        })
    }
}

struct Pairs<'a> {
    snapshot: &'a PageSnapshot,
    range: Option<EntryCursor>,
}

impl<'a> Pairs<'a> {
    fn pair(&mut self) -> Result<Option<Pair<'a>>> {
        let Some(range) = &mut self.range else { return Ok(None) };
        if !range.descend()? {
            self.range = None;
            return Ok(None);
        }
        let Some((key, payload)) = range.cursor.item() else { return Ok(None) };
        let value = self.snapshot.value(|| key.to_vec(), payload)?;
        let pair = (key.to_vec().into(), value.into_owned().into());
        range.cursor.step();
        Ok(Some(pair))
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = KvResult<Pair<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let pair = self.pair().map_err(Into::into).transpose();
        if matches!(pair, Some(Err(_))) {
            self.range = None;
        }
        pair
    }
}

impl KvRead for PageSnapshot {
    fn get(&self, key: &[u8]) -> KvResult<Option<Blob<'_>>> {
        let Some((leaf, at)) = self.find(key)? else { return Ok(None) };
        Ok(Some(self.value(|| key.to_vec(), leaf.payload(at))?.into_owned().into()))
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> KvResult<Scan<'a>> {
        span.check()?;
        let range = Some(self.cursor(span, direction)?);
        Ok(Box::new(Pairs { snapshot: self, range }))
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> KvResult<()> {
        span.check()?;
        let mut range = self.cursor(span, direction)?;
        let mut key = Vec::new();
        while range.descend()? {
            let Some((leaf, first)) = range.cursor.position() else { break };
            let SplitKey { prefix, .. } = leaf.key(first);
            // If the last item of the leaf is before the end, all of them are.
            let last = match direction {
                Direction::Forward => leaf.len() - 1,
                Direction::Reverse => 0,
            };
            let has_all = range.is_before_end(leaf.key(last));
            key.clear();
            key.extend_from_slice(prefix);
            let mut visit = |item: NodeItem<'_>| -> KvResult<ControlFlow<()>> {
                let rest = item.rest();
                if !has_all && !range.is_before_end(SplitKey { prefix, rest }) {
                    return Ok(ControlFlow::Break(()));
                }
                key.truncate(prefix.len());
                key.extend_from_slice(rest);
                let value = self.value(|| key.clone(), item.payload())?;
                Ok(visitor(&key, &value))
            };
            let ended = match direction {
                Direction::Forward => try_each(leaf.items_from(first), &mut visit)?,
                Direction::Reverse => {
                    try_each((0..=first).rev().map(|at| leaf.item(at)), &mut visit)?
                }
            };
            if ended.is_break() {
                return Ok(());
            }
            range.cursor.skip_node();
        }
        Ok(())
    }

    fn max_key_len(&self) -> usize {
        MAX_KEY_LEN
    }

    fn content_name(&self) -> Option<[u8; 48]> {
        let mut name = [0; 48];
        name[..16].copy_from_slice(&self.page.shared.name());
        name[16..].copy_from_slice(&self.digest.0);
        Some(name)
    }

    /// Compares the two trees. Skips subtrees that both share, however many keys were read in them.
    fn first_difference(&self, now: &dyn KvRead, reads: &KeyRanges) -> KvResult<Option<Conflict>> {
        let name = now.content_name();
        let Some((page, root)) = name.as_ref().and_then(|name| name.split_first_chunk()) else {
            return difference_by_scan(self, now, reads);
        };
        match Digest::from_slice(root) {
            Some(root) if *page == self.page.shared.name() => {
                Ok(self.first_read_change(&root, reads)?)
            }
            _ => difference_by_scan(self, now, reads),
        }
    }
}
