//! A node, searched in its encoded form.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;

use super::items::{
    Child, ITEM_SIZE, LAZY, MAX_INLINE_LEN, MAX_KEY_LEN, NodeItem, Payload, REFERENCE,
};
use super::write;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::node::items::Items;
use crate::value::reference::Reference;

/// The greatest level of a node.
const MAX_LEVEL: u8 = 40;

const HEADER: usize = 8;

/// A node whose bytes are known to be the one encoding of its items.
#[derive(Debug)]
pub(crate) struct Node {
    bytes: Bytes,
    len: usize,
    /// Where the prefix ends.
    prefix_end: usize,
    /// Where the items begin.
    items_at: usize,
    /// How many entries it has, or are below it.
    entries: u64,
    /// One bit for each child that was compared with the data that this node has about it. Empty in
    /// a leaf.
    known: Box<[AtomicU64]>,
}

/// A key in two parts: the prefix of its node and the rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SplitKey<'n> {
    pub(crate) prefix: &'n [u8],
    pub(crate) rest: &'n [u8],
}

impl SplitKey<'_> {
    pub(crate) fn cmp_key(&self, key: &[u8]) -> Ordering {
        match key.split_at_checked(self.prefix.len()) {
            Some((start, rest)) => self.prefix.cmp(start).then_with(|| self.rest.cmp(rest)),
            // A key that is shorter than the prefix is either less than the start of the prefix,
            // equal to it, or greater.
            None => self.prefix.cmp(key),
        }
    }

    pub(crate) fn cmp(&self, other: &SplitKey<'_>) -> Ordering {
        let Some((start, more)) = other.prefix.split_at_checked(self.prefix.len()) else {
            return other.cmp(self).reverse();
        };
        // Our rest is compared with the remaining prefix of the other one, and then with its rest.
        self.prefix.cmp(start).then_with(|| match self.rest.split_at_checked(more.len()) {
            Some((beside, rest)) => beside.cmp(more).then_with(|| rest.cmp(other.rest)),
            None => self.rest.cmp(more),
        })
    }

    pub(crate) fn to_vec(self) -> Vec<u8> {
        [self.prefix, self.rest].concat()
    }
}

impl Node {
    /// The node with these bytes.
    ///
    /// # Errors
    /// If they do not have this digest, or are not the one encoding of a node.
    pub(crate) fn checked(digest: &Digest, bytes: Bytes) -> Result<Self> {
        let found = Kind::Node.digest(&bytes);
        if found != *digest {
            return Err(LedgerError::other_digest(Kind::Node, digest, &found));
        }
        Node::parse(bytes).map_err(|found| LedgerError::refused(Kind::Node, digest, found))
    }

