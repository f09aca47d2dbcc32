//! Walks over entries that are one value and then an object ID, where only the ID decides whether
//! an entry is wanted. Most indexes are like that, and most queries.

use std::borrow::Cow;
use std::sync::Arc;

use permazen_kv::Direction;

use super::selection::{IndexSource, Selection};
use super::shape::PlainEnd;
use super::wanted_ids::WantedIds;
use crate::encoding::string;
use crate::id::ObjId;
use crate::layout;
use crate::object::error::Result;
use crate::object::store::{Keep, LiveScan};

/// The code that finds out whether the value of a key ends where its object ID begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EndOfValue {
    /// The walk.
    Checked,
    /// The caller, which decodes the value. If it cannot, it calls [`PlainWalk::check`].
    Trusted,
}

/// A walk over plain entries in one direction.
pub(super) struct PlainWalk<'t> {
    scan: LiveScan<'t, IdAtEnd>,
    wanted: Option<WantedIds>,
    /// A buffer for the key that the scan seeks next.
    target: Vec<u8>,
}

/// Keeps the object ID at the end of each key, and the value before it.
pub(super) struct IdAtEnd {
    selection: Arc<Selection>,
    /// Where the value begins.
    start: usize,
    plain_end: PlainEnd,
    end: EndOfValue,
}

/// Numbers, so that they stay in registers.
#[derive(Clone, Copy, Default)]
pub(super) struct KeptEntry {
    id: u64,
    /// Eight bytes from the start of the value on, if the value has at most eight bytes and its
    /// first byte gives its length. Those after a shorter value are the next ones of the key.
    /// Otherwise where the key is that was appended: its length, at most [`LONG`], and its offset
    /// in 32 bits. They can be distinguished: the first byte of such a value is never zero, that of
    /// a place always is.
    value: u64,
}

/// How many keys the first seek reads for a caller that decodes values. It may want only the first.
const FIRST_ROWS: usize = 8;

/// The bits of the offset of a key.
const OFFSET: u32 = 32;
/// This length of a key says that its length was appended before it.
const LONG: u64 = 0xff_ffff;

impl KeptEntry {
    #[inline]
    pub(super) fn id(self) -> ObjId {
        ObjId::of_number(self.id)
    }

    #[inline]
    fn first_byte(self) -> u8 {
        self.value.to_be_bytes()[0]
    }

    /// If the value is short: the eight bytes from its start on, also those after it.
    #[inline]
    pub(super) fn short_value(self) -> [u8; 8] {
        self.value.to_be_bytes()
    }
}

impl IdAtEnd {
    /// The key that was appended, if one was.
    #[inline]
    fn appended(kept: KeptEntry, bytes: &[u8]) -> &[u8] {
        #[allow(clippy::cast_possible_truncation, reason = "it is a position in `bytes`")]
        let at = (kept.value & ((1 << OFFSET) - 1)) as usize;
        let from = bytes.get(at..).unwrap_or_default();
        let (len, from) = match kept.value >> OFFSET {
            LONG => match from.split_first_chunk() {
                Some((len, from)) => (u64::from_be_bytes(*len), from),
                None => (0, from),
            },
            len => (len, from),
        };
        #[allow(clippy::cast_possible_truncation, reason = "it is the length of a key in `bytes`")]
        from.get(..len as usize).unwrap_or_default()
    }

    #[inline]
    fn append(id: u64, key: &[u8], bytes: &mut Vec<u8>) -> KeptEntry {
        let (at, len) = (bytes.len() as u64, key.len() as u64);
        // A length that does not fit into its bits is stored before the key.
        if len >= LONG {
            bytes.extend_from_slice(&len.to_be_bytes());
        }
        bytes.extend_from_slice(key);
        KeptEntry { id, value: len.min(LONG) << OFFSET | at }
    }
}

impl Keep for IdAtEnd {
    type Kept = KeptEntry;

    // A step costs little here, so seeks should be rare. The first batch takes about as long as
    // two seeks.
    const FIRST_BATCH: usize = 64;
    const GROWTH: usize = 16;
    const LARGEST_BATCH: usize = 2048;

    #[inline]
    fn keep_easy(&self, key: &[u8], bytes: &mut Vec<u8>) -> Option<KeptEntry> {
        let (_, rest) = key.split_at_checked(self.start)?;
        let (value, id) = rest.split_last_chunk::<{ ObjId::LEN }>()?;
        let id = u64::from_be_bytes(*id);
        // Damage has no short form. `keep` reports it.
        if !ObjId::is_number(id) {
            return None;
        }
        match self.plain_end {
            PlainEnd::Lens(lens) => {
                let kept = KeptEntry { id, value: u64::from_be_bytes(*rest.first_chunk::<8>()?) };
                // The length must agree with that of the key, or the ID is not where it seems to
                // be.
                let is_short = value.len() <= 8 && value.len() == lens.after(kept.first_byte());
                (is_short && !value.is_empty()).then_some(kept)
            }
            PlainEnd::Text if self.end == EndOfValue::Checked => {
                string::is_plain(value).then(|| Self::append(id, key, bytes))
            }
            PlainEnd::Text | PlainEnd::Other => {
                (self.end == EndOfValue::Trusted).then(|| Self::append(id, key, bytes))
            }
        }
    }

