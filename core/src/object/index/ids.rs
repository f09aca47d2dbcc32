//! The object IDs of an index view without its values. This is the most frequent way to read an
//! index.

use std::borrow::Cow;
use std::sync::Arc;

use permazen_kv::Direction;

use super::selection::{IndexSource, Selection};
use super::shape::ValueLens;
use super::walk::IndexScan;
use super::wanted_ids::WantedIds;
use crate::id::ObjId;
use crate::layout;
use crate::object::error::Result;
use crate::object::store::{Keep, LiveScan, has_met};

/// The object IDs of an [`IndexView`](super::IndexView) in index order, each once per value. Can be
/// read from both ends.
pub struct IndexIds<'t> {
    source: &'t dyn IndexSource,
    selection: Arc<Selection>,
    front: Option<Walk<'t>>,
    back: Option<Walk<'t>>,
    done: bool,
}

impl std::fmt::Debug for IndexIds<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexIds").field("selection", &self.selection).finish_non_exhaustive()
    }
}

/// A walk over the entries in one direction.
enum Walk<'t> {
    /// Every key of a span ends with the object ID, and only the ID decides whether the entry is
    /// wanted.
    Plain { scan: LiveScan<'t, IdAtEnd>, wanted: Option<WantedIds>, target: Vec<u8> },
    /// All other cases.
    Checked(IndexScan<'t>),
}

/// Keeps the object ID at the end of each key, and what is needed to rebuild the key.
struct IdAtEnd {
    selection: Arc<Selection>,
    /// From the shape: where the only value begins, if its first byte gives its length.
    short: Option<(usize, ValueLens)>,
}

/// Numbers, so that they stay in registers.
#[derive(Clone, Copy, Default)]
struct KeptId {
    id: u64,
    /// The first eight bytes of the value and what follows it, if the value has at most eight bytes
    /// and its first byte gives its length. Otherwise the offset at which the key was appended.
    /// They can be told apart: the first byte of such a value is never zero, that of an offset
    /// always is.
    value: u64,
}

impl KeptId {
    #[inline]
    fn id(self) -> ObjId {
        ObjId::of_number(self.id)
    }

    #[inline]
    fn first_byte(self) -> u8 {
        self.value.to_be_bytes()[0]
    }
}

impl Keep for IdAtEnd {
    type Kept = KeptId;

    // A step costs little here, so seeks should be rare. The first batch takes about as long as
    // two seeks.
    const FIRST_BATCH: usize = 64;
    const GROWTH: usize = 16;
    const LARGEST_BATCH: usize = 2048;

    #[inline]
    fn keep_short(&self, key: &[u8]) -> Option<KeptId> {
        let (start, lens) = self.short?;
        let (_, value) = key.split_at_checked(start)?;
        let (_, id) = value.split_last_chunk::<{ ObjId::LEN }>()?;
        let head = value.first_chunk::<8>()?;
        let len = value.len() - ObjId::LEN;
        let (id, value) = (u64::from_be_bytes(*id), u64::from_be_bytes(*head));
        let kept = KeptId { id, value };
        let is_short = (1..=8).contains(&len) && len == lens.after(kept.first_byte());
        (is_short && ObjId::is_number(id)).then_some(kept)
    }

    fn keep(&self, key: &[u8], _value: &[u8], bytes: &mut Vec<u8>) -> Result<KeptId> {
        let id = u64::from_be_bytes(self.selection.shape.id_at_end(key)?.to_bytes());
        let value = bytes.len() as u64;
        bytes.extend_from_slice(&(key.len() as u64).to_be_bytes());
        bytes.extend_from_slice(key);
        Ok(KeptId { id, value })
    }

    fn key<'b>(&self, kept: KeptId, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if let Some((_, lens)) = self.short
            && kept.first_byte() != 0
        {
            let value = kept.value.to_be_bytes();
            let value = value.get(..lens.after(kept.first_byte())).unwrap_or(&value);
            let index = self.selection.shape.prefix();
            return Cow::Owned(layout::index_key(index, value, kept.id(), &[]));
        }
        let appended = bytes.get(kept.value as usize..).unwrap_or_default();
        let key = appended
            .split_first_chunk()
            .and_then(|(len, key)| key.get(..u64::from_be_bytes(*len) as usize));
        Cow::Borrowed(key.unwrap_or_default())
    }
}