    /// The node with these bytes, which [`write::encode`] has made.
    pub(crate) fn trusted(bytes: Bytes, entries: u64) -> std::result::Result<Self, &'static str> {
        Ok(Node { entries, ..Node::laid_out(bytes)? })
    }

    /// The node with these bytes, or the mistake in them.
    pub(crate) fn parse(bytes: Bytes) -> std::result::Result<Self, &'static str> {
        let mut node = Node::laid_out(bytes)?;
        node.entries = node.check()?;
        Ok(node)
    }

    /// A node with a header, a prefix and offsets. Its items are not checked.
    fn laid_out(bytes: Bytes) -> std::result::Result<Self, &'static str> {
        let header: &[u8; HEADER] = bytes.first_chunk().ok_or("less than a header")?;
        let [level, c0, c1, c2, c3, p0, p1, wide] = *header;
        if level > MAX_LEVEL {
            return Err("the level is above 40");
        }
        let len = u32::from_be_bytes([c0, c1, c2, c3]) as usize;
        let width = match wide {
            0 => 2,
            1 => 4,
            _ => return Err("the width of offsets is neither 0 nor 1"),
        };
        let prefix_end = HEADER + usize::from(u16::from_be_bytes([p0, p1]));
        let offsets = len.checked_mul(width).ok_or("more offsets than there can be")?;
        let items_at = prefix_end.checked_add(offsets).ok_or("more offsets than there can be")?;
        if items_at > bytes.len() {
            return Err("shorter than its prefix and offsets");
        }
        if (bytes.len() - items_at > usize::from(u16::MAX)) != (wide == 1) {
            return Err("the width of offsets does not fit the length of the items");
        }
        let words = if level == 0 { 0 } else { len.div_ceil(64) };
        let known = (0..words).map(|_| AtomicU64::new(0)).collect();
        Ok(Node { bytes, len, prefix_end, items_at, entries: 0, known })
    }

    /// Checks the items, and counts the entries.
    fn check(&self) -> std::result::Result<u64, &'static str> {
        let level = self.level();
        let (mut end, mut entries) = (self.items_at, 0_u64);
        for at in 0..self.len {
            let next = self.items_at + self.offset(at);
            if next < end || next > self.bytes.len() {
                return Err("an offset that descends or is after the end");
            }
            let item = &self.bytes[end..next];
            end = next;
            let (head, item) = item.split_first_chunk::<2>().ok_or("an item without a head")?;
            let head = u16::from_be_bytes(*head);
            let (flags, rest_len) = (head & (LAZY | REFERENCE), head & !(LAZY | REFERENCE));
            let (_, payload) =
                item.split_at_checked(rest_len.into()).ok_or("an item shorter than its key")?;
            if self.prefix().len() + usize::from(rest_len) > MAX_KEY_LEN {
                return Err("a key of more than 8,192 bytes");
            }
            if at > 0 && self.key(at - 1).rest >= self.key(at).rest {
                return Err("keys that do not ascend");
            }
            let below = match level {
                0 => check_value(flags, payload).map(|()| 1)?,
                _ => check_child(flags, payload)?,
            };
            entries = entries.checked_add(below).ok_or("more entries than a number can count")?;
        }
        if end != self.bytes.len() {
            return Err("bytes after its items");
        }
        let longest = match self.len {
            0 if level > 0 => return Err("an inner node without items"),
            0 => 0,
            1 => self.key(0).rest.len(),
            len => write::common(self.key(0).rest, self.key(len - 1).rest),
        };
        if longest > 0 || (self.len == 0 && !self.prefix().is_empty()) {
            return Err("the prefix is not the longest common one");
        }
        Ok(entries)
    }

    /// The leaf without entries, which is the root of an empty tree and has no row.
    pub(crate) fn empty() -> &'static (Digest, Arc<Node>) {
        static EMPTY: LazyLock<(Digest, Arc<Node>)> = LazyLock::new(|| {
            let bytes = write::encode(0, &Items::default());
            let (prefix_end, items_at, known) = (HEADER, HEADER, Box::default());
            let node = Node { bytes, len: 0, prefix_end, items_at, entries: 0, known };
            (Kind::Node.digest(&node.bytes), Arc::new(node))
        });
        &EMPTY
    }

    /// The bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The level: 0 for a leaf.
    pub(crate) fn level(&self) -> u8 {
        self.bytes[0]
    }

    /// The number of items.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many entries a leaf has, or are below an inner node.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// The common prefix of all keys.
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.bytes[HEADER..self.prefix_end]
    }

    /// Where an item ends, from the first byte after the offsets.
    fn offset(&self, at: usize) -> usize {
        let bytes = &self.bytes[self.prefix_end..self.items_at];
        match self.bytes[HEADER - 1] {
            0 => match bytes[2 * at..].first_chunk() {
                Some(offset) => u16::from_be_bytes(*offset).into(),
                None => 0,
            },
            _ => match bytes[4 * at..].first_chunk() {
                Some(offset) => u32::from_be_bytes(*offset) as usize,
                None => 0,
            },
        }
    }

    /// The size of the items up to this one, which is included. The boundaries of levels count this
    /// size.
    pub(crate) fn size_to(&self, at: usize) -> u64 {
        // The offset counts the two bytes of each item's head, which do not count here, and not its
        // prefix and the constant of an item, which do.
        #[allow(clippy::cast_possible_truncation, reason = "8")]
        let item_size = ITEM_SIZE as usize;
        let bytes = self.offset(at) + (at + 1) * (self.prefix().len() + item_size - 2);
        bytes as u64
    }

    /// The item at this position, which is below [`len`](Node::len).
    pub(crate) fn item(&self, at: usize) -> NodeItem<'_> {
        let start = at.checked_sub(1).map_or(0, |before| self.offset(before));
        NodeItem::parse(&self.items()[start..self.offset(at)])
    }

    /// The items from this position on, which is below [`len`](Node::len). Reading them one after
    /// the other is faster than each by its position.
    pub(crate) fn items_from(&self, at: usize) -> impl Iterator<Item = NodeItem<'_>> {
        let items = self.items();
        let mut start = at.checked_sub(1).map_or(0, |before| self.offset(before));
        (at..self.len).map(move |at| {
            let end = self.offset(at);
            let item = NodeItem::parse(&items[start..end]);
            start = end;
            item
        })
    }

    /// The key at this position, which is below [`len`](Node::len).
    pub(crate) fn key(&self, at: usize) -> SplitKey<'_> {
        SplitKey { prefix: self.prefix(), rest: self.item(at).rest() }
    }

    /// The greatest key.
    pub(crate) fn last_key(&self) -> Option<SplitKey<'_>> {
        self.len.checked_sub(1).map(|last| self.key(last))
    }

    /// The payload at this position, which is below [`len`](Node::len).
    pub(crate) fn payload(&self, at: usize) -> Payload<'_> {
        self.item(at).payload()
    }

    /// The child at this position. `None` if this is a leaf, or there is no such item.
    pub(crate) fn child(&self, at: usize) -> Option<Child> {
        if self.level() == 0 || at >= self.len {
            return None;
        }
        self.payload(at).child()
    }

    /// The position of the first item whose key is at least this one, and whether it is this one.
    pub(crate) fn search(&self, key: &[u8]) -> (usize, bool) {
        self.search_in(0..self.len, key)
    }

    /// The same position, which is known to be at least `from`. It is fast if it is close to
    /// `from`.
    pub(crate) fn search_from(&self, from: usize, key: &[u8]) -> usize {
        let (mut low, mut step) = (from, 1);
        loop {
            let probe = low + step - 1;
            if probe >= self.len {
                return self.search_in(low..self.len, key).0;
            }
            if self.key(probe).cmp_key(key).is_ge() {
                return self.search_in(low..probe, key).0;
            }
            (low, step) = (probe + 1, step * 2);
        }
    }

    /// Searches some of the items.
    fn search_in(&self, range: Range<usize>, key: &[u8]) -> (usize, bool) {
        let prefix = self.prefix();
        let Some((start, rest)) = key.split_at_checked(prefix.len()) else {
            let at = if prefix < key { range.end } else { range.start };
            return (at, false);
        };
        match start.cmp(prefix) {
            Ordering::Less => return (range.start, false),
            Ordering::Greater => return (range.end, false),
            Ordering::Equal => {}
        }
        let (offsets, items) = (&self.bytes[self.prefix_end..self.items_at], self.items());
        match self.bytes[HEADER - 1] {
            0 => {
                let end = |end: &[u8; 2]| u16::from_be_bytes(*end).into();
                search(items, offsets.as_chunks().0, range, end, rest)
            }
            _ => {
                let end = |end: &[u8; 4]| u32::from_be_bytes(*end) as usize;
                search(items, offsets.as_chunks().0, range, end, rest)
            }
        }
    }

    /// How many items from a position on equal those of another node from another position on.
    /// Bytes are compared as a whole, so it is 0 if the prefixes of the nodes differ, even if items
    /// are equal.
    pub(crate) fn same_items(&self, at: usize, other: &Node, other_at: usize) -> usize {
        if self.prefix() != other.prefix() {
            return 0;
        }
        let start_of = |node: &Node, at: usize| at.checked_sub(1).map_or(0, |at| node.offset(at));
        let (start, other_start) = (start_of(self, at), start_of(other, other_at));
        let same = write::common(&self.items()[start..], &other.items()[other_start..]);
        // The bytes alone do not tell where a payload ends.
        let is_same = |count: &usize| {
            let end = self.offset(at + count) - start;
            end <= same && end == other.offset(other_at + count) - other_start
        };
        (0..(self.len - at).min(other.len - other_at)).take_while(is_same).count()
    }

    fn items(&self) -> &[u8] {
        &self.bytes[self.items_at..]
    }

    /// Whether the child at this position was compared with the data that this node has about it.
    /// It need not be compared again, because both are named by their digests.
    pub(crate) fn is_known(&self, at: usize) -> bool {
        let word = self.known.get(at / 64).map_or(0, |word| word.load(Relaxed));
        word & 1 << (at % 64) != 0
    }

    /// Records that the child at this position matches the data that this node has about it.
    pub(crate) fn set_known(&self, at: usize) {
        if let Some(word) = self.known.get(at / 64) {
            word.fetch_or(1 << (at % 64), Relaxed);
        }
    }
}