    fn keep(&self, key: &[u8], _value: &[u8], bytes: &mut Vec<u8>) -> Result<KeptEntry> {
        let id = self.selection.shape.id_at_end(key)?;
        Ok(Self::append(u64::from_be_bytes(id.to_bytes()), key, bytes))
    }

    fn key<'b>(&self, kept: KeptEntry, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        // The key was not appended, so it is put together again from its parts.
        if let PlainEnd::Lens(lens) = self.plain_end
            && kept.first_byte() != 0
        {
            let value = kept.value.to_be_bytes();
            let value = value.get(..lens.after(kept.first_byte())).unwrap_or(&value);
            let index = self.selection.shape.prefix();
            return Cow::Owned(layout::index_key(index, value, kept.id(), &[]));
        }
        Cow::Borrowed(Self::appended(kept, bytes))
    }
}

impl<'t> PlainWalk<'t> {
    /// A walk over the entries of a selection, if they are plain.
    pub(super) fn new(
        source: &'t dyn IndexSource,
        selection: &Arc<Selection>,
        direction: Direction,
        end: EndOfValue,
    ) -> Option<Self> {
        let shape = &selection.shape;
        let id_column = shape.id_column();
        // An ID at the end can follow any number of values if these are not decoded.
        let columns_fit = match end {
            EndOfValue::Checked => true,
            EndOfValue::Trusted => id_column == 1,
        };
        if !columns_fit
            || shape.has_suffix()
            || selection.schemas.is_some()
            || selection.columns != shape.columns()
        {
            return None;
        }
        let (min, max, checked) = selection.span();
        if checked.iter().any(|column| *column != id_column) {
            return None;
        }
        let wanted = WantedIds::of(selection, &checked);
        let keep = IdAtEnd {
            selection: selection.clone(),
            start: shape.prefix().len(),
            plain_end: shape.plain_end(),
            end,
        };
        let mut scan = LiveScan::keeping(keep, source.as_scan_source(), min, max, direction)
            .through(selection.scan_overlay());
        // The caller may want only the first rows, so the first seek reads few.
        if end == EndOfValue::Trusted {
            scan.read_at_once(FIRST_ROWS);
        }
        Some(PlainWalk { scan, wanted, target: Vec::new() })
    }

    /// The next entry, if it is in the batch and wanted.
    #[inline]
    pub(super) fn at_hand(&mut self) -> Option<KeptEntry> {
        let kept = self.scan.at_hand()?;
        // The caller goes on with `next`, which can seek.
        if let Some(wanted) = &self.wanted
            && !wanted.contains(kept.id())
        {
            return None;
        }
        self.scan.take_at_hand();
        Some(kept)
    }

    /// The next entry.
    pub(super) fn next(&mut self) -> Result<Option<KeptEntry>> {
        loop {
            let Some(kept) = self.scan.next_kept()? else { return Ok(None) };
            if self.wanted.as_ref().is_none_or(|wanted| wanted.contains(kept.id())) {
                return Ok(Some(kept));
            }
            // The caller never sees this entry, so nothing else would find that it is damaged.
            if self.scan.keep().end == EndOfValue::Trusted {
                self.check()?;
            }
            if let Some(wanted) = &self.wanted {
                wanted.pass(&mut self.scan, &mut self.target);
            }
        }
    }

    /// The key of the entry that was returned last.
    pub(super) fn current_key(&self) -> Option<Cow<'_, [u8]>> {
        self.scan.current_key()
    }

    /// The value of an entry that is in the batch. `short` is its [`KeptEntry::short_value`].
    #[inline]
    pub(super) fn value<'e>(&'e self, kept: KeptEntry, short: &'e [u8; 8]) -> &'e [u8] {
        let IdAtEnd { start, plain_end, .. } = self.scan.keep();
        if let PlainEnd::Lens(lens) = plain_end
            && kept.first_byte() != 0
        {
            return short.get(..lens.after(kept.first_byte())).unwrap_or_default();
        }
        let key = IdAtEnd::appended(kept, self.scan.kept_bytes());
        key.get(*start..key.len().saturating_sub(ObjId::LEN)).unwrap_or_default()
    }

    /// Checks the entry that was returned last. An error ends the walk.
    #[cold]
    pub(super) fn check(&mut self) -> Result<()> {
        let Some(key) = self.scan.current_key() else { return Ok(()) };
        let checked = self.scan.keep().selection.shape.id_at_end(&key).map(drop);
        if checked.is_err() {
            self.scan.finish();
        }
        checked
    }
}