impl<'t> Walk<'t> {
    fn new(source: &'t dyn IndexSource, selection: &Arc<Selection>, direction: Direction) -> Self {
        let shape = &selection.shape;
        let (min, max, checked) = selection.span();
        let id_column = shape.id_column();
        let plain = selection.schemas.is_none()
            && selection.columns == shape.columns()
            && checked.iter().all(|column| *column == id_column);
        if !plain {
            return Walk::Checked(IndexScan::new(source, selection.clone(), direction));
        }
        let wanted = WantedIds::of(selection, &checked);
        let keep = IdAtEnd { selection: selection.clone(), short: shape.short_value() };
        let scan = LiveScan::keeping(keep, source.as_scan_source(), min, max, direction)
            .through(selection.scan_overlay());
        Walk::Plain { scan, wanted, target: Vec::new() }
    }

    /// The returned columns of the last entry.
    fn returned(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Walk::Plain { scan, .. } => scan.current_key(),
            Walk::Checked(scan) => scan.current().map(|entry| entry.returned().into()),
        }
    }

    /// Whether this walk has reached the one from the other end.
    fn has_met(&self, other: &Walk<'_>, direction: Direction) -> bool {
        let both = self.returned().zip(other.returned());
        both.is_some_and(|(returned, other)| has_met(direction, &returned, &other))
    }

    /// The next ID.
    #[inline]
    fn next(&mut self) -> Result<Option<ObjId>> {
        match self {
            Walk::Plain { scan, wanted, target } => loop {
                let Some(kept) = scan.next_kept()? else { return Ok(None) };
                let id = kept.id();
                match wanted {
                    Some(wanted) if !wanted.contains(id) => wanted.pass(scan, target),
                    _ => return Ok(Some(id)),
                }
            },
            Walk::Checked(scan) => match scan.next()? {
                Some(entry) => Ok(Some(entry.id()?)),
                None => Ok(None),
            },
        }
    }
}

impl<'t> IndexIds<'t> {
    /// The IDs of a selection whose last column is the ID.
    pub(super) fn new(source: &'t dyn IndexSource, selection: Arc<Selection>) -> Self {
        IndexIds { source, selection, front: None, back: None, done: false }
    }

    /// The next ID when going forward, if it is in the batch and no other walk can meet this one.
    /// This is the most frequent case.
    #[inline]
    fn at_hand(&mut self) -> Option<ObjId> {
        let (Some(Walk::Plain { scan, wanted, target }), None) = (&mut self.front, &self.back)
        else {
            return None;
        };
        let id = scan.next_at_hand()?.id();
        match wanted {
            Some(wanted) if !wanted.contains(id) => {
                wanted.pass(scan, target);
                None
            }
            _ => Some(id),
        }
    }

    #[inline(never)]
    fn step(&mut self, direction: Direction) -> Option<Result<ObjId>> {
        if self.done {
            return None;
        }
        let (walk, other) = match direction {
            Direction::Forward => (&mut self.front, &self.back),
            Direction::Reverse => (&mut self.back, &self.front),
        };
        let walk = walk.get_or_insert_with(|| Walk::new(self.source, &self.selection, direction));
        let next = walk.next();
        if let Ok(Some(id)) = next
            && !other.as_ref().is_some_and(|other| walk.has_met(other, direction))
        {
            return Some(Ok(id));
        }
        self.done = true;
        next.err().map(Err)
    }
}

impl Iterator for IndexIds<'_> {
    type Item = Result<ObjId>;

    #[inline]
    fn next(&mut self) -> Option<Result<ObjId>> {
        match self.at_hand() {
            Some(id) => Some(Ok(id)),
            None => self.step(Direction::Forward),
        }
    }
}

impl DoubleEndedIterator for IndexIds<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Result<ObjId>> {
        self.step(Direction::Reverse)
    }
}

impl std::iter::FusedIterator for IndexIds<'_> {}