impl<'a> NodeItem<'a> {
    fn parse(item: &'a [u8]) -> Self {
        let (head, bytes) = split_head(item);
        let flags = head & (LAZY | REFERENCE);
        NodeItem { flags, rest_len: usize::from(head & !flags), bytes }
    }
}

/// Searches some of the items, whose ends these are, for the rest of a key.
fn search<const N: usize>(
    items: &[u8],
    ends: &[[u8; N]],
    range: Range<usize>,
    end: impl Fn(&[u8; N]) -> usize,
    rest: &[u8],
) -> (usize, bool) {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        let start = middle.checked_sub(1).map_or(0, |before| end(&ends[before]));
        let (head, item) = split_head(&items[start..end(&ends[middle])]);
        match item[..usize::from(head & !(LAZY | REFERENCE))].cmp(rest) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return (middle, true),
            Ordering::Greater => high = middle,
        }
    }
    (low, false)
}

/// The flags of an item with the length of the rest of its key, and the bytes after them.
fn split_head(item: &[u8]) -> (u16, &[u8]) {
    let (head, item) = item.split_at(2);
    (u16::from_be_bytes([head[0], head[1]]), item)
}

fn check_value(flags: u16, payload: &[u8]) -> std::result::Result<(), &'static str> {
    if flags & REFERENCE == 0 {
        return match payload.len() <= MAX_INLINE_LEN {
            true => Ok(()),
            false => Err("a value of more than 512 bytes in a leaf"),
        };
    }
    Reference::parse(payload).map(drop)
}

fn check_child(flags: u16, payload: &[u8]) -> std::result::Result<u64, &'static str> {
    if flags != 0 {
        return Err("an inner item with the marks of a value");
    }
    match (Payload { flags, bytes: payload }).child() {
        None => Err("an inner item whose child does not have 40 bytes"),
        Some(Child { entries: 0, .. }) => Err("a child without entries"),
        Some(child) => Ok(child.entries),
    }
}
